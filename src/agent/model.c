/* SPDX-License-Identifier: Apache-2.0 */
/* Topology file -> topology, codecs, resolver. */
#include "agent/model.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

#define CACHE_ENTRIES 16384 /* trajectories; a rack talks to far fewer at a time */

struct reading {
    const char *file;
    struct pd_topology *topology;
    struct pd_error *error;
    int err;
};

static void *read_topology(void *context)
{
    struct reading *reading = context;

    reading->err = pd_topology_read(reading->file, &reading->topology, reading->error);
    return NULL;
}

/* The JSON tree is many times the model. Read by a thread of its own it lies in an arena of its
 * own, whose holes are given back; in the main arena the large tables that follow would be laid
 * into them, and touched. */
static int read_apart(const char *file, struct pd_topology **ret_topology, struct pd_error *error)
{
    struct reading reading = {.file = file, .error = error};
    pthread_t thread;

    if (pthread_create(&thread, NULL, read_topology, &reading)) {
        read_topology(&reading);
    } else {
        pthread_join(thread, NULL);
    }
    if (!reading.err) {
        *ret_topology = reading.topology;
    }
    return reading.err;
}

static int build(const char *file, struct pd_model *model, struct pd_error *error)
{
    int err = read_apart(file, &model->topology, error);

    if (err) {
        return err;
    }
    err = pd_codec_set_init(&model->codecs, model->topology, error);
    if (err) {
        pd_fail_within(error, file);
        return err;
    }
    err = pd_resolver_new(&model->codecs, CACHE_ENTRIES, &model->resolver);
    return err ? pd_fail(error, err, "%s: no memory for the resolver", file) : 0;
}

int pd_agent_model_load(const char *file, struct pd_model **ret_model, struct pd_error *error)
{
    struct pd_model *model = calloc(1, sizeof *model);
    int err = model ? 0 : pd_fail(error, -ENOMEM, "%s: no memory", file);

    if (model) {
        atomic_init(&model->held, 1);
        err = build(file, model, error);
    }
    if (err) {
        pd_agent_model_free(model);
    } else {
        *ret_model = model;
    }
    malloc_trim(0);
    return err;
}

struct pd_model *pd_agent_model_hold(struct pd_model *model)
{
    atomic_fetch_add_explicit(&model->held, 1, memory_order_relaxed);
    return model;
}

void pd_agent_model_free(struct pd_model *model)
{
    if (!model || atomic_fetch_sub_explicit(&model->held, 1, memory_order_acq_rel) > 1) {
        return;
    }
    pd_resolver_free(model->resolver);
    pd_codec_set_done(&model->codecs);
    pd_topology_free(model->topology);
    free(model);
}

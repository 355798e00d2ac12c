/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoint, topology and codec under one lock, and what is logged of them. */
#include "controller/switches/service.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "controller/switches/dry_run.h"
#include "topology/topology.h"

#define MODULE "switches"

/* What the endpoint works by; both outlive it. */
struct model {
    struct pd_topology *topology;
    struct pd_codec *codec;
};

struct pd_switch_service {
    struct pd_switch_service_settings settings;
    struct pd_log_limit away_limit, differing_limit; /* the endpoint's thread only */
    pthread_rwlock_t lock; /* of the two below: written while a topology replaces another */
    struct model model;
    struct pd_switches *switches; /* NULL: no endpoint */
};

/* ---- the model */

static void model_done(struct model *model)
{
    pd_codec_free(model->codec);
    pd_topology_free(model->topology);
    *model = (struct model){0};
}

static int model_read(const char *file, struct model *ret_model, struct pd_error *error)
{
    struct model model = {0};
    int failed = pd_topology_read(file, &model.topology, error);
    if (failed)
        return failed;
    failed = pd_codec_new(model.topology, &model.codec, error);
    if (failed) {
        pd_fail_within(error, file);
        model_done(&model);
        return failed;
    }
    *ret_model = model;
    return 0;
}

static char *model_text(const struct model *model, size_t *ret_bytes)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, ret_bytes);
    if (!out)
        return NULL;
    bool written = !pd_topology_write(model->topology, out);
    if (!fclose(out) && written)
        return text;
    free(text);
    return NULL;
}

static bool is_same(const struct model *a, const struct model *b)
{
    size_t a_bytes = 0, b_bytes = 0;
    char *a_text = model_text(a, &a_bytes), *b_text = model_text(b, &b_bytes);
    bool same = a_text && b_text && a_bytes == b_bytes && !memcmp(a_text, b_text, a_bytes);
    free(a_text);
    free(b_text);
    return same;
}

/* ---- what the endpoint tells */

static void tell_unknown(void *context, uint64_t datapath_id, const char *peer)
{
    struct pd_switch_service *service = context;
    pd_log(PD_LOG_WARN, MODULE, NULL,
           "a switch that the topology does not know, datapath ID %" PRIu64
           ", came from %s: nothing is installed there",
           datapath_id, peer);
    if (service->settings.unknown)
        service->settings.unknown(service->settings.context, datapath_id, peer);
}

static void tell_state(void *context, const struct pd_switch_status *status)
{
    struct pd_switch_service *service = context;
    const char *why = status->last_error[0] ? status->last_error : "its connection ended";
    if (status->state == PD_SWITCH_AWAY)
        pd_log_limited(&service->away_limit, PD_LOG_WARN, MODULE, "switch %u is away: %s",
                       status->id, why);
    else if (status->state == PD_SWITCH_DIFFERING)
        pd_log_limited(&service->differing_limit, PD_LOG_ERROR, MODULE,
                       "switch %u does not have the %u rules that it should: %u missing, %u "
                       "differing, %u surplus, %u blocked; %s",
                       status->id, status->rules, status->missing, status->differing,
                       status->surplus, status->blocked, status->last_error);
    else
        pd_log(PD_LOG_DEBUG, MODULE, NULL, "switch %u is %s, %u rules", status->id,
               pd_switch_state_name(status->state), status->rules);
}

/* ---- open, reload, close */

/* With the lock held, or before others know of the service. */
static int open_endpoint(struct pd_switch_service *service, struct pd_error *error)
{
    struct pd_switches_settings settings = {
        .listen = service->settings.listen,
        .depth = service->settings.depth,
        .context = service,
        .on_unknown = tell_unknown,
        .on_state = tell_state,
    };
    if (!settings.listen)
        return 0;
    int failed = pd_switches_open(service->model.codec, &settings, &service->switches, error);
    if (!failed)
        pd_log(PD_LOG_INFO, MODULE, NULL, "%u switches are expected at %s",
               service->model.topology->switches_len, pd_switches_address(service->switches));
    return failed;
}

static void close_endpoint(struct pd_switch_service *service)
{
    pd_switches_close(service->switches);
    service->switches = NULL;
}

int pd_switch_service_open(const char *topology_file,
                           const struct pd_switch_service_settings *settings,
                           struct pd_switch_service **ret_service, struct pd_error *error)
{
    struct pd_switch_service *service = calloc(1, sizeof *service);
    if (!service)
        return pd_fail(error, -ENOMEM, "switches: out of memory");
    service->settings = *settings;
    pthread_rwlock_init(&service->lock, NULL);
    int failed = model_read(topology_file, &service->model, error);
    if (!failed)
        failed = open_endpoint(service, error);
    if (failed)
        pd_switch_service_close(service);
    else
        *ret_service = service;
    return failed;
}

int pd_switch_service_reload(struct pd_switch_service *service, const char *topology_file,
                             struct pd_error *error)
{
    struct model wanted;
    int failed = model_read(topology_file, &wanted, error);
    if (failed)
        return failed;
    bool same = is_same(&service->model, &wanted);
    if (same && (service->switches || !service->settings.listen)) {
        model_done(&wanted);
        return 0;
    }
    pthread_rwlock_wrlock(&service->lock);
    close_endpoint(service);
    model_done(&service->model);
    service->model = wanted;
    failed = open_endpoint(service, error);
    pthread_rwlock_unlock(&service->lock);
    return failed;
}

void pd_switch_service_close(struct pd_switch_service *service)
{
    if (!service)
        return;
    close_endpoint(service);
    model_done(&service->model);
    pthread_rwlock_destroy(&service->lock);
    free(service);
}

/* ---- reports */

json_t *pd_switch_service_json(struct pd_switch_service *service)
{
    pthread_rwlock_rdlock(&service->lock);
    json_t *document = pd_switches_json(service->switches, service->model.topology);
    pthread_rwlock_unlock(&service->lock);
    return document;
}

void pd_switch_service_metrics(struct pd_switch_service *service, struct pd_metrics *metrics)
{
    pthread_rwlock_rdlock(&service->lock);
    pd_switches_metrics(service->switches, service->model.topology, metrics);
    pthread_rwlock_unlock(&service->lock);
}

int pd_switch_service_dry_run(const char *topology_file, const char *listen, enum pd_depth depth,
                              uint64_t wait_ms, FILE *out, struct pd_error *error)
{
    struct pd_switches_settings settings = {.listen = listen, .depth = depth};
    struct model model;
    if (!listen)
        return pd_fail(error, -PD_E_VALUE,
                       "--dry-run says what would change on the switches: give --openflow");
    int failed = model_read(topology_file, &model, error);
    if (failed)
        return failed;
    failed = pd_switches_dry_run(model.codec, &settings, wait_ms, out, error);
    model_done(&model);
    return failed;
}

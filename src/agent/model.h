/* SPDX-License-Identifier: Apache-2.0 */
/* The network as the daemon knows it: topology, codecs and the resolver of the store thread. */
#ifndef PD_AGENT_MODEL_H
#define PD_AGENT_MODEL_H

#include <stdatomic.h>

#include "base/error.h"
#include "codec/set.h"
#include "resolve/resolve.h"
#include "topology/topology.h"

/* Topology and codecs do not change: whoever holds the model may read them, from any thread. */
struct pd_model {
    /* times; acquire-release: the last one to let go frees what the others read */
    atomic_uint held;
    struct pd_topology *topology;
    struct pd_codec_set codecs;
    struct pd_resolver *resolver; /* used by one thread: that of the store */
};

/* Reads the file and sets up its codecs. Without one, traffic between racks has no known path. */
int pd_agent_model_load(const char *file, struct pd_model **ret_model, struct pd_error *error);
struct pd_model *pd_agent_model_hold(
    struct pd_model *model);                      /* for one more owner; returns `model` */
void pd_agent_model_free(struct pd_model *model); /* once for each owner; NULL is fine */

#endif

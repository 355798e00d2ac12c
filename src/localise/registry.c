/* SPDX-License-Identifier: Apache-2.0 */
/* The localisers there are, and calling one through its table. */
#include <string.h>

#include "localise/localise.h"
#include "pd_extensions.h"

#define X(symbol) extern const struct pd_localiser_ops symbol;
PD_EXTENSION_LOCALISER(X)
#undef X

const struct pd_localiser_ops *const pd_localisers[] = {
    &pd_localiser_evidence,
    &pd_localiser_max_coverage,
#define X(symbol) &(symbol),
    PD_EXTENSION_LOCALISER(X)
#undef X
        NULL,
};

const struct pd_localiser_ops *pd_localiser_find(const char *name)
{
    for (size_t i = 0; pd_localisers[i]; i++) {
        if (!strcmp(pd_localisers[i]->name, name)) {
            return pd_localisers[i];
        }
    }
    return NULL;
}

int pd_localiser_new(const struct pd_localiser_ops *ops, const struct pd_localiser_config *config,
                     struct pd_localiser **ret_localiser)
{
    struct pd_localiser *localiser;
    int code = ops->new (config, &localiser);
    if (code) {
        return code;
    }
    localiser->ops = ops;
    localiser->config = *config;
    *ret_localiser = localiser;
    return 0;
}

void pd_localiser_free(struct pd_localiser *localiser)
{
    if (localiser) {
        localiser->ops->free(localiser);
    }
}

int pd_localiser_observe(struct pd_localiser *localiser, const struct pd_observation *observations,
                         size_t observations_len)
{
    return localiser->ops->observe(localiser, observations, observations_len);
}

int pd_localiser_locate(struct pd_localiser *localiser, struct pd_verdict *ret_verdict)
{
    return localiser->ops->locate(localiser, ret_verdict);
}

bool pd_localiser_knows(const struct pd_localiser *localiser, const struct pd_path *path)
{
    const struct pd_topology *topology = localiser->config.topology;
    if (!path || !path->len || path->len > PD_PATH_MAX) {
        return false;
    }
    if (!topology) {
        return true;
    }
    uint32_t from = pd_topology_switch(topology, path->switches[0]);
    for (unsigned i = 1; i < path->len && from != PD_NONE; i++) {
        uint32_t to = pd_topology_switch(topology, path->switches[i]);
        if (to == PD_NONE || !pd_topology_link(topology, from, to)) {
            return false;
        }
        from = to;
    }
    return from != PD_NONE;
}

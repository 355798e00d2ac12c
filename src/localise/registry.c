/* SPDX-License-Identifier: Apache-2.0 */
/* The localisers there are, and calling one through its table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "localise/network.h"
#include "pd_extensions.h"
#include "topology/links.h"

/* Each localiser's folder defines its own: a new one is a line here. */
#define LOCALISERS(X)            \
    X(pd_localiser_evidence)     \
    X(pd_localiser_max_coverage) \
    X(pd_localiser_votes)        \
    X(pd_localiser_binary)       \
    X(pd_localiser_integer)      \
    X(pd_localiser_netbouncer)   \
    X(pd_localiser_canary)       \
    X(pd_localiser_netbouncer_stage)

#define X(symbol) extern const struct pd_localiser_ops symbol;
LOCALISERS(X)
PD_EXTENSION_LOCALISER(X)
#undef X

const struct pd_localiser_ops *const pd_localisers[] = {
#define X(symbol) &(symbol),
    LOCALISERS(X) PD_EXTENSION_LOCALISER(X)
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

/* With the defaults of its table where no options were given. */
static int open_with(const struct pd_localiser_ops *ops, const struct pd_localiser_config *config,
                     struct pd_localise_network *network, struct pd_localiser **ret_localiser)
{
    struct pd_localiser_config full = *config;
    struct pd_localiser *localiser;
    void *defaults = calloc(1, ops->options_bytes + 1);
    if (!defaults) {
        return -ENOMEM;
    }
    int err = ops->options ? pd_options_defaults(ops->options, defaults, NULL) : 0;
    full.options = full.options ? full.options : defaults;
    err = err ? err : ops->new (&full, &localiser);
    free(defaults);
    if (!err) {
        localiser->ops = ops;
        localiser->config = *config;
        localiser->config.options = NULL;
        localiser->network = network;
        *ret_localiser = localiser;
    }
    return err;
}

int pd_localiser_new(const struct pd_localiser_ops *ops, const struct pd_localiser_config *config,
                     struct pd_localiser **ret_localiser)
{
    struct pd_localise_network *network;
    if (!config->topology) {
        return -PD_E_TOPOLOGY;
    }
    int err = pd_localise_network_new(config->topology, &network);
    if (!err) {
        err = open_with(ops, config, network, ret_localiser);
        if (err) {
            pd_localise_network_free(network);
        }
    }
    return err;
}

void pd_localiser_free(struct pd_localiser *localiser)
{
    if (localiser) {
        struct pd_localise_network *network = localiser->network;
        localiser->ops->free(localiser);
        pd_localise_network_free(network);
    }
}

int pd_localiser_observe(struct pd_localiser *localiser, const struct pd_evidence_period *period)
{
    return localiser->ops->observe(localiser, period);
}

int pd_localiser_locate(struct pd_localiser *localiser, struct pd_verdict *ret_verdict)
{
    struct pd_verdict verdict = {.links_len = 0};
    int err = localiser->ops->locate(localiser, &verdict);
    if (!err) {
        *ret_verdict = localiser->verdict = verdict;
    }
    return err;
}

/* ---- causes ---- */

static bool may_cross(const struct pd_localise_network *network, const struct pd_localise_row *row,
                      const struct pd_verdict_link *link)
{
    uint32_t number = pd_topology_links_by_ids(network->topology, link->from, link->to, NULL);
    for (size_t i = 0; i < row->hops_len; i++) {
        if (row->hops[i].link == number) {
            return true;
        }
    }
    return false;
}

static void find_cause(const struct pd_localiser *localiser, const struct pd_localise_row *row,
                       struct pd_cause *ret_cause)
{
    for (size_t i = 0; i < localiser->verdict.links_len; i++) {
        const struct pd_verdict_link *link = &localiser->verdict.links[i];
        if (may_cross(localiser->network, row, link)) {
            *ret_cause = (struct pd_cause){PD_CAUSE_FAILURE, link->from, link->to};
            return;
        }
    }
    *ret_cause = (struct pd_cause){.class = PD_CAUSE_NOISE};
}

int pd_localiser_cause(struct pd_localiser *localiser, const struct pd_evidence_row *row,
                       struct pd_cause *ret_cause)
{
    const struct pd_localise_row *resolved;
    int err = pd_localise_resolve(localiser->network, row, &resolved);
    if (err == -PD_E_NOT_FOUND) {
        *ret_cause = (struct pd_cause){.class = PD_CAUSE_UNKNOWN};
        return 0;
    }
    if (!err && localiser->ops->cause) {
        localiser->ops->cause(localiser, resolved, ret_cause);
    } else if (!err) {
        find_cause(localiser, resolved, ret_cause);
    }
    return err;
}

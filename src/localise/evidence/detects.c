/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence` on evidence without a clock: what it could have seen. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "localise/evidence/model.h"

/* A link that n packets crossed is named, all else as it is, when a loss of it explains so many
 * more losses than the noise does that the odds turn. The least such loss of the worst link of a
 * tier is what the tier detects; null where a link of it was crossed by nothing, or only shares are
 * known.
 */

enum { TIERS_MAX = 16, STEPS = 40 };

struct tier {
    char name[48];
    double least; /* packets over the link that fewest crossed */
};

/* Layers from the bottom to the top. */
static int layer(enum pd_switch_role role)
{
    switch (role) {
    case PD_ROLE_TOR:
    case PD_ROLE_LEAF: return 0;
    case PD_ROLE_AGG: return 1;
    default: return 2;
    }
}

static void name_tier(const struct pd_localise_network *network, uint32_t link, char name[48])
{
    const struct pd_topology *topology = network->topology;
    const struct pd_localise_ends *ends = &network->ends[link];
    if (ends->is_access) {
        snprintf(name, 48, "host");
        return;
    }
    enum pd_switch_role a = topology->switches[pd_topology_switch(topology, ends->from)].role;
    enum pd_switch_role b = topology->switches[pd_topology_switch(topology, ends->to)].role;
    bool swap = layer(a) > layer(b);
    snprintf(name, 48, "%s-%s", pd_role_name(swap ? b : a), pd_role_name(swap ? a : b));
}

static struct tier *find_tier(struct tier *tiers, size_t *len, const char *name)
{
    for (size_t i = 0; i < *len; i++) {
        if (!strcmp(tiers[i].name, name)) {
            return &tiers[i];
        }
    }
    if (*len == TIERS_MAX) {
        return NULL;
    }
    tiers[*len] = (struct tier){.least = INFINITY};
    memcpy(tiers[*len].name, name, sizeof tiers->name);
    return &tiers[(*len)++];
}

/* Log odds of a link that n packets crossed and that loses a share of them, as expected. */
static double odds(const struct pd_evidence_model *model, double n, double loss)
{
    double lost = n * loss, noise = fmax(n * model->noise, 1e-300);
    double prior = -log(model->network->links_len + 1.0);
    double range = fmax(log(1 / model->noise), 1);
    double width = 0.5 * log(2 * M_PI / fmax(lost, 1e-300)) - log(range);
    return lost * log(lost / noise) - (lost - noise) + fmin(width, 0) + prior;
}

static json_t *least_loss(const struct pd_evidence_model *model, double n)
{
    double low = model->noise, high = 1;
    if (!(n > 0) || isinf(n) || odds(model, n, high) <= 0) {
        return json_null();
    }
    for (int i = 0; i < STEPS; i++) {
        double middle = sqrt(low * high);
        if (odds(model, n, middle) > 0) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return json_real(high);
}

json_t *pd_evidence_model_detects(const struct pd_evidence_model *model)
{
    struct tier tiers[TIERS_MAX];
    size_t len = 0;
    json_t *detects = json_object();
    for (uint32_t l = 0; l < model->network->links_len; l++) {
        char name[48];
        name_tier(model->network, l, name);
        struct tier *tier = find_tier(tiers, &len, name);
        if (tier) {
            tier->least = fmin(tier->least, model->passed[l] + model->crossed[l]);
        }
    }
    for (size_t i = 0; i < len; i++) {
        json_object_set_new(detects, tiers[i].name, least_loss(model, tiers[i].least));
    }
    return detects;
}

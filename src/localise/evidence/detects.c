/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: what it could have seen. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "localise/evidence/model.h"

/* A link that n packets crossed is named, all else as it is, when it lost so many of them that the
 * odds turn. What it *detects* is the least loss at which so many or more come with a probability
 * of CERTAIN (Chernoff's bound, for any link of the tier): whatever drops more has been named.
 * Whatever else was lost on the way of the same packets hides them: it counts as noise. Losses are
 * counted as events, of which a large row has fewer than losses where losses come in bursts, and
 * more of them are needed as these vary over periods. The worst link of a tier tells; null where a
 * link of it was crossed by nothing, or only shares are known. */

enum { TIERS_MAX = 16, STEPS = 40 };

struct tier {
    char name[48];
    double least; /* detected on the worst of its links; above 1: nothing is */
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
    snprintf(name, 48, "%s-%s", pd_topology_role_name(swap ? b : a),
             pd_topology_role_name(swap ? a : b));
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
    tiers[*len] = (struct tier){.least = 0};
    memcpy(tiers[*len].name, name, sizeof tiers->name);
    return &tiers[(*len)++];
}

/* Log odds of a link that loses `lost` packets beside `noise` that are expected anyway. */
static double odds(const struct pd_evidence_model *model, double lost, double noise)
{
    double prior = -log(model->network->links_len + 1.0);
    double range = fmax(log(1 / model->noise), 1);
    double width = 0.5 * log(2 * M_PI * model->dispersion / lost) - log(range);
    double all = lost + noise;
    return (all * log(all / noise) - lost) / model->dispersion + fmin(width, 0) + prior;
}

/* The least number, over what is expected, at which the odds turn. */
static double turning_point(const struct pd_evidence_model *model, double noise, double most)
{
    double low = 1e-3, high = most;
    for (int i = 0; i < STEPS; i++) {
        double middle = sqrt(low * high);
        if (odds(model, middle, noise) > 0) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return high;
}

/* Expected losses of which fewer than `least` come in MISSES of the cases at most. */
static double expected_for(const struct pd_evidence_model *model, double least)
{
    double bound = model->dispersion * log(model->network->links_len / PD_EVIDENCE_MISSES);
    double low = least, high = 4 * (least + bound);
    for (int i = 0; i < STEPS; i++) {
        double middle = (low + high) / 2;
        if (middle - least + least * log(least / middle) >= bound) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return high;
}

/* Events of n packets of which each is lost with probability p, beside no others. By Jensen at
 * least so many, whatever the sizes of rows are that have this mean. */
static double events_at(const struct pd_evidence_model *model, double n, double p)
{
    double each = 1 / model->burst;
    double size = model->flow_sent > 0 ? fmax(model->flow_squares / model->flow_sent, 1) : 1;
    return each * n * p + (1 - each) * n / size * -expm1(-size * p);
}

/* The loss at which so many events are expected; infinite: none. */
static double loss_for(const struct pd_evidence_model *model, double n, double events)
{
    double low = 0, high = 1;
    if (events_at(model, n, 1) < events) {
        return INFINITY;
    }
    for (int i = 0; i < STEPS; i++) {
        double middle = (low + high) / 2;
        if (events_at(model, n, middle) >= events) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return high;
}

double pd_evidence_model_detects_on(const struct pd_evidence_model *model, uint32_t link)
{
    double n = model->passed[link] + model->crossed[link], most = events_at(model, n, 1);
    double seen = pd_evidence_events(model, model->hurt[link], model->crossed[link]);
    double noise = fmax(fmax(n * model->noise, 1e-9) + model->masked[link], seen);
    noise = model->burst > 1 ? fmax(seen, 1e-9) : noise;
    if (!(n > 0) || model->noise >= 1 || odds(model, most, noise) <= 0) {
        return INFINITY;
    }
    double least = turning_point(model, noise, most) + noise;
    return loss_for(model, n, expected_for(model, least) - noise);
}

static bool is_more(const struct pd_evidence_model *model, uint32_t link, double than)
{
    return !model->is_faulty[link] && pd_evidence_model_detects_on(model, link) > than;
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
            tier->least = is_more(model, l, tier->least) ? pd_evidence_model_detects_on(model, l)
                                                         : tier->least;
        }
    }
    for (size_t i = 0; i < len; i++) {
        double least = tiers[i].least;
        json_object_set_new(detects, tiers[i].name,
                            least > 0 && least <= 1 ? json_real(least) : json_null());
    }
    return detects;
}

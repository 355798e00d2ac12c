/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: does a verdict rest on the word of one host? */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "localise/evidence/search.h"

/* What was lost is what senders say. One of them may lie, or count what was never lost: beforehand
 * one host of all does. Such a host says whatever makes its rows fit, so that a fault has to be
 * held up by what the others say: against each host that told of losses on a link stands the
 * hypothesis that it made them up, and all others' rows are noise. Packets of the others on the
 * link are all but the host's, taken by what each of those who told of losses there sends in all.
 *
 * Counted paths are nobody's word. A link that one host alone sends into (its own) is never
 * certain. */

struct words {
    struct pd_evidence_search *s;
    double *by;      /* by link of a host up: what its rows say for the fault */
    uint32_t *heard; /* such links */
    uint32_t len;
    double all, passes, sent; /* of all rows; against the fault; packets of the hosts heard */
};

/* The link up of the host that sent a group's rows; PD_NONE: nobody's. */
static uint32_t sender_of(const struct pd_evidence_model *model, uint32_t group)
{
    const struct pd_localise_group *of = &model->lossy.groups[group];
    for (uint32_t i = 0; i < of->len; i++) {
        uint32_t link = model->lossy.members[of->first + i].id;
        const struct pd_localise_ends *ends = &model->network->ends[link];
        if (ends->is_access &&
            pd_topology_switch(model->network->topology, ends->from) == PD_NONE) {
            return link;
        }
    }
    return PD_NONE;
}

/* How much more probable a fault of the link makes the rows of a group that suffered. */
static double value_of(const struct pd_evidence_search *s, uint32_t link, uint32_t at)
{
    const struct pd_evidence_side *lossy = &s->lossy;
    uint32_t g = lossy->index.groups[at];
    double with = fmax(lossy->x[g], 1e-300);
    double without = with - lossy->weights[at] * (s->model->theta[link] - s->model->noise);
    without = fmax(without, 1e-300);
    double value = lossy->many[g] * log(expm1(-with) / expm1(-without));
    if (lossy->ones[g] > 0) {
        value += lossy->ones[g] * log(expm1(-pd_evidence_hazard(lossy, g, with)) /
                                      expm1(-pd_evidence_hazard(lossy, g, without)));
    }
    return value;
}

static double sent_by(const struct pd_evidence_model *model, uint32_t up)
{
    return model->passed[up] + model->crossed[up];
}

static void hear(struct words *words, uint32_t link)
{
    struct pd_evidence_search *s = words->s;
    const struct pd_evidence_model *model = s->model;
    for (uint32_t i = s->lossy.index.starts[link]; i < s->lossy.index.starts[link + 1]; i++) {
        uint32_t up = sender_of(model, s->lossy.index.groups[i]);
        double value = fmax(value_of(s, link, i), 1e-12);
        words->all += value;
        if (up == PD_NONE) {
            continue;
        }
        if (words->by[up] <= 0) {
            words->heard[words->len++] = up;
            words->sent += sent_by(model, up);
        }
        words->by[up] += value;
    }
    words->passes += pd_evidence_passes(model, link) * (model->theta[link] - model->noise);
}

/* Log odds of the fault by what all others say. */
static double without(const struct words *words, uint32_t up, double spread)
{
    double share = words->sent > 0 ? sent_by(words->s->model, up) / words->sent : 1;
    double lift = words->all - words->by[up] - (1 - share) * words->passes;
    return lift / spread + pd_evidence_prior(words->s);
}

static double weigh(struct words *words, double spread, uint32_t *ret_up)
{
    const struct pd_topology *topology = words->s->model->network->topology;
    double doubt = 0, most = -1;
    for (uint32_t i = 0; i < words->len; i++) {
        uint32_t up = words->heard[i];
        double one = exp(-without(words, up, spread)) / (topology->hosts_len + 1.0);
        doubt += one;
        *ret_up = one > most ? up : *ret_up;
        most = fmax(most, one);
    }
    for (uint32_t i = 0; i < words->len; i++) {
        words->by[words->heard[i]] = 0;
    }
    words->len = 0;
    words->all = words->passes = words->sent = 0;
    return doubt;
}

/* Of a link, or of all links of the switch that it is named as a part of. */
static void judge(struct words *words, uint32_t link)
{
    struct pd_evidence_model *model = words->s->model;
    uint64_t part = model->part_of[link];
    uint32_t up = PD_NONE;
    double spread = fmax(words->s->spread[link], 1);
    for (uint32_t l = link; l < model->network->links_len; l++) {
        if (l == link || (part && model->part_of[l] == part)) {
            hear(words, l);
            spread = fmax(spread, words->s->spread[l]);
        }
    }
    double doubt = weigh(words, spread, &up);
    words->s->doubt[link] += doubt;
    words->s->odds_against[link] += doubt;
    model->word_of[link] =
        doubt > PD_EVIDENCE_MISSES && up != PD_NONE ? model->network->ends[up].from : 0;
    model->is_contradicted[link] = doubt > 1;
}

static bool is_first_part(const struct pd_evidence_model *model, uint32_t link)
{
    for (uint32_t l = 0; l < link && model->part_of[link]; l++) {
        if (model->part_of[l] == model->part_of[link]) {
            return false;
        }
    }
    return true;
}

int pd_evidence_weigh_words(struct pd_evidence_search *s)
{
    struct pd_evidence_model *model = s->model;
    uint32_t len = model->network->links_len;
    struct words words = {.s = s,
                          .by = calloc((size_t)len + 1, sizeof *words.by),
                          .heard = calloc((size_t)len + 1, sizeof *words.heard)};
    int err = words.by && words.heard ? 0 : -ENOMEM;
    for (uint32_t l = 0; l < len && !err; l++) {
        model->word_of[l] = 0;
        model->is_contradicted[l] = false;
        if (model->is_faulty[l] && is_first_part(model, l) && s->healthy_passed > 0) {
            judge(&words, l);
        }
    }
    free(words.by);
    free(words.heard);
    return err;
}

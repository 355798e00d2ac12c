/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: does a verdict rest on the word of one host? */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "localise/evidence/search.h"
#include "topology/links.h"

/* What was lost is what senders say. One of them may lie, or count what was never lost: beforehand
 * one host of all does. Such a host says whatever makes its rows fit, so that a fault has to be
 * held up by what the others say: against each host that told of losses on a link stands the
 * hypothesis that it made them up, and all others' rows are noise. Packets of the others on the
 * link are all but the host's, taken by what each host sends in all that may cross it on a shortest
 * way. (Taken by what those sent who told of losses, one who lies was the only one that did.)
 *
 * Where that is a million times more probable (at a thousand, flows of one host that by chance were
 * the first to suffer made it the culprit for a moment), the host is named and the link is not: one
 * that it shares with others, since of its own link a fault would look the same.
 *
 * Counted paths are nobody's word. A link that one host alone sends into (its own) is never
 * certain. */

struct words {
    struct pd_evidence_search *s;
    double *by;      /* by link of a host up: what its rows say for the fault */
    double *own;     /* packets of its rows there that lost some */
    uint32_t *heard; /* such links */
    uint32_t len;
    double crossed;              /* packets on the link */
    double all, passes, sent;    /* of all rows; against the fault; packets of the hosts heard */
    uint32_t *from, *to, *queue; /* hops to both ends of a link; room to find them */
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

/* Once for each host. */
static void count_in(struct words *words, uint32_t up)
{
    if (words->by[up] <= 0) {
        words->by[up] = 1e-300;
        words->heard[words->len++] = up;
        words->sent += sent_by(words->s->model, up);
    }
}

/* Hosts whose switch is nearer to the link's first end than to its second. */
static void count_senders(struct words *words, uint32_t link)
{
    const struct pd_topology *topology = words->s->model->network->topology;
    uint32_t from = pd_links_from(topology, link), to = pd_links_to(topology, link);
    if (words->s->model->network->ends[link].is_access) {
        return; /* of a link up who sends is told; into a link down anybody may */
    }
    pd_localise_distances(topology, from, words->from, words->queue);
    pd_localise_distances(topology, to, words->to, words->queue);
    for (uint32_t sw = 0; sw < topology->switches_len; sw++) {
        const struct pd_switch *at = &topology->switches[sw];
        bool may = words->from[sw] != PD_NONE && words->from[sw] < words->to[sw];
        for (uint32_t n = at->switch_neighbours; n < at->neighbours_len && may; n++) {
            count_in(words, pd_links_reverse(at->neighbours[n].link));
        }
    }
}

static void hear(struct words *words, uint32_t link)
{
    struct pd_evidence_search *s = words->s;
    const struct pd_evidence_model *model = s->model;
    count_senders(words, link);
    for (uint32_t i = s->lossy.index.starts[link]; i < s->lossy.index.starts[link + 1]; i++) {
        uint32_t up = sender_of(model, s->lossy.index.groups[i]);
        double value = fmax(value_of(s, link, i), 1e-12);
        words->all += value;
        if (up == PD_NONE) {
            continue;
        }
        count_in(words, up);
        words->by[up] += value;
        words->own[up] +=
            s->lossy.weights[i] * s->lossy.groups->groups[s->lossy.index.groups[i]].sent;
    }
    words->crossed += sent_by(model, link);
    words->passes += pd_evidence_passes(model, link) * (model->theta[link] - model->noise);
}

/* Where one host sends much, most of what crosses the link is its own. */
static double share_of(const struct words *words, uint32_t up)
{
    double all = words->sent > 0 ? sent_by(words->s->model, up) / words->sent : 1;
    return fmin(fmax(all, words->crossed > 0 ? words->own[up] / words->crossed : 0), 1);
}

/* Log odds of the fault by what all others say. */
static double without(const struct words *words, uint32_t up, double spread)
{
    double share = share_of(words, up);
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
        words->by[words->heard[i]] = words->own[words->heard[i]] = 0;
    }
    words->len = 0;
    words->all = words->passes = words->sent = words->crossed = 0;
    return doubt;
}

/* The host at the end of `up` in the place of a link, or of all links of a switch. */
static void blame_host(struct words *words, uint32_t link, uint32_t up, double odds)
{
    struct pd_evidence_model *model = words->s->model;
    uint64_t part = model->part_of[link];
    if (link == up || link == pd_links_reverse(up)) {
        return;
    }
    for (uint32_t l = link; l < model->network->links_len; l++) {
        if (model->is_faulty[l] && (l == link || (part && model->part_of[l] == part))) {
            pd_evidence_excuse(words->s, l, PD_EVIDENCE_HOST, odds);
            model->word_of[l] = model->network->ends[up].from;
        }
    }
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
    if (doubt * PD_EVIDENCE_MISSES * PD_EVIDENCE_MISSES > 1 && up != PD_NONE) {
        blame_host(words, link, up, log(doubt));
    }
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
    size_t switches = (size_t)model->network->topology->switches_len + 1;
    struct words words = {.s = s,
                          .by = calloc((size_t)len + 1, sizeof *words.by),
                          .own = calloc((size_t)len + 1, sizeof *words.own),
                          .heard = calloc((size_t)len + 1, sizeof *words.heard),
                          .from = calloc(switches, sizeof *words.from),
                          .to = calloc(switches, sizeof *words.to),
                          .queue = calloc(switches, sizeof *words.queue)};
    int err =
        words.by && words.own && words.heard && words.from && words.to && words.queue ? 0 : -ENOMEM;
    for (uint32_t l = 0; l < len && !err; l++) {
        model->word_of[l] = 0;
        model->is_contradicted[l] = false;
        if (model->is_faulty[l] && is_first_part(model, l) && s->healthy_passed > 0) {
            judge(&words, l);
        }
    }
    free(words.by);
    free(words.own);
    free(words.heard);
    free(words.from);
    free(words.to);
    free(words.queue);
    return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: verdict, causes, and what it tells of them. */
#include "localise/evidence/verdict.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/links.h"

#define UNEVEN_MAX     0.02 /* share of losses that do not tell which of several paths they hit */
#define ALTERNATIVE_OF 0.01 /* weight from which a link that is not named is told */

static double chance_of(double odds)
{
    return 1 / (1 + exp(-odds));
}

static struct pd_verdict_link link_of(const struct pd_evidence_model *model, uint32_t link)
{
    bool is_counted = model->noise < 1;
    double theta = model->theta[link] * (model->is_faulty[link] ? model->burst_of[link] : 1);
    return (struct pd_verdict_link){.from = model->network->ends[link].from,
                                    .to = model->network->ends[link].to,
                                    .loss = is_counted ? -expm1(-theta) : -1,
                                    .score = model->odds[link]};
}

static int reserve(const struct pd_evidence_model *model, struct pd_evidence_answer *answer)
{
    size_t len = (size_t)model->network->links_len + 1;
    if (!answer->links) {
        answer->links = calloc(len, sizeof *answer->links);
        answer->ranking = calloc(len, sizeof *answer->ranking);
    }
    return answer->links && answer->ranking ? 0 : -ENOMEM;
}

bool pd_evidence_can_be_certain(const struct pd_evidence_model *model)
{
    return model->uneven <= UNEVEN_MAX * model->lost;
}

/* A switch that drops packets is named with those of its links on which some were lost. */
static bool is_told(const struct pd_evidence_model *model, uint32_t link)
{
    bool is_crossed = model->crossed[link] > 0 || model->blind_lost > 0;
    return model->is_faulty[link] && (!model->part_of[link] || is_crossed);
}

int pd_evidence_conclude(struct pd_evidence_model *model, struct pd_evidence_answer *answer,
                         struct pd_verdict *ret_verdict)
{
    struct pd_verdict verdict = {.links_len = 0};
    int err = reserve(model, answer);
    err = err ? err : pd_evidence_model_search(model);
    for (uint32_t l = 0; l < model->network->links_len && !err; l++) {
        if (isinf(model->odds[l])) {
            continue;
        }
        answer->ranking[verdict.ranking_len++] = link_of(model, l);
        if (is_told(model, l)) {
            answer->links[verdict.links_len++] = link_of(model, l);
        }
    }
    if (err) {
        return err;
    }
    qsort(answer->links, verdict.links_len, sizeof *answer->links, pd_localise_by_ids);
    qsort(answer->ranking, verdict.ranking_len, sizeof *answer->ranking, pd_localise_by_score);
    verdict.links = answer->links;
    verdict.ranking = answer->ranking;
    verdict.certain = verdict.links_len && model->sure >= 1 - PD_EVIDENCE_MISSES &&
                      pd_evidence_can_be_certain(model);
    /* What is not certain does not look so. */
    verdict.confidence =
        verdict.certain ? model->sure : fmin(model->confidence, 1 - 2 * PD_EVIDENCE_MISSES);
    *ret_verdict = verdict;
    return 0;
}

void pd_evidence_answer_done(struct pd_evidence_answer *answer)
{
    free(answer->links);
    free(answer->ranking);
}

/* ---- causes ---- */

/* The named link that most of its losses are due to, when noise is less likely. */
void pd_evidence_cause(const struct pd_evidence_model *model, const struct pd_localise_row *row,
                       struct pd_cause *ret_cause)
{
    double most = 0, faults = 0, noise = 0;
    uint32_t best = PD_NONE;
    for (size_t w = 0; w < row->ways_len; w++) {
        const struct pd_localise_way *way = &row->ways[w];
        for (uint32_t h = 0; h < way->hops_len; h++) {
            const struct pd_localise_hop *hop = &row->hops[way->first + h];
            double part = hop->chance * way->share * model->theta[hop->link];
            if (!model->is_faulty[hop->link]) {
                noise += part;
                continue;
            }
            faults += part;
            if (part > most) {
                most = part;
                best = hop->link;
            }
        }
    }
    *ret_cause = (struct pd_cause){.class = PD_CAUSE_NOISE};
    if (best != PD_NONE && faults > noise) {
        const struct pd_localise_ends *ends = &model->network->ends[best];
        *ret_cause = (struct pd_cause){PD_CAUSE_FAILURE, ends->from, ends->to};
    }
}

/* ---- what it tells ---- */

static json_t *fault_row(const char *kind, json_t *what, double loss, double score)
{
    return json_pack("{s:s, s:o, s:o, s:f}", "kind", kind, "what", what, "loss",
                     loss < 0 ? json_null() : json_real(loss), "weight", chance_of(score));
}

static json_t *name_of(const struct pd_verdict_link *link)
{
    return json_sprintf("%u-%u", link->from, link->to);
}

static uint32_t number_of(const struct pd_evidence_model *model, const struct pd_verdict_link *link)
{
    return pd_topology_links_by_ids(model->network->topology, link->from, link->to, NULL);
}

static const char *kind_name(const struct pd_evidence_model *model,
                             const struct pd_verdict_link *link)
{
    return model->network->ends[number_of(model, link)].is_access ? "host" : "link";
}

static bool is_named(const struct pd_evidence_model *model, const struct pd_verdict_link *link)
{
    return model->is_faulty[number_of(model, link)];
}

static json_t *loss_by_link(const struct pd_verdict *verdict)
{
    json_t *loss = json_object();
    for (size_t i = 0; i < verdict->links_len; i++) {
        const struct pd_verdict_link *link = &verdict->links[i];
        char name[24];
        snprintf(name, sizeof name, "%u-%u", link->from, link->to);
        json_object_set_new(loss, name, link->loss < 0 ? json_null() : json_real(link->loss));
    }
    return loss;
}

/* The kind of the strongest fault. */
static json_t *kind_of(const json_t *faults)
{
    json_t *kind = json_object_get(json_array_get(faults, 0), "kind");
    return kind ? json_incref(kind) : json_string("none");
}

static int by_loss(const void *a, const void *b)
{
    const struct pd_verdict_link *x = a, *y = b;
    if (x->loss > y->loss || x->loss < y->loss) {
        return x->loss > y->loss ? -1 : 1;
    }
    return pd_localise_by_score(a, b);
}

/* Links as they are named, strongest first; a member of `done` is told already. */
struct telling {
    const struct pd_evidence_model *model;
    struct pd_verdict_link *named;
    bool *done;
    size_t len;
    json_t *faults, *switches, *hosts;
};

/* All links that the switch sends into are one fault, and all of a line card. */
static void tell_switch(struct telling *t, size_t at)
{
    uint64_t part = t->model->part_of[number_of(t->model, &t->named[at])];
    uint32_t id = t->model->network->topology->switches[PD_EVIDENCE_PART_SW(part)].id;
    uint32_t card = PD_EVIDENCE_PART_CARD(part);
    for (size_t i = at; i < t->len; i++) {
        t->done[i] |= t->model->part_of[number_of(t->model, &t->named[i])] == part;
    }
    json_t *name = card ? json_sprintf("%u card %u", id, card) : json_sprintf("%u", id);
    json_array_append_new(t->switches, json_integer(id));
    json_array_append_new(t->faults, fault_row(card ? "card" : "switch", json_pack("[o]", name),
                                               t->named[at].loss, t->named[at].score));
}

/* A cable that loses in both directions is one. */
static void tell_link(struct telling *t, size_t at)
{
    const struct pd_verdict_link *link = &t->named[at];
    const struct pd_localise_ends *ends = &t->model->network->ends[number_of(t->model, link)];
    json_t *what = json_pack("[o]", name_of(link));
    for (size_t i = at + 1; i < t->len; i++) {
        const struct pd_verdict_link *other = &t->named[i];
        if (other->from == link->to && other->to == link->from && !t->done[i] &&
            !t->model->part_of[number_of(t->model, other)]) {
            json_array_append_new(what, name_of(other));
            t->done[i] = true;
        }
    }
    if (ends->is_access) {
        bool up = pd_topology_host(t->model->network->topology, link->from) != PD_NONE;
        json_array_append_new(t->hosts, json_integer(up ? link->from : link->to));
    }
    json_array_append_new(t->faults,
                          fault_row(kind_name(t->model, link), what, link->loss, link->score));
}

static void tell_faults(struct telling *t)
{
    for (size_t i = 0; i < t->len; i++) {
        if (t->done[i]) {
            continue;
        }
        if (t->model->part_of[number_of(t->model, &t->named[i])]) {
            tell_switch(t, i);
        } else {
            tell_link(t, i);
        }
    }
}

/* What would look nearly as well in the place of what is named: the same link, but congested; and
 * for the link of a host the host itself, from which nothing here tells it. */
static void add_alternatives(const struct pd_evidence_model *model,
                             const struct pd_verdict_link *link, json_t *others)
{
    uint32_t number = number_of(model, link);
    const struct pd_localise_ends *ends = &model->network->ends[number];
    double congested = model->instead_odds[number];
    if (chance_of(congested) >= ALTERNATIVE_OF) {
        json_array_append_new(others, fault_row("congestion", json_pack("[o]", name_of(link)),
                                                link->loss, congested));
    }
    if (ends->is_access) {
        bool is_up = pd_topology_host(model->network->topology, link->from) != PD_NONE;
        json_t *what = json_sprintf("%u", is_up ? link->from : link->to);
        json_array_append_new(others, fault_row("host", json_pack("[o]", what), link->loss, 0));
    }
}

static json_t *others_of(const struct pd_evidence_model *model, const struct pd_verdict *verdict)
{
    json_t *others = json_array();
    for (size_t i = 0; i < verdict->ranking_len; i++) {
        const struct pd_verdict_link *link = &verdict->ranking[i];
        if (is_named(model, link)) {
            add_alternatives(model, link, others);
        } else if (chance_of(link->score) >= ALTERNATIVE_OF) {
            json_array_append_new(others,
                                  fault_row(kind_name(model, link), json_pack("[o]", name_of(link)),
                                            link->loss, link->score));
        }
    }
    return others;
}

/* What explains losses that are no link's fault: a full link, or a host that makes them up. */
static void tell_instead(struct telling *t)
{
    const struct pd_evidence_model *model = t->model;
    uint32_t told = 0; /* the last host */
    for (uint32_t l = 0; l < model->network->links_len; l++) {
        const struct pd_localise_ends *ends = &model->network->ends[l];
        double loss = model->noise < 1 ? -expm1(-model->theta[l]) : -1;
        bool is_host = model->instead[l] == PD_EVIDENCE_HOST;
        if (!model->instead[l] || (is_host && told == model->word_of[l])) {
            continue;
        }
        json_t *what = is_host ? json_sprintf("%u", model->word_of[l])
                               : json_sprintf("%u-%u", ends->from, ends->to);
        json_array_append_new(t->faults,
                              fault_row(is_host ? "host" : "congestion", json_pack("[o]", what),
                                        loss, model->instead_odds[l]));
        if (is_host) {
            told = model->word_of[l];
            json_array_append_new(t->hosts, json_integer(told));
        }
    }
}

static json_t *lacks_of(const struct pd_evidence_model *model)
{
    json_t *lacks = json_array();
    for (uint32_t l = 0; l < model->network->links_len; l++) {
        const struct pd_localise_ends *ends = &model->network->ends[l];
        if (model->is_faulty[l] && model->word_of[l]) {
            json_array_append_new(
                lacks, json_sprintf("losses on %u-%u are the word of host %u alone%s", ends->from,
                                    ends->to, model->word_of[l],
                                    model->is_contradicted[l] ? ": what others sent there tells of "
                                                                "none, so that it may be wrong"
                                                              : ""));
        } else if (model->instead[l] == PD_EVIDENCE_HOST) {
            json_array_append_new(
                lacks, json_sprintf("losses on %u-%u are the word of host %u alone, and what "
                                    "others sent there contradicts it",
                                    ends->from, ends->to, model->word_of[l]));
        }
    }
    return lacks;
}

void pd_evidence_describe(const struct pd_evidence_model *model, const struct pd_verdict *verdict,
                          json_t *answer)
{
    size_t len = verdict->links_len;
    struct telling t = {.model = model,
                        .named = calloc(len + 1, sizeof *t.named),
                        .done = calloc(len + 1, sizeof *t.done),
                        .len = len,
                        .faults = json_array(),
                        .switches = json_array(),
                        .hosts = json_array()};
    if (t.named && t.done && len) {
        memcpy(t.named, verdict->links, len * sizeof *t.named);
        qsort(t.named, len, sizeof *t.named, by_loss);
        tell_faults(&t);
    }
    tell_instead(&t);
    free(t.named);
    free(t.done);
    json_object_set_new(answer, "kind", kind_of(t.faults));
    json_object_set_new(answer, "faults", t.faults);
    json_object_set_new(answer, "switches", t.switches);
    json_object_set_new(answer, "hosts", t.hosts);
    json_object_set_new(answer, "alternatives", others_of(model, verdict));
    json_object_set_new(answer, "loss", loss_by_link(verdict));
    json_object_set_new(answer, "lacks", lacks_of(model));
    json_object_set_new(answer, "detects", pd_evidence_model_detects(model));
}

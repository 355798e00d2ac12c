/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: tests each link against the floor and makes the verdict. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "localise/evidence/private.h"

enum { STEPS_FIT = 40, STEPS_TEST = 30, STEPS_AT_ONCE = 5, NO_LINK = UINT32_MAX };
/* A link that explains less than 1/SHARES_MAX of the losses stays open untested, so that no more
 * than that are tested. */
enum { SHARES_MAX = 200 };
/* Made to clear links, for one verdict; links beyond stay open, so that nothing is certain. */
enum { FITS_MAX = 128 };

/* What is known of the links as a whole. */
struct judgement {
    double at_estimate; /* log likelihood */
    double dispersion;
    double weakest;   /* least D of the links named */
    uint64_t cleared; /* links between switches that are cleared */
    double lost;      /* retransmissions of all signatures */
    unsigned fits;    /* made to clear links */
    uint64_t seen;    /* links between switches that flows crossed */
    bool changed;     /* a link is named that was not, or the other way round */
};

static int reserve_trial(struct pd_evidence *evidence)
{
    if (evidence->links.len <= evidence->trial_room) {
        return 0;
    }
    double *trial = realloc(evidence->trial, 2 * evidence->links.len * sizeof *trial);
    if (!trial) {
        return -ENOMEM;
    }
    evidence->trial = trial;
    struct pd_verdict_link *named =
        realloc(evidence->named, 2 * evidence->links.len * sizeof *named);
    if (!named) {
        return -ENOMEM;
    }
    evidence->named = named;
    evidence->trial_room = 2 * evidence->links.len;
    return 0;
}

/* D of one link: how much worse everything fits with its rate held. It only falls from step to
 * step: once it is below `least`, the rest is not computed. */
static double distance(struct pd_evidence *evidence, const struct judgement *judgement,
                       uint32_t link, double rate, double least)
{
    struct pd_losses *losses = &evidence->losses;
    memcpy(evidence->trial, losses->rate, losses->links_len * sizeof *losses->rate);
    evidence->trial[link] = rate;
    double d = INFINITY;
    for (unsigned step = 0; step < STEPS_TEST && d >= least; step += STEPS_AT_ONCE) {
        pd_losses_fit(losses, evidence->trial, STEPS_AT_ONCE, link);
        double held = pd_losses_likelihood(losses, evidence->trial);
        d = 2 * (judgement->at_estimate - held) / judgement->dispersion;
    }
    return d > 0 ? d : 0;
}

static void name(struct pd_evidence *evidence, uint32_t link, double score,
                 struct pd_verdict *verdict)
{
    uint64_t key = evidence->links.keys[link];
    evidence->named[verdict->links_len++] = (struct pd_verdict_link){
        (uint32_t)(key >> 32), (uint32_t)key, evidence->losses.rate[link], score};
}

/* As if the link had to answer for every retransmission of every flow that crosses it and no named
 * link. */
static bool is_clear_anyway(const struct pd_evidence *evidence, uint32_t link)
{
    double expected = PD_EVIDENCE_CEILING * evidence->plain[link].sent;
    double lost = evidence->plain[link].lost;
    if (lost >= expected) {
        return false;
    }
    double d = 2 * (expected - lost + (lost > 0 ? lost * log(lost / expected) : 0));
    return d >= PD_EVIDENCE_CLEAR;
}

/* A bound tells most links that the model does not clear yet, without a fit. */
static bool is_clear(struct pd_evidence *evidence, struct judgement *judgement, uint32_t link)
{
    if (is_clear_anyway(evidence, link)) {
        return true;
    }
    if (2 * PD_EVIDENCE_CEILING * evidence->losses.sent[link] / judgement->dispersion <
        PD_EVIDENCE_CLEAR) {
        return false;
    }
    return judgement->fits++ < FITS_MAX && distance(evidence, judgement, link, PD_EVIDENCE_CEILING,
                                                    PD_EVIDENCE_CLEAR) >= PD_EVIDENCE_CLEAR;
}

/* It was cleared by what is long past: lately it lost more than that. */
static bool is_broken_since(const struct pd_evidence *evidence, const struct judgement *judgement,
                            uint32_t link)
{
    double expected = PD_EVIDENCE_CEILING * evidence->fresh[link].sent;
    double lost = evidence->fresh[link].lost;
    if (lost <= expected || expected <= 0) {
        return false;
    }
    return 2 * (expected - lost + lost * log(lost / expected)) >=
           PD_EVIDENCE_BROKEN * judgement->dispersion;
}

static bool is_suspect(const struct pd_evidence *evidence, uint32_t link)
{
    return evidence->losses.rate[link] > PD_EVIDENCE_FLOOR;
}

static enum pd_evidence_mark judge_suspect(struct pd_evidence *evidence,
                                           struct judgement *judgement, uint32_t link,
                                           struct pd_verdict *verdict)
{
    const struct pd_losses *losses = &evidence->losses;
    if (losses->rate[link] * losses->sent[link] * SHARES_MAX < judgement->lost) {
        return PD_EVIDENCE_OPEN;
    }
    double d = distance(evidence, judgement, link, PD_EVIDENCE_FLOOR, PD_EVIDENCE_NAME);
    if (d < PD_EVIDENCE_NAME) {
        return PD_EVIDENCE_OPEN;
    }
    name(evidence, link, d, verdict);
    judgement->weakest = d < judgement->weakest ? d : judgement->weakest;
    return PD_EVIDENCE_NAMED;
}

/* A link that was named a moment ago is not cleared at once: what it loses now was not counted
 * beside named links. */
static void judge_link(struct pd_evidence *evidence, struct judgement *judgement, uint32_t link,
                       struct pd_verdict *verdict)
{
    enum pd_evidence_mark mark = PD_EVIDENCE_OPEN, old = evidence->marks[link];
    if (is_suspect(evidence, link)) {
        mark = judge_suspect(evidence, judgement, link, verdict);
    } else if (old != PD_EVIDENCE_NAMED && is_clear(evidence, judgement, link) &&
               !is_broken_since(evidence, judgement, link)) {
        mark = PD_EVIDENCE_CLEARED;
    }
    judgement->changed |= (mark == PD_EVIDENCE_NAMED) != (old == PD_EVIDENCE_NAMED);
    judgement->cleared += mark == PD_EVIDENCE_CLEARED;
    judgement->seen++;
    evidence->marks[link] = (uint8_t)mark;
}

/* What was counted beside the links named before says nothing about others: it begins anew when a
 * link is named or no longer. */
static void judge_links(struct pd_evidence *evidence, struct judgement *judgement,
                        struct pd_verdict *verdict)
{
    for (uint32_t link = 0; link < evidence->losses.links_len; link++) {
        if (!pd_link_is_access(evidence->links.keys[link])) {
            judge_link(evidence, judgement, link, verdict);
        }
    }
    if (!judgement->changed) {
        return;
    }
    memset(evidence->plain, 0, evidence->links.len * sizeof *evidence->plain);
    memset(evidence->fresh, 0, evidence->links.len * sizeof *evidence->fresh);
}

/* Signatures all of whose links between switches are cleared. */
static uint64_t count_contradicted(const struct pd_evidence *evidence)
{
    const struct pd_losses *losses = &evidence->losses;
    uint64_t contradicted = 0;
    for (size_t g = 0; g < losses->groups_len; g++) {
        const struct pd_losses_group *group = &losses->groups[g];
        bool open = false;
        for (uint32_t i = 0; i < group->links_len; i++) {
            uint32_t link = losses->members[group->first + i].link;
            open |= !pd_link_is_access(evidence->links.keys[link]) &&
                    evidence->marks[link] != PD_EVIDENCE_CLEARED;
        }
        contradicted += !open;
    }
    return contradicted;
}

static int compare_links(const void *a, const void *b)
{
    const struct pd_verdict_link *x = a, *y = b;
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    return (x->to > y->to) - (x->to < y->to);
}

/* Nothing of a flow arrives when a packet and what was sent in its place are lost: of those that
 * suffer at a rate p in p² of the cases at most. More of them than that are due to something that
 * no path shows. */
static bool is_all_explained(const struct pd_evidence *evidence, const struct pd_verdict *verdict)
{
    double worst = 0;
    for (size_t i = 0; i < verdict->links_len; i++) {
        worst = fmax(worst, verdict->links[i].loss);
    }
    return evidence->pathless <= 1 + worst * worst * evidence->suffering / 4;
}

/* Half of the confidence is for the links that are named, half for the others being cleared. */
static void conclude(struct pd_evidence *evidence, const struct judgement *judgement,
                     struct pd_verdict *verdict)
{
    uint64_t all = evidence->fabric_links ? evidence->fabric_links : judgement->seen;
    verdict->cleared_len = judgement->cleared;
    verdict->all_len = all;
    if (!verdict->links_len) {
        return;
    }
    uint64_t decided = judgement->cleared + verdict->links_len;
    qsort(evidence->named, verdict->links_len, sizeof *evidence->named, compare_links);
    verdict->certain = judgement->weakest >= PD_EVIDENCE_CERTAIN && decided >= all &&
                       evidence->spread <= PD_EVIDENCE_SPREAD_MAX * judgement->lost &&
                       is_all_explained(evidence, verdict);
    verdict->confidence =
        (1 - exp(-judgement->weakest / 2)) * (1 + (double)decided / (double)all) / 2;
}

int pd_evidence_judge(struct pd_evidence *evidence, struct pd_verdict *ret_verdict)
{
    struct pd_losses *losses = &evidence->losses;
    struct pd_verdict verdict = {.links_len = 0};
    int err = reserve_trial(evidence);
    if (err) {
        return err;
    }
    verdict.links = evidence->named;
    pd_losses_fit(losses, losses->rate, STEPS_FIT, NO_LINK);
    struct judgement judgement = {.at_estimate = pd_losses_likelihood(losses, losses->rate),
                                  .dispersion = pd_losses_dispersion(losses),
                                  .weakest = INFINITY};
    for (size_t g = 0; g < losses->groups_len; g++) {
        judgement.lost += losses->groups[g].lost;
    }
    judge_links(evidence, &judgement, &verdict);
    evidence->head.counters.contradicted = count_contradicted(evidence);
    conclude(evidence, &judgement, &verdict);
    *ret_verdict = verdict;
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: takes periods in, leaves rows over full links aside, forgets. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "localise/evidence/verdict.h"

/* Evidence of a file without times counts all alike. With a clock it fades with FADE_S; and when
 * what came lately (LATE_S) contradicts it, a link has begun to drop packets or has stopped: then
 * only what came lately is kept. With a clock, too, a row that crossed a link which carried more
 * than LOAD_MAX of what it can in the period is left aside: full queues drop packets as well, and
 * no number of such losses tells them from a faulty interface. A host's link up does not count
 * here: a stack holds its senders back and drops nothing.
 *
 * A flow that retransmits and of which nothing arrives has no path. As soon as there are more of
 * them than losses at the rates found explain, some link swallows packets unseen, and nothing is
 * certain. */

#define FADE_S     30.0  /* half-life of evidence */
#define LOADS_S    300.0 /* of what links lost by their load */
#define LATE_S     1.0   /* the same of what came lately */
#define PATHLESS_S 5.0   /* of flows without a path: they try more and more seldom */
#define LOAD_MAX   0.80

struct evidence {
    struct pd_localiser head;
    struct pd_evidence_model *model;
    struct pd_evidence_model *late; /* with a clock; NULL: none yet */
    struct pd_evidence_answer answer;
    double *bytes;    /* by link, of the period at hand */
    double limit;     /* of these; infinite where it is not known */
    double fade_s;    /* since the model last faded */
    bool open;        /* rows came since a period was closed */
    double pathless;  /* flows that lost packets, lately: those of which nothing arrived */
    double suffering; /* all others */
    bool *held;       /* by link: named when a verdict was last certain */
    double sure;      /* confidence of that; 0: nothing is held */
    struct pd_evidence_loads loads; /* with a clock */
    double period_s;                /* of the period at hand; 0: not known */
};

static void free_evidence(struct pd_localiser *localiser)
{
    struct evidence *evidence = (struct evidence *)localiser;
    pd_evidence_model_free(evidence->model);
    pd_evidence_model_free(evidence->late);
    pd_evidence_answer_done(&evidence->answer);
    free(evidence->bytes);
    free(evidence->held);
    pd_evidence_loads_done(&evidence->loads);
    free(evidence);
}

static int new_evidence(const struct pd_localiser_config *config,
                        struct pd_localiser **ret_localiser)
{
    struct evidence *evidence = calloc(1, sizeof *evidence);
    (void)config;
    if (!evidence) {
        return -ENOMEM;
    }
    *ret_localiser = &evidence->head;
    return 0;
}

/* The network is there from the first call on. */
static int prepare(struct evidence *evidence)
{
    struct pd_localise_network *network = evidence->head.network;
    int err = evidence->model ? 0 : pd_evidence_model_new(network, &evidence->model);
    if (!err && !evidence->late && evidence->head.config.period_us) {
        err = pd_evidence_model_new(network, &evidence->late);
    }
    if (!err && !evidence->bytes) {
        evidence->bytes = calloc((size_t)network->links_len + 1, sizeof *evidence->bytes);
        err = evidence->bytes ? 0 : -ENOMEM;
    }
    if (!err && !evidence->held) {
        evidence->held = calloc((size_t)network->links_len + 1, sizeof *evidence->held);
        err = evidence->held ? 0 : -ENOMEM;
    }
    if (!err && !evidence->loads.links && evidence->head.config.period_us) {
        err = pd_evidence_loads_init(&evidence->loads, network->links_len);
    }
    if (!err) {
        evidence->model->held = evidence->held;
        evidence->model->loads = evidence->loads.links ? &evidence->loads : NULL;
    }
    return err;
}

/* ---- time ---- */

/* What came lately stands alone from now on; where losses have stopped it has too many of them. */
static int forget(struct evidence *evidence, enum pd_evidence_change change)
{
    pd_evidence_model_free(evidence->model);
    evidence->model = change == PD_EVIDENCE_BEGUN ? evidence->late : NULL;
    if (change != PD_EVIDENCE_BEGUN) {
        pd_evidence_model_free(evidence->late);
    }
    evidence->late = NULL;
    evidence->sure = 0;
    if (evidence->held) {
        memset(evidence->held, 0, evidence->head.network->links_len * sizeof *evidence->held);
    }
    return prepare(evidence);
}

static void close_period(struct evidence *evidence)
{
    if (evidence->open && evidence->loads.links) {
        pd_evidence_loads_close(&evidence->loads, evidence->period_s);
    }
    if (evidence->open) {
        pd_evidence_model_close(evidence->model);
    }
    if (evidence->open && evidence->late) {
        pd_evidence_model_close(evidence->late);
    }
    evidence->open = false;
}

static void begin_period(struct evidence *evidence, const struct pd_evidence_period *period)
{
    const struct pd_localiser_config *config = &evidence->head.config;
    double period_s = (double)config->period_us / 1e6;
    close_period(evidence);
    evidence->period_s = period_s;
    evidence->model->has_clock = config->period_us || period->to_us;
    evidence->limit = config->link_mbps && config->period_us
                          ? LOAD_MAX * (double)config->link_mbps * (double)config->period_us / 8
                          : INFINITY;
    if (evidence->late) {
        evidence->late->has_clock = true;
        pd_evidence_model_fade(evidence->late, exp2(-period_s / LATE_S));
    }
    evidence->fade_s += period_s;
    if (evidence->fade_s >= 1) {
        double pathless = exp2(-evidence->fade_s / PATHLESS_S);
        pd_evidence_model_fade(evidence->model, exp2(-evidence->fade_s / FADE_S));
        pd_evidence_loads_fade(&evidence->loads, exp2(-evidence->fade_s / LOADS_S));
        evidence->pathless *= pathless;
        evidence->suffering *= pathless;
        evidence->fade_s = 0;
    }
    memset(evidence->bytes, 0, evidence->head.network->links_len * sizeof *evidence->bytes);
}

/* ---- load ---- */

static int sum_bytes(struct evidence *evidence, const struct pd_evidence_row *row)
{
    const struct pd_localise_row *resolved;
    int err = pd_localise_resolve(evidence->head.network, row, &resolved);
    for (size_t w = 0; !err && w < resolved->ways_len; w++) {
        const struct pd_localise_way *way = &resolved->ways[w];
        for (uint32_t h = 0; h < way->hops_len; h++) {
            const struct pd_localise_hop *hop = &resolved->hops[way->first + h];
            evidence->bytes[hop->link] += hop->chance * (double)row->ways[w].bytes;
        }
    }
    return err == -PD_E_NOT_FOUND ? 0 : err;
}

static int sum_loads(struct evidence *evidence, const struct pd_evidence_period *period)
{
    const struct pd_localise_network *network = evidence->head.network;
    int err = 0;
    for (size_t i = 0; i < period->rows_len && !err && !isinf(evidence->limit); i++) {
        err = sum_bytes(evidence, &period->rows[i]);
    }
    for (uint32_t l = 0; l < network->links_len; l++) {
        bool is_up = network->ends[l].is_access &&
                     pd_topology_switch(network->topology, network->ends[l].to) != PD_NONE;
        evidence->bytes[l] = is_up ? 0 : evidence->bytes[l];
    }
    return err;
}

static bool is_congested(const struct evidence *evidence, const struct pd_localise_row *row)
{
    for (size_t i = 0; i < row->hops_len; i++) {
        if (evidence->bytes[row->hops[i].link] > evidence->limit) {
            return true;
        }
    }
    return false;
}

/* ---- rows ---- */

static int take(struct pd_localiser *localiser, const struct pd_localise_row *row)
{
    struct evidence *evidence = (struct evidence *)localiser;
    struct pd_localiser_counters *counters = &localiser->counters;
    bool is_signature = row->row->kind == PD_EVIDENCE_FLOW && row->row->lost;
    bool is_full = is_congested(evidence, row);
    evidence->suffering += is_signature;
    if (evidence->loads.links) {
        pd_evidence_loads_take(&evidence->loads, row, !is_full);
    }
    if (is_full) {
        counters->congested += row->row->kind == PD_EVIDENCE_FLOW;
        return 0;
    }
    int err = pd_evidence_model_take(evidence->model, row);
    if (!err && evidence->late) {
        err = pd_evidence_model_take(evidence->late, row);
    }
    counters->signatures += !err && is_signature;
    counters->spread += !err && is_signature && row->ways_len > 1;
    counters->dropped += err == -PD_E_FULL;
    return err == -PD_E_FULL ? 0 : err;
}

static int observe(struct pd_localiser *localiser, const struct pd_evidence_period *period)
{
    struct evidence *evidence = (struct evidence *)localiser;
    int err = period->anew ? forget(evidence, PD_EVIDENCE_STOPPED) : prepare(evidence);
    if (err) {
        return err;
    }
    if (!period->continues) {
        begin_period(evidence, period);
    }
    evidence->open = true;
    for (size_t i = 0; i < period->rows_len; i++) {
        const struct pd_evidence_row *row = &period->rows[i];
        evidence->pathless += row->kind == PD_EVIDENCE_FLOW && !row->ways_len && row->lost;
    }
    err = sum_loads(evidence, period);
    return err ? err : pd_localise_each(localiser, period, take);
}

/* ---- the verdict ---- */

/* Nothing of a flow arrives when a packet and what was sent in its place are lost: of those that
 * suffer at a rate p in p² of the cases at most. */
static bool is_all_explained(const struct evidence *evidence, const struct pd_verdict *verdict)
{
    double worst = 0;
    for (size_t i = 0; i < verdict->links_len; i++) {
        worst = fmax(worst, verdict->links[i].loss);
    }
    return evidence->pathless <= 1 + worst * worst * evidence->suffering / 4;
}

static int conclude(struct evidence *evidence, struct pd_verdict *ret_verdict)
{
    enum pd_evidence_change change = PD_EVIDENCE_SAME;
    int err = pd_evidence_conclude(evidence->model, &evidence->answer, ret_verdict);
    if (!err && evidence->late) {
        err = pd_evidence_model_change(evidence->late, evidence->model, &change);
    }
    if (!err && change) {
        err = forget(evidence, change);
        err = err ? err : pd_evidence_conclude(evidence->model, &evidence->answer, ret_verdict);
    }
    return err;
}

/* A verdict that was certain stays so while it names the same links and nothing has changed: that
 * old evidence fades, and estimates waver, does not speak against it. */
static void hold(struct evidence *evidence, struct pd_verdict *verdict)
{
    const struct pd_evidence_model *model = evidence->model;
    bool same = evidence->sure > 0;

    for (uint32_t l = 0; l < model->network->links_len; l++) {
        same &= evidence->held[l] == model->is_faulty[l];
        evidence->held[l] &= model->is_faulty[l];
    }
    evidence->sure = same ? evidence->sure : 0;
    if (same && !verdict->certain) {
        verdict->certain = pd_evidence_can_be_certain(model);
        verdict->confidence = fmax(verdict->confidence, evidence->sure);
    }
    if (verdict->certain) {
        evidence->sure = verdict->confidence;
        memcpy(evidence->held, model->is_faulty,
               model->network->links_len * sizeof *evidence->held);
    }
}

static int locate(struct pd_localiser *localiser, struct pd_verdict *ret_verdict)
{
    struct evidence *evidence = (struct evidence *)localiser;
    int err = prepare(evidence);
    if (err) {
        return err;
    }
    close_period(evidence);
    err = conclude(evidence, ret_verdict);
    if (!err) {
        hold(evidence, ret_verdict);
        ret_verdict->certain = ret_verdict->certain && is_all_explained(evidence, ret_verdict);
    }
    return err;
}

static void cause_of(const struct pd_localiser *localiser, const struct pd_localise_row *row,
                     struct pd_cause *ret_cause)
{
    const struct evidence *evidence = (const struct evidence *)localiser;
    *ret_cause = (struct pd_cause){.class = PD_CAUSE_NOISE};
    if (evidence->model) {
        pd_evidence_cause(evidence->model, row, ret_cause);
    }
}

static void describe(const struct pd_localiser *localiser, json_t *answer)
{
    const struct evidence *evidence = (const struct evidence *)localiser;
    if (evidence->model) {
        pd_evidence_describe(evidence->model, &localiser->verdict, answer);
    }
}

extern const struct pd_localiser_ops pd_localiser_evidence;

const struct pd_localiser_ops pd_localiser_evidence = {
    .name = "evidence",
    .help = "the most probable set of faulty links, by what was lost and by what passed",
    .kinds = PD_EVIDENCE_FLOW | PD_EVIDENCE_PATH,
    .new = new_evidence,
    .free = free_evidence,
    .observe = observe,
    .locate = locate,
    .cause = cause_of,
    .describe = describe,
};

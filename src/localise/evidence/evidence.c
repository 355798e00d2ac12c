/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: takes observations in, leaves those of congested paths aside. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "localise/evidence/private.h"
#include "localise/network.h"

enum { PATHS_MAX = 64 }; /* of one flow in one period; further ones are left aside */

static void free_evidence(struct pd_localiser *localiser)
{
    struct pd_evidence *evidence = (struct pd_evidence *)localiser;
    pd_links_done(&evidence->links);
    pd_loads_done(&evidence->loads);
    pd_losses_done(&evidence->losses);
    free(evidence->trial);
    free(evidence->shares);
    free(evidence->plain);
    free(evidence->fresh);
    free(evidence->marks);
    free(evidence->named);
    pd_evidence_model_free(evidence->model);
    pd_evidence_answer_done(&evidence->answer);
    free(evidence);
}

static int new_evidence(const struct pd_localiser_config *config,
                        struct pd_localiser **ret_localiser)
{
    struct pd_evidence *evidence = calloc(1, sizeof *evidence);
    const struct pd_topology *topology = config->topology;
    if (!evidence) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; topology && i < topology->switches_len; i++) {
        evidence->fabric_links += topology->switches[i].switch_neighbours;
    }
    *ret_localiser = &evidence->head;
    return 0;
}

/* ---- the load of the period */

/* Does each step of the way exist in the topology, without a gap? */
static bool is_known(const struct pd_topology *topology, const struct pd_evidence_way *way)
{
    uint32_t from = way->nodes_len ? pd_topology_switch(topology, way->nodes[0]) : PD_NONE;
    for (uint32_t i = 1; i < way->nodes_len && from != PD_NONE; i++) {
        uint32_t to = pd_topology_switch(topology, way->nodes[i]);
        if (to == PD_NONE || !pd_topology_link(topology, from, to)) {
            return false;
        }
        from = to;
    }
    return from != PD_NONE && way->reached && way->nodes_len <= PD_EVIDENCE_NODES_MAX;
}

static bool is_usable(const struct pd_evidence *evidence, const struct pd_evidence_row *flow)
{
    for (size_t r = 0; r < flow->ways_len; r++) {
        if (!is_known(evidence->head.config.topology, &flow->ways[r])) {
            return false;
        }
    }
    return flow->kind == PD_EVIDENCE_FLOW && flow->ways_len && flow->ways_len <= PATHS_MAX;
}

/* Twice the room, zero behind what is there. */
static int grow_zeroed(void **array, size_t item_bytes, size_t old_len, size_t len)
{
    char *grown = realloc(*array, len * item_bytes);
    if (!grown) {
        return -ENOMEM;
    }
    memset(grown + old_len * item_bytes, 0, (len - old_len) * item_bytes);
    *array = grown;
    return 0;
}

static int reserve_marks(struct pd_evidence *evidence)
{
    size_t old_len = evidence->marks_room, len = 2 * evidence->links.len;
    if (evidence->links.len <= old_len) {
        return 0;
    }
    if (grow_zeroed((void **)&evidence->shares, sizeof *evidence->shares, old_len, len) ||
        grow_zeroed((void **)&evidence->plain, sizeof *evidence->plain, old_len, len) ||
        grow_zeroed((void **)&evidence->fresh, sizeof *evidence->fresh, old_len, len) ||
        grow_zeroed((void **)&evidence->marks, sizeof *evidence->marks, old_len, len)) {
        return -ENOMEM;
    }
    evidence->marks_room = len;
    return 0;
}

/* Numbers all links first, so that the arrays by link are made once. */
static int number_links(struct pd_evidence *evidence, const struct pd_evidence_row *flows,
                        size_t len)
{
    uint32_t hops[PD_HOPS_MAX];
    size_t hops_len;
    int err = 0;
    for (size_t i = 0; i < len && !err; i++) {
        if (!is_usable(evidence, &flows[i])) {
            continue;
        }
        for (size_t r = 0; r < flows[i].ways_len && !err; r++) {
            err =
                pd_loads_hops(&evidence->links, &flows[i].flow, &flows[i].ways[r], hops, &hops_len);
        }
    }
    if (!err) {
        err = pd_losses_reserve(&evidence->losses, evidence->links.len);
    }
    return err ? err : reserve_marks(evidence);
}

static int sum_loads(struct pd_evidence *evidence, const struct pd_evidence_row *flows, size_t len)
{
    uint32_t hops[PD_HOPS_MAX];
    size_t hops_len;
    int err = pd_loads_begin(&evidence->loads, evidence->links.len);
    for (size_t i = 0; i < len && !err; i++) {
        if (!is_usable(evidence, &flows[i])) {
            continue;
        }
        for (size_t r = 0; r < flows[i].ways_len && !err; r++) {
            const struct pd_evidence_way *way = &flows[i].ways[r];
            err = pd_loads_hops(&evidence->links, &flows[i].flow, way, hops, &hops_len);
            for (size_t h = 0; !err && h < hops_len; h++) {
                evidence->loads.bytes[hops[h]] += (double)way->bytes;
            }
        }
    }
    return err;
}

/* ---- one flow */

struct flow {
    struct pd_losses_member members[PATHS_MAX * PD_HOPS_MAX]; /* weight: packets, then shares */
    size_t members_len;
    size_t paths_len;
    double pkts;
    uint64_t key;
    bool congested;
    bool named; /* crosses a link that the last verdict names */
};

static void add_hop(struct pd_evidence *evidence, struct flow *flow, uint32_t link, double pkts)
{
    uint32_t *place = &evidence->shares[link];
    if (!*place) {
        flow->members[flow->members_len++] = (struct pd_losses_member){.link = link};
        *place = (uint32_t)flow->members_len;
    }
    flow->members[*place - 1].weight += pkts;
}

static double bytes_limit(const struct pd_evidence *evidence)
{
    const struct pd_localiser_config *config = &evidence->head.config;
    if (!config->link_mbps || !config->period_us) {
        return INFINITY;
    }
    return PD_EVIDENCE_LOAD_MAX * (double)config->link_mbps * (double)config->period_us / 8;
}

/* The links of all its paths with the packets over each; a flow with nothing arrived sent what was
 * lost. */
static int gather(struct pd_evidence *evidence, const struct pd_evidence_row *observed,
                  struct flow *flow)
{
    uint32_t hops[PD_HOPS_MAX];
    size_t hops_len = 0;
    double limit = bytes_limit(evidence);
    flow->members_len = 0;
    flow->pkts = 0;
    flow->key = flow->paths_len = observed->ways_len;
    flow->congested = flow->named = false;
    int err = 0;
    for (size_t r = 0; r < observed->ways_len && !err; r++) {
        const struct pd_evidence_way *way = &observed->ways[r];
        double pkts = way->pkts && way->pkts != PD_EVIDENCE_UNKNOWN ? (double)way->pkts : 1;
        err = pd_loads_hops(&evidence->links, &observed->flow, way, hops, &hops_len);
        flow->pkts += pkts;
        for (size_t h = 0; !err && h < hops_len; h++) {
            add_hop(evidence, flow, hops[h], pkts);
            flow->named |= evidence->marks[hops[h]] == PD_EVIDENCE_NAMED;
            flow->congested |= h > 0 && evidence->loads.bytes[hops[h]] > limit;
        }
    }
    for (size_t i = 0; i < flow->members_len; i++) {
        evidence->shares[flow->members[i].link] = 0;
        flow->members[i].weight /= flow->pkts > 0 ? flow->pkts : 1;
        flow->key = pd_hash_mix(flow->key ^ flow->members[i].link);
    }
    return err;
}

/* No more was lost than was sent: counters of others are hostile. */
static int take(struct pd_evidence *evidence, const struct flow *flow, uint64_t retransmissions)
{
    struct pd_losses *losses = &evidence->losses;
    struct pd_localiser_counters *counters = &evidence->head.counters;
    double sent = flow->pkts + (double)retransmissions, lost = (double)retransmissions;
    int err = 0;
    if (retransmissions) {
        err = pd_losses_add(losses, flow->key, flow->members, flow->members_len, sent, lost);
        counters->signatures++;
        counters->spread += flow->paths_len > 1;
        evidence->spread += flow->paths_len > 1 ? lost : 0;
    }
    if (err) {
        counters->dropped++;
        return err == -PD_E_FULL ? 0 : err;
    }
    losses->flows++;
    for (size_t i = 0; i < flow->members_len; i++) {
        losses->sent[flow->members[i].link] += sent * flow->members[i].weight;
    }
    return 0;
}

static void add_count(struct pd_evidence_count *count, double sent, double lost)
{
    count->sent += sent;
    count->lost += lost;
}

static void take_plain(struct pd_evidence *evidence, const struct flow *flow, double lost)
{
    if (flow->named) {
        return;
    }
    for (size_t i = 0; i < flow->members_len; i++) {
        uint32_t link = flow->members[i].link;
        double sent = (flow->pkts + lost) * flow->members[i].weight;
        add_count(&evidence->plain[link], sent, lost);
        if (!flow->congested) {
            add_count(&evidence->fresh[link], sent, lost);
        }
    }
}

static void fade_counts(struct pd_evidence_count *counts, size_t len, double keep)
{
    for (size_t i = 0; i < len; i++) {
        counts[i].sent *= keep;
        counts[i].lost *= keep;
    }
}

static void fade(struct pd_evidence *evidence)
{
    evidence->fade_s += (double)evidence->head.config.period_us / 1e6;
    if (evidence->fade_s < 1) {
        return;
    }
    double keep = exp2(-evidence->fade_s / PD_EVIDENCE_HALF_LIFE_S);
    double pathless = exp2(-evidence->fade_s / PD_EVIDENCE_PATHLESS_S);
    evidence->pathless *= pathless;
    evidence->suffering *= pathless;
    evidence->spread *= keep;
    pd_losses_fade(&evidence->losses, keep);
    fade_counts(evidence->plain, evidence->links.len, keep);
    fade_counts(evidence->fresh, evidence->links.len,
                exp2(-evidence->fade_s / PD_EVIDENCE_FRESH_S));
    evidence->fade_s = 0;
}

static void leave_aside(struct pd_evidence *evidence, const struct pd_evidence_row *row)
{
    struct pd_localiser_counters *counters = &evidence->head.counters;
    if (row->kind == PD_EVIDENCE_PATH) {
        counters->paths++;
        counters->paths_lossy += row->lost > 0;
        counters->paths_unused++;
        return;
    }
    counters->unknown++;
    evidence->pathless += !row->ways_len && row->lost;
}

static int take_row(struct pd_evidence *evidence, const struct pd_evidence_row *row,
                    struct flow *flow)
{
    struct pd_localiser_counters *counters = &evidence->head.counters;
    counters->flows += row->kind == PD_EVIDENCE_FLOW;
    counters->suffered += row->kind == PD_EVIDENCE_FLOW && row->lost;
    if (!is_usable(evidence, row)) {
        leave_aside(evidence, row);
        return 0;
    }
    evidence->suffering += row->lost > 0;
    int err = gather(evidence, row, flow);
    if (!err) {
        take_plain(evidence, flow, (double)row->lost);
    }
    if (!err && flow->congested) {
        counters->congested++;
    } else if (!err) {
        err = take(evidence, flow, row->lost);
    }
    return err;
}

static int observe_live(struct pd_localiser *localiser, const struct pd_evidence_period *period)
{
    struct pd_evidence *evidence = (struct pd_evidence *)localiser;
    struct flow *flow = malloc(sizeof *flow);
    int err = flow ? number_links(evidence, period->rows, period->rows_len) : -ENOMEM;
    if (!err) {
        err = sum_loads(evidence, period->rows, period->rows_len);
    }
    for (size_t i = 0; i < period->rows_len && !err; i++) {
        err = take_row(evidence, &period->rows[i], flow);
    }
    free(flow);
    fade(evidence);
    return err;
}

/* ---- evidence without a clock ---- */

static bool is_live(const struct pd_localiser *localiser)
{
    return localiser->config.period_us;
}

static int reserve_model(struct pd_evidence *evidence)
{
    return evidence->model ? 0 : pd_evidence_model_new(evidence->head.network, &evidence->model);
}

static int take_resolved(struct pd_localiser *localiser, const struct pd_localise_row *row)
{
    struct pd_evidence *evidence = (struct pd_evidence *)localiser;
    struct pd_localiser_counters *counters = &localiser->counters;
    bool is_signature = row->row->kind == PD_EVIDENCE_FLOW && row->row->lost;
    int err = pd_evidence_model_take(evidence->model, row);
    counters->signatures += !err && is_signature;
    counters->spread += !err && is_signature && row->ways_len > 1;
    counters->dropped += err == -PD_E_FULL;
    return err == -PD_E_FULL ? 0 : err;
}

static int observe(struct pd_localiser *localiser, const struct pd_evidence_period *period)
{
    if (is_live(localiser)) {
        return observe_live(localiser, period);
    }
    int err = reserve_model((struct pd_evidence *)localiser);
    return err ? err : pd_localise_each(localiser, period, take_resolved);
}

static int locate(struct pd_localiser *localiser, struct pd_verdict *ret_verdict)
{
    struct pd_evidence *evidence = (struct pd_evidence *)localiser;
    if (is_live(localiser)) {
        return pd_evidence_judge(evidence, ret_verdict);
    }
    int err = reserve_model(evidence);
    return err ? err : pd_evidence_conclude(evidence->model, &evidence->answer, ret_verdict);
}

static void cause_of(const struct pd_localiser *localiser, const struct pd_localise_row *row,
                     struct pd_cause *ret_cause)
{
    const struct pd_evidence *evidence = (const struct pd_evidence *)localiser;
    *ret_cause = (struct pd_cause){.class = PD_CAUSE_NOISE};
    if (evidence->model) {
        pd_evidence_cause(evidence->model, row, ret_cause);
    }
}

static void describe(const struct pd_localiser *localiser, json_t *answer)
{
    const struct pd_evidence *evidence = (const struct pd_evidence *)localiser;
    if (evidence->model) {
        pd_evidence_describe(evidence->model, &localiser->verdict, answer);
    }
}

extern const struct pd_localiser_ops pd_localiser_evidence;

const struct pd_localiser_ops pd_localiser_evidence = {
    .name = "evidence",
    .help = "likelihood of each link's loss rate, from flows with and without retransmissions",
    .kinds = PD_EVIDENCE_FLOW | PD_EVIDENCE_PATH,
    .new = new_evidence,
    .free = free_evidence,
    .observe = observe,
    .locate = locate,
    .cause = cause_of,
    .describe = describe,
};

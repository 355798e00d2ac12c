/* SPDX-License-Identifier: Apache-2.0 */
/* blackhole: how many flows each link was offered and got, and which flows are stuck. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/blackhole/silence.h"
#include "localise/gaps.h"
#include "topology/links.h"

void pd_blackhole_silence_done(struct bh_silence *silence)
{
    pd_localise_network_free(silence->network);
    free(silence->links);
    free(silence->pairs);
    pd_blackhole_causes_done(&silence->causes);
    *silence = (struct bh_silence){.topology = NULL};
}

/* Another topology has other links. */
static int keep_up(struct bh_silence *silence, const struct pd_topology *topology)
{
    uint32_t len = 2 * topology->fabric_links_len;
    size_t pairs = (size_t)len * topology->switches_len;

    if (silence->topology == topology) {
        return 0;
    }
    pd_blackhole_silence_done(silence);
    silence->links = calloc((size_t)len + 1, sizeof *silence->links);
    silence->pairs = pairs <= BH_PAIRS_MAX ? calloc(pairs + 1, sizeof *silence->pairs) : NULL;
    if (!silence->links || (pairs <= BH_PAIRS_MAX && !silence->pairs) ||
        pd_localise_network_new(topology, &silence->network)) {
        pd_blackhole_silence_done(silence);
        return -ENOMEM;
    }
    silence->links_len = len;
    silence->topology = topology;
    return 0;
}

static struct bh_pair *pair_of(const struct bh_silence *silence, uint32_t link, uint32_t rack)
{
    return silence->pairs && rack != PD_NONE
               ? &silence->pairs[(size_t)link * silence->topology->switches_len + rack]
               : NULL;
}

/* ---- flows that began ---- */

/* Each link that ECMP may have drawn for them. A pair of switches without a way offers nothing. */
static int offer(struct bh_silence *silence, uint32_t from, uint32_t to, double flows)
{
    const struct pd_localise_gap *gap;
    int err = from == to ? -PD_E_NOT_FOUND : pd_localise_gap_find(silence->network, from, to, &gap);

    if (err) {
        return err == -PD_E_NOT_FOUND ? 0 : err;
    }
    silence->began += flows;
    for (uint32_t i = 0; i < gap->hops_len; i++) {
        struct bh_pair *pair = pair_of(silence, gap->hops[i].link, to);

        silence->links[gap->hops[i].link].now_offered += flows * gap->hops[i].chance;
        if (pair) {
            pair->now_offered += flows * gap->hops[i].chance;
        }
    }
    return 0;
}

/* Packets that came over a way. */
static int count_way(struct bh_silence *silence, const struct pd_evidence_way *way, double began)
{
    const struct pd_topology *topology = silence->topology;

    if (!way->nodes_len || !way->pkts || way->pkts == PD_EVIDENCE_UNKNOWN) {
        return 0;
    }
    uint32_t from = pd_topology_switch(topology, way->nodes[0]);
    uint32_t rack = pd_topology_switch(topology, way->nodes[way->nodes_len - 1]);
    for (uint32_t i = 0; i + 1 < way->nodes_len; i++) {
        uint32_t link = pd_topology_links_by_ids(topology, way->nodes[i], way->nodes[i + 1], NULL);

        if (link < silence->links_len) {
            struct bh_pair *pair = pair_of(silence, link, rack);

            silence->links[link].carried = true;
            silence->links[link].now_crossed += began;
            if (pair) {
                pair->carried = true;
            }
        }
    }
    return began > 0 && from != PD_NONE && rack != PD_NONE ? offer(silence, from, rack, began) : 0;
}

static void settle_link(const struct bh_silence *silence, struct bh_link *link)
{
    link->run += link->now_offered;
    if (link->is_late) {
        link->late_crossed += link->now_crossed;
        link->late_offered += link->now_offered;
    }
    if (link->carried) {
        link->offered += link->run;
        link->crossed += link->now_crossed;
        link->run = 0;
        link->last_from_us = silence->from_us;
        link->last_us = silence->to_us;
    }
    link->now_crossed = link->now_offered = 0;
    link->carried = false;
}

static void settle_pair(const struct bh_silence *silence, struct bh_pair *pair)
{
    pair->run += pair->now_offered;
    if (pair->carried) {
        pair->offered += pair->run;
        pair->run = 0;
        pair->last_from_us = silence->from_us;
        pair->last_us = silence->to_us;
    }
    pair->now_offered = 0;
    pair->carried = false;
}

void pd_blackhole_silence_settle(struct bh_silence *silence)
{
    size_t pairs =
        silence->pairs ? (size_t)silence->links_len * silence->topology->switches_len : 0;

    for (uint32_t l = 0; l < silence->links_len; l++) {
        settle_link(silence, &silence->links[l]);
    }
    for (size_t p = 0; p < pairs; p++) {
        settle_pair(silence, &silence->pairs[p]);
    }
}

/* ---- flows that are stuck ---- */

static struct bh_stuck *find_stuck(struct bh_silence *silence, const struct pd_flow_id *flow)
{
    for (size_t i = 0; i < silence->stuck_len; i++) {
        if (pd_flow_id_equal(&silence->stuck[i].flow, flow)) {
            return &silence->stuck[i];
        }
    }
    return NULL;
}

/* Free room, or that of the flow that was seen longest ago. */
static struct bh_stuck *room_for(struct bh_silence *silence)
{
    struct bh_stuck *oldest = &silence->stuck[0];

    if (silence->stuck_len < BH_STUCK_MAX) {
        return &silence->stuck[silence->stuck_len++];
    }
    for (size_t i = 1; i < BH_STUCK_MAX; i++) {
        oldest = silence->stuck[i].seen_us < oldest->seen_us ? &silence->stuck[i] : oldest;
    }
    return oldest;
}

/* The way that packets of the flow took before, where its receiver knows one. */
static void keep_way(const struct bh_silence *silence, const struct pd_evidence_row *row,
                     struct bh_stuck *stuck)
{
    const struct pd_evidence_way *way = row->ways;

    if (row->ways_len != 1 || way->nodes_len - 1 > BH_HOPS_MAX) {
        return;
    }
    for (uint32_t i = 0; i + 1 < way->nodes_len; i++) {
        uint32_t link =
            pd_topology_links_by_ids(silence->topology, way->nodes[i], way->nodes[i + 1], NULL);

        if (link < silence->links_len) {
            stuck->links[stuck->links_len++] = link;
        }
    }
}

static uint32_t homes_of(const struct pd_topology *topology, const struct pd_addr *addr,
                         uint8_t ip_version, uint32_t ret_homes[BH_HOMES_MAX])
{
    uint32_t homes[PD_HOMES_MAX];
    uint32_t len = pd_topology_tors_of(topology, addr, ip_version, homes);

    len = len < BH_HOMES_MAX ? len : BH_HOMES_MAX;
    memcpy(ret_homes, homes, len * sizeof *homes);
    return len;
}

static void add_stuck(struct bh_silence *silence, const struct pd_evidence_row *row)
{
    const struct pd_flow_id *flow = &row->flow;
    const struct pd_topology *topology = silence->topology;
    struct bh_stuck *stuck = find_stuck(silence, flow);

    if (stuck) {
        stuck->seen_us = silence->to_us;
        return;
    }
    struct bh_stuck found = {
        .flow = *flow,
        .src_host = pd_localise_host(silence->network, &flow->src, flow->ip_version),
        .dst_host = pd_localise_host(silence->network, &flow->dst, flow->ip_version),
        .first_us = silence->to_us,
        .seen_us = silence->to_us};
    found.srcs_len = homes_of(topology, &flow->src, flow->ip_version, found.srcs);
    found.dsts_len = homes_of(topology, &flow->dst, flow->ip_version, found.dsts);
    if (found.srcs_len && found.dsts_len) {
        keep_way(silence, row, &found);
        *room_for(silence) = found;
    }
}

/* It sent again, and nothing of it came in the period. */
static bool is_stuck(const struct pd_evidence_row *row)
{
    return row->lost && (!row->ways_len || !row->pkts || row->pkts == PD_EVIDENCE_UNKNOWN);
}

static void take_flow(struct bh_silence *silence, const struct pd_evidence_row *row)
{
    struct bh_stuck *stuck;

    if (row->kind != PD_EVIDENCE_FLOW || !row->flow.ip_version) {
        return;
    }
    if (is_stuck(row)) {
        add_stuck(silence, row);
    } else if (silence->stuck_len && (stuck = find_stuck(silence, &row->flow))) {
        stuck->resumed = true;
    }
}

static void forget_stuck(struct bh_silence *silence)
{
    size_t kept = 0;

    for (size_t i = 0; i < silence->stuck_len; i++) {
        if (silence->stuck[i].seen_us + BH_KEPT_US >= silence->to_us) {
            silence->stuck[kept++] = silence->stuck[i];
        }
    }
    silence->stuck_len = kept;
}

/* ---- periods ---- */

static int take(void *context, const struct pd_evidence_period *given)
{
    struct bh_silence *silence = context;
    int err = 0;

    if (!given->continues) {
        /* Asked twice at one moment, the simulator gives its last period again. */
        silence->is_known = silence->to_us && given->to_us <= silence->to_us;
    }
    if (silence->is_known) {
        return 0;
    }
    if (!given->continues) {
        pd_blackhole_silence_settle(silence);
        silence->begun_us = silence->begun_us ? silence->begun_us : given->from_us;
        silence->from_us = given->from_us;
        silence->to_us = given->to_us;
        forget_stuck(silence);
    }
    for (size_t i = 0; i < given->rows_len && !err; i++) {
        const struct pd_evidence_row *row = &given->rows[i];

        for (size_t w = 0; w < row->ways_len && !err; w++) {
            err = count_way(silence, &row->ways[w], row->ways_len == 1 ? (double)row->began : 0);
        }
        take_flow(silence, row);
    }
    return err;
}

int pd_blackhole_silence_look(struct bh_silence *silence, const struct pd_app_call *call,
                              uint64_t back_us, struct pd_report *report, struct pd_error *error)
{
    const struct pd_app_world *world = call->world;
    uint64_t now_us = world->ops->now_us(world->context);
    const struct pd_evidence_sink sink = {silence, take};

    if (!world->ops->observe) {
        return 0;
    }
    int err = keep_up(silence, world->topology);
    if (err) {
        return pd_fail(error, err, "blackhole: %s", pd_error_text(err));
    }
    if (!silence->seen_us || silence->seen_us > now_us) {
        silence->seen_us = now_us > back_us ? now_us - back_us : 0;
    }
    err = world->ops->observe(world->context, silence->seen_us, now_us, PD_APP_FLOWS, &sink, report,
                              error);
    if (!err) {
        silence->seen_us = now_us;
    }
    return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator's level of epochs: paths and losses drawn flow by flow. */
#include "sim/epoch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/links.h"

enum { PORT_FIRST = 1024, PORTS = 60000 };

struct epochs {
    const struct pd_sim_scenario *scenario;
    const struct pd_topology *topology;
    struct pd_sim_random random;
    double *loss;    /* by directed link */
    uint32_t *racks; /* switches with hosts */
    uint32_t racks_len, longest;
    uint32_t **below; /* by rack: places of its hosts */
    uint32_t *below_len;
    uint32_t **far;    /* by rack: hops from each switch to it */
    uint32_t *rack_of; /* by switch: number + 1 */
    struct pd_evidence_row *rows;
    struct pd_evidence_way *ways;
    struct pd_sim_sender *senders;
    uint32_t *nodes;
    size_t rows_len, rows_room;
    uint64_t flows, ports;
    struct pd_sim_totals totals;
};

static uint32_t between(struct epochs *e, const uint32_t range[2])
{
    return range[0] + pd_sim_random_below(&e->random, range[1] - range[0] + 1);
}

static double real_between(struct epochs *e, const double range[2])
{
    return range[0] + (range[1] - range[0]) * pd_sim_random_share(&e->random);
}

/* ---- begin and end ---- */

static void epochs_done(struct epochs *e)
{
    for (uint32_t r = 0; r < e->racks_len; r++) {
        free(e->below ? e->below[r] : NULL);
        free(e->far ? e->far[r] : NULL);
    }
    free(e->loss);
    free(e->racks);
    free(e->below);
    free(e->below_len);
    free(e->far);
    free(e->rack_of);
    free(e->rows);
    free(e->ways);
    free(e->senders);
    free(e->nodes);
}

static int measure(struct epochs *e, uint32_t rack)
{
    const struct pd_topology *topology = e->topology;
    uint32_t *queue = calloc(topology->switches_len, sizeof *queue), len = 0;
    uint32_t *far = e->far[rack] = malloc(topology->switches_len * sizeof *far);
    if (!queue || !far) {
        free(queue);
        return -ENOMEM;
    }
    memset(far, 0xff, topology->switches_len * sizeof *far);
    far[e->racks[rack]] = 0;
    queue[len++] = e->racks[rack];
    for (uint32_t at = 0; at < len; at++) {
        const struct pd_switch *sw = &topology->switches[queue[at]];
        for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
            uint32_t next = sw->neighbours[n].node;
            if (far[next] == PD_NONE) {
                far[next] = far[queue[at]] + 1;
                queue[len++] = next;
            }
        }
    }
    e->longest = far[queue[len - 1]] > e->longest ? far[queue[len - 1]] : e->longest;
    free(queue);
    return 0;
}

static int find_racks(struct epochs *e)
{
    const struct pd_topology *topology = e->topology;
    e->racks = calloc(topology->switches_len, sizeof *e->racks);
    e->rack_of = calloc(topology->switches_len, sizeof *e->rack_of);
    e->below = calloc(topology->switches_len, sizeof *e->below);
    e->below_len = calloc(topology->switches_len, sizeof *e->below_len);
    e->far = calloc(topology->switches_len, sizeof *e->far);
    if (!e->racks || !e->rack_of || !e->below || !e->below_len || !e->far) {
        return -ENOMEM;
    }
    for (uint32_t h = 0; h < topology->hosts_len; h++) {
        uint32_t sw = topology->hosts[h].tor;
        if (!e->rack_of[sw]) {
            e->racks[e->racks_len++] = sw;
            e->rack_of[sw] = e->racks_len;
        }
        e->below_len[e->rack_of[sw] - 1]++;
    }
    for (uint32_t r = 0; r < e->racks_len; r++) {
        e->below[r] = calloc(e->below_len[r], sizeof *e->below[r]);
        e->below_len[r] = 0;
        if (!e->below[r] || measure(e, r)) {
            return -ENOMEM;
        }
    }
    for (uint32_t h = 0; h < topology->hosts_len; h++) {
        uint32_t rack = e->rack_of[topology->hosts[h].tor] - 1;
        e->below[rack][e->below_len[rack]++] = h;
    }
    return 0;
}

/* Noise of every link, then the faults of the scenario, then those that are drawn: different links
 * between switches. */
static void draw_losses(struct epochs *e)
{
    const struct pd_sim_epochs *set = &e->scenario->epochs;
    static const double heavy[2] = {0.1, 1};
    for (uint32_t l = 0; l < pd_links_directed(e->topology); l++) {
        e->loss[l] = real_between(e, set->noise);
    }
    for (size_t i = 0; i < e->scenario->faults_len; i++) {
        const struct pd_sim_fault *fault = &e->scenario->faults[i];
        for (uint32_t n = 0; fault->kind == PD_SIM_LOSS && n < fault->links_len; n++) {
            e->loss[fault->links[n]] = fault->loss;
        }
    }
    for (uint32_t i = 0; i < set->random_faults; i++) {
        uint32_t link = pd_sim_random_below(&e->random, 2 * e->topology->fabric_links_len);
        for (int tries = 0; e->loss[link] > set->noise[1] && tries < 1000; tries++) {
            link = pd_sim_random_below(&e->random, 2 * e->topology->fabric_links_len);
        }
        e->loss[link] = real_between(e, i < set->heavy ? heavy : set->random_loss);
    }
}

static int epochs_init(struct epochs *e)
{
    const struct pd_sim_epochs *set = &e->scenario->epochs;
    int err = find_racks(e);
    e->rows_room = (size_t)e->topology->hosts_len * set->flows_per_host[1] + 1;
    e->loss = calloc((size_t)pd_links_directed(e->topology) + 1, sizeof *e->loss);
    e->rows = calloc(e->rows_room, sizeof *e->rows);
    e->ways = calloc(e->rows_room, sizeof *e->ways);
    e->senders = calloc(e->rows_room, sizeof *e->senders);
    e->nodes = calloc(e->rows_room, ((size_t)e->longest + 1) * sizeof *e->nodes);
    if (err || !e->loss || !e->rows || !e->ways || !e->senders || !e->nodes) {
        return -ENOMEM;
    }
    draw_losses(e);
    return 0;
}

/* ---- one flow ---- */

struct losing {
    uint64_t left, lost, most;
    uint32_t truth; /* link that dropped most */
};

static void cross(struct epochs *e, struct losing *flow, uint32_t link)
{
    uint64_t lost = flow->left ? pd_sim_random_binomial(&e->random, flow->left, e->loss[link]) : 0;
    flow->left -= lost;
    flow->lost += lost;
    if (lost > flow->most) {
        flow->most = lost;
        flow->truth = link;
    }
}

/* The link that ECMP takes towards a rack; parallel ones share evenly. */
static uint32_t draw_next(struct epochs *e, uint32_t at, uint32_t rack, uint32_t *ret_next)
{
    const struct pd_switch *sw = &e->topology->switches[at];
    const uint32_t *far = e->far[rack];
    uint32_t count = 0, chosen;
    for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
        count += far[sw->neighbours[n].node] == far[at] - 1;
    }
    chosen = pd_sim_random_below(&e->random, count);
    for (uint32_t n = 0;; n++) {
        const struct pd_neighbour *next = &sw->neighbours[n];
        if (far[next->node] == far[at] - 1 && !chosen--) {
            *ret_next = next->node;
            return next->link + 2 * pd_sim_random_below(&e->random, next->parallel);
        }
    }
}

/* Some racks may get a share of all flows. PD_NONE: there is no other rack within reach. */
static uint32_t draw_rack(struct epochs *e, uint32_t own)
{
    const struct pd_sim_epochs *set = &e->scenario->epochs;
    bool hot = set->hot_racks && pd_sim_random_share(&e->random) < set->hot_share;
    uint32_t among = hot && set->hot_racks < e->racks_len ? set->hot_racks : e->racks_len;
    for (int tries = 0; tries < 1000; tries++) {
        uint32_t rack = pd_sim_random_below(&e->random, among);
        if (rack != own && e->far[rack][e->racks[own]] != PD_NONE) {
            return rack;
        }
    }
    return PD_NONE;
}

static void tell(struct epochs *e, uint32_t src, uint32_t dst, uint64_t pkts,
                 const struct losing *flow, uint32_t nodes_len)
{
    const struct pd_host *from = &e->topology->hosts[src], *to = &e->topology->hosts[dst];
    struct pd_evidence_way *way = &e->ways[e->rows_len];
    struct pd_evidence_row *row = &e->rows[e->rows_len];
    *way = (struct pd_evidence_way){.nodes = e->nodes + e->rows_len * (e->longest + 1),
                                    .nodes_len = nodes_len,
                                    .reached = true,
                                    .origin = PD_EVIDENCE_FROM_TAGS,
                                    .pkts = pkts,
                                    .bytes = pkts * 1500};
    *row = (struct pd_evidence_row){
        .kind = PD_EVIDENCE_FLOW, .pkts = pkts, .lost = flow->lost, .ways = way, .ways_len = 1};
    row->flow = (struct pd_flow_id){.src = from->addrs[0],
                                    .dst = to->addrs[0],
                                    .src_port = (uint16_t)(PORT_FIRST + e->ports++ % PORTS),
                                    .dst_port = 80,
                                    .protocol = 6,
                                    .ip_version = from->ip_versions[0]};
    if (flow->most) {
        row->truth_from = pd_topology_links_from_id(e->topology, flow->truth);
        row->truth_to = pd_topology_links_to_id(e->topology, flow->truth);
    }
    e->senders[e->rows_len++] = (struct pd_sim_sender){.flow = row->flow,
                                                       .host = src,
                                                       .retransmissions = flow->lost,
                                                       .total_retransmissions = flow->lost,
                                                       .acked_pkts = pkts};
    e->totals.lost_fault += flow->lost;
    e->totals.flows++;
}

static void run_flow(struct epochs *e, uint32_t src)
{
    uint32_t own = e->topology->hosts[src].tor, rack = draw_rack(e, e->rack_of[own] - 1);
    if (rack == PD_NONE) {
        return;
    }
    uint32_t dst = e->below[rack][pd_sim_random_below(&e->random, e->below_len[rack])];
    uint64_t pkts = between(e, e->scenario->epochs.pkts_per_flow);
    struct losing flow = {.left = pkts};
    uint32_t *nodes = e->nodes + e->rows_len * (e->longest + 1), len = 0;
    cross(e, &flow, pd_links_reverse(pd_topology_links_to_host(e->topology, own, src, NULL)));
    for (uint32_t at = own;;) {
        nodes[len++] = e->topology->switches[at].id;
        e->totals.packet_hops += flow.left;
        if (at == e->racks[rack]) {
            break;
        }
        cross(e, &flow, draw_next(e, at, rack, &at));
    }
    cross(e, &flow, pd_topology_links_to_host(e->topology, e->racks[rack], dst, NULL));
    tell(e, src, dst, pkts, &flow, len);
}

/* ---- an epoch ---- */

static int run_epoch(struct epochs *e, uint32_t epoch, pd_sim_visit *visit, void *context)
{
    double epoch_s = e->scenario->epochs.epoch_s;
    struct pd_sim_period period = {.from_us = (uint64_t)(epoch * epoch_s * 1e6),
                                   .to_us = (uint64_t)((epoch + 1) * epoch_s * 1e6),
                                   .flows = e->rows,
                                   .senders = e->senders,
                                   .totals = &e->totals};
    e->rows_len = 0;
    for (uint32_t h = 0; h < e->topology->hosts_len; h++) {
        bool is_known = e->topology->hosts[h].addrs_len;
        uint32_t flows = between(e, e->scenario->epochs.flows_per_host);
        for (uint32_t f = 0; f < flows && is_known; f++) {
            run_flow(e, h);
        }
    }
    e->totals.now_s = (epoch + 1) * epoch_s;
    period.flows_len = period.rows_len = e->rows_len;
    return visit(context, &period);
}

int pd_sim_epochs_run(const struct pd_sim_scenario *scenario, uint64_t seed, pd_sim_visit *visit,
                      void *context, struct pd_sim_totals *ret_totals, struct pd_error *error)
{
    struct epochs e = {
        .scenario = scenario, .topology = scenario->topology, .random = {.state = seed}};
    int err = epochs_init(&e);
    if (err) {
        pd_fail(error, err, "%s", pd_error_text(err));
    }
    for (uint32_t epoch = 0; epoch < scenario->epochs.epochs && !err; epoch++) {
        err = run_epoch(&e, epoch, visit, context);
    }
    if (!err) {
        *ret_totals = e.totals;
    }
    epochs_done(&e);
    return err;
}

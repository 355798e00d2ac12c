/* SPDX-License-Identifier: Apache-2.0 */
/* protocol-bugs: takes observations in, period by period: flows, and links with what crossed them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/protocol_bugs/protocol_bugs.h"
#include "apps/rows.h"
#include "base/grow.h"
#include "topology/links.h"

/* ---- links ---- */

int pd_protocol_bug_links_init(struct pb_case *c)
{
    const struct pd_topology *topology = c->call->world->topology;
    struct pb_links *links = &c->links;

    links->len = 2 * topology->fabric_links_len;
    links->pkts = calloc(links->len + 1, sizeof(double));
    links->lost = calloc(links->len + 1, sizeof(double));
    links->own = calloc(links->len + 1, sizeof(bool));
    links->bytes = calloc(links->len + 1, sizeof(double));
    links->down = calloc(topology->hosts_len + 1, sizeof(double));
    return links->pkts && links->lost && links->own && links->bytes && links->down ? 0 : -ENOMEM;
}

uint32_t pd_protocol_bug_link_number(const struct pb_case *c, uint32_t from, uint32_t to)
{
    const struct pd_topology *topology = c->call->world->topology;
    uint32_t a = pd_topology_switch(topology, from), b = pd_topology_switch(topology, to);

    return a == PD_NONE || b == PD_NONE ? PD_NONE : pd_topology_links_between(topology, a, b, NULL);
}

/* ---- flows ---- */

static size_t find_slot(const struct pb_case *c, const struct pd_flow_id *id)
{
    size_t mask = c->slots_len - 1, at = pd_flow_id_hash(id) & mask;

    while (c->slots[at] && !pd_flow_id_equal(&c->flows[c->slots[at] - 1].id, id)) {
        at = (at + 1) & mask;
    }
    return at;
}

static int grow(struct pb_case *c)
{
    size_t room = c->flows_room;

    if (PD_GROW(c->flows, room, room ? room + 1 : 1024)) {
        return -ENOMEM;
    }
    uint32_t *slots = calloc(2 * room, sizeof *slots);
    if (!slots) {
        return -ENOMEM;
    }
    free(c->slots);
    c->slots = slots;
    c->slots_len = 2 * room;
    c->flows_room = room;
    for (size_t i = 0; i < c->flows_len; i++) {
        slots[find_slot(c, &c->flows[i].id)] = (uint32_t)i + 1;
    }
    return 0;
}

/* NULL in *ret_flow: no room. */
static int find_flow(struct pb_case *c, const struct pd_flow_id *id, struct pb_flow **ret_flow)
{
    const struct pd_topology *topology = c->call->world->topology;
    int err = c->flows_len == c->flows_room && c->flows_len < PB_FLOWS_MAX ? grow(c) : 0;

    if (err) {
        return err;
    }
    size_t slot = find_slot(c, id);
    *ret_flow = NULL;
    if (!c->slots[slot] && c->flows_len == PB_FLOWS_MAX) {
        c->lost++;
        return 0;
    }
    if (!c->slots[slot]) {
        c->flows[c->flows_len++] =
            (struct pb_flow){.id = *id,
                             .src_host = pd_app_host_of(topology, &id->src, id->ip_version),
                             .dst_host = pd_app_host_of(topology, &id->dst, id->ip_version)};
        c->slots[slot] = (uint32_t)c->flows_len;
    }
    *ret_flow = &c->flows[c->slots[slot] - 1];
    return 0;
}

static void cross(struct pb_flow *flow, uint32_t number, double share)
{
    size_t i = 0;

    while (i < flow->links_len && flow->links[i].number != number) {
        i++;
    }
    if (i == PB_LINKS_MAX) {
        return;
    }
    if (i == flow->links_len) {
        flow->links[flow->links_len++] = (struct pb_link){.number = number};
    }
    flow->links[i].share += (float)share;
}

/* ---- a period ---- */

/* Where incast shows. The slot behind the last is that of addresses that nobody knows. */
static uint32_t host_index(const struct pb_case *c, const struct pd_flow_id *flow)
{
    const struct pd_topology *topology = c->call->world->topology;
    uint32_t host =
        pd_topology_host(topology, pd_app_host_of(topology, &flow->dst, flow->ip_version));

    return host == PD_NONE ? topology->hosts_len : host;
}

static void sum_bytes(struct pb_case *c, const struct pd_flow_id *flow,
                      const struct pd_evidence_way *way)
{
    c->links.down[host_index(c, flow)] += (double)way->bytes;
    for (uint32_t i = 0; i + 1 < way->nodes_len; i++) {
        uint32_t link = pd_protocol_bug_link_number(c, way->nodes[i], way->nodes[i + 1]);

        if (link != PD_NONE) {
            c->links.bytes[link] += (double)way->bytes;
        }
    }
}

static bool is_full(const struct pb_case *c, const struct pd_evidence_row *row)
{
    double limit = PB_LOAD_MAX * (double)c->link_mbps * (double)c->period_us / 8;

    if (!c->link_mbps || !c->period_us) {
        return false;
    }
    if (c->links.down[host_index(c, &row->flow)] > limit) {
        return true;
    }
    for (size_t w = 0; w < row->ways_len; w++) {
        const uint32_t *nodes = row->ways[w].nodes;

        for (uint32_t i = 0; i + 1 < row->ways[w].nodes_len; i++) {
            uint32_t link = pd_protocol_bug_link_number(c, nodes[i], nodes[i + 1]);

            if (link != PD_NONE && c->links.bytes[link] > limit) {
                return true;
            }
        }
    }
    return false;
}

static double pkts_of(const struct pd_evidence_way *way)
{
    return way->pkts == PD_EVIDENCE_UNKNOWN ? 0 : (double)way->pkts;
}

/* Where packets take several paths, losses are shared out like packets. */
static void add(struct pb_case *c, struct pb_flow *flow, const struct pd_evidence_row *row)
{
    double lost = (double)row->lost, pkts = 0;

    for (size_t w = 0; w < row->ways_len; w++) {
        pkts += pkts_of(&row->ways[w]);
    }
    for (size_t w = 0; w < row->ways_len; w++) {
        const struct pd_evidence_way *way = &row->ways[w];
        double share = pkts > 0 ? pkts_of(way) / pkts : 1 / (double)row->ways_len;

        for (uint32_t i = 0; i + 1 < way->nodes_len; i++) {
            uint32_t link = pd_protocol_bug_link_number(c, way->nodes[i], way->nodes[i + 1]);

            if (link != PD_NONE) {
                cross(flow, link, share);
            }
        }
    }
    flow->pkts += pkts + lost;
    flow->lost += lost;
}

static bool has_paths(const struct pb_case *c, const struct pd_evidence_row *row)
{
    for (size_t w = 0; w < row->ways_len; w++) {
        const struct pd_evidence_way *way = &row->ways[w];

        if (!way->nodes_len ||
            pd_topology_switch(c->call->world->topology, way->nodes[0]) == PD_NONE) {
            return false;
        }
        for (uint32_t i = 0; i + 1 < way->nodes_len; i++) {
            if (pd_protocol_bug_link_number(c, way->nodes[i], way->nodes[i + 1]) == PD_NONE) {
                return false;
            }
        }
    }
    return row->ways_len;
}

static int take_flow(struct pb_case *c, const struct pd_evidence_row *row)
{
    struct pb_flow *flow;

    /* Of a flow that was traced it is not known what it sent, and of its pair none that lost
     * nothing. */
    if (row->pkts == PD_EVIDENCE_UNKNOWN && row->ways_len) {
        c->uncounted += row->lost > 0;
        return 0;
    }
    if (!has_paths(c, row)) {
        c->pathless += row->lost > 0;
        return 0;
    }
    if (is_full(c, row)) {
        c->congested++;
        return 0;
    }
    int err = find_flow(c, &row->flow, &flow);
    if (!err && flow) {
        add(c, flow, row);
    }
    return err;
}

int pd_protocol_bug_take(void *context, const struct pd_evidence_period *period)
{
    struct pb_case *c = context;
    int err = pd_localiser_observe(c->localiser, period);

    memset(c->links.bytes, 0, c->links.len * sizeof(double));
    memset(c->links.down, 0, c->call->world->topology->hosts_len * sizeof(double));
    for (size_t i = 0; i < period->rows_len; i++) {
        const struct pd_evidence_row *row = &period->rows[i];

        for (size_t w = 0; w < row->ways_len && row->kind == PD_EVIDENCE_FLOW; w++) {
            sum_bytes(c, &row->flow, &row->ways[w]);
        }
    }
    for (size_t i = 0; i < period->rows_len && !err; i++) {
        if (period->rows[i].kind == PD_EVIDENCE_FLOW) {
            err = take_flow(c, &period->rows[i]);
        }
    }
    return err;
}

void pd_protocol_bug_done(struct pb_case *c)
{
    pd_localiser_free(c->localiser);
    free(c->links.pkts);
    free(c->links.lost);
    free(c->links.own);
    free(c->links.bytes);
    free(c->links.down);
    free(c->flows);
    free(c->slots);
}

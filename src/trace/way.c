/* SPDX-License-Identifier: Apache-2.0 */
/* Hops → path: gaps, ends, and what cannot be one path. */
#include "trace/way.h"

#include <stdlib.h>

static bool is_of_rack(const struct pd_topology *topology, const struct pd_addr *addr,
                       uint8_t ip_version, uint32_t switch_id)
{
    uint32_t tors[PD_HOMES_MAX];
    uint32_t len = pd_topology_tors_of(topology, addr, ip_version, tors);

    for (uint32_t i = 0; i < len; i++) {
        if (topology->switches[tors[i]].id == switch_id) {
            return true;
        }
    }
    return false;
}

bool pd_trace_knows(const struct pd_topology *topology, const struct pd_addr *addr,
                    uint8_t ip_version)
{
    uint32_t tors[PD_HOMES_MAX];

    return pd_topology_tors_of(topology, addr, ip_version, tors) > 0;
}

/* Where no way goes on, the same router answers all further probes. */
static unsigned hops_of(const struct pd_trace_hop *hops, unsigned len)
{
    for (unsigned i = 0; i < len; i++) {
        if (hops[i].answered && hops[i].unreachable) {
            bool again = i && hops[i - 1].answered && hops[i - 1].switch_id == hops[i].switch_id;

            return again ? i : i + 1;
        }
    }
    while (len && !hops[len - 1].answered) {
        len--;
    }
    return len;
}

static bool are_neighbours(const struct pd_topology *topology, uint32_t from_id, uint32_t to_id)
{
    uint32_t from = pd_topology_switch(topology, from_id), to = pd_topology_switch(topology, to_id);

    return from != PD_NONE && to != PD_NONE && pd_topology_link(topology, from, to);
}

/* A source that the topology does not know may hang anywhere. */
static bool begins_right(const struct pd_topology *topology, const struct pd_flow_id *flow,
                         uint32_t first)
{
    return !first || !pd_trace_knows(topology, &flow->src, flow->ip_version) ||
           is_of_rack(topology, &flow->src, flow->ip_version, first);
}

static bool is_consistent(const struct pd_topology *topology, const struct pd_flow_id *flow,
                          const struct pd_path *path)
{
    for (uint32_t i = 1; i < path->len; i++) {
        if (path->switches[i - 1] && path->switches[i] &&
            !are_neighbours(topology, path->switches[i - 1], path->switches[i])) {
            return false;
        }
    }
    return !path->len || begins_right(topology, flow, path->switches[0]);
}

void pd_trace_way_find(const struct pd_topology *topology, const struct pd_flow_id *flow,
                       const struct pd_trace_hop *hops, unsigned len, struct pd_trace_way *ret_way)
{
    struct pd_trace_way way = {.path.len = hops_of(hops, len)};

    if (way.path.len > PD_PATH_MAX) {
        way.path.len = PD_PATH_MAX;
    }
    for (uint32_t i = 0; i < way.path.len; i++) {
        way.path.switches[i] = hops[i].answered ? hops[i].switch_id : 0;
    }
    way.consistent = is_consistent(topology, flow, &way.path);
    while (way.path.len && !way.path.switches[way.path.len - 1]) {
        way.path.len--; /* somebody was there, and nobody knows who */
    }
    for (uint32_t i = 0; i < way.path.len; i++) {
        way.gaps |= !way.path.switches[i];
    }
    way.reached = way.path.len && is_of_rack(topology, &flow->dst, flow->ip_version,
                                             way.path.switches[way.path.len - 1]);
    if (!way.consistent) {
        way.path.len = 0;
        way.reached = way.gaps = false;
    }
    *ret_way = way;
}

/* ---- how far ---- */

/* Hops to the farthest switch with a rack, breadth first. */
static uint32_t farthest(const struct pd_topology *topology, uint32_t from, uint32_t *away,
                         uint32_t *order)
{
    uint32_t len = 1, most = 0;

    for (uint32_t i = 0; i < topology->switches_len; i++) {
        away[i] = PD_NONE;
    }
    away[from] = 0;
    order[0] = from;
    for (uint32_t at = 0; at < len; at++) {
        const struct pd_switch *sw = &topology->switches[order[at]];

        if (pd_topology_switch_has_rack(sw)) {
            most = away[order[at]];
        }
        for (uint32_t i = 0; i < sw->switch_neighbours; i++) {
            uint32_t next = sw->neighbours[i].node;
            if (away[next] == PD_NONE) {
                away[next] = away[order[at]] + 1;
                order[len++] = next;
            }
        }
    }
    return most;
}

unsigned pd_trace_ttl_max(const struct pd_topology *topology)
{
    uint32_t *away = calloc(topology->switches_len + 1, sizeof *away);
    uint32_t *order = calloc(topology->switches_len + 1, sizeof *order);
    uint32_t most = away && order ? 0 : PD_PATH_MAX;

    for (uint32_t i = 0; away && order && i < topology->switches_len; i++) {
        if (pd_topology_switch_has_rack(&topology->switches[i])) {
            uint32_t hops = farthest(topology, i, away, order);
            most = hops > most ? hops : most;
        }
    }
    free(away);
    free(order);
    return most + 3 < PD_PATH_MAX ? most + 3 : PD_PATH_MAX;
}

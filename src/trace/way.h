/* SPDX-License-Identifier: Apache-2.0 */
/* From the answers to a flow's probes to its path. */
#ifndef PD_TRACE_WAY_H
#define PD_TRACE_WAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/path.h"
#include "topology/topology.h"

/* Routers answer from the addresses of their interfaces, which the topology knows (paper 003,
 * section 4.2: aliasing is a look-up here). Nothing is guessed: a router that is silent, or whose
 * address nobody knows, is a gap; behind the last answer nothing is known; and where two routers
 * that answered one after the other are no neighbours, the path changed between two probes, and the
 * trace tells of no path at all.
 *
 * Thread safety: pure. */

struct pd_trace_hop {
    struct pd_addr addr;
    uint32_t switch_id; /* 0: no switch of the topology has the address */
    uint32_t rtt_us;
    bool answered;
    bool unreachable; /* the router knows no way on */
};

struct pd_trace_way {
    struct pd_path path;
    bool reached;    /* its last switch is of the destination's rack */
    bool consistent; /* else the path is empty */
    bool gaps;
};

/* hops[0] is of TTL 1. */
void pd_trace_way_find(const struct pd_topology *topology, const struct pd_flow_id *flow,
                       const struct pd_trace_hop *hops, unsigned len, struct pd_trace_way *ret_way);

/* TTLs to probe: the switches of the longest shortest path between two racks, and two more. */
unsigned pd_trace_ttl_max(const struct pd_topology *topology);

/* Of its rack's switches one: the address may be traced. */
bool pd_trace_knows(const struct pd_topology *topology, const struct pd_addr *addr,
                    uint8_t ip_version);

#endif

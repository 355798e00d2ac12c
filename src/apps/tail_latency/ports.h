/* SPDX-License-Identifier: Apache-2.0 */
/* Ports and the paths over them, with what was measured there. Internal to tail_latency. */
#ifndef PD_APPS_TAIL_LATENCY_PORTS_H
#define PD_APPS_TAIL_LATENCY_PORTS_H

#include "apps/rows.h"
#include "telemetry/bins.h"

/* One thread. */

#define TAIL_PORTS_MAX 65536u
#define TAIL_PATHS_MAX 65536u

struct tail_port {
    uint32_t sw, to; /* to: a switch, a host, 0: not known */
    struct pd_telemetry_bins bins;
    uint64_t low, high, value; /* of the quantile; pd_tail_latency_ports_judge */
    bool enough;               /* samples for it */
    bool slow;                 /* it makes the tail of a path alone */
    uint64_t others;           /* then: what the other hops of that path take at most, together */
};

struct tail_ports {
    struct tail_port *ports; /* by switch and next node, once they are judged */
    size_t len, room;
    struct pd_path *paths; /* distinct */
    uint32_t *hosts;       /* behind each path; 0: not known */
    size_t paths_len, paths_room, hosts_room;
    size_t left_out, bad; /* rows */
};

/* Adds the rows of an answer of getTelemetry by flow and port, or by port, which has no paths. 0 or
 * -ENOMEM. */
int pd_tail_latency_ports_take(struct tail_ports *ports, const json_t *answer);

/* Fills what hangs on the quantile, and finds slow ports. */
void pd_tail_latency_ports_judge(struct tail_ports *ports, double quantile);

/* NULL: nothing was measured there. */
struct tail_port *pd_tail_latency_ports_find(const struct tail_ports *ports, uint32_t sw,
                                             uint32_t to);

void pd_tail_latency_ports_done(struct tail_ports *ports); /* zeroed is fine */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What ports of switches measure at the level of packets, and digests that switches make of it. */
#ifndef PD_SIM_PORTS_H
#define PD_SIM_PORTS_H

#include <stdint.h>

#include "base/flow_id.h"
#include "codec/pint/formulas.h"
#include "sim/hpcc.h"

/* Paper 002, section 4.3: a port keeps the bytes it has sent and a moving average of its
 * utilisation, exact here. Thread safety: none of its own. */

struct pd_sim_port {
    uint64_t sent_bytes;
    uint64_t left_ns;     /* of the packet before */
    double used;          /* the average: 1 is full without a queue */
    uint64_t promised_ns; /* HPCC, a host's own: until then it is some flow's */
};

/* A packet leaves a port's queue. */
struct pd_sim_leaving {
    uint64_t now_ns;
    uint64_t came_ns; /* into the switch */
    double bytes;
    double bytes_ns;    /* the port's rate */
    double queue_bytes; /* behind it, now */
    double met_bytes;   /* that it waited behind */
};

/* Counts it, and tells what INT writes. `rtt_ns`: T of the average. */
struct pd_sim_hpcc_port pd_sim_port_leave(struct pd_sim_port *port,
                                          const struct pd_sim_leaving *leaving, double rtt_ns);

/* The packet ID of a flow's transmission, as of the frame that it would be: IP ID and sequence
 * number follow from `order`. */
uint32_t pd_sim_packet_id(const struct pd_pint_plan *plan, const struct pd_flow_id *flow,
                          uint32_t order);

/* A switch on the way: hop i from 1. */
struct pd_sim_hop {
    uint32_t packet_id;
    uint32_t sw, hop; /* ID; from 1 */
    uint16_t in_port;
};
void pd_sim_digest(const struct pd_pint_plan *plan, const struct pd_sim_hop *hop,
                   const struct pd_sim_leaving *leaving, const struct pd_sim_port *port,
                   uint16_t *digest);

/* HPCC: the utilisation that a digest tells, 1 is full; negative: it tells none. */
double pd_sim_digest_used(const struct pd_pint_plan *plan, uint32_t packet_id, uint16_t digest);

/* The plan of "hpcc-pint" where the scenario has none: the greatest utilisation in 8 bits of each
 * packet, of section 4.3 (epsilon .025). NULL: no memory. */
struct pd_pint_plan *pd_sim_hpcc_plan(void);

#endif

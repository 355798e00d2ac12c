/* SPDX-License-Identifier: Apache-2.0 */
/* A sender's HPCC at the level of packets: what telemetry on acknowledgements makes of its window.
 */
#ifndef PD_SIM_HPCC_H
#define PD_SIM_HPCC_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/net.h"

/* Paper 002, sections 4.3 (example 3) and 6.1, after HPCC (Li et al., SIGCOMM 2019): the window is
 * set so that the busiest port of the route is used to PD_HPCC_TARGET, from a reference that is
 * renewed once a round trip; packets leave evenly over it. Two ways to know how busy ports are:
 * - INT: each acknowledgement carries what each switch wrote, and the sender works it out;
 * - PINT: switches work it out, and the acknowledgement carries the greatest, in a few bits.
 *
 * With maxStage 0 there is no stage of additive increase alone. Losses are found and packets
 * counted by tcp.h, whose window this one replaces. One thread. */

#define PD_HPCC_TARGET         0.95 /* eta */
#define PD_HPCC_INCREASE_BYTES 80.0 /* W_AI */

/* What a switch writes for one port. */
struct pd_sim_hpcc_port {
    uint64_t at_ns;       /* when the packet left the queue */
    uint64_t sent_bytes;  /* of the port, ever, without this packet */
    uint64_t queue_bytes; /* behind it */
};

/* What is the same for all flows of a host's link. */
struct pd_sim_hpcc_base {
    double rtt_ns;     /* T */
    double most_bytes; /* the window of a flow that is alone: T at the host's rate */
};

struct pd_sim_hpcc {
    double window_bytes, reference_bytes;
    double used;         /* INT: as reckoned last */
    uint32_t renew_from; /* the reference changes when this transmission is acknowledged */
    uint64_t next_ns;    /* when pacing lets the next packet out */
    bool paced;          /* a timer is set */
    bool granted;        /* ... for the host's link, which is this flow's then */
    bool heard;          /* `ports` is filled */
    uint8_t ports_len;
    struct pd_sim_hpcc_port ports[PD_ROUTE_LINKS_MAX];
};

void pd_sim_hpcc_init(struct pd_sim_hpcc *hpcc, const struct pd_sim_hpcc_base *base);

/* INT: how busy the busiest port is, 1 for full without a queue. `bytes_ns`: the rate of each
 * port. */
double pd_sim_hpcc_measure(struct pd_sim_hpcc *hpcc, const struct pd_sim_hpcc_base *base,
                           const struct pd_sim_hpcc_port *ports, const double *bytes_ns,
                           uint32_t len);

/* Sets the window; `next`: the order of the next transmission. */
void pd_sim_hpcc_react(struct pd_sim_hpcc *hpcc, const struct pd_sim_hpcc_base *base, double used,
                       uint32_t order, uint32_t next);

/* A packet of so many bytes leaves now. */
void pd_sim_hpcc_sent(struct pd_sim_hpcc *hpcc, const struct pd_sim_hpcc_base *base, double bytes,
                      uint64_t now_ns);

#endif

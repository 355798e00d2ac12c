/* SPDX-License-Identifier: Apache-2.0 */
/* The flows that both levels of the simulator share: where they come from, their routes, what a
 * period saw of them. */
#ifndef PD_SIM_FLOWS_H
#define PD_SIM_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/flow_id.h"
#include "sim/net.h"
#include "sim/random.h"
#include "sim/scenario.h"

/* Flows start as a Poisson process: each host sends on average `load` of its link, to another host
 * drawn at random, with sizes from the scenario. What a receiver counts per path, and a sender's
 * monitor of retransmissions, stand in the flow's slice; the slice is emptied each period, and the
 * flow forgotten in the first period after its end. Internal to sim/. One thread. */

#define PD_SIM_MTU_BYTES 1500
#define PD_SIM_MSS_BYTES 1448
#define PD_SIM_FLOWS_MAX 4000000 /* at once; a flow beyond is counted as refused */

struct pd_sim_route {
    struct pd_sim_net_route route;
    uint64_t pkts; /* arrived over it in this period */
    double carry;  /* flow level: part of a packet */
    bool seen;     /* the receiver's TIB has this path */
};

struct pd_sim_flow {
    struct pd_flow_id id;
    uint32_t src, dst;
    uint32_t routes_len;
    struct pd_sim_route *routes;
    uint64_t retransmissions;       /* in this period */
    uint64_t total_retransmissions; /* in the periods before */
    uint64_t acked_pkts;
    uint32_t consecutive; /* retransmissions since the last acknowledgement */
    uint32_t timeouts;
    uint64_t alarm_us; /* end of the period of the latest POOR_PERF; 0: none */
    uint64_t start_us;
    uint64_t begun_ns, ended_ns; /* level of packets; ended_ns 0: not, or given up */
    uint64_t total_pkts;
    bool live;   /* still sending */
    bool used;   /* in the table */
    void *state; /* of the level */
};

struct pd_sim_flows {
    const struct pd_sim_scenario *scenario;
    const struct pd_sim_net *net;
    struct pd_sim_random *random;
    struct pd_sim_flow *table;
    uint32_t *order; /* flows in use */
    uint32_t *unused;
    uint32_t order_len, unused_len, table_len, table_room;
    uint32_t routes_max; /* of a flow: 1, or many when packets are sprayed */
    size_t state_bytes;  /* of a level's own part, zeroed for each flow */
    double next_s;       /* start of the next flow that a host starts by itself */
    size_t next_planned;
    double gap_s; /* mean time between two */
    uint64_t started;
    uint64_t refused;
};

int pd_sim_flows_init(struct pd_sim_flows *flows, const struct pd_sim_scenario *scenario,
                      const struct pd_sim_net *net, struct pd_sim_random *random,
                      size_t state_bytes);
void pd_sim_flows_done(struct pd_sim_flows *flows);

/* The next flow if it starts before `until_s`, with its start in *ret_s; false when none does.
 * -ENOMEM: 0 flows, *ret_flow NULL. */
int pd_sim_flows_next(struct pd_sim_flows *flows, double until_s, struct pd_sim_flow **ret_flow);

/* Forgets flows that ended and whose slice is empty. */
void pd_sim_flows_sweep(struct pd_sim_flows *flows);

#endif

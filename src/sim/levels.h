/* SPDX-License-Identifier: Apache-2.0 */
/* The two levels of the simulator, behind one table of functions. */
#ifndef PD_SIM_LEVELS_H
#define PD_SIM_LEVELS_H

#include "sim/digests.h"
#include "sim/flows.h"
#include "sim/meters.h"
#include "sim/net.h"
#include "sim/sim.h"

/* Internal to sim/. What a level shares with the rest; it moves flows on and counts in their
 * slices. */
struct pd_sim_world {
    const struct pd_sim_scenario *scenario;
    struct pd_sim_net net;
    struct pd_sim_random random;
    struct pd_sim_flows flows;
    struct pd_sim_totals totals;
    struct pd_sim_meters *meters;   /* NULL: there are none */
    struct pd_sim_digests *digests; /* NULL: packets carry none */
};

struct pd_sim_level_ops {
    size_t flow_bytes; /* of a flow's state */
    /* 0 or -ENOMEM. */
    int (*new)(struct pd_sim_world *world, void **ret_level);
    void (*free)(void *level);
    /* Everything up to this time; later than the time of the call before. 0 or -ENOMEM. */
    int (*advance)(void *level, double until_s);
    /* Fills what the level alone knows of a sender: backoff, srtt_us, rto_us, cwnd_pkts. */
    void (*look)(const void *level, const struct pd_sim_flow *flow, struct pd_sim_sender *sender);
};

extern const struct pd_sim_level_ops pd_sim_flow_level, pd_sim_packet_level;

#endif

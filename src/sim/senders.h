/* SPDX-License-Identifier: Apache-2.0 */
/* What simulated senders' monitors told so far: alarms, and the flows that TCP serves badly. */
#ifndef PD_SIM_SENDERS_H
#define PD_SIM_SENDERS_H

#include <jansson.h>

#include "query/poor.h"
#include "sim/sim.h"

/* Of each period in which a sender retransmitted, or after which it had ended, its figures are
 * kept; the newest PD_SENDERS_MAX of either, older ones are forgotten and counted. Internal to
 * sim/. One thread. */

#define PD_SENDERS_MAX       262144u
#define PD_SENDERS_CLOSED_US UINT64_C(60000000) /* how long a closed flow is told of */

struct pd_sender_entry {
    uint64_t time_us;  /* end of the period */
    uint64_t alarm_id; /* from 1; 0: none was raised */
    struct pd_sim_sender sender;
};

/* A ring, the newest last. */
struct pd_sender_ring {
    struct pd_sender_entry *entries;
    uint32_t first, len, room;
    uint64_t forgotten;
};

struct pd_sim_senders {
    const struct pd_sim_scenario *scenario;
    struct pd_sender_ring lossy, closed;
    struct pd_sim_period now; /* the last period; valid as it is */
    uint64_t alarms;
};

void pd_sim_senders_done(struct pd_sim_senders *senders); /* works on zeroed memory */

/* 0 or -ENOMEM. */
int pd_sim_senders_take(struct pd_sim_senders *senders, const struct pd_sim_period *period);

/* Alarms of [from_us, to_us], the newest `most`, oldest first; NULL without memory. `least_id` (0:
 * any): only later ones than that. */
json_t *pd_sim_senders_alarms(const struct pd_sim_senders *senders, uint64_t from_us,
                              uint64_t to_us, uint64_t least_id, size_t most);

/* The members of an agent's getPoorTCPFlows, each flow with its "host". `asked`: per host of the
 * topology; NULL: all. NULL without memory. */
json_t *pd_sim_senders_poor(const struct pd_sim_senders *senders,
                            const struct pd_poor_question *question, const bool *asked);

#endif

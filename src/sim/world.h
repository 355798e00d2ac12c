/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated network as applications see it: a world that answers as the controller's does. */
#ifndef PD_SIM_WORLD_H
#define PD_SIM_WORLD_H

#include <stdio.h>

#include "apps/apps.h"
#include "sim/history.h"
#include "sim/records.h"
#include "sim/senders.h"
#include "sim/sim.h"

/* now_us    simulated time, from 0 on
 * ask       queries are run over a TIB with the records of all receivers, or of those asked;
 *           getPoorTCPFlows is answered from the senders' counters. All hosts answer.
 *           Programs: -PD_E_UNSUPPORTED
 * alarms    POOR_PERF, from the host of the sender, as in GET /v1/alarms
 * observe   the evidence of the last period as they are, without records being stored; earlier
 *           periods from the first time on that somebody asks for them, or from the begin for
 *           who sets history.wanted
 * packet_out: none. One thread. */

struct pd_sim_app_world {
    const struct pd_sim_scenario *scenario;
    struct pd_app_world app;
    struct pd_sim_records records;
    struct pd_sim_senders senders;
    struct pd_sim_history history;
    FILE *evidence; /* what is given is written here, too; NULL: nowhere */
};

/* `scenario` has to outlive it. */
void pd_sim_app_world_init(struct pd_sim_app_world *world, const struct pd_sim_scenario *scenario);
void pd_sim_app_world_done(struct pd_sim_app_world *world); /* works on zeroed memory */

/* What `period` points to has to stay as it is until the next call, or until the world is not asked
 * any more. */
int pd_sim_app_world_take(struct pd_sim_app_world *world, const struct pd_sim_period *period,
                          struct pd_error *error);

#endif

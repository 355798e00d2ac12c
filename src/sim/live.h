/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated network that runs by the clock, for those who look at it meanwhile. */
#ifndef PD_SIM_LIVE_H
#define PD_SIM_LIVE_H

#include "apps/apps.h"
#include "sim/sim.h"

/* The simulator's world (sim/world.h) while its time passes: at the pace of the clock, or N times
 * as fast; slower where the machine cannot keep up. Its times are wall times: 0 of the simulation
 * is the moment of the start. At the end of the scenario the network stands still, and is still
 * answered for. Records beyond PD_SIM_LIVE_BYTES go, the oldest first.
 *
 * One thread of its own simulates. The world may be asked by any thread: one at a time, and never
 * for long, since what was simulated is copied for it. */

#define PD_SIM_LIVE_BYTES (UINT64_C(2) << 30)

struct pd_sim_live;

struct pd_sim_live_config {
    const struct pd_sim_scenario *scenario; /* outlives it */
    uint64_t seed;
    double speed; /* simulated seconds a second, > 0 */
    /* Alarms of a period, as in GET /v1/alarms; in the thread that simulates. NULL: nobody. */
    void (*alarms)(void *context, const json_t *alarms);
    void *context;
};

/* Nothing is simulated before pd_sim_live_start. 0, or -ENOMEM. */
int pd_sim_live_new(const struct pd_sim_live_config *config, struct pd_sim_live **ret_live);
/* 0, or a negative error in words. */
int pd_sim_live_start(struct pd_sim_live *live, struct pd_error *error);
/* Its time stands still; it may still be asked. */
void pd_sim_live_stop(struct pd_sim_live *live);
void pd_sim_live_free(struct pd_sim_live *live); /* ends it; NULL is fine */

/* Valid as long as `live`; its functions may be called by any thread. */
const struct pd_app_world *pd_sim_live_world(const struct pd_sim_live *live);

struct pd_sim_live_stat {
    double now_s; /* simulated */
    double lag_s; /* that its time is behind the clock */
    bool ended;
    char error[200]; /* why it has ended early; "": it has not */
};
void pd_sim_live_stat(struct pd_sim_live *live, struct pd_sim_live_stat *ret_stat);

#endif

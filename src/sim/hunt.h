/* SPDX-License-Identifier: Apache-2.0 */
/* A hunt: the simulator's observations go into a localiser, and its verdicts come out when they change. */
#ifndef PD_SIM_HUNT_H
#define PD_SIM_HUNT_H

#include "localise/localise.h"
#include "sim/sim.h"

/* One thread. A verdict changed when its links or `certain` did, or its confidence by PD_HUNT_CONFIDENCE_STEP. */

#define PD_HUNT_CONFIDENCE_STEP 0.05

struct pd_hunt_end {
    struct pd_sim_totals totals;
    struct pd_localiser_counters counters;
    double wall_s;
};

/* `report` may be NULL; non-zero from it ends the run, which then returns it. `localiser` NULL: nothing is looked for. */
int pd_hunt(const struct pd_scenario *scenario, uint64_t seed,
            const struct pd_localiser_ops *localiser,
            int (*report)(void *context, double now_s, const struct pd_verdict *verdict),
            void *context, struct pd_hunt_end *ret_end, struct pd_error *error);

#endif

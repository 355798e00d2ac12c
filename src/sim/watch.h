/* SPDX-License-Identifier: Apache-2.0 */
/* A watch: an application that runs again and again while the network is simulated, and its reports
 * when they change. */
#ifndef PD_SIM_WATCH_H
#define PD_SIM_WATCH_H

#include <stdio.h>

#include "apps/apps.h"
#include "sim/sim.h"

/* The application is opened once and runs at the ends of periods: each period_s of its own, or each
 * period where that is longer, and at the end; one that is started by alarms alone runs for each
 * alarm, PD_WATCH_ALARMS_MAX a period, those beyond are counted; one with neither runs once a
 * simulated second.
 *
 * A report changed when its links, its switches, `certain` or its sentence without the digits did,
 * or its confidence by PD_WATCH_CONFIDENCE_STEP. One thread. */

#define PD_WATCH_CONFIDENCE_STEP 0.05
#define PD_WATCH_ALARMS_MAX      64

struct pd_sim_watch {
    const struct pd_sim_scenario *scenario;
    uint64_t seed;
    const struct pd_app_ops *app; /* NULL: nothing is looked for */
    const json_t *args;           /* as given: texts or JSON; NULL: none */
    bool every_run;               /* give every report */
    /* Evidence that was judged, or all that there is where there is no application, is written
     * here; NULL: nowhere. */
    FILE *evidence;
    FILE *flows; /* flows that ended, a line each (docs/simulator.md); NULL: nowhere */
    /* Gets the report as JSON (report.h). Non-zero ends the run, which then returns it. */
    int (*report)(void *context, double now_s, const json_t *report);
    void *context;
};

struct pd_sim_watch_end {
    struct pd_sim_totals totals;
    uint64_t runs;
    uint64_t alarms_left; /* for which the application did not run */
    double wall_s;
};

/* 0, or an error in words: of the arguments, the application, or the simulator. */
int pd_sim_watch(const struct pd_sim_watch *watch, struct pd_sim_watch_end *ret_end,
                 struct pd_error *error);

#endif

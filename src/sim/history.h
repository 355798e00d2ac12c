/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence of earlier periods, for applications that look at them less often than they are
 * made. */
#ifndef PD_SIM_HISTORY_H
#define PD_SIM_HISTORY_H

#include "apps/report.h"
#include "sim/sim.h"

/* Nothing is kept until somebody asks; then the newest PD_HISTORY_MAX periods are. Internal to
 * sim/. One thread. */

#define PD_HISTORY_MAX 64u

/* One period, copied: what the rows point to lies in the two arrays. */
struct pd_kept_period {
    uint64_t from_us, to_us;
    bool anew;
    struct pd_evidence_row *flows;
    struct pd_evidence_way *ways;
    uint32_t *nodes;
    size_t rows_len;
};

/* Flows and their ways; half a copy after -ENOMEM, to be undone all the same. */
int pd_sim_kept_copy(struct pd_kept_period *kept, const struct pd_sim_period *period);
void pd_sim_kept_done(struct pd_kept_period *kept); /* works on zeroed memory */

struct pd_sim_history {
    bool wanted;
    uint64_t since_us; /* from when on it is whole */
    struct pd_kept_period periods[PD_HISTORY_MAX];
    unsigned first, len;
};

void pd_sim_history_done(struct pd_sim_history *history); /* works on zeroed memory */

/* 0 or -ENOMEM. */
int pd_sim_history_take(struct pd_sim_history *history, const struct pd_sim_period *period);

/* Each kept period that overlaps [from_us, to_us] and ended at `before_us` or earlier; what is
 * missing of them is said in `report`. The sink's non-zero. */
int pd_sim_history_visit(struct pd_sim_history *history, uint64_t from_us, uint64_t to_us,
                         uint64_t before_us, const struct pd_evidence_sink *sink,
                         struct pd_report *report);

#endif

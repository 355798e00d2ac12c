/* SPDX-License-Identifier: Apache-2.0 */
/* When a periodic query is due: multiples of its period, whatever a run takes. */
#ifndef PD_AGENT_INSTALLED_SCHEDULE_H
#define PD_AGENT_INSTALLED_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

/* Deadlines are absolute, so runs do not drift: a query of 10 ms runs a hundred times a second
 * however long it takes, if it takes less. What falls due while a run is under way, or before its
 * turn has come, is skipped and counted; it is never made up for, so runs do not pile up.
 *
 * Time is the caller's. Thread safety: plain data. */

struct pd_schedule {
    uint64_t period_ns;
    uint64_t due_ns; /* of the next run */
};

/* The first run is due at once. */
static inline struct pd_schedule pd_schedule_begin(uint64_t period_ns, uint64_t now_ns)
{
    return (struct pd_schedule){period_ns, now_ns};
}

static inline bool pd_schedule_due(const struct pd_schedule *schedule, uint64_t now_ns)
{
    return now_ns >= schedule->due_ns;
}

/* A run that was due has ended now: the next one is due at the first multiple after that. Returns
 * how many were skipped. */
static inline uint64_t pd_schedule_end(struct pd_schedule *schedule, uint64_t now_ns)
{
    uint64_t passed =
        now_ns >= schedule->due_ns ? (now_ns - schedule->due_ns) / schedule->period_ns : 0;

    schedule->due_ns += (passed + 1) * schedule->period_ns;
    return passed;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon's log says about its intake: that it waits, that it runs again, what it did not
 * count. */
#ifndef PD_AGENT_INTAKE_LOG_H
#define PD_AGENT_INTAKE_LOG_H

#include "intake/intake.h"

/* What was told last; zero-initialised, one thread's. */
struct pd_intake_log {
    bool waits;
    char detail[sizeof(((struct pd_intake_status *)NULL)->detail)];
    uint64_t next_ns; /* monotonic; nothing is told before */
};

/* Tells when the intake has begun to wait, waits for something else, or runs again: at most once a
 * second, so that an interface that goes up and down all day fills no disk, and then what holds at
 * that time. To be called again and again. */
void pd_agent_intake_log_look(struct pd_intake_log *log, const struct pd_intake_status *status);

/* Frames that became part of no record, by reason: who gave a file and no address has no other
 * place to see them. */
void pd_agent_intake_log_refused(const struct pd_intake_status *status);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* See intake_log.h. */
#include "agent/intake_log.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

#define MODULE "intake"

static bool is_told(const struct pd_intake_log *log, const struct pd_intake_status *status)
{
    if (status->state == PD_INTAKE_WAITING) {
        return log->waits && strcmp(log->detail, status->detail) == 0;
    }
    return !log->waits;
}

static void tell(struct pd_intake_log *log, const struct pd_intake_status *status)
{
    log->waits = status->state == PD_INTAKE_WAITING;
    snprintf(log->detail, sizeof log->detail, "%s", status->detail);
    if (log->waits) {
        pd_log(PD_LOG_WARN, MODULE, NULL, "nothing is counted: %s", log->detail);
    } else {
        pd_log(PD_LOG_INFO, MODULE, NULL, "packets are counted");
    }
}

void pd_agent_intake_log_look(struct pd_intake_log *log, const struct pd_intake_status *status)
{
    uint64_t now_ns;

    if (status->state > PD_INTAKE_RUNNING) {
        return; /* the end is told once all is stored */
    }
    if (!is_told(log, status) && (now_ns = pd_clock_monotonic_ns()) >= log->next_ns) {
        tell(log, status);
        log->next_ns = now_ns + PD_NS_PER_S;
    }
}

void pd_agent_intake_log_refused(const struct pd_intake_status *status)
{
    char reasons[PD_PACKET_VERDICT_COUNT * 48] = "";
    uint64_t refused = 0;
    size_t len = 0;

    for (int i = PD_PACKET_OK + 1; i < PD_PACKET_VERDICT_COUNT; i++) {
        if (!status->verdicts[i]) {
            continue;
        }
        refused += status->verdicts[i];
        len += (size_t)snprintf(reasons + len, sizeof reasons - len, "%s%s %llu", len ? ", " : "",
                                pd_packet_verdict_id((enum pd_packet_verdict)i),
                                (unsigned long long)status->verdicts[i]);
    }
    if (refused) {
        pd_log(PD_LOG_INFO, MODULE, NULL, "%llu of %llu frames are not counted: %s",
               (unsigned long long)refused, (unsigned long long)status->frames, reasons);
    }
}

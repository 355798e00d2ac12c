/* SPDX-License-Identifier: Apache-2.0 */
/* Alarms of this host: ⟨flow ID, reason, paths⟩, the newest kept, all counted (paper, Table 1: Alarm). */
#ifndef PD_AGENT_ALARMS_H
#define PD_AGENT_ALARMS_H

#include <jansson.h>
#include <stdint.h>

#include "base/flow_id.h"
#include "base/path.h"

/* A bounded list of the newest alarms. The same alarm (reason, flow ID and path or tags) again only raises the count
 * of the one that is there, and no more than PD_ALARMS_PER_S new ones are kept a second: a switch that tags wrongly
 * would otherwise push everything else out. What is not kept is counted, and the list then is not "complete".
 *
 * Thread safety: all functions may be called from any thread; one mutex, which is never held while another is taken. */

#define PD_ALARM_REASONS(X)                                                               \
    X(INFEASIBLE_PATH, "INFEASIBLE_PATH", "link tags that fit no path of the topology")   \
    X(UNKNOWN_HOST, "UNKNOWN_HOST", "an address that belongs to no rack of the topology") \
    X(TIB_FULL, "TIB_FULL", "records lost: no room for the store")                        \
    X(TIB_ERROR, "TIB_ERROR", "records lost: the store failed")                           \
    X(INTAKE_FAILED, "INTAKE_FAILED", "the intake ended with an error")                   \
    X(INTAKE_TRUNCATED, "INTAKE_TRUNCATED", "the capture is cut off")

enum pd_alarm_reason {
#define X(name, id, text) PD_ALARM_##name,
    PD_ALARM_REASONS(X)
#undef X
        PD_ALARM_REASON_COUNT
};

#define PD_ALARMS_MAX   1024
#define PD_ALARMS_PER_S 100

struct pd_alarm {
    uint64_t id; /* from 1, in the order raised */
    uint64_t first_us;
    uint64_t last_us;
    uint64_t count; /* times raised */
    enum pd_alarm_reason reason;
    struct pd_flow_id flow; /* ip_version 0: none */
    struct pd_path path;    /* raw tags when its len is 0 */
    char detail[200];
};

struct pd_alarm_counts {
    uint64_t by_reason[PD_ALARM_REASON_COUNT]; /* all that were raised */
    uint64_t suppressed;                       /* of these: too many in a second */
    uint64_t overwritten;                      /* kept once, then pushed out by newer ones */
    uint64_t kept;
};

struct pd_alarms;

int pd_alarms_new(struct pd_alarms **ret_alarms); /* 0 or -ENOMEM */
void pd_alarms_free(struct pd_alarms *alarms);    /* NULL is fine */

/* `flow` and `path` may be NULL. `detail` is a sentence or "". */
void pd_alarms_raise(struct pd_alarms *alarms, enum pd_alarm_reason reason,
                     const struct pd_flow_id *flow, const struct pd_path *path, const char *detail);

void pd_alarms_counts(struct pd_alarms *alarms, struct pd_alarm_counts *ret_counts);

/* {"alarms":[…],"complete":…}, oldest first; NULL without memory. The caller's. */
json_t *pd_alarms_json(struct pd_alarms *alarms);

const char *pd_alarm_reason_id(enum pd_alarm_reason reason);

#endif

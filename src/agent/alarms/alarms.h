/* SPDX-License-Identifier: Apache-2.0 */
/* Alarms of this host: ⟨flow ID, reason, paths⟩, the newest kept, all counted (paper, Table 1:
 * Alarm). */
#ifndef PD_AGENT_ALARMS_ALARMS_H
#define PD_AGENT_ALARMS_ALARMS_H

#include <jansson.h>
#include <stdint.h>

#include "base/flow_id.h"
#include "base/mark.h"
#include "base/path.h"
#include "fleet/alarm_message.h"

/* A bounded list of the newest alarms. A reason is a text, for installed queries and programs have
 * reasons of their own; those that the agent itself raises are named below.
 *
 * No reason is at another one's mercy. Each has a budget of PD_ALARMS_PER_S a second; what is over
 * it is counted, and the next alarm of that reason that is kept says how many there were. When the
 * list is full the oldest alarm of the reason that has the most is pushed out. The same alarm
 * (reason, flow ID, paths or tags, origin) again only raises the count of the one that is there.
 *
 * Listeners (the spool to the controller, queries that are installed on alarms) hear of each alarm
 * that comes into the list, and of one that is raised again once PD_ALARM_AGAIN_NS have gone by
 * since they last heard of it; of POOR_PERF sooner at first: PD_ALARM_SOON_NS, then twice as long
 * each time.
 *
 * Thread safety: all functions may be called from any thread. One mutex; while it is held only the
 * locks of listeners are taken. */

#define PD_ALARM_REASONS(X)                                                                   \
    X(INFEASIBLE_PATH, "INFEASIBLE_PATH", "link tags that fit no path of the topology")       \
    X(UNKNOWN_HOST, "UNKNOWN_HOST", "an address that belongs to no rack of the topology")     \
    X(TIB_FULL, "TIB_FULL", "records lost: no room for the store")                            \
    X(TIB_ERROR, "TIB_ERROR", "records lost: the store failed")                               \
    X(INTAKE_FAILED, "INTAKE_FAILED", "the intake ended with an error")                       \
    X(INTAKE_TRUNCATED, "INTAKE_TRUNCATED", "the capture is cut off")                         \
    X(PC_FAIL, "PC_FAIL", "a path that an installed conformance query forbids")               \
    X(QUERY_STOPPED, "QUERY_STOPPED", "an installed query failed again and again")            \
    X(ALARMS_LOST, "ALARMS_LOST", "alarms that had no room while the controller was away")    \
    X(ALARM_BUDGET, "ALARM_BUDGET", "alarms beyond those that a host may bring in a minute")  \
    X(TELEMETRY_PLAN, "TELEMETRY_PLAN", "digests that are not of this host's telemetry plan") \
    X(INT_DROP, "INT_DROP", "a packet that a switch reports as dropped")                      \
    X(INT_QUEUE, "INT_QUEUE", "a packet that met a congested queue, as a switch reports")     \
    X(POOR_PERF, "POOR_PERF", "a TCP connection that has to send again")

/* Their texts: PD_ALARM_TIB_FULL is "TIB_FULL". */
#define X(name, id, text) extern const char PD_ALARM_##name[];
PD_ALARM_REASONS(X)
#undef X

enum pd_alarm_known {
#define X(name, id, text) PD_ALARM_KNOWN_##name,
    PD_ALARM_REASONS(X)
#undef X
        PD_ALARM_KNOWN_COUNT
};

#define PD_ALARM_DETAIL_BYTES 256
/* Different ones; what comes later shares the last place, "OTHER". */
#define PD_ALARM_REASONS_MAX 64
#define PD_ALARM_OTHER       "OTHER"
#define PD_ALARMS_MAX        1024
#define PD_ALARMS_PER_S      100 /* of one reason */
#define PD_ALARM_AGAIN_NS    UINT64_C(60000000000)
#define PD_ALARM_SOON_NS     UINT64_C(1000000000)
#define PD_ALARM_LISTENERS   4

/* What is raised. All is copied; what is not set may be left out. */
struct pd_alarm_raise {
    const char *reason;
    const struct pd_flow_id *flow;
    const struct pd_path *paths;
    const struct pd_mark *mark; /* of a trajectory without a path; NULL: none */
    size_t paths_len;   /* of more than PD_ALARM_PATHS_MAX the first are kept, the rest counted */
    const char *detail; /* a sentence */
    enum pd_alarm_origin origin;
    const char *by; /* who caused it; NULL: nobody */
};

struct pd_alarm {
    uint64_t id; /* from 1, in the order kept */
    uint64_t first_us;
    uint64_t last_us;
    uint64_t count;      /* times raised */
    uint64_t suppressed; /* alarms of this reason that were too many, since the one before */
    uint64_t told;       /* `count` when listeners last heard of it */
    uint64_t told_ns;    /* and when that was, monotonic */
    unsigned times_told;
    uint64_t hash;
    char reason[PD_ALARM_REASON_BYTES];
    enum pd_alarm_origin origin;
    char by[PD_ALARM_BY_BYTES]; /* "": nobody */
    unsigned slot;              /* of its reason in the counts */
    struct pd_flow_id flow;     /* ip_version 0: none */
    char detail[PD_ALARM_DETAIL_BYTES];
    unsigned paths_left; /* that were too many */
    bool has_mark;       /* of a trajectory without a path; may be one where nothing was kept */
    struct pd_mark mark;
    unsigned paths_len;
    struct pd_path paths[];
};

struct pd_alarm_counts {
    struct pd_alarm_reason_counts {
        char reason[PD_ALARM_REASON_BYTES];
        uint64_t raised;
        uint64_t suppressed;         /* of these: too many in a second */
        uint64_t repeated;           /* of these: the same as one that was there */
        uint64_t kept;               /* in the list now */
    } reasons[PD_ALARM_REASONS_MAX]; /* the known ones first, in the order of their table */
    unsigned reasons_len;
    uint64_t suppressed;  /* of all reasons */
    uint64_t overwritten; /* kept once, then pushed out by newer ones */
    uint64_t kept;
};

struct pd_alarms;

int pd_alarms_new(struct pd_alarms **ret_alarms); /* 0 or -ENOMEM */
void pd_alarms_free(struct pd_alarms *alarms);    /* NULL is fine */

/* Never waits for a disk or a network. 0, or -PD_E_VALUE: this can be no reason, or none of this
 * origin, and nothing was raised. */
int pd_alarms_raise(struct pd_alarms *alarms, const struct pd_alarm_raise *raise);

/* One without flow and paths. */
void pd_alarms_note(struct pd_alarms *alarms, const char *reason, const char *detail);

/* `hear` is called in the thread that raises, with the list's lock held: it must neither wait nor
 * raise an alarm. What an alarm points to is valid until it returns. Before the first thread
 * starts, and never taken back. */
void pd_alarms_listen(struct pd_alarms *alarms,
                      void (*hear)(void *context, const struct pd_alarm *alarm), void *context);

/* When a storm is over and no alarm of its reason follows, somebody still has to say how many were
 * suppressed: to be called every second or so. Returns how many alarms came of it. */
unsigned pd_alarms_settle(struct pd_alarms *alarms);

/* As the controller gets it, and people: without the mark of what has no path. */
void pd_alarm_message_make(const struct pd_alarm *alarm, struct pd_alarm_message *ret_message);

void pd_alarms_counts(struct pd_alarms *alarms, struct pd_alarm_counts *ret_counts);

/* {"alarms":[…],"complete":…}, oldest first; NULL without memory. The caller's. */
json_t *pd_alarms_json(struct pd_alarms *alarms);

#endif

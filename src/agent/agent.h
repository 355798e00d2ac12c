/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a running agent, as REST, status and metrics see them. */
#ifndef PD_AGENT_AGENT_H
#define PD_AGENT_AGENT_H

#include <stdatomic.h>
#include <stdint.h>

#include "agent/alarms/alarms.h"
#include "agent/alarms/sender.h"
#include "agent/counters.h"
#include "agent/installed/installed.h"
#include "agent/logs/logs.h"
#include "agent/orders.h"
#include "agent/pipeline.h"
#include "agent/response_cache.h"
#include "daemon/admission.h"
#include "daemon/part.h"
#include "fleet/fanout.h"
#include "http/credentials.h"
#include "monitor/monitor.h"
#include "program/program.h"
#include "tib/tib.h"
#include "trace/tracer.h"

/* Made by the parts before the first thread starts and unmade after the last one ended; in between
 * the pointers do not change. What they point to says itself how it is shared. */

/* Questions at work at once, those that wait, and how many of these may be one client's; more get
 * 503. Programs have turns of their own: an endless one keeps its turn until its time is over. */
#define PD_AGENT_QUERIES_MAX      4
#define PD_AGENT_PROGRAMS_MAX     2
#define PD_AGENT_WAITING_MAX      256
#define PD_AGENT_CLIENT_WAITS_MAX 128

struct pd_settings;

struct pd_agent {
    const struct pd_settings *settings; /* for `open` and `start` of parts: as it was at start */
    struct pd_model *model;             /* likewise */
    struct pd_tib *tib;
    struct pd_digests *digests;       /* NULL: there is no telemetry plan */
    struct pd_agent_samples *samples; /* NULL: no codec has samples */
    struct pd_pipeline *pipeline;
    struct pd_alarms *alarms;
    struct pd_intake_complaints complaints; /* of switches, to these */
    struct pd_alarm_sender *sender;         /* NULL: there is no controller */
    struct pd_programs *programs;
    struct pd_credentials *credentials; /* of clients, and for whom the agent asks */
    struct pd_monitor *monitor;         /* of TCP; NULL where there is none: tests */
    struct pd_tracer *tracer;           /* NULL: flows are not traced */
    struct pd_agent_poor_alarms *poor;  /* whose alarms count; NULL likewise */
    struct pd_installed *installed;     /* NULL where there is none: tests */
    struct pd_packet_logs *logs;        /* likewise */
    struct pd_response_cache *again;    /* NULL: no answer is kept */
    struct pd_agent_orders *orders;     /* NULL: none are needed: tests */
    struct pd_agent_counters counters;
    uint64_t started_ns; /* monotonic */
    char host[65];
    uint32_t host_id; /* 0: not told */
    struct pd_daemon_admission
        *query_turns; /* daemon/admission.h; this and the next for questions over REST */
    struct pd_daemon_admission *program_turns;
    struct pd_fanout *fanout;                /* to hosts below; NULL: there is no REST */
    struct pd_program_limits program_limits; /* its deadline is not used … */
    uint64_t program_time_ns;                /* … but this long a run may take */
    atomic_bool stopping;                    /* set once: answers are cut short; relaxed */
};

/* The parts (parts.c), in the order in which they are opened. Ends with NULL. */
extern const struct pd_part *const pd_agent_parts[];

#endif

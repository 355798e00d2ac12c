/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a running agent, as REST, status and metrics see them. */
#ifndef PD_AGENT_AGENT_H
#define PD_AGENT_AGENT_H

#include <stdatomic.h>
#include <stdint.h>

#include "agent/alarms.h"
#include "agent/counters.h"
#include "agent/installed.h"
#include "agent/pipeline.h"
#include "http/credentials.h"
#include "program/program.h"
#include "tib/tib.h"

/* Made by main.c before the first thread starts and unmade after the last one ended; in between the pointers do not
 * change. What they point to says itself how it is shared. */

#define PD_AGENT_QUERIES_MAX 4 /* queries that may run at once; more get 503 */

struct pd_agent {
    struct pd_tib *tib;
    struct pd_pipeline *pipeline;
    struct pd_alarms *alarms;
    struct pd_programs *programs;
    struct pd_credentials *credentials; /* of clients, and for whom the agent asks */
    struct pd_installed *installed; /* NULL where there is none: tests */
    struct pd_agent_counters counters;
    uint64_t started_ns; /* monotonic */
    char host[65];
    atomic_int queries_running; /* relaxed: only a number */
    atomic_bool stopping;       /* set once: answers are cut short; relaxed */
};

#endif

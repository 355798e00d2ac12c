/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to its answer, whatever carries them. */
#ifndef PD_AGENT_REST_H
#define PD_AGENT_REST_H

#include <stddef.h>

#include "agent/agent.h"
#include "http/answer.h"
#include "http/server.h"

/* Thread safety: may be called from any number of threads. Blocks as long as the query runs; a live query some
 * seconds at most for its picture. */

/* Fills the answer (initialised by the caller), with a problem document when something is wrong. */
void pd_rest_answer(struct pd_agent *agent, const char *method, const char *target,
                    size_t target_bytes, struct pd_answer *answer);

/* The same for the HTTP server; its counters become the agent's. */
struct pd_http_service pd_rest_service(struct pd_agent *agent);

#endif

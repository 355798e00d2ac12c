/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to its answer, whatever carries them. */
#ifndef PD_AGENT_REST_H
#define PD_AGENT_REST_H

#include <stddef.h>

#include "agent/agent.h"
#include "agent/request.h"
#include "http/answer.h"
#include "http/server.h"

/* Thread safety: may be called from any number of threads. Blocks as long as the query runs; a live
 * query some seconds at most for its snapshot. */

/* One route's work. Fills the answer (initialised by the caller) and returns 0; or fills the
 * problem and returns its negative error: what the answer holds by then is dropped. */
typedef int pd_rest_handler(struct pd_agent *agent, const struct pd_request *request,
                            struct pd_answer *answer, struct pd_problem *problem);

#define X(name, method, path, role, handler, help) pd_rest_handler handler;
PD_ROUTES(X)
#undef X

/* Fills the answer (initialised by the caller), with a problem document when something is wrong. */
void pd_agent_rest_answer(struct pd_agent *agent, const struct pd_http_request *http,
                          struct pd_answer *answer);

/* The same for the HTTP server; its counters become the agent's. */
struct pd_http_service pd_agent_rest_service(struct pd_agent *agent);

#endif

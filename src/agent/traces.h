/* SPDX-License-Identifier: Apache-2.0 */
/* Between the tracer and the agent: options, status, the store, POST /v1/trace. */
#ifndef PD_AGENT_TRACES_H
#define PD_AGENT_TRACES_H

#include "agent/agent.h"
#include "agent/model.h"

/* Where raw sockets are not to be had, that is said once, in the log and in the status, and all
 * else works. Thread safety: as parts have it. */

extern const struct pd_part pd_agent_traces;

/* Gives what it has to the pipeline, which has to be stopped after this. More than once is fine. */
void pd_agent_traces_stop(struct pd_agent *agent);

/* Another topology, at a reload. */
void pd_agent_traces_model(struct pd_agent *agent, struct pd_model *model);

#endif

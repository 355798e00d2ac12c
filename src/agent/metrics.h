/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's counters in the text format of Prometheus: GET /metrics. */
#ifndef PD_AGENT_METRICS_H
#define PD_AGENT_METRICS_H

#include "agent/agent.h"
#include "http/answer.h"

/* Names: pathdump_<stage>_<counter>_total for counters, pathdump_<stage>_<what> for gauges. Every
 * counter of the stages' tables is there. From any thread. 0, or what pd_http_answer_write returns.
 */
int pd_agent_metrics_write(struct pd_agent *agent, struct pd_answer *answer);

#endif

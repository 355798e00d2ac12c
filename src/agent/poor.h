/* SPDX-License-Identifier: Apache-2.0 */
/* getPoorTCPFlows at this host: what its TCP monitor knows. */
#ifndef PD_AGENT_POOR_H
#define PD_AGENT_POOR_H

#include <jansson.h>

#include "agent/agent.h"
#include "query/poor.h"

/* {"flows":[…],"complete","source","since_us","forgotten"} as docs/api/openapi.json says; the caller's. From any thread. */
int pd_agent_poor(struct pd_agent *agent, const struct pd_poor_question *question,
                  json_t **ret_answer, struct pd_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* State and counters of the daemon as one JSON document: GET /v1/status. */
#ifndef PD_AGENT_STATUS_H
#define PD_AGENT_STATUS_H

#include <jansson.h>

#include "agent/agent.h"

/* NULL without memory; the caller's. From any thread. Every counter of the stages' tables is in it.
 */
json_t *pd_agent_status_json(struct pd_agent *agent);

#endif

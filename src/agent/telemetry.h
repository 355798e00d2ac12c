/* SPDX-License-Identifier: Apache-2.0 */
/* The telemetry plan of a running daemon: from --telemetry, or as the controller gives it. */
#ifndef PD_AGENT_TELEMETRY_H
#define PD_AGENT_TELEMETRY_H

#include "daemon/part.h"

/* Where the topology's codec is pint, digests are taken (agent/digests.h) as soon as there is a
 * plan. GET /v1/telemetry/plan tells it, PUT gives another one: the same one again changes nothing.
 * GET /v1/telemetry/status tells its hash alone, for controllers that look after many hosts.
 *
 * Thread safety: the plan's text has a lock; digests take plans over in the intake's thread. */

extern const struct pd_part pd_agent_telemetry;

#endif

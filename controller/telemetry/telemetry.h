/* SPDX-License-Identifier: Apache-2.0 */
/* The telemetry plan of the fleet: kept here, and brought to all hosts. */
#ifndef PD_CONTROLLER_TELEMETRY_TELEMETRY_H
#define PD_CONTROLLER_TELEMETRY_TELEMETRY_H

#include "controller/controller.h"

/* GET, PUT /v1/telemetry/plan; GET /v1/telemetry/status: which hosts have it. The plan lies in the
 * state directory (telemetry.json). PUT tries each host once, for two seconds at most; a thread
 * compares what hosts have with what they shall have, every few seconds, by a hash: a host that was
 * away or began anew gets it then. Hosts leave digests aside for the plan's settle_ms after they
 * have taken it over.
 *
 * Thread safety: one lock for plan and states; it is not held while hosts are asked. */

extern const struct pd_part pd_telemetry_part;

/* Where the plan's number is not *number, *plan is freed and becomes a copy of the plan of now
 * (NULL: none, or no memory), *number its number. Any thread. */
struct pd_pint_plan;
void pd_telemetry_plan_now(uint64_t *number, struct pd_pint_plan **plan);

#endif

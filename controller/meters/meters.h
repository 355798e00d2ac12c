/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's meters: epochs, monitors, segments and what these lost. */
#ifndef PD_CONTROLLER_METERS_METERS_H
#define PD_CONTROLLER_METERS_METERS_H

#include "daemon/part.h"
#include "evidence/evidence.h"

/* See the README. Monitors are those of --monitors FILE, [{"id":9,"url":"unix:/…"}]; the loop runs
 * from POST /v1/monitors to DELETE. Thread safety: any thread. */

extern const struct pd_part pd_meters_part;

bool pd_controller_meters_are_there(void); /* monitors are listed */

/* What segments lost in the epochs that were read in (from_us, to_us] (wall time): a period for
 * each; the first one continues another period where `continues`. 0, or what the sink returned. */
int pd_controller_meters_observe(uint64_t from_us, uint64_t to_us, bool continues,
                                 const struct pd_evidence_sink *sink);

#endif

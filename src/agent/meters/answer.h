/* SPDX-License-Identifier: Apache-2.0 */
/* A reading of meters as JSON (docs/formats/meters.md). */
#ifndef PD_AGENT_METERS_ANSWER_H
#define PD_AGENT_METERS_ANSWER_H

#include <jansson.h>

#include "agent/meters/driver.h"

/* "meters": one of each role. NULL without memory. */
json_t *pd_agent_meters_roles_json(const struct pd_agent_meter_reading *reading, uint32_t monitor,
                                   uint64_t epoch, uint64_t epoch_ms);

/* "largest". Likewise. */
json_t *pd_agent_meters_largest_json(const struct pd_agent_meter_reading *reading);

/* Flows whose clean buckets of one role do not agree. */
uint64_t pd_agent_meters_disagree(struct pd_agent_meter_reading *reading);

#endif

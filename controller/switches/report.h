/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the switches, for people and programs: JSON and metrics. */
#ifndef PD_CONTROLLER_SWITCHES_REPORT_H
#define PD_CONTROLLER_SWITCHES_REPORT_H

#include <jansson.h>

#include "controller/switches/switches.h"
#include "daemon/metrics.h"

/* Thread safety: any thread; `switches` may be NULL for a controller without an endpoint, whose
 * switches are all away. */

/* The answer of GET /v1/switches (docs/api); NULL without memory. */
json_t *pd_switches_json(struct pd_switches *switches, const struct pd_topology *topology);

/* One switch in there. */
json_t *pd_switch_status_json(const struct pd_topology *topology,
                              const struct pd_switch_status *status);

/* How many switches are in which state, and every counter of the endpoint. */
void pd_switches_metrics(struct pd_switches *switches, const struct pd_topology *topology,
                         struct pd_metrics *metrics);

#endif

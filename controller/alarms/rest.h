/* SPDX-License-Identifier: Apache-2.0 */
/* Alarms as one of the controller's parts. */
#ifndef PD_CONTROLLER_ALARMS_REST_H
#define PD_CONTROLLER_ALARMS_REST_H

#include "controller/controller.h"

/* The store below the state directory, POST and GET /v1/alarms, and the stream of events. */
extern const struct pd_part pd_alarms_part;

/* An alarm of the controller's own, about no flow: host 0; `by` is the application. Waits for
 * nothing; from any thread. */
void pd_controller_alarm(struct pd_controller *controller, const char *by, const char *reason,
                         const char *detail);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The event hub as one of the controller's parts. */
#ifndef PD_CONTROLLER_EVENTS_EVENTS_H
#define PD_CONTROLLER_EVENTS_EVENTS_H

#include "controller/controller.h"

/* GET /v1/events. Opened first and closed last: the other parts publish. */
extern const struct pd_part pd_events_part;

/* Tells of a reload, once all parts work by it. */
void pd_events_reloaded(struct pd_controller *controller);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Queries that run now, as a part of the controller: their turns, and the workers of programs. */
#ifndef PD_CONTROLLER_EXECUTE_H
#define PD_CONTROLLER_EXECUTE_H

#include "controller/controller.h"

/* controller->turns, controller->programs; POST /v1/execute is their route. */
extern const struct pd_controller_part pd_execute_part;

#endif

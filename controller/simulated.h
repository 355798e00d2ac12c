/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of a controller whose world is the simulator, in place of a fleet. */
#ifndef PD_CONTROLLER_SIMULATED_H
#define PD_CONTROLLER_SIMULATED_H

#include <jansson.h>

#include "controller/controller.h"
#include "query/plan.h"

/* What controller->simulated answers to the body of POST /v1/execute; which way to ask means
 * nothing there, and is left out. With `items` the rows of a query over records go to them. Ends
 * when the world is asked; any thread. Negative errors in words. */
int pd_controller_simulated_execute(struct pd_controller *controller, const json_t *document,
                                    const struct pd_items *items, json_t **ret_answer,
                                    struct pd_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Queries that run now, as a part of the controller: their admission, and the workers of programs.
 */
#ifndef PD_CONTROLLER_EXECUTE_H
#define PD_CONTROLLER_EXECUTE_H

#include <jansson.h>

#include "controller/controller.h"
#include "query/plan.h"

/* controller->admission, controller->programs; POST /v1/execute is their route. */
extern const struct pd_part pd_controller_execute_part;

/* POST /v1/execute without HTTP and without text: `document` is its body. The rows of a query over
 * records go to `items` (NULL for any other question), in the calling thread, which must not ask
 * again from there; *ret_answer, the caller's, has all other members of the answer. In turn as
 * everybody, under the name `client`; ends soon when the controller stops. From any thread. Errors
 * in words, but for what `items` returned. */
int pd_controller_execute_within(struct pd_controller *controller, const char *client,
                                 const json_t *document, const struct pd_items *items,
                                 json_t **ret_answer, struct pd_error *error);

#endif

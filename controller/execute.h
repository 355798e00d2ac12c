/* SPDX-License-Identifier: Apache-2.0 */
/* Queries that run now, as a part of the controller: their turns, and the workers of programs. */
#ifndef PD_CONTROLLER_EXECUTE_H
#define PD_CONTROLLER_EXECUTE_H

#include <jansson.h>

#include "controller/controller.h"

/* controller->turns, controller->programs; POST /v1/execute is their route. */
extern const struct pd_part pd_execute_part;

#define PD_EXECUTE_WITHIN_MAX_BYTES ((size_t)256 << 20) /* of an answer that goes into memory */

/* POST /v1/execute without HTTP: `document` is its body, *ret_answer that of its answer, the
 * caller's. In turn as everybody, under the name `client`; ends soon when the controller stops.
 * From any thread. Errors in words. */
int pd_execute_within(struct pd_controller *controller, const char *client, const json_t *document,
                      json_t **ret_answer, struct pd_error *error);

#endif

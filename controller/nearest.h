/* SPDX-License-Identifier: Apache-2.0 */
/* What a question names that is not there, and what is there that looks like it. */
#ifndef PD_CONTROLLER_NEAREST_H
#define PD_CONTROLLER_NEAREST_H

#include <jansson.h>

#include "base/error.h"
#include "controller/inventory.h"

/* A link or a path that the topology does not have has no records, and an empty answer would look
 * like a quiet network. So it is refused, with the nearest that there is: the one with the fewest
 * changes of a character.
 *
 * Thread safety: pure. */

/* "link" and "path" among the parameters of a question. 0 or -PD_E_VALUE. */
int pd_controller_check_args(const struct pd_topology *topology, const json_t *args,
                             struct pd_error *error);

/* The host whose name or ID is nearest to this text; SIZE_MAX where there is none at all. */
size_t pd_controller_nearest_host(const struct pd_inventory *inventory, const char *text);

#endif

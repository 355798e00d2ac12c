/* SPDX-License-Identifier: Apache-2.0 */
/* Which hosts are meant: "all", "rack:SWITCH", a name, or a list of IDs, names and racks. */
#ifndef PD_CONTROLLER_SELECT_H
#define PD_CONTROLLER_SELECT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/inventory.h"

/* The member "hosts" of what is executed or installed. SWITCH is the ID or the name of a switch
 * with a rack. What is named twice counts once; what is not there is an error, never passed over.
 *
 * Thread safety: works on the caller's memory only. */

#define PD_SELECTION_ITEMS_MAX 1000000 /* of a list */

struct pd_selection {
    uint32_t *hosts; /* indexes in the inventory, ascending */
    size_t len;      /* at least 1 */
};

/* `hosts` may be NULL: the member is missing. -PD_E_VALUE with
 * words that name the item; -ENOMEM. */
int pd_controller_select(const struct pd_inventory *inventory, const json_t *hosts,
                         struct pd_selection *ret_selection, struct pd_error *error);

void pd_controller_selection_done(struct pd_selection *selection); /* a zeroed one is fine */

#endif

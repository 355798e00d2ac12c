/* SPDX-License-Identifier: Apache-2.0 */
/* The page of the map, and sessions for those who look at it. */
#ifndef PD_CONTROLLER_MAP_MAP_H
#define PD_CONTROLLER_MAP_MAP_H

#include "daemon/part.h"

/* GET /, /map and below: the page, which anybody may have: it holds nothing of the network. What it
 * shows it asks for, as whoever looks at it. POST and DELETE /v1/session. */
extern const struct pd_part pd_map_part;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Link metrics as one of the controller's parts. */
#ifndef PD_CONTROLLER_LINKS_LINKS_H
#define PD_CONTROLLER_LINKS_LINKS_H

#include "daemon/part.h"

/* GET /v1/topology, /v1/links and what is below, the events `link`. One thread, pd-links, that
 * takes a sample each period as long as a stream of such events is open; else nobody is asked
 * before somebody comes. */
extern const struct pd_part pd_links_part;

#endif

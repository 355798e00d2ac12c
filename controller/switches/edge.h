/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a switch holds its edge: what is known of it before and after its table was read. */
#ifndef PD_CONTROLLER_SWITCHES_EDGE_H
#define PD_CONTROLLER_SWITCHES_EDGE_H

#include "controller/switches/rules.h"
#include "controller/switches/switches.h"

/* A switch without hosts and rack has no edge to hold; one whose rack's hosts are not in the
 * topology is never known; one whose topology leaves the edge open is open, whoever asks. Of the
 * rest only a look at the table tells, and what was known goes with the connection.
 *
 * Internal to controller/switches/. Thread safety: pure. */

/* `compared`: of its table as it is now, NULL before. */
enum pd_switch_edge pd_switch_edge_of(const struct pd_topology *topology, uint32_t sw,
                                      const struct pd_of_differences *compared);

#endif

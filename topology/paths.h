/* SPDX-License-Identifier: Apache-2.0 */
/* Shortest paths between two switches: what ECMP and spraying may choose from while all links are
 * up. */
#ifndef PD_TOPOLOGY_PATHS_H
#define PD_TOPOLOGY_PATHS_H

#include "base/path.h"
#include "topology/topology.h"

/* Visits all shortest paths from one switch to the other (indexes), in ascending order, until
 * `visit` returns non-zero, which is then returned. The path of a switch to itself is that switch.
 * 0 when there is none, or only longer ones than PD_PATH_MAX switches. -ENOMEM. Thread safety:
 * pure. */
int pd_topology_shortest(const struct pd_topology *topology, uint32_t from, uint32_t to,
                         int (*visit)(void *context, const struct pd_path *path), void *context);

/* The first `most` of them, into `paths`. Returns how many there are at all, or -ENOMEM. */
int64_t pd_topology_shortest_list(const struct pd_topology *topology, uint32_t from, uint32_t to,
                                  struct pd_path *paths, size_t most);

/* How many links each switch is away from `to` (an index); PD_NONE: it cannot be reached. The
 * caller frees *ret_steps. 0 or -ENOMEM. */
int pd_topology_steps(const struct pd_topology *topology, uint32_t to, uint32_t **ret_steps);

#endif

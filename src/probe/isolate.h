/* SPDX-License-Identifier: Apache-2.0 */
/* Isolation: which hop of a planned path loses probes? Its prefixes are probed, all at once. */
#ifndef PD_PROBE_ISOLATE_H
#define PD_PROBE_ISOLATE_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/plan/graph.h"
#include "probe/plan/paths.h"

/* Paper 001 tells that a path lost its probe, not where. So each prefix of that path is continued
 * to the nearest switch that has a host, over directions that are known to be well: the direction
 * behind the longest prefix whose probes arrive is the one that loses. What lies behind it nobody
 * probes then, so each direction of the path is also probed alone: from a switch that has a host to
 * it, and back to one, over directions that are well. The first one is its own prefix, unless the
 * graph says that the path begins without a host.
 *
 * `well` is by directed number (topology/links.h). Where no way over them leads, one over others is
 * taken: when its probes arrive, they were well. So another call finds better ways when more is
 * known. The whole path is none of the prefixes: it is probed as it is.
 *
 * `ret_paths` gets the prefixes by length, then the directions in order; it is
 * pd_plan_paths_done()'s to free, also after an error. 0, -ENOMEM, or -PD_E_VALUE: two neighbours
 * of the path have no link. Time: two walks over the graph. */
int pd_probe_isolate(const struct pd_plan_graph *graph, const uint32_t *nodes, uint32_t hops,
                     const bool *well, struct pd_plan_paths *ret_paths);

#endif

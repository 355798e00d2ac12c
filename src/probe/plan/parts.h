/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the planner: what plan.c puts together. Not for other stages. */
#ifndef PD_PROBE_PLAN_PARTS_H
#define PD_PROBE_PLAN_PARTS_H

#include "probe/plan/plan.h"

/* All of these append to plan->paths and return 0 or -ENOMEM. */

/* directions.c: circuits over all directions of components with a host, cut and evened. */
int pd_plan_directions(const struct pd_plan_graph *graph, struct pd_plan *plan);

/* links.c: trails over all links. */
int pd_plan_links(const struct pd_plan_graph *graph, struct pd_plan *plan);
/* Figure 2 of paper 001. `paths` NULL: only the walk. */
int pd_plan_dfs(const struct pd_plan_graph *graph, struct pd_plan_paths *paths);

/* detour.c: cuts each path from number `from` on that is longer than max_hops, over ways to a host
 * and back. Directions crossed again are listed, and those that no path can reach. */
int pd_plan_detour(const struct pd_plan_graph *graph, struct pd_plan *plan, uint32_t from);
/* The lists of both. 0 or -ENOMEM. */
int pd_plan_add_repeated(struct pd_plan *plan, uint32_t a, uint32_t b);
int pd_plan_add_uncovered(struct pd_plan *plan, uint32_t a, uint32_t b);
/* Hops from the nearest host of each node, PD_NONE: none can be reached; the next node on the way
 * there. Either result is the caller's to free, `ret_next` may be NULL. */
int pd_plan_distances(const struct pd_plan_graph *graph, uint32_t **ret_hops, uint32_t **ret_next);

/* cut.c: cuts the walk of `hops` hops that begins at nodes[first] of plan->paths and begins and
 * ends at a host into paths of at most max_hops, even, as few as can be found. */
int pd_plan_cut(const struct pd_plan_graph *graph, struct pd_plan *plan, uint32_t first,
                uint32_t hops);

/* keep.c: paths of `keep` that still are whole stay; the others and what none covers is planned
 * anew. */
int pd_plan_keep(const struct pd_plan_graph *graph, const struct pd_plan_paths *keep,
                 struct pd_plan *plan);

/* shorten.c: no path from number `from` on stays longer than max_hops; some before it may change.
 */
int pd_plan_shorten(const struct pd_plan_graph *graph, struct pd_plan *plan, uint32_t from);

#endif

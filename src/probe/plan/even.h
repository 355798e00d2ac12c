/* SPDX-License-Identifier: Apache-2.0 */
/* Trails made even: lengths that differ as little as a local search can make them. */
#ifndef PD_PROBE_PLAN_EVEN_H
#define PD_PROBE_PLAN_EVEN_H

#include <stdbool.h>

#include "probe/plan/paths.h"

/* Paper 001, section III-E, made whole. Two moves keep the number of trails, what they cover and
 * (up to who has which) their ends:
 *
 *   - two trails that meet at a switch exchange what lies behind it; where links have no direction,
 *     also what lies behind one with what lies before the other;
 *   - a closed tour within a trail moves to another one that it meets.
 *
 * A move is made when the sum of the squares of the two lengths falls, the best one of a pair
 * first, until no pair has one. Then, as long as the work allows, some moves at random that cost
 * little, and again downhill; the best state found is kept. The work is bounded by a multiple of
 * the hops, so that the time stays in proportion to the network. The same input gives the same
 * output. */

struct pd_plan_even {
    uint32_t nodes_len; /* of the graph */
    bool directed;
    uint32_t goal;  /* stops when no two lengths differ by more; at least 1 */
    uint32_t limit; /* stops when no length is above it; 0: does not */
    uint64_t work;  /* steps at most; 0: a multiple of the hops */
};

/* Evens the paths from number `from` on. 0 or -ENOMEM, the paths as they were then. */
int pd_plan_even(const struct pd_plan_even *how, struct pd_plan_paths *paths, uint32_t from);

#endif

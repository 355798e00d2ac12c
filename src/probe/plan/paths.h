/* SPDX-License-Identifier: Apache-2.0 */
/* The paths of a plan: slices of one array of nodes, which neighbours may share. */
#ifndef PD_PROBE_PLAN_PATHS_H
#define PD_PROBE_PLAN_PATHS_H

#include <stddef.h>
#include <stdint.h>

/* A path of n hops has n + 1 nodes from nodes[first] on. A path that ends where the next one begins
 * shares that node with it: a circuit is cut without being copied. Nodes that no path names any
 * more stay where they are until the paths are freed.
 *
 * Functions return 0 or -ENOMEM and leave the paths as they were then. */

struct pd_plan_path {
    uint32_t first;
    uint32_t hops;
};

struct pd_plan_paths {
    struct pd_plan_path *paths;
    uint32_t len, room;
    uint32_t *nodes;
    uint32_t nodes_len, nodes_room;
};

int pd_plan_paths_reserve(struct pd_plan_paths *paths, uint32_t more, uint32_t more_nodes);
/* A path over nodes that are there already. */
int pd_plan_paths_slice(struct pd_plan_paths *paths, uint32_t first, uint32_t hops);
/* A path of its own nodes; hops + 1 of them. */
int pd_plan_paths_add(struct pd_plan_paths *paths, const uint32_t *nodes, uint32_t hops);
void pd_plan_paths_done(struct pd_plan_paths *paths);

static inline const uint32_t *pd_plan_path_nodes(const struct pd_plan_paths *paths, uint32_t n)
{
    return paths->nodes + paths->paths[n].first;
}

#endif

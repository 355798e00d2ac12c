/* SPDX-License-Identifier: Apache-2.0 */
/* The network as the planner sees it: switches, and numbered directions of the links between them.
 */
#ifndef PD_PROBE_PLAN_GRAPH_H
#define PD_PROBE_PLAN_GRAPH_H

#include "topology/topology.h"

/* A direction is named by its number: those that leave a switch follow each other, in ascending
 * order of the neighbour. The two directions of a link name each other by `back`. A direction that
 * arrives at a switch is known there by its `back`, which is one of the switch's own numbers; so
 * what comes in and what goes out at a switch are both numbered first[s] .. first[s + 1] - 1.
 *
 * Nodes are the topology's indexes of switches. Immutable once made; the topology outlives it. */

struct pd_plan_arc {
    uint32_t to;   /* node */
    uint32_t back; /* number of the other direction */
};

struct pd_plan_graph {
    const struct pd_topology *topology;
    uint32_t nodes_len;
    uint32_t arcs_len;
    uint32_t *first; /* of each node, and one more */
    struct pd_plan_arc *arcs;
    bool *hosts;     /* nodes that have a host */
    uint32_t *parts; /* the component of each node, from 0 */
    uint32_t parts_len;
};

struct pd_plan_cable {
    uint32_t a, b; /* nodes */
};

/* All links between switches but those of `without`; with it each link that these two have. Needs
 * pd_plan_graph_done() also after an error. */
int pd_plan_graph_init(struct pd_plan_graph *graph, const struct pd_topology *topology,
                       const struct pd_plan_cable *without, uint32_t without_len);
void pd_plan_graph_done(struct pd_plan_graph *graph);

static inline uint32_t pd_plan_degree(const struct pd_plan_graph *graph, uint32_t node)
{
    return graph->first[node + 1] - graph->first[node];
}

/* The direction from one node to another that `used` does not mark (may be NULL), or PD_NONE. */
uint32_t pd_plan_arc_between(const struct pd_plan_graph *graph, uint32_t from, uint32_t to,
                             const bool *used);

#endif

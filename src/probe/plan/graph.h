/* SPDX-License-Identifier: Apache-2.0 */
/* The network as the planner sees it: for each switch the directed links that leave it. */
#ifndef PD_PROBE_PLAN_GRAPH_H
#define PD_PROBE_PLAN_GRAPH_H

#include "topology/links.h"

/* A list of neighbours, without what failed. Links have the numbers of topology/links.h; nodes are
 * the topology's indexes of switches. Those that leave node s stand at first[s] .. first[s + 1] -
 * 1, in ascending order of the neighbour.
 *
 * Immutable once made; the topology outlives it. */

struct pd_plan_arc {
    uint32_t to;   /* node */
    uint32_t link; /* directed number */
};

struct pd_plan_graph {
    const struct pd_topology *topology;
    uint32_t nodes_len;
    uint32_t arcs_len;
    uint32_t links_len; /* directed numbers are below it: what is kept for each has so many */
    uint32_t *first;    /* of each node, and one more */
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

/* The directed link from one node to another that `used` does not mark (by number; may be NULL), or
 * PD_NONE. */
uint32_t pd_plan_link_between(const struct pd_plan_graph *graph, uint32_t from, uint32_t to,
                              const bool *used);

#endif

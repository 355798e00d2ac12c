/* SPDX-License-Identifier: Apache-2.0 */
/* Mode directions: one circuit over all directions of each component, short from host to host. */
#include <errno.h>
#include <stdlib.h>

#include "probe/plan/parts.h"

/* Every switch has as many directions in as out, so that a component has a circuit over all of its
 * directions (Hierholzer), found in one walk that is linear in them. It will be cut at switches
 * that have hosts. So the stretches from host to host shall be short and even: what comes to a
 * hostless switch from nearer a host goes on further from it as long as there is a way, and what
 * comes from further goes nearer. With a switch's directions sorted by that, the one takes from the
 * front, the other from the back. In a fat-tree with hosts at the racks every stretch then has four
 * hops.
 *
 * Where a walk is stuck, another one begins at a switch of it that has directions left; first only
 * at hosts, which leaves the stretches as they are, then, for what no host of the walk leads to,
 * anywhere. */

struct node {
    uint32_t front, back; /* of its directions that are left */
    uint32_t hops;        /* from the nearest host */
};

struct circuit {
    const struct pd_plan_graph *graph;
    struct node *nodes;
    uint32_t *to; /* where each direction leads, sorted at each node: further, as near, nearer */
};

/* ---- directions sorted */

static void sort_node(struct circuit *c, uint32_t node)
{
    const struct pd_plan_graph *g = c->graph;
    uint32_t front = g->first[node], end = g->first[node + 1], back = end, middle = 0;
    uint32_t here = c->nodes[node].hops;
    for (uint32_t a = front; a < end; a++) {
        uint32_t there = c->nodes[g->arcs[a].to].hops;
        middle += there == here;
        if (there > here) {
            c->to[front++] = g->arcs[a].to;
        }
    }
    for (uint32_t a = end; a-- > g->first[node] && back > front + middle;) {
        if (c->nodes[g->arcs[a].to].hops < here) {
            c->to[--back] = g->arcs[a].to;
        }
    }
    for (uint32_t a = g->first[node]; a < end && front < back; a++) {
        if (c->nodes[g->arcs[a].to].hops == here) {
            c->to[front++] = g->arcs[a].to;
        }
    }
}

static void sort_directions(struct circuit *c)
{
    const struct pd_plan_graph *g = c->graph;
    for (uint32_t s = 0; s < g->nodes_len; s++) {
        c->nodes[s].front = g->first[s];
        c->nodes[s].back = g->first[s + 1];
        if (!g->hosts[s]) {
            sort_node(c, s);
            continue;
        }
        for (uint32_t a = g->first[s]; a < g->first[s + 1]; a++) {
            c->to[a] = g->arcs[a].to;
        }
    }
}

/* ---- walking */

/* Goes on from the top of the stack until there is no way left. The stack grows up in `walk`. */
static uint32_t go_on(struct circuit *c, uint32_t *walk, uint32_t depth)
{
    struct node *node = &c->nodes[walk[depth - 1]];
    uint32_t before = depth > 1 ? c->nodes[walk[depth - 2]].hops : 0;
    while (node->front < node->back) {
        uint32_t to = before > node->hops ? c->to[--node->back] : c->to[node->front++];
        before = node->hops;
        node = &c->nodes[to];
        walk[depth++] = to;
    }
    return depth;
}

/* Takes the stack of `depth` nodes down to the end of `walk`, which is below `top`; new walks begin
 * on the way. Returns where the circuit begins. */
static uint32_t go_back(struct circuit *c, uint32_t *walk, uint32_t depth, uint32_t top,
                        bool anywhere)
{
    while (depth) {
        uint32_t node = walk[depth - 1];
        if (c->nodes[node].front < c->nodes[node].back && (anywhere || c->graph->hosts[node])) {
            depth = go_on(c, walk, depth);
            continue;
        }
        walk[--top] = walk[--depth];
    }
    return top;
}

/* The circuit of a component of `arcs` directions, from one of its hosts on, behind the nodes that
 * are there; room is there. */
static void walk_from(struct circuit *c, uint32_t node, uint32_t arcs, struct pd_plan_paths *paths)
{
    uint32_t *walk = paths->nodes + paths->nodes_len, top = arcs + 1;
    walk[0] = node;
    top = go_back(c, walk, 1, top, false);
    if (top) { /* something is left: what is there is the stack again */
        for (uint32_t i = top; i <= arcs; i++) {
            walk[i - top] = walk[i];
        }
        go_back(c, walk, arcs + 1 - top, arcs + 1, true);
    }
    paths->nodes_len += arcs + 1;
}

/* Directions of each component, and the first host of each that has a way out; PD_NONE: none. */
static void find_starts(const struct pd_plan_graph *g, uint32_t *arcs, uint32_t *starts)
{
    for (uint32_t part = 0; part < g->parts_len; part++) {
        arcs[part] = 0;
        starts[part] = PD_NONE;
    }
    for (uint32_t s = 0; s < g->nodes_len; s++) {
        uint32_t part = g->parts[s];
        arcs[part] += pd_plan_degree(g, s);
        if (g->hosts[s] && starts[part] == PD_NONE && pd_plan_degree(g, s)) {
            starts[part] = s;
        }
    }
}

static int list_uncovered(const struct pd_plan_graph *g, const uint32_t *starts,
                          struct pd_plan *plan)
{
    int err = 0;
    for (uint32_t s = 0; !err && s < g->nodes_len; s++) {
        for (uint32_t a = g->first[s];
             !err && starts[g->parts[s]] == PD_NONE && a < g->first[s + 1]; a++) {
            err = pd_plan_add_uncovered(plan, s, g->arcs[a].to);
        }
    }
    return err;
}

static int walk_all(struct circuit *c, struct pd_plan *plan)
{
    const struct pd_plan_graph *g = c->graph;
    uint32_t *arcs = malloc((g->parts_len + 1) * sizeof *arcs),
             *starts = malloc((g->parts_len + 1) * sizeof *starts);
    int err = arcs && starts ? 0 : -ENOMEM;
    if (!err) {
        find_starts(g, arcs, starts);
    }
    for (uint32_t part = 0; !err && part < g->parts_len; part++) {
        uint32_t first = plan->paths.nodes_len;
        if (starts[part] == PD_NONE) {
            continue;
        }
        err = pd_plan_paths_reserve(&plan->paths, 0, arcs[part] + 1);
        if (!err) {
            walk_from(c, starts[part], arcs[part], &plan->paths);
            err = pd_plan_cut(g, plan, first, arcs[part]);
        }
    }
    err = err ? err : list_uncovered(g, starts, plan);
    free(arcs);
    free(starts);
    return err;
}

int pd_plan_directions(const struct pd_plan_graph *graph, struct pd_plan *plan)
{
    struct circuit c = {.graph = graph};
    uint32_t *hops = NULL;
    int err = pd_plan_distances(graph, &hops, NULL);
    c.nodes = malloc((graph->nodes_len + 1) * sizeof *c.nodes);
    c.to = malloc((graph->arcs_len + 1) * sizeof *c.to);
    if (!err && (!c.nodes || !c.to)) {
        err = -ENOMEM;
    }
    if (!err) {
        for (uint32_t s = 0; s < graph->nodes_len; s++) {
            c.nodes[s].hops = hops[s];
        }
        sort_directions(&c);
        err = walk_all(&c, plan);
    }
    free(hops);
    free(c.nodes);
    free(c.to);
    return err;
}

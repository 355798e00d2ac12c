/* SPDX-License-Identifier: Apache-2.0 */
/* Mode links: Euler trails over all links, and the depth-first search that they are compared with.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/plan/even.h"
#include "probe/plan/parts.h"

/* Paper 001. Its figure 5 takes trails between two odd switches out of the graph one by one, each
 * found by a search of its own. Here odd switches are joined in pairs by extra links first; then
 * every switch is even, one circuit (Hierholzer) covers the component, and taken apart at the extra
 * links it is as many trails as there are pairs: the same number, the fewest there can be, in
 * linear time. An odd switch has one extra link, so that no trail is empty.
 *
 * Figure 2, line 19 calls itself for v, which would never end; it has to be j. */

struct euler {
    const struct pd_plan_graph *graph;
    uint32_t *at;    /* of each node: the next direction to look at */
    bool *used;      /* by directed link: it is crossed, or its other direction */
    uint32_t *mates; /* of an odd node: the one at the other end of its extra link, or PD_NONE */
    uint32_t *stack; /* nodes of the walk that may go on */
    uint32_t *walk;  /* the circuit, last node first */
    uint32_t walk_len;
};

static int init(struct euler *e, const struct pd_plan_graph *graph)
{
    *e = (struct euler){.graph = graph};
    uint32_t nodes = graph->nodes_len, most = graph->arcs_len / 2 + nodes + 2;
    e->at = malloc((nodes + 1) * sizeof *e->at);
    e->mates = malloc((nodes + 1) * sizeof *e->mates);
    e->used = calloc(graph->links_len + 1, sizeof *e->used);
    e->stack = malloc(most * sizeof *e->stack);
    e->walk = malloc(most * sizeof *e->walk);
    if (!e->at || !e->mates || !e->used || !e->stack || !e->walk) {
        return -ENOMEM;
    }
    memcpy(e->at, graph->first, nodes * sizeof *e->at);
    return 0;
}

static void done(struct euler *e)
{
    free(e->at);
    free(e->used);
    free(e->mates);
    free(e->stack);
    free(e->walk);
}

/* `open` has room for each component: its odd node that has no mate yet. */
static void join_odd(struct euler *e, uint32_t *open)
{
    const struct pd_plan_graph *g = e->graph;
    for (uint32_t part = 0; part < g->parts_len; part++) {
        open[part] = PD_NONE;
    }
    for (uint32_t s = 0; s < g->nodes_len; s++) {
        uint32_t *mate = &open[g->parts[s]];
        e->mates[s] = PD_NONE;
        if (pd_plan_degree(g, s) % 2 == 0) {
            continue;
        }
        if (*mate == PD_NONE) {
            *mate = s;
        } else {
            e->mates[s] = *mate;
            e->mates[*mate] = s;
            *mate = PD_NONE;
        }
    }
}

/* Where the next unused direction of a node leads, now used, or PD_NONE. */
static uint32_t take(struct euler *e, uint32_t node)
{
    const struct pd_plan_arc *arcs = e->graph->arcs;
    uint32_t end = e->graph->first[node + 1];
    while (e->at[node] < end && e->used[arcs[e->at[node]].link]) {
        e->at[node]++;
    }
    if (e->at[node] == end) {
        return PD_NONE;
    }
    const struct pd_plan_arc *arc = &arcs[e->at[node]++];
    e->used[pd_links_reverse(arc->link)] = true;
    return arc->to;
}

/* A circuit over all links, extra ones too, that begins at a node. A step over an extra link is
 * told from others by `cut`: bit 31 of the node that it was taken from. */
#define CUT UINT32_C(0x80000000)

static void find_circuit(struct euler *e, uint32_t node)
{
    uint32_t depth = 0, mate;
    e->walk_len = 0;
    e->stack[depth++] = node;
    while (depth) {
        uint32_t top = e->stack[depth - 1] & ~CUT, to = take(e, top);
        if (to != PD_NONE) {
            e->stack[depth++] = to;
        } else if ((mate = e->mates[top]) != PD_NONE) {
            e->mates[top] = e->mates[mate] = PD_NONE;
            e->stack[depth++] = mate | CUT;
        } else {
            e->walk[e->walk_len++] = e->stack[--depth];
        }
    }
}

/* walk[i] with CUT: the link from walk[i + 1] to it is an extra one. Trails are read between two of
 * them, around the end, where the first node of the circuit stands twice. */
static int cut_circuit(const struct euler *e, struct pd_plan_paths *paths)
{
    uint32_t hops = e->walk_len - 1, begin = 0;
    while (begin < hops && !(e->walk[begin] & CUT)) {
        begin++;
    }
    if (begin == hops) { /* not cut: e->walk ends with the node that the circuit began at */
        return pd_plan_paths_add(paths, e->walk, hops);
    }
    for (uint32_t n = 0, at = begin; n < hops;) {
        uint32_t first = paths->nodes_len, len = 0;
        int err = pd_plan_paths_reserve(paths, 1, hops + 1);
        if (err) {
            return err;
        }
        at = at + 1 == hops ? 0 : at + 1; /* behind the extra link */
        n++;
        while (paths->nodes[first + len++] = e->walk[at] & ~CUT, !(e->walk[at] & CUT)) {
            at = at + 1 == hops ? 0 : at + 1;
            n++;
        }
        paths->nodes_len += len;
        pd_plan_paths_slice(paths, first, len - 1);
    }
    return 0;
}

static int trails_of(struct euler *e, uint32_t node, bool even, struct pd_plan_paths *paths)
{
    struct pd_plan_even how = {.nodes_len = e->graph->nodes_len, .goal = 1};
    uint32_t from = paths->len;
    find_circuit(e, node);
    int err = cut_circuit(e, paths);
    return err || !even ? err : pd_plan_even(&how, paths, from);
}

static int euler(const struct pd_plan_graph *graph, bool even, struct pd_plan_paths *paths)
{
    struct euler e;
    int err = init(&e, graph);
    uint32_t *open = malloc((graph->parts_len + 1) * sizeof *open);
    bool *walked = calloc(graph->parts_len + 1, sizeof *walked);
    if (!err && (!open || !walked)) {
        err = -ENOMEM;
    }
    if (!err) {
        join_odd(&e, open);
    }
    for (uint32_t s = 0; !err && s < graph->nodes_len; s++) {
        if (!walked[graph->parts[s]] && pd_plan_degree(graph, s)) {
            walked[graph->parts[s]] = true;
            err = trails_of(&e, s, even, paths);
        }
    }
    free(walked);
    free(open);
    done(&e);
    return err;
}

int pd_plan_links(const struct pd_plan_graph *graph, struct pd_plan *plan)
{
    if (plan->algorithm == PD_PLAN_DFS) {
        return pd_plan_dfs(graph, &plan->paths);
    }
    return euler(graph, plan->algorithm == PD_PLAN_EULER, &plan->paths);
}

/* ---- figure 2 */

/* One path goes on; the first step after turning back begins another one at the fork. */
static int search(struct euler *e, uint32_t root, struct pd_plan_paths *paths)
{
    uint32_t depth = 0, hops = 0;
    int err = 0;
    e->stack[depth++] = root;
    while (!err && depth) {
        uint32_t top = e->stack[depth - 1], to = take(e, top);
        if (to == PD_NONE) {
            depth--;
            if (hops && paths) {
                err = pd_plan_paths_add(paths, e->walk, hops);
            }
            hops = 0;
            continue;
        }
        e->walk[0] = hops ? e->walk[0] : top;
        e->walk[++hops] = e->stack[depth++] = to;
    }
    return err;
}

int pd_plan_dfs(const struct pd_plan_graph *graph, struct pd_plan_paths *paths)
{
    struct euler e;
    int err = init(&e, graph);
    for (uint32_t s = 0; !err && s < graph->nodes_len; s++) {
        err = search(&e, s, paths);
    }
    done(&e);
    return err;
}

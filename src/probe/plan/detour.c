/* SPDX-License-Identifier: Apache-2.0 */
/* Hostless parts too large for the limit: paths that turn back to a host, over directions that
 * others cross, too. */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "probe/plan/parts.h"

/* A path that is too long is followed as far as it can be for the way to the nearest host to fit
 * behind it. The rest begins with the way from the host nearest to where it goes on. A direction
 * that is too far from every host for any path is not covered, and listed. */

int pd_plan_add_repeated(struct pd_plan *plan, uint32_t a, uint32_t b)
{
    if (PD_GROW(plan->repeated, plan->repeated_room, (size_t)plan->repeated_len + 1)) {
        return -ENOMEM;
    }
    plan->repeated[plan->repeated_len++] = (struct pd_plan_cable){.a = a, .b = b};
    return 0;
}

int pd_plan_add_uncovered(struct pd_plan *plan, uint32_t a, uint32_t b)
{
    if (PD_GROW(plan->uncovered, plan->uncovered_room, (size_t)plan->uncovered_len + 1)) {
        return -ENOMEM;
    }
    plan->uncovered[plan->uncovered_len++] = (struct pd_plan_cable){.a = a, .b = b};
    return 0;
}

int pd_plan_distances(const struct pd_plan_graph *graph, uint32_t **ret_hops, uint32_t **ret_next)
{
    uint32_t head = 0, tail = 0, len = graph->nodes_len + 1;
    uint32_t *hops = malloc(len * sizeof *hops), *queue = malloc(len * sizeof *queue),
             *next = ret_next ? malloc(len * sizeof *next) : NULL;
    if (!hops || !queue || (ret_next && !next)) {
        free(hops);
        free(queue);
        free(next);
        return -ENOMEM;
    }
    for (uint32_t s = 0; s < graph->nodes_len; s++) {
        hops[s] = graph->hosts[s] ? 0 : PD_NONE;
        if (graph->hosts[s]) {
            queue[tail++] = s;
        }
    }
    for (; head < tail; head++) {
        uint32_t from = queue[head];
        for (uint32_t a = graph->first[from]; a < graph->first[from + 1]; a++) {
            struct pd_plan_arc arc = graph->arcs[a];
            if (hops[arc.to] == PD_NONE) {
                hops[arc.to] = hops[from] + 1;
                queue[tail++] = arc.to;
                if (next) {
                    next[arc.to] = from;
                }
            }
        }
    }
    free(queue);
    *ret_hops = hops;
    if (ret_next) {
        *ret_next = next;
    }
    return 0;
}

struct detour {
    const struct pd_plan_graph *graph;
    struct pd_plan *plan;
    uint32_t *hops, *next;
    uint32_t *made; /* the path that is being put together */
    uint32_t made_len;
};

static bool is_reachable(const struct detour *d, uint32_t from, uint32_t to)
{
    return d->hops[from] + 1 + d->hops[to] <= d->plan->max_hops;
}

/* The way from a node to its nearest host, behind what is there. */
static int go_home(struct detour *d)
{
    int err = 0;
    uint32_t at = d->made[d->made_len - 1];
    while (!err && !d->graph->hosts[at]) {
        uint32_t to = d->next[at];
        err = pd_plan_add_repeated(d->plan, at, to);
        d->made[d->made_len++] = at = to;
    }
    return err;
}

/* The way from the nearest host to a node, alone. */
static int come_from_home(struct detour *d, uint32_t node)
{
    int err = 0;
    uint32_t hops = d->hops[node], at = node;
    d->made_len = hops + 1;
    d->made[hops] = node;
    while (!err && hops) {
        uint32_t from = d->next[at];
        err = pd_plan_add_repeated(d->plan, from, at);
        d->made[--hops] = at = from;
    }
    return err;
}

static int end_path(struct detour *d)
{
    int err = go_home(d);
    if (!err && d->made_len > 1) {
        err = pd_plan_paths_add(&d->plan->paths, d->made, d->made_len - 1);
    }
    return err;
}

/* Takes a path of the plan apart; its pieces come last. */
static int take_apart(struct detour *d, struct pd_plan_path path)
{
    int err = 0;
    bool broken = true; /* the next step begins a new piece */
    for (uint32_t i = 0; !err && i < path.hops; i++) {
        uint32_t from = d->plan->paths.nodes[path.first + i],
                 to = d->plan->paths.nodes[path.first + i + 1];
        if (!is_reachable(d, from, to)) {
            err = broken ? 0 : end_path(d);
            err = err ? err : pd_plan_add_uncovered(d->plan, from, to);
            broken = true;
            continue;
        }
        if (!broken && d->made_len + d->hops[to] > d->plan->max_hops) {
            err = end_path(d);
            broken = true;
        }
        err = err || !broken ? err : come_from_home(d, from);
        broken = false;
        d->made[d->made_len++] = to;
    }
    return err || broken ? err : end_path(d);
}

int pd_plan_detour(const struct pd_plan_graph *graph, struct pd_plan *plan, uint32_t from)
{
    struct detour d = {.graph = graph, .plan = plan};
    uint32_t len = plan->paths.len;
    int err = pd_plan_distances(graph, &d.hops, &d.next);
    uint64_t room = (uint64_t)plan->max_hops + graph->nodes_len + 2;
    d.made = malloc(room * sizeof *d.made);
    err = err || d.made ? err : -ENOMEM;
    for (uint32_t n = from; !err && n < len; n++) {
        struct pd_plan_path path = plan->paths.paths[n];
        if (path.hops > plan->max_hops) {
            err = take_apart(&d, path);
            plan->paths.paths[n].hops = 0;
        }
    }
    for (uint32_t n = len = from; !err && n < plan->paths.len; n++) {
        if (plan->paths.paths[n].hops) {
            plan->paths.paths[len++] = plan->paths.paths[n];
        }
    }
    plan->paths.len = err ? plan->paths.len : len;
    free(d.hops);
    free(d.next);
    free(d.made);
    return err;
}

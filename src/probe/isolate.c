/* SPDX-License-Identifier: Apache-2.0 */
/* Isolation: one search backwards from all hosts gives the way back from every switch. */
#include "probe/isolate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct isolation {
    const struct pd_plan_graph *graph;
    const bool *well;
    /* Of each node: the next one on its way to a host, and the one before on a way from a host;
     * itself at a host, PD_NONE where there is none. */
    uint32_t *next, *before;
    uint32_t *queue, *way;
};

static int isolation_init(struct isolation *isolation, const struct pd_plan_graph *graph,
                          const bool *well, uint32_t hops)
{
    size_t nodes = (size_t)graph->nodes_len + 1;

    *isolation = (struct isolation){.graph = graph,
                                    .well = well,
                                    .next = calloc(nodes, sizeof(uint32_t)),
                                    .before = calloc(nodes, sizeof(uint32_t)),
                                    .queue = calloc(nodes, sizeof(uint32_t)),
                                    .way = calloc(2 * nodes + hops, sizeof(uint32_t))};
    return isolation->next && isolation->before && isolation->queue && isolation->way ? 0 : -ENOMEM;
}

static void isolation_done(struct isolation *isolation)
{
    free(isolation->next);
    free(isolation->before);
    free(isolation->queue);
    free(isolation->way);
}

static bool is_a_path(const struct pd_plan_graph *graph, const uint32_t *nodes, uint32_t hops)
{
    for (uint32_t i = 0; i < hops; i++) {
        if (pd_plan_link_between(graph, nodes[i], nodes[i + 1], NULL) == PD_NONE) {
            return false;
        }
    }
    return true;
}

struct walk {
    struct isolation *isolation;
    uint32_t *towards; /* `next` or `before` */
    bool against;      /* the directions: for `next` */
    uint32_t len;      /* of the queue */
};

/* From all nodes that were reached, over directions that are well, or over any. */
static void spread(struct walk *walk, bool any)
{
    const struct pd_plan_graph *graph = walk->isolation->graph;

    for (uint32_t at = 0; at < walk->len; at++) {
        uint32_t node = walk->isolation->queue[at];

        for (uint32_t arc = graph->first[node]; arc < graph->first[node + 1]; arc++) {
            uint32_t other = graph->arcs[arc].to, away = graph->arcs[arc].link;
            uint32_t used = walk->against ? pd_links_reverse(away) : away;

            if (walk->towards[other] == PD_NONE && (any || walk->isolation->well[used])) {
                walk->towards[other] = node;
                walk->isolation->queue[walk->len++] = other;
            }
        }
    }
}

static void search(struct isolation *isolation, uint32_t *towards, bool against)
{
    struct walk walk = {isolation, towards, against, 0};

    for (uint32_t node = 0; node < isolation->graph->nodes_len; node++) {
        bool has_host = isolation->graph->hosts[node];

        towards[node] = has_host ? node : PD_NONE;
        if (has_host) {
            isolation->queue[walk.len++] = node;
        }
    }
    spread(&walk, false);
    spread(&walk, true);
}

/* Puts the way back behind the first `len` + 1 nodes of the way, and returns its last place;
 * PD_NONE: there is none. */
static uint32_t go_back(const struct isolation *isolation, uint32_t len)
{
    for (uint32_t at = isolation->way[len]; isolation->next[at] != at;) {
        at = isolation->next[at];
        if (at == PD_NONE) {
            return PD_NONE;
        }
        isolation->way[++len] = at;
    }
    return len;
}

/* Begins the way at a host that leads to this node, and returns its last place; PD_NONE: there is
 * none. */
static uint32_t go_there(const struct isolation *isolation, uint32_t node)
{
    uint32_t len = 0;

    for (uint32_t at = node; isolation->before[at] != at; at = isolation->before[at]) {
        if (isolation->before[at] == PD_NONE) {
            return PD_NONE;
        }
        len++;
    }
    for (uint32_t i = len + 1; i--; node = isolation->before[node]) {
        isolation->way[i] = node;
    }
    return len;
}

static int add_prefix(const struct isolation *isolation, const uint32_t *nodes, uint32_t hops,
                      struct pd_plan_paths *paths)
{
    memcpy(isolation->way, nodes, ((size_t)hops + 1) * sizeof *nodes);
    uint32_t len = go_back(isolation, hops);
    return len == PD_NONE ? 0 : pd_plan_paths_add(paths, isolation->way, len);
}

static int add_alone(const struct isolation *isolation, const uint32_t *ends,
                     struct pd_plan_paths *paths)
{
    uint32_t len = go_there(isolation, ends[0]);

    if (len == PD_NONE) {
        return 0;
    }
    isolation->way[++len] = ends[1];
    len = go_back(isolation, len);
    return len == PD_NONE ? 0 : pd_plan_paths_add(paths, isolation->way, len);
}

int pd_probe_isolate(const struct pd_plan_graph *graph, const uint32_t *nodes, uint32_t hops,
                     const bool *well, struct pd_plan_paths *ret_paths)
{
    struct isolation isolation;
    int err = isolation_init(&isolation, graph, well, hops);

    *ret_paths = (struct pd_plan_paths){0};
    err = err || is_a_path(graph, nodes, hops) ? err : -PD_E_VALUE;
    if (!err) {
        search(&isolation, isolation.next, true);
        search(&isolation, isolation.before, false);
    }
    for (uint32_t i = 1; i < hops && !err; i++) {
        err = add_prefix(&isolation, nodes, i, ret_paths);
    }
    for (uint32_t i = graph->hosts[nodes[0]] ? 1 : 0; i < hops && !err; i++) {
        err = add_alone(&isolation, nodes + i, ret_paths);
    }
    isolation_done(&isolation);
    return err;
}

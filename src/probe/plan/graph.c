/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a plan: made from a topology in one pass over its links. */
#include <errno.h>
#include <stdlib.h>

#include "probe/plan/graph.h"

/* Few cables fail at a time. */
static bool is_without(const struct pd_plan_cable *without, uint32_t len, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < len; i++) {
        if ((without[i].a == a && without[i].b == b) || (without[i].a == b && without[i].b == a)) {
            return true;
        }
    }
    return false;
}

static void count_arcs(struct pd_plan_graph *graph, const struct pd_plan_cable *without,
                       uint32_t without_len)
{
    uint32_t arcs = 0;
    for (uint32_t s = 0; s < graph->nodes_len; s++) {
        const struct pd_switch *sw = &graph->topology->switches[s];
        graph->first[s] = arcs;
        for (uint32_t i = 0; i < sw->switch_neighbours; i++) {
            bool failed =
                without_len && is_without(without, without_len, s, sw->neighbours[i].node);
            arcs += failed ? 0 : sw->neighbours[i].parallel;
        }
    }
    graph->first[graph->nodes_len] = graph->arcs_len = arcs;
}

static void fill_arcs(struct pd_plan_graph *graph, const struct pd_plan_cable *without,
                      uint32_t without_len)
{
    uint32_t arc = 0;
    for (uint32_t s = 0; s < graph->nodes_len; s++) {
        const struct pd_switch *sw = &graph->topology->switches[s];
        for (uint32_t i = 0; i < sw->switch_neighbours; i++) {
            const uint32_t to = sw->neighbours[i].node, link = sw->neighbours[i].link;
            if (without_len && is_without(without, without_len, s, to)) {
                continue;
            }
            for (uint32_t n = 0; n < sw->neighbours[i].parallel; n++) {
                graph->arcs[arc++] = (struct pd_plan_arc){.to = to, .link = link + 2 * n};
            }
        }
    }
}

/* `queue` has room for every node. */
static void find_parts(struct pd_plan_graph *graph, uint32_t *queue)
{
    for (uint32_t s = 0; s < graph->nodes_len; s++) {
        graph->parts[s] = PD_NONE;
    }
    for (uint32_t s = 0; s < graph->nodes_len; s++) {
        uint32_t head = 0, tail = 0;
        if (graph->parts[s] != PD_NONE) {
            continue;
        }
        graph->parts[s] = graph->parts_len;
        for (queue[tail++] = s; head < tail; head++) {
            for (uint32_t a = graph->first[queue[head]]; a < graph->first[queue[head] + 1]; a++) {
                uint32_t to = graph->arcs[a].to;
                if (graph->parts[to] == PD_NONE) {
                    graph->parts[to] = graph->parts_len;
                    queue[tail++] = to;
                }
            }
        }
        graph->parts_len++;
    }
}

int pd_plan_graph_init(struct pd_plan_graph *graph, const struct pd_topology *topology,
                       const struct pd_plan_cable *without, uint32_t without_len)
{
    uint32_t *queue;
    *graph = (struct pd_plan_graph){.topology = topology,
                                    .nodes_len = topology->switches_len,
                                    .links_len = 2 * topology->fabric_links_len};
    graph->first = malloc((graph->nodes_len + 1) * sizeof *graph->first);
    graph->parts = malloc((graph->nodes_len + 1) * sizeof *graph->parts);
    graph->hosts = calloc(graph->nodes_len + 1, sizeof *graph->hosts);
    queue = malloc((graph->nodes_len + 1) * sizeof *queue);
    if (!graph->first || !graph->parts || !graph->hosts || !queue) {
        free(queue);
        return -ENOMEM;
    }
    count_arcs(graph, without, without_len);
    graph->arcs = malloc((graph->arcs_len + 1) * sizeof *graph->arcs);
    if (!graph->arcs) {
        free(queue);
        return -ENOMEM;
    }
    fill_arcs(graph, without, without_len);
    find_parts(graph, queue);
    free(queue);
    return 0;
}

void pd_plan_graph_done(struct pd_plan_graph *graph)
{
    free(graph->first);
    free(graph->arcs);
    free(graph->hosts);
    free(graph->parts);
}

uint32_t pd_plan_link_between(const struct pd_plan_graph *graph, uint32_t from, uint32_t to,
                              const bool *used)
{
    uint32_t low = graph->first[from], high = graph->first[from + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (graph->arcs[middle].to < to) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < graph->first[from + 1] && graph->arcs[low].to == to; low++) {
        if (!used || !used[graph->arcs[low].link]) {
            return graph->arcs[low].link;
        }
    }
    return PD_NONE;
}

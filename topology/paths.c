/* SPDX-License-Identifier: Apache-2.0 */
/* Shortest paths: distances from the end, breadth first; then only steps that come nearer. */
#include "topology/paths.h"

#include <errno.h>
#include <stdlib.h>

int pd_topology_steps(const struct pd_topology *topology, uint32_t to, uint32_t **ret_steps)
{
    uint32_t len = topology->switches_len, head = 0, tail = 0;
    uint32_t *steps = malloc((size_t)len * 2 * sizeof *steps), *queue;

    if (!steps) {
        return -ENOMEM;
    }
    queue = steps + len;
    for (uint32_t i = 0; i < len; i++) {
        steps[i] = PD_NONE;
    }
    steps[to] = 0;
    queue[tail++] = to;
    while (head < tail) {
        const struct pd_switch *at = &topology->switches[queue[head]];
        uint32_t next = steps[queue[head++]] + 1;

        for (uint32_t i = 0; i < at->switch_neighbours; i++) {
            uint32_t node = at->neighbours[i].node;

            if (steps[node] != PD_NONE) {
                continue;
            }
            steps[node] = next;
            queue[tail++] = node;
        }
    }
    *ret_steps = steps;
    return 0;
}

int pd_topology_shortest(const struct pd_topology *topology, uint32_t from, uint32_t to,
                         int (*visit)(void *context, const struct pd_path *path), void *context)
{
    uint32_t *steps, nodes[PD_PATH_MAX] = {from}, tried[PD_PATH_MAX] = {0}, depth = 0;
    struct pd_path path = {0};
    int err = pd_topology_steps(topology, to, &steps);

    if (err) {
        return err;
    }
    if (steps[from] >= PD_PATH_MAX) {
        free(steps);
        return 0;
    }
    path.len = (uint16_t)(steps[from] + 1);
    path.switches[0] = topology->switches[from].id;
    if (from == to) {
        err = visit(context, &path);
    }
    while (!err && from != to) {
        const struct pd_switch *at = &topology->switches[nodes[depth]];
        uint32_t i = tried[depth]++, node;

        if (i >= at->switch_neighbours) {
            if (!depth--) {
                break;
            }
            continue;
        }
        node = at->neighbours[i].node;
        if (steps[node] + 1 != steps[nodes[depth]]) {
            continue;
        }
        path.switches[depth + 1] = topology->switches[node].id;
        if (node == to) {
            err = visit(context, &path);
            continue;
        }
        nodes[++depth] = node;
        tried[depth] = 0;
    }
    free(steps);
    return err;
}

struct list {
    struct pd_path *paths;
    size_t most;
    int64_t len;
};

static int keep(void *context, const struct pd_path *path)
{
    struct list *list = context;

    if ((size_t)list->len < list->most) {
        list->paths[list->len] = *path;
    }
    list->len++;
    return 0;
}

int64_t pd_topology_shortest_list(const struct pd_topology *topology, uint32_t from, uint32_t to,
                                  struct pd_path *paths, size_t most)
{
    struct list list = {.paths = paths, .most = most};
    int err = pd_topology_shortest(topology, from, to, keep, &list);

    return err ? err : list.len;
}

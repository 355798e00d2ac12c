/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of a plan: two arrays that grow. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "probe/plan/paths.h"

int pd_plan_paths_reserve(struct pd_plan_paths *paths, uint32_t more, uint32_t more_nodes)
{
    int err = PD_GROW(paths->paths, paths->room, paths->len + more);
    return err ? err : PD_GROW(paths->nodes, paths->nodes_room, paths->nodes_len + more_nodes);
}

int pd_plan_paths_slice(struct pd_plan_paths *paths, uint32_t first, uint32_t hops)
{
    int err = pd_plan_paths_reserve(paths, 1, 0);
    if (!err) {
        paths->paths[paths->len++] = (struct pd_plan_path){.first = first, .hops = hops};
    }
    return err;
}

int pd_plan_paths_add(struct pd_plan_paths *paths, const uint32_t *nodes, uint32_t hops)
{
    int err = pd_plan_paths_reserve(paths, 1, hops + 1);
    if (err) {
        return err;
    }
    memcpy(paths->nodes + paths->nodes_len, nodes, (hops + 1) * sizeof *nodes);
    paths->nodes_len += hops + 1;
    return pd_plan_paths_slice(paths, paths->nodes_len - hops - 1, hops);
}

void pd_plan_paths_done(struct pd_plan_paths *paths)
{
    free(paths->paths);
    free(paths->nodes);
    *paths = (struct pd_plan_paths){0};
}

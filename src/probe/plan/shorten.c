/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of a kept plan that became too long: evened out with as few others as can be. */
#include <errno.h>

#include "probe/plan/even.h"
#include "probe/plan/parts.h"

/* All that changed have to fit together, so that there are enough of them; then they are evened
 * out, with the shortest of the others as one more each time. What still is too long is cut. */

enum {
    EVEN_WORK = 150000, /* some tenths of a millisecond */
    PATHS_CHANGED = 4   /* as many are evened out together before a path is cut instead */
};

static bool fits(const struct pd_plan *plan, uint32_t from)
{
    for (uint32_t n = from; n < plan->paths.len; n++) {
        if (plan->paths.paths[n].hops > plan->max_hops) {
            return false;
        }
    }
    return true;
}

/* Of the paths before number `from`, the shortest becomes the last of them; false: there is none.
 */
static bool bring_shortest(struct pd_plan_paths *paths, uint32_t from)
{
    uint32_t shortest = 0;
    for (uint32_t n = 1; n < from; n++) {
        if (paths->paths[n].hops < paths->paths[shortest].hops) {
            shortest = n;
        }
    }
    if (from) {
        struct pd_plan_path path = paths->paths[shortest];
        paths->paths[shortest] = paths->paths[from - 1];
        paths->paths[from - 1] = path;
    }
    return from;
}

/* Cuts a path at the host nearest its middle; false: there is none on it. */
static bool cut_path(struct pd_plan_paths *paths, uint32_t n, const bool *hosts)
{
    struct pd_plan_path *path = &paths->paths[n];
    uint32_t best = 0, least = UINT32_MAX, rest;
    for (uint32_t i = 1; i < path->hops; i++) {
        uint32_t away = i * 2 > path->hops ? i * 2 - path->hops : path->hops - i * 2;
        if (hosts[paths->nodes[path->first + i]] && away < least) {
            best = i;
            least = away;
        }
    }
    if (!best || pd_plan_paths_reserve(paths, 1, 0)) {
        return false;
    }
    path = &paths->paths[n];
    rest = path->hops - best;
    path->hops = best;
    return !pd_plan_paths_slice(paths, path->first + best, rest);
}

/* Detours are left for what has no host to be cut at. */
static void cut_long(const struct pd_plan_graph *graph, struct pd_plan *plan, uint32_t from)
{
    struct pd_plan_paths *paths = &plan->paths;
    for (uint32_t n = from; n < paths->len; n++) {
        while (paths->paths[n].hops > plan->max_hops && cut_path(paths, n, graph->hosts)) {
        }
    }
}

/* Two paths that became one may need to be two again: all of them together have to fit. */
static void cut_enough(const struct pd_plan_graph *graph, struct pd_plan *plan, uint32_t from)
{
    struct pd_plan_paths *paths = &plan->paths;
    for (;;) {
        uint64_t hops = 0;
        uint32_t longest = from;
        for (uint32_t n = from; n < paths->len; n++) {
            hops += paths->paths[n].hops;
            longest = paths->paths[n].hops > paths->paths[longest].hops ? n : longest;
        }
        if (hops <= (uint64_t)(paths->len - from) * plan->max_hops ||
            !cut_path(paths, longest, graph->hosts)) {
            return;
        }
    }
}

int pd_plan_shorten(const struct pd_plan_graph *graph, struct pd_plan *plan, uint32_t from)
{
    struct pd_plan_even how = {.nodes_len = graph->nodes_len,
                               .directed = true,
                               .goal = 1,
                               .limit = plan->max_hops,
                               .work = EVEN_WORK};
    int err = 0;
    cut_enough(graph, plan, from);
    while (!err && !fits(plan, from)) {
        err = pd_plan_even(&how, &plan->paths, from);
        if (fits(plan, from) || plan->paths.len - from >= PATHS_CHANGED ||
            !bring_shortest(&plan->paths, from)) {
            break;
        }
        from--;
    }
    if (!err && !fits(plan, from)) {
        cut_long(graph, plan, from);
    }
    return err || fits(plan, from) ? err : pd_plan_detour(graph, plan, from);
}

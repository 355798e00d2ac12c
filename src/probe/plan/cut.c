/* SPDX-License-Identifier: Apache-2.0 */
/* Circuits cut into even paths that begin and end at hosts. */
#include <errno.h>
#include <stdlib.h>

#include "probe/plan/even.h"
#include "probe/plan/parts.h"

/* Cut at the last host before each n-th part of the whole, no path is longer than its share by a
 * stretch between two hosts or more. Where that is not good enough (too long for the limit, or more
 * uneven than one stretch) trails are evened out; where they still do not fit, there has to be one
 * more. Cutting as late as the limit allows says how many always are enough; for walks of more than
 * SEARCH_MAX hops that number is taken, since the few paths that a search saves are not worth its
 * time. */

enum { SEARCH_MAX = 1 << 16 };

struct walk {
    const struct pd_plan_graph *graph;
    uint32_t first, hops;
    uint32_t visits;  /* of hosts, that at the beginning not counted */
    uint32_t longest; /* stretch between two */
    uint32_t enough;  /* paths when cut as late as possible */
};

static bool is_host(const struct walk *w, const struct pd_plan *plan, uint32_t at)
{
    return w->graph->hosts[plan->paths.nodes[w->first + at]];
}

static void measure(struct walk *w, const struct pd_plan *plan)
{
    uint32_t last = 0, begin = 0;
    w->enough = 1;
    for (uint32_t at = 1; at <= w->hops; at++) {
        if (!is_host(w, plan, at)) {
            continue;
        }
        w->visits++;
        w->longest = at - last > w->longest ? at - last : w->longest;
        if (at - begin > plan->max_hops && last > begin) {
            begin = last;
            w->enough++;
        }
        last = at;
    }
}

/* In `wanted` even shares; fewer paths when stretches are longer than a share. */
static int cut_evenly(const struct walk *w, struct pd_plan *plan, uint32_t wanted)
{
    uint32_t last = 0, begin = 0, n = 1;
    uint64_t share = (uint64_t)w->hops / wanted;
    int err = pd_plan_paths_reserve(&plan->paths, wanted, 0);
    for (uint32_t at = 1; !err && at <= w->hops; at++) {
        if (!is_host(w, plan, at)) {
            continue;
        }
        if (at > share && n < wanted && last > begin) {
            err = pd_plan_paths_slice(&plan->paths, w->first + begin, last - begin);
            begin = last;
            for (n++; last >= (share = (uint64_t)w->hops * n / wanted) && n < wanted;) {
                n++;
            }
        }
        last = at;
    }
    return err ? err : pd_plan_paths_slice(&plan->paths, w->first + begin, last - begin);
}

static int cut_late(const struct walk *w, struct pd_plan *plan)
{
    uint32_t last = 0, begin = 0;
    int err = 0;
    for (uint32_t at = 1; !err && at <= w->hops; at++) {
        if (!is_host(w, plan, at)) {
            continue;
        }
        if (at - begin > plan->max_hops && last > begin) {
            err = pd_plan_paths_slice(&plan->paths, w->first + begin, last - begin);
            begin = last;
        }
        last = at;
    }
    return err ? err : pd_plan_paths_slice(&plan->paths, w->first + begin, last - begin);
}

/* When shares are shorter than a stretch, paths are missing: the longest ones are cut again. */
static int cut_more(const struct walk *w, struct pd_plan *plan, uint32_t from, uint32_t wanted)
{
    int err = 0;
    for (uint32_t n = from; !err && n < plan->paths.len; n++) {
        struct pd_plan_path *path = &plan->paths.paths[n];
        for (uint32_t at = 1; at < path->hops && plan->paths.len < from + wanted; at++) {
            if (w->graph->hosts[plan->paths.nodes[path->first + at]]) {
                uint32_t rest = path->first + at, hops = path->hops - at;
                path->hops = at;
                err = pd_plan_paths_slice(&plan->paths, rest, hops);
                break;
            }
        }
    }
    return err;
}

static void spread(const struct pd_plan_paths *paths, uint32_t from, uint32_t *ret_min,
                   uint32_t *ret_max)
{
    *ret_min = UINT32_MAX;
    *ret_max = 0;
    for (uint32_t n = from; n < paths->len; n++) {
        *ret_min = paths->paths[n].hops < *ret_min ? paths->paths[n].hops : *ret_min;
        *ret_max = paths->paths[n].hops > *ret_max ? paths->paths[n].hops : *ret_max;
    }
}

/* 1 when all fit into the limit. */
static int try_cut(const struct walk *w, struct pd_plan *plan, uint32_t wanted)
{
    uint32_t from = plan->paths.len, least, most;
    struct pd_plan_even how = {.nodes_len = w->graph->nodes_len, .directed = true, .goal = 1};
    int err = cut_evenly(w, plan, wanted);
    err = err ? err : cut_more(w, plan, from, wanted);
    spread(&plan->paths, from, &least, &most);
    if (!err && (most > plan->max_hops || most - least > w->longest)) {
        err = pd_plan_even(&how, &plan->paths, from);
        spread(&plan->paths, from, &least, &most);
    }
    return err ? err : most <= plan->max_hops;
}

/* Forgets the paths from number `from` on, and the nodes made for them. */
static void forget(struct pd_plan *plan, uint32_t from, uint32_t nodes_len)
{
    plan->paths.len = from;
    plan->paths.nodes_len = nodes_len;
}

int pd_plan_cut(const struct pd_plan_graph *graph, struct pd_plan *plan, uint32_t first,
                uint32_t hops)
{
    struct walk w = {.graph = graph, .first = first, .hops = hops};
    uint32_t from = plan->paths.len, nodes_len = plan->paths.nodes_len,
             wanted = (hops + plan->max_hops - 1) / plan->max_hops, most;
    measure(&w, plan);
    most = w.longest <= plan->max_hops ? w.enough : w.visits;
    wanted = wanted < most && (hops <= SEARCH_MAX || most > w.enough) ? wanted : most;
    for (;; wanted += (most - wanted + 3) / 4) {
        int fits = try_cut(&w, plan, wanted);
        if (fits) {
            return fits < 0 ? fits : 0;
        }
        if (wanted == most) {
            break;
        }
        forget(plan, from, nodes_len);
    }
    if (w.longest <= plan->max_hops) {
        forget(plan, from, nodes_len);
        return cut_late(&w, plan);
    }
    return pd_plan_detour(graph, plan, from);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A plan put together: the graph, its figures, the paths of a mode, what changed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "probe/plan/parts.h"

const char *pd_plan_mode_name(enum pd_plan_mode mode)
{
    return mode == PD_PLAN_LINKS ? "links" : "directions";
}

const char *pd_plan_algorithm_name(enum pd_plan_algorithm algorithm)
{
    static const char *const names[] = {[PD_PLAN_EULER] = "euler",
                                        [PD_PLAN_EULER_UNBALANCED] = "euler-unbalanced",
                                        [PD_PLAN_DFS] = "dfs"};
    return names[algorithm];
}

void pd_plan_hosts(const struct pd_topology *topology, bool *ret_hosts)
{
    for (uint32_t s = 0; s < topology->switches_len; s++) {
        ret_hosts[s] = !topology->hosts_len && topology->switches[s].prefixes_len;
    }
    for (uint32_t h = 0; h < topology->hosts_len; h++) {
        for (uint32_t t = 0; t < topology->hosts[h].tors_len; t++) {
            ret_hosts[topology->hosts[h].tors[t]] = true;
        }
    }
}

/* ---- figures of the network */

struct part_sums {
    uint32_t arcs, odd;
    bool hosted;
};

static void sum_parts(const struct pd_plan_graph *graph, struct part_sums *sums)
{
    for (uint32_t s = 0; s < graph->nodes_len; s++) {
        struct part_sums *sum = &sums[graph->parts[s]];
        sum->arcs += pd_plan_degree(graph, s);
        sum->odd += pd_plan_degree(graph, s) % 2;
        sum->hosted |= graph->hosts[s];
    }
}

static int count_network(const struct pd_plan_graph *graph, struct pd_plan *plan)
{
    struct part_sums *sums = calloc(graph->parts_len + 1, sizeof *sums);
    if (!sums) {
        return -ENOMEM;
    }
    sum_parts(graph, sums);
    plan->switches = graph->nodes_len;
    plan->links = graph->arcs_len / 2;
    plan->components = graph->parts_len;
    for (uint32_t part = 0; part < graph->parts_len; part++) {
        const struct part_sums *sum = &sums[part];
        plan->odd += sum->odd;
        if (plan->mode == PD_PLAN_LINKS) {
            plan->lower_bound += sum->odd ? sum->odd / 2 : sum->arcs != 0;
        } else if (sum->hosted) {
            plan->lower_bound += (sum->arcs + plan->max_hops - 1) / plan->max_hops;
        }
    }
    free(sums);
    return 0;
}

/* ---- what changed */

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The hashes of all paths, sorted; NULL: no memory. */
static uint64_t *hash_paths(const struct pd_plan_paths *paths)
{
    uint64_t *hashes = malloc((paths->len + 1) * sizeof *hashes);
    for (uint32_t n = 0; hashes && n < paths->len; n++) {
        hashes[n] = pd_hash(pd_plan_path_nodes(paths, n),
                            (paths->paths[n].hops + 1) * sizeof *paths->nodes);
    }
    if (hashes && paths->len) {
        qsort(hashes, paths->len, sizeof *hashes, by_value);
    }
    return hashes;
}

static int count_changed(const struct pd_plan_paths *keep, struct pd_plan *plan)
{
    uint64_t *old = hash_paths(keep), *now = hash_paths(&plan->paths);
    if (!old || !now) {
        free(old);
        free(now);
        return -ENOMEM;
    }
    for (uint32_t n = 0, at = 0; n < plan->paths.len; n++) {
        while (at < keep->len && old[at] < now[n]) {
            at++;
        }
        if (at < keep->len && old[at] == now[n]) {
            at++;
        } else {
            plan->changed++;
        }
    }
    free(old);
    free(now);
    return 0;
}

/* ---- making one */

static int find_paths(const struct pd_plan_request *request, const struct pd_plan_graph *graph,
                      struct pd_plan *plan)
{
    int err;
    if (request->keep && plan->algorithm != PD_PLAN_DFS) {
        err = pd_plan_keep(graph, request->keep, plan);
    } else if (plan->mode == PD_PLAN_LINKS) {
        err = pd_plan_links(graph, plan);
    } else {
        err = pd_plan_directions(graph, plan);
    }
    if (err || !request->keep) {
        plan->changed = plan->paths.len;
        return err;
    }
    return count_changed(request->keep, plan);
}

static int make_graph(const struct pd_plan_request *request, struct pd_plan_graph *graph)
{
    int err = pd_plan_graph_init(graph, request->topology, request->without, request->without_len);
    if (!err && request->hosts) {
        memcpy(graph->hosts, request->hosts, graph->nodes_len * sizeof *graph->hosts);
    } else if (!err) {
        pd_plan_hosts(request->topology, graph->hosts);
    }
    return err;
}

int pd_plan_make(const struct pd_plan_request *request, struct pd_plan *ret_plan)
{
    uint64_t began = pd_clock_thread_ns();
    struct pd_plan plan = {
        .mode = request->mode, .algorithm = request->algorithm, .max_hops = request->max_hops};
    struct pd_plan_graph graph;
    int err = make_graph(request, &graph);
    err = err ? err : count_network(&graph, &plan);
    err = err ? err : find_paths(request, &graph, &plan);
    plan.plan_ns = pd_clock_thread_ns() - began;
    pd_plan_graph_done(&graph);
    if (err) {
        pd_plan_done(&plan);
    } else {
        *ret_plan = plan;
    }
    return err;
}

int pd_plan_walk(const struct pd_plan_request *request, uint64_t *ret_ns)
{
    struct pd_plan_graph graph;
    int err = make_graph(request, &graph);
    uint64_t began = pd_clock_thread_ns();
    err = err ? err : pd_plan_dfs(&graph, NULL);
    uint64_t ns = pd_clock_thread_ns() - began;
    pd_plan_graph_done(&graph);
    if (!err) {
        *ret_ns = ns;
    }
    return err;
}

void pd_plan_done(struct pd_plan *plan)
{
    pd_plan_paths_done(&plan->paths);
    free(plan->repeated);
    free(plan->uncovered);
    *plan = (struct pd_plan){0};
}

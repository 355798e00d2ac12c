/* SPDX-License-Identifier: Apache-2.0 */
/* Planning of probes beside one depth-first walk over the same links, in fat-trees.
 *
 * Usage: bench_plan [ROUNDS]      9
 *
 * Both are processor time of one thread, graph included, and the least of all rounds. One line for
 * each size and mode. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "probe/plan/plan.h"

static void fail(const char *what, int err)
{
    fprintf(stderr, "bench_plan: %s: %s\n", what, pd_error_text(err));
    exit(1);
}

static void bench(const struct pd_topology *topology, enum pd_plan_mode mode, int rounds)
{
    struct pd_plan_request request = {
        .topology = topology, .mode = mode, .max_hops = PD_PLAN_HOPS_DEFAULT};
    struct pd_plan plan = {0};
    uint64_t walk_ns = UINT64_MAX, plan_ns = UINT64_MAX, ns = 0;
    for (int round = 0; round < rounds; round++) {
        pd_plan_done(&plan);
        int err = pd_plan_make(&request, &plan);
        err = err ? err : pd_plan_walk(&request, &ns);
        if (err) {
            fail(topology->name, err);
        }
        plan_ns = plan.plan_ns < plan_ns ? plan.plan_ns : plan_ns;
        walk_ns = ns < walk_ns ? ns : walk_ns;
    }
    printf("{\"bench\":\"plan\",\"topology\":\"%s\",\"mode\":\"%s\",\"links\":%" PRIu32
           ",\"paths\":%" PRIu32 ",\"plan_us\":%.1f,\"walk_us\":%.1f,\"ratio\":%.2f}\n",
           topology->name, pd_plan_mode_name(mode), plan.links, plan.paths.len,
           (double)plan_ns / 1e3, (double)walk_ns / 1e3, (double)plan_ns / (double)walk_ns);
    pd_plan_done(&plan);
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = {8, 16, 24, 36, 48, 72};
    int rounds = argc > 1 ? atoi(argv[1]) : 9;
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        struct pd_topology *topology;
        int err = pd_topology_fat_tree(sizes[n], &topology, NULL);
        if (err) {
            fail("fat-tree", err);
        }
        bench(topology, PD_PLAN_DIRECTIONS, rounds);
        bench(topology, PD_PLAN_LINKS, rounds);
        pd_topology_free(topology);
    }
    return 0;
}

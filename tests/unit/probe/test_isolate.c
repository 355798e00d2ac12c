/* SPDX-License-Identifier: Apache-2.0 */
/* Isolation: prefixes brought back, directions probed alone, over what is known first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/error.h"
#include "networks.h"
#include "probe/isolate.h"

enum { RING = 6, HOPS = 4 };

struct scene {
    struct network net;
    struct pd_plan_graph graph;
    bool *well;
    struct pd_plan_paths ways;
};

/* A ring of six switches, hosts at 1 and 4; the path 1-2-3-4-5. */
static const uint32_t path[HOPS + 1] = {0, 1, 2, 3, 4};

static void begin(struct scene *scene, bool well)
{
    network_begin(&scene->net, RING);
    for (uint32_t i = 0; i < RING; i++) {
        network_link(&scene->net, i, (i + 1) % RING);
    }
    network_end(&scene->net);
    assert_int_equal(pd_plan_graph_init(&scene->graph, &scene->net.topology, NULL, 0), 0);
    scene->graph.hosts[0] = scene->graph.hosts[3] = true;
    scene->well = calloc(scene->graph.links_len, sizeof *scene->well);
    for (uint32_t link = 0; link < scene->graph.links_len; link++) {
        scene->well[link] = well;
    }
    scene->ways = (struct pd_plan_paths){0};
}

static void end(struct scene *scene)
{
    pd_plan_paths_done(&scene->ways);
    free(scene->well);
    pd_plan_graph_done(&scene->graph);
    network_done(&scene->net);
}

static void set(struct scene *scene, uint32_t from, uint32_t to, bool well)
{
    scene->well[pd_plan_link_between(&scene->graph, from, to, NULL)] = well;
}

static void check_way(const struct scene *scene, uint32_t at, const uint32_t *nodes, uint32_t hops)
{
    assert_int_equal(scene->ways.paths[at].hops, hops);
    assert_memory_equal(pd_plan_path_nodes(&scene->ways, at), nodes, (hops + 1) * sizeof *nodes);
}

/* Every direction of the path is silent, all others are well. */
static void forget_path(struct scene *scene)
{
    for (uint32_t i = 0; i < HOPS; i++) {
        set(scene, path[i], path[i + 1], false);
    }
}

static void prefixes_come_back_and_directions_stand_alone(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene, true);
    forget_path(&scene);
    assert_int_equal(pd_probe_isolate(&scene.graph, path, HOPS, scene.well, &scene.ways), 0);
    /* three prefixes; of the directions behind the first, 3-4 and 4-5 can be reached: over 5 and
     * where 4 has a host; 2-3 only from 3 */
    assert_int_equal(scene.ways.len, 6);
    check_way(&scene, 0, (const uint32_t[]){0, 1, 0}, 2);
    check_way(&scene, 1, (const uint32_t[]){0, 1, 2, 1, 0}, 4);
    check_way(&scene, 2, (const uint32_t[]){0, 1, 2, 3}, 3);
    check_way(&scene, 3, (const uint32_t[]){3, 2, 1, 2, 1, 0}, 5);
    check_way(&scene, 4, (const uint32_t[]){3, 2, 3}, 2);
    check_way(&scene, 5, (const uint32_t[]){3, 4, 3}, 2);
    end(&scene);
}

/* Switches 5 and 6 hang apart from the hosts: nothing leads there or back. */
static void what_nothing_leads_to_is_left_out(void **state)
{
    struct network net;
    struct pd_plan_graph graph;
    struct pd_plan_paths ways;
    const uint32_t apart[] = {4, 5, 4};

    (void)state;
    network_begin(&net, RING);
    network_link(&net, 0, 1);
    network_link(&net, 4, 5);
    network_end(&net);
    assert_int_equal(pd_plan_graph_init(&graph, &net.topology, NULL, 0), 0);
    graph.hosts[0] = true;
    assert_int_equal(pd_probe_isolate(&graph, apart, 2, (const bool[4]){true}, &ways), 0);
    assert_int_equal(ways.len, 0);
    pd_plan_paths_done(&ways);
    pd_plan_graph_done(&graph);
    network_done(&net);
}

/* Where nothing is known, a way that may be well is better than none; what is known goes before. */
static void unknown_directions_are_tried(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene, false);
    assert_int_equal(pd_probe_isolate(&scene.graph, path, HOPS, scene.well, &scene.ways), 0);
    assert_int_equal(scene.ways.len, 6);
    check_way(&scene, 0, (const uint32_t[]){0, 1, 0}, 2);
    check_way(&scene, 1, (const uint32_t[]){0, 1, 2, 3}, 3);
    pd_plan_paths_done(&scene.ways);
    set(&scene, 2, 1, true);
    set(&scene, 1, 0, true);
    assert_int_equal(pd_probe_isolate(&scene.graph, path, HOPS, scene.well, &scene.ways), 0);
    check_way(&scene, 1, (const uint32_t[]){0, 1, 2, 1, 0}, 4);
    end(&scene);
}

static void neighbours_without_a_link_are_refused(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene, true);
    assert_int_equal(
        pd_probe_isolate(&scene.graph, (const uint32_t[]){0, 2}, 1, scene.well, &scene.ways),
        -PD_E_VALUE);
    assert_int_equal(scene.ways.len, 0);
    end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefixes_come_back_and_directions_stand_alone),
        cmocka_unit_test(what_nothing_leads_to_is_left_out),
        cmocka_unit_test(unknown_directions_are_tried),
        cmocka_unit_test(neighbours_without_a_link_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

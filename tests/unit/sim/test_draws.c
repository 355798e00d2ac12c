/* SPDX-License-Identifier: Apache-2.0 */
/* Random draws: means and spreads as they should be (fixed seeds), routes that are shortest and
 * spread evenly. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "sim/net.h"
#include "sim/sizes.h"

static void binomial_has_its_mean_and_variance(void **state)
{
    static const struct {
        uint64_t n;
        double p;
    } cases[] = {{20, 0.01}, {1000, 0.01}, {1000, 0.5}, {1000, 0.97}, {100000, 0.04}, {3, 0.9}};
    struct pd_sim_random random = {2016};
    enum { DRAWS = 20000 };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double sum = 0, squares = 0, mean = (double)cases[c].n * cases[c].p;
        double variance = mean * (1 - cases[c].p);
        for (int i = 0; i < DRAWS; i++) {
            uint64_t drawn = pd_sim_random_binomial(&random, cases[c].n, cases[c].p);
            assert_true(drawn <= cases[c].n);
            sum += (double)drawn;
            squares += ((double)drawn - mean) * ((double)drawn - mean);
        }
        assert_true(fabs(sum / DRAWS - mean) < 5 * sqrt(variance / DRAWS));
        assert_true(fabs(squares / DRAWS / variance - 1) < 0.15);
    }
    assert_int_equal(pd_sim_random_binomial(&random, 7, 0), 0);
    assert_int_equal(pd_sim_random_binomial(&random, 7, 1), 7);
    assert_int_equal(pd_sim_random_binomial(&random, 0, 0.5), 0);
}

static void sizes_have_their_mean(void **state)
{
    static const char *const names[] = {"web-search", "hadoop"};
    struct pd_sim_random random = {2016};
    enum { DRAWS = 200000 };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct pd_sim_sizes sizes;
        double sum = 0;
        assert_int_equal(pd_sim_sizes_read(names[i], &sizes, NULL), 0);
        for (int d = 0; d < DRAWS; d++) {
            sum += pd_sim_sizes_draw(&sizes, &random);
        }
        assert_true(fabs(sum / DRAWS / sizes.mean_bytes - 1) < 0.03);
        pd_sim_sizes_done(&sizes);
    }
}

static void check_route(const struct pd_sim_net *net, const struct pd_sim_net_route *route,
                        uint32_t src, uint32_t dst)
{
    const struct pd_topology *topology = net->topology;
    uint32_t at = topology->hosts[src].tor;
    assert_int_equal(route->path.switches[0], topology->switches[at].id);
    for (unsigned i = 1; i < route->path.len; i++) {
        uint32_t next = pd_topology_switch(topology, route->path.switches[i]);
        assert_non_null(pd_topology_link(topology, at, next));
        at = next;
    }
    assert_int_equal(at, topology->hosts[dst].tor);
    assert_int_equal(route->links_len, route->path.len + 1);
    assert_true(pd_sim_net_is_up(net, route->links[0]));
}

/* Each of the four paths between two pods of a fat-tree(4) is drawn a quarter of the times. */
static void routes_are_shortest_and_even(void **state)
{
    struct pd_topology *topology;
    struct pd_sim_net net;
    struct pd_sim_random random = {2016};
    unsigned by_core[4] = {0};
    enum { DRAWS = 8000 };
    (void)state;
    assert_int_equal(pd_topology_fat_tree(4, &topology, NULL), 0);
    assert_int_equal(pd_sim_net_init(topology, &net, NULL), 0);
    for (int i = 0; i < DRAWS; i++) {
        struct pd_sim_net_route route;
        pd_sim_net_route(&net, 0, 15, 1, &random, &route);
        check_route(&net, &route, 0, 15);
        assert_int_equal(route.path.len, 5);
        by_core[route.path.switches[2] - 17]++;
    }
    for (int c = 0; c < 4; c++) {
        assert_in_range(by_core[c], DRAWS / 4 - 200, DRAWS / 4 + 200);
    }
    pd_sim_net_done(&net);
    pd_topology_free(topology);
}

static void routes_exist_in_every_shape(void **state)
{
    struct pd_topology *topologies[3];
    struct pd_sim_random random = {2016};
    (void)state;
    assert_int_equal(pd_topology_fat_tree(8, &topologies[0], NULL), 0);
    assert_int_equal(pd_topology_vl2(8, &topologies[1], NULL), 0);
    assert_int_equal(pd_topology_leaf_spine(6, 3, 4, &topologies[2], NULL), 0);
    for (int t = 0; t < 3; t++) {
        struct pd_sim_net net;
        assert_int_equal(pd_sim_net_init(topologies[t], &net, NULL), 0);
        for (int i = 0; i < 2000; i++) {
            struct pd_sim_net_route route;
            uint32_t src = pd_sim_random_below(&random, topologies[t]->hosts_len);
            uint32_t dst = pd_sim_random_below(&random, topologies[t]->hosts_len);
            pd_sim_net_route(&net, src, dst, 1, &random, &route);
            check_route(&net, &route, src, dst);
            assert_true(route.path.len <= 5);
        }
        pd_sim_net_done(&net);
        pd_topology_free(topologies[t]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binomial_has_its_mean_and_variance),
        cmocka_unit_test(sizes_have_their_mean),
        cmocka_unit_test(routes_are_shortest_and_even),
        cmocka_unit_test(routes_exist_in_every_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Plans on random networks: each is checked direction by direction, and beside naive oracles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/shared/random.h"
#include "tests/unit/probe/networks.h"

enum { ROUNDS = 150 };

/* Connected or not, simple or with parallel links. */
static void random_network(struct network *net, struct random *random)
{
    uint32_t switches = 1 + (uint32_t)random_below(random, 40),
             more = (uint32_t)random_below(random, switches * 3);
    bool connected = random_below(random, 3), parallel = !random_below(random, 4);
    network_begin(net, switches);
    for (uint32_t s = 1; s < switches && connected; s++) {
        network_link(net, (uint32_t)random_below(random, s), s);
    }
    for (uint32_t i = 0; i < more; i++) {
        uint32_t a = (uint32_t)random_below(random, switches),
                 b = (uint32_t)random_below(random, switches);
        if (a != b && (parallel || !network_has(net, a, b))) {
            network_link(net, a, b);
        }
    }
    network_end(net);
}

static void random_hosts(struct network *net, struct random *random)
{
    uint64_t one_of = 1 + random_below(random, 4);
    for (uint32_t s = 0; s < net->topology.switches_len; s++) {
        net->hosts[s] = !random_below(random, one_of);
    }
}

static struct pd_plan_request request_for(const struct network *net, enum pd_plan_mode mode,
                                          uint32_t max_hops)
{
    return (struct pd_plan_request){
        .topology = &net->topology, .mode = mode, .max_hops = max_hops, .hosts = net->hosts};
}

/* ---- what a plan has to hold */

struct counts {
    int *of; /* from * switches + to */
    uint32_t switches;
};

static int *at(struct counts *counts, uint32_t a, uint32_t b)
{
    return &counts->of[a * counts->switches + b];
}

static struct counts count_links(const struct network *net, const struct pd_plan_cable *without)
{
    struct counts counts = {.switches = net->topology.switches_len};
    counts.of = calloc((size_t)counts.switches * counts.switches + 1, sizeof *counts.of);
    for (uint32_t i = 0; i < net->links_len; i++) {
        uint32_t a = net->links[i].a, b = net->links[i].b;
        if (without &&
            ((a == without->a && b == without->b) || (a == without->b && b == without->a))) {
            continue;
        }
        ++*at(&counts, a, b);
        ++*at(&counts, b, a);
    }
    return counts;
}

static void take_paths(struct counts *counts, const struct pd_plan_paths *paths, bool both)
{
    for (uint32_t n = 0; n < paths->len; n++) {
        const uint32_t *nodes = pd_plan_path_nodes(paths, n);
        assert_true(paths->paths[n].hops > 0);
        for (uint32_t i = 0; i < paths->paths[n].hops; i++) {
            --*at(counts, nodes[i], nodes[i + 1]);
            if (both) {
                --*at(counts, nodes[i + 1], nodes[i]);
            }
        }
    }
}

static void put_back(struct counts *counts, const struct pd_plan_cable *list, uint32_t len, int by)
{
    for (uint32_t i = 0; i < len; i++) {
        *at(counts, list[i].a, list[i].b) += by;
    }
}

static void assert_nothing_left(struct counts *counts)
{
    for (size_t i = 0; i < (size_t)counts->switches * counts->switches; i++) {
        assert_int_equal(counts->of[i], 0);
    }
    free(counts->of);
}

static void assert_covers(const struct network *net, const struct pd_plan *plan,
                          const struct pd_plan_cable *without)
{
    struct counts counts = count_links(net, without);
    take_paths(&counts, &plan->paths, plan->mode == PD_PLAN_LINKS);
    put_back(&counts, plan->repeated, plan->repeated_len, 1);
    put_back(&counts, plan->uncovered, plan->uncovered_len, -1);
    assert_nothing_left(&counts);
    for (uint32_t n = 0; plan->mode == PD_PLAN_DIRECTIONS && n < plan->paths.len; n++) {
        const uint32_t *nodes = pd_plan_path_nodes(&plan->paths, n);
        uint32_t hops = plan->paths.paths[n].hops;
        assert_true(hops <= plan->max_hops);
        assert_true(net->hosts[nodes[0]] && net->hosts[nodes[hops]]);
    }
}

static uint32_t root(uint32_t *parents, uint32_t s)
{
    return parents[s] == s ? s : root(parents, parents[s]);
}

/* Half the odd switches of each component, one where there are none; or, for directions, the sum
 * of the rounded-up shares of components with a host. */
static uint32_t naive_bound(const struct network *net, uint32_t max_hops)
{
    uint32_t len = net->topology.switches_len, bound = 0,
             *parents = malloc((len + 1) * sizeof *parents);
    for (uint32_t s = 0; s < len; s++) {
        parents[s] = s;
    }
    for (uint32_t i = 0; i < net->links_len; i++) {
        parents[root(parents, net->links[i].a)] = root(parents, net->links[i].b);
    }
    for (uint32_t part = 0; part < len; part++) {
        uint32_t odd = 0, arcs = 0;
        bool hosted = false;
        for (uint32_t s = 0; s < len; s++) {
            if (root(parents, s) == part) {
                odd += net->switches[s].switch_neighbours % 2;
                arcs += net->switches[s].switch_neighbours;
                hosted |= net->hosts[s];
            }
        }
        bound += max_hops ? hosted * ((arcs + max_hops - 1) / max_hops)
                 : arcs   ? (odd ? odd / 2 : 1)
                          : 0;
    }
    free(parents);
    return bound;
}

static uint64_t squares(const struct pd_plan_paths *paths)
{
    uint64_t sum = 0;
    for (uint32_t n = 0; n < paths->len; n++) {
        sum += (uint64_t)paths->paths[n].hops * paths->paths[n].hops;
    }
    return sum;
}

/* ---- mode links */

static void links_are_covered_by_as_few_trails_as_can_be(void **state)
{
    struct random random = {test_seed()};
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct network net;
        struct pd_plan even, plain;
        random_network(&net, &random);
        struct pd_plan_request request = request_for(&net, PD_PLAN_LINKS, 60);
        assert_int_equal(pd_plan_make(&request, &even), 0);
        request.algorithm = PD_PLAN_EULER_UNBALANCED;
        assert_int_equal(pd_plan_make(&request, &plain), 0);
        assert_covers(&net, &even, NULL);
        assert_covers(&net, &plain, NULL);
        assert_int_equal(even.paths.len, naive_bound(&net, 0));
        assert_int_equal(even.lower_bound, even.paths.len);
        assert_int_equal(plain.paths.len, even.paths.len);
        assert_true(squares(&even.paths) <= squares(&plain.paths));
        pd_plan_done(&even);
        pd_plan_done(&plain);
        network_done(&net);
    }
}

/* Figure 2 as it stands, but for line 19. */
struct naive_search {
    const struct network *net;
    struct counts left;
    uint32_t path[1024];
    uint32_t hops;
    const struct pd_plan_paths *got;
    uint32_t found;
};

static void end_naive_path(struct naive_search *search)
{
    if (search->hops) {
        const struct pd_plan_paths *got = search->got;
        assert_true(search->found < got->len);
        assert_int_equal(got->paths[search->found].hops, search->hops);
        assert_memory_equal(pd_plan_path_nodes(got, search->found), search->path,
                            (search->hops + 1) * sizeof *search->path);
        search->found++;
    }
    search->hops = 0;
}

static void naive_path_plan(struct naive_search *search, uint32_t v)
{
    const struct pd_switch *sw = &search->net->switches[v];
    bool flag = false;
    for (uint32_t i = 0; i < sw->switch_neighbours; i++) {
        uint32_t j = sw->neighbours[i].node;
        if (*at(&search->left, v, j) <= 0) {
            continue;
        }
        --*at(&search->left, v, j);
        --*at(&search->left, j, v);
        if (flag || !search->hops) {
            end_naive_path(search);
            search->path[0] = v;
        }
        search->path[++search->hops] = j;
        naive_path_plan(search, j);
        end_naive_path(search);
        flag = true;
    }
}

static void the_depth_first_search_is_that_of_the_paper(void **state)
{
    struct random random = {test_seed()};
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct network net;
        struct pd_plan plan;
        random_network(&net, &random);
        struct pd_plan_request request = request_for(&net, PD_PLAN_LINKS, 60);
        request.algorithm = PD_PLAN_DFS;
        assert_int_equal(pd_plan_make(&request, &plan), 0);
        assert_covers(&net, &plan, NULL);
        struct naive_search search = {
            .net = &net, .left = count_links(&net, NULL), .got = &plan.paths};
        for (uint32_t s = 0; s < net.topology.switches_len; s++) {
            naive_path_plan(&search, s);
        }
        assert_int_equal(search.found, plan.paths.len);
        free(search.left.of);
        pd_plan_done(&plan);
        network_done(&net);
    }
}

/* ---- mode directions */

static void directions_are_covered_once_from_host_to_host(void **state)
{
    struct random random = {test_seed()};
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct network net;
        struct pd_plan plan;
        random_network(&net, &random);
        random_hosts(&net, &random);
        struct pd_plan_request request = request_for(&net, PD_PLAN_DIRECTIONS, 1000);
        assert_int_equal(pd_plan_make(&request, &plan), 0);
        assert_covers(&net, &plan, NULL);
        assert_int_equal(plan.repeated_len, 0);
        assert_int_equal(plan.lower_bound, naive_bound(&net, 1000));
        assert_int_equal(plan.paths.len, plan.lower_bound);
        pd_plan_done(&plan);
        network_done(&net);
    }
}

static void with_a_host_everywhere_as_few_and_as_even_as_can_be(void **state)
{
    struct random random = {test_seed()};
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct network net;
        struct pd_plan plan;
        uint32_t limit = 1 + (uint32_t)random_below(&random, 70);
        random_network(&net, &random);
        memset(net.hosts, true, net.topology.switches_len);
        struct pd_plan_request request = request_for(&net, PD_PLAN_DIRECTIONS, limit);
        assert_int_equal(pd_plan_make(&request, &plan), 0);
        assert_covers(&net, &plan, NULL);
        assert_int_equal(plan.paths.len, naive_bound(&net, limit));
        assert_int_equal(plan.repeated_len + plan.uncovered_len, 0);
        pd_plan_done(&plan);
        network_done(&net);
    }
}

/* What cannot be covered within the limit is listed, what has to be crossed again, too. */
static void whatever_the_limit_nothing_is_lost(void **state)
{
    struct random random = {test_seed()};
    (void)state;
    for (int round = 0; round < ROUNDS * 2; round++) {
        struct network net;
        struct pd_plan plan;
        random_network(&net, &random);
        random_hosts(&net, &random);
        struct pd_plan_request request =
            request_for(&net, PD_PLAN_DIRECTIONS, 1 + (uint32_t)random_below(&random, 20));
        assert_int_equal(pd_plan_make(&request, &plan), 0);
        assert_covers(&net, &plan, NULL);
        assert_true(plan.paths.len >= plan.lower_bound || plan.uncovered_len);
        pd_plan_done(&plan);
        network_done(&net);
    }
}

/* A line of hostless switches with a host at one end: there and back is longer than the limit at
 * its far end alone. */
static void a_hostless_tail_is_crossed_again_up_to_where_the_limit_ends(void **state)
{
    struct network net;
    struct pd_plan plan;
    (void)state;
    network_begin(&net, 12);
    for (uint32_t s = 0; s + 1 < 6; s++) {
        network_link(&net, s, s + 1);
    }
    for (uint32_t s = 6; s < 12; s++) { /* a comb on the line's last switch */
        network_link(&net, 5, s);
    }
    network_end(&net);
    net.hosts[0] = true;
    struct pd_plan_request request = request_for(&net, PD_PLAN_DIRECTIONS, 12);
    assert_int_equal(pd_plan_make(&request, &plan), 0);
    assert_covers(&net, &plan, NULL);
    assert_int_equal(plan.uncovered_len, 0);
    assert_int_equal(plan.repeated_len, 5 * 10);
    pd_plan_done(&plan);
    request.max_hops = 11;
    assert_int_equal(pd_plan_make(&request, &plan), 0);
    assert_covers(&net, &plan, NULL);
    assert_int_equal(plan.uncovered_len, 12);
    pd_plan_done(&plan);
    network_done(&net);
}

/* ---- plans that are kept */

static uint32_t count_new(const struct pd_plan_paths *now, const struct pd_plan_paths *old)
{
    uint32_t found = 0;
    bool *taken = calloc(old->len + 1, sizeof *taken);
    for (uint32_t n = 0; n < now->len; n++) {
        uint32_t m = 0, bytes = (now->paths[n].hops + 1) * (uint32_t)sizeof(uint32_t);
        while (m < old->len &&
               (taken[m] || old->paths[m].hops != now->paths[n].hops ||
                memcmp(pd_plan_path_nodes(old, m), pd_plan_path_nodes(now, n), bytes) != 0)) {
            m++;
        }
        found += m == old->len;
        taken[m] = true;
    }
    free(taken);
    return found;
}

static void a_cable_lost_and_back(struct random *random, enum pd_plan_mode mode, bool hosts)
{
    struct network net;
    struct pd_plan before, lost, back;
    random_network(&net, random);
    if (hosts) {
        random_hosts(&net, random);
    } else {
        memset(net.hosts, true, net.topology.switches_len);
    }
    struct pd_plan_request request = request_for(&net, mode, 1000);
    if (net.links_len) {
        struct pd_plan_cable cable = net.links[random_below(random, net.links_len)];
        assert_int_equal(pd_plan_make(&request, &before), 0);
        request.keep = &before.paths;
        request.without = &cable;
        request.without_len = 1;
        assert_int_equal(pd_plan_make(&request, &lost), 0);
        assert_covers(&net, &lost, &cable);
        assert_int_equal(lost.changed, count_new(&lost.paths, &before.paths));
        if (mode == PD_PLAN_LINKS) {
            assert_int_equal(lost.paths.len, lost.lower_bound);
        }
        request.keep = &lost.paths;
        request.without_len = 0;
        assert_int_equal(pd_plan_make(&request, &back), 0);
        assert_covers(&net, &back, NULL);
        assert_int_equal(back.changed, count_new(&back.paths, &lost.paths));
        if (mode == PD_PLAN_LINKS) {
            assert_int_equal(back.paths.len, back.lower_bound);
        }
        pd_plan_done(&before);
        pd_plan_done(&lost);
        pd_plan_done(&back);
    }
    network_done(&net);
}

static void a_kept_plan_covers_what_is_left_and_what_comes_back(void **state)
{
    struct random random = {test_seed()};
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        a_cable_lost_and_back(&random, PD_PLAN_DIRECTIONS, false);
        a_cable_lost_and_back(&random, PD_PLAN_DIRECTIONS, true);
        a_cable_lost_and_back(&random, PD_PLAN_LINKS, true);
    }
}

/* ---- the fat-tree */

static void in_a_fat_tree_one_cable_changes_four_paths_at_most(void **state)
{
    struct pd_topology *topology;
    struct pd_plan before, after;
    (void)state;
    assert_int_equal(pd_topology_fat_tree(8, &topology, NULL), 0);
    struct pd_plan_request request = {
        .topology = topology, .mode = PD_PLAN_DIRECTIONS, .max_hops = PD_PLAN_HOPS_DEFAULT};
    assert_int_equal(pd_plan_make(&request, &before), 0);
    assert_int_equal(before.paths.len, 9);
    request.keep = &before.paths;
    for (uint32_t s = 0; s < topology->switches_len; s++) {
        const struct pd_switch *sw = &topology->switches[s];
        for (uint32_t i = 0; i < sw->switch_neighbours; i++) {
            struct pd_plan_cable cable = {.a = s, .b = sw->neighbours[i].node};
            if (cable.a > cable.b) {
                continue;
            }
            request.without = &cable;
            request.without_len = 1;
            assert_int_equal(pd_plan_make(&request, &after), 0);
            assert_true(after.changed <= 4);
            assert_int_equal(after.repeated_len + after.uncovered_len, 0);
            assert_int_equal(after.paths.len, 9);
            for (uint32_t n = 0; n < after.paths.len; n++) {
                assert_true(after.paths.paths[n].hops <= after.max_hops);
            }
            pd_plan_done(&after);
        }
    }
    pd_plan_done(&before);
    pd_topology_free(topology);
}

static void stretches_in_a_fat_tree_have_four_hops(void **state)
{
    (void)state;
    for (uint32_t k = 4; k <= 16; k += 2) {
        struct pd_topology *topology;
        struct pd_plan plan;
        assert_int_equal(pd_topology_fat_tree(k, &topology, NULL), 0);
        for (uint32_t limit = 12; limit <= 64; limit += 13) {
            struct pd_plan_request request = {
                .topology = topology, .mode = PD_PLAN_DIRECTIONS, .max_hops = limit};
            uint32_t share = limit / 4 * 4;
            assert_int_equal(pd_plan_make(&request, &plan), 0);
            assert_true(plan.paths.len <= (k * k * k + share - 1) / share);
            for (uint32_t n = 0; n < plan.paths.len && limit % 4 == 0; n++) {
                assert_int_equal(plan.paths.paths[n].hops % 4, 0);
            }
            pd_plan_done(&plan);
        }
        pd_topology_free(topology);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_are_covered_by_as_few_trails_as_can_be),
        cmocka_unit_test(the_depth_first_search_is_that_of_the_paper),
        cmocka_unit_test(directions_are_covered_once_from_host_to_host),
        cmocka_unit_test(with_a_host_everywhere_as_few_and_as_even_as_can_be),
        cmocka_unit_test(whatever_the_limit_nothing_is_lost),
        cmocka_unit_test(a_hostless_tail_is_crossed_again_up_to_where_the_limit_ends),
        cmocka_unit_test(a_kept_plan_covers_what_is_left_and_what_comes_back),
        cmocka_unit_test(in_a_fat_tree_one_cable_changes_four_paths_at_most),
        cmocka_unit_test(stretches_in_a_fat_tree_have_four_hops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

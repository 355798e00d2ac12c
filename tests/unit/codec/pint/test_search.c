/* SPDX-License-Identifier: Apache-2.0 */
/* Searches against plain enumeration: the same candidates after each digest, on random graphs. */
#include "networks.h"

#include "codec/pint/search.h"

struct sample {
    uint32_t packet_id;
    uint16_t digest;
};

/* All simple walks from one switch to another with so many switches that give these digests. */
struct oracle {
    const struct pd_topology *topology;
    const struct pd_pint_plan *plan;
    const struct sample *samples;
    unsigned samples_len;
    uint32_t dst, len, first_hop;
    uint32_t walk[PD_PINT_HOPS_MAX];
    uint64_t found;
};

static void enumerate(struct oracle *oracle, uint32_t depth)
{
    const uint32_t at = oracle->walk[depth - 1];
    const struct pd_switch *sw = &oracle->topology->switches[at];

    if (depth == oracle->len) {
        bool fits = at == oracle->dst;
        for (unsigned i = 0; fits && i < oracle->samples_len; i++) {
            fits = walked(oracle->plan, oracle->topology, oracle->walk, depth, oracle->first_hop,
                          oracle->samples[i].packet_id) == oracle->samples[i].digest;
        }
        oracle->found += fits;
        return;
    }
    for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
        bool fresh = true;
        for (uint32_t p = 0; p < depth; p++) {
            fresh &= oracle->walk[p] != sw->neighbours[n].node;
        }
        if (fresh) {
            oracle->walk[depth] = sw->neighbours[n].node;
            enumerate(oracle, depth + 1);
        }
    }
}

static uint64_t count_all(struct oracle *oracle, uint32_t src, uint32_t hops)
{
    oracle->found = 0;
    for (uint32_t offset = 0; offset < PD_PINT_OFFSETS && offset < hops; offset++) {
        oracle->len = hops - offset;
        oracle->first_hop = offset + 1;
        oracle->walk[0] = src;
        enumerate(oracle, 1);
    }
    return oracle->found;
}

/* One flow: after each packet as many candidates as there are, or not counted. */
static unsigned follow(struct random *random, const struct pd_topology *topology,
                       const struct pd_pint_plan *plan, struct pd_pint_solver *solver)
{
    uint32_t walk[PD_PINT_HOPS_MAX];
    struct sample samples[12];
    struct pd_pint_search *search = NULL;
    struct pd_pint_path path;
    const uint32_t len = random_walk(random, topology, 9, walk);
    const uint32_t offset = random_below(random, 4) ? 0 : (uint32_t)random_below(random, 3);
    struct oracle oracle = {
        .topology = topology, .plan = plan, .samples = samples, .dst = walk[len - 1]};
    unsigned decided = 0;

    assert_int_equal(
        pd_pint_search_new(solver, walk[0], walk[len - 1], len + offset, PD_PINT_OFFSETS, &search),
        0);
    for (unsigned i = 0; i < 12; i++) {
        samples[i].packet_id = (uint32_t)random_next(random);
        samples[i].digest = walked(plan, topology, walk, len, 1 + offset, samples[i].packet_id);
        assert_int_equal(pd_pint_search_add(search, samples[i].packet_id, samples[i].digest), 0);
        oracle.samples_len = i + 1;
        const uint64_t wanted = count_all(&oracle, walk[0], len + offset);
        const uint64_t got = pd_pint_search_candidates(search);
        assert_true(wanted >= 1);
        assert_true(got == wanted || got == UINT64_MAX);
        if (pd_pint_search_path(search, &path)) {
            decided++;
            assert_int_equal(path.len, len);
            assert_int_equal(path.first_hop, 1 + offset);
            for (uint32_t p = 0; p < len; p++) {
                assert_int_equal(path.switches[p], topology->switches[walk[p]].id);
            }
        }
    }
    pd_pint_search_free(search);
    return decided;
}

static void candidates_are_those_of_the_enumeration(void **state)
{
    static const unsigned plans[][4] = {{8, 2, 32768, 65536}, {8, 1, 0, 65536},
                                        {4, 1, 32768, 65536}, {1, 1, 32768, 65536},
                                        {2, 2, 49152, 22938}, {12, 1, 30000, 30000}};
    struct random random = {test_seed()};
    unsigned decided = 0;
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        const unsigned *numbers = plans[round % 6];
        struct pd_topology *topology = network(&random, 4 + (unsigned)random_below(&random, 16),
                                               (unsigned)random_below(&random, 14));
        struct pd_pint_plan *plan = path_plan(numbers[0], numbers[1], numbers[2], numbers[3]);
        struct pd_pint_solver *solver = NULL;
        assert_int_equal(
            pd_pint_solver_new(topology, plan, PD_PINT_JOINT, (size_t)64 << 20, &solver), 0);
        for (unsigned flow = 0; flow < 10; flow++) {
            decided += follow(&random, topology, plan, solver);
        }
        pd_pint_solver_free(solver);
        pd_pint_plan_free(plan);
        pd_topology_free(topology);
    }
    assert_true(decided > 600);
}

/* A digest that no walk gives leaves nothing; and nothing comes back. */
static void wrong_digests_leave_nothing(void **state)
{
    struct random random = {test_seed()};
    struct pd_topology *topology = network(&random, 12, 8);
    struct pd_pint_plan *plan = path_plan(16, 1, 0, 65536);
    struct pd_pint_solver *solver = NULL;
    struct pd_pint_search *search = NULL;
    uint32_t walk[PD_PINT_HOPS_MAX];
    const uint32_t len = random_walk(&random, topology, 6, walk);
    (void)state;
    assert_int_equal(pd_pint_solver_new(topology, plan, PD_PINT_JOINT, (size_t)64 << 20, &solver),
                     0);
    assert_int_equal(
        pd_pint_search_new(solver, walk[0], walk[len - 1], len, PD_PINT_OFFSETS, &search), 0);
    for (unsigned i = 0; i < 4; i++) {
        const uint32_t packet_id = (uint32_t)random_next(&random);
        const uint16_t right = walked(plan, topology, walk, len, 1, packet_id);
        assert_int_equal(pd_pint_search_add(search, packet_id, (uint16_t)(right ^ 0x5a5a)), 0);
    }
    assert_int_equal(pd_pint_search_candidates(search), 0);
    for (unsigned i = 0; i < 600; i++) {
        const int err = pd_pint_search_add(search, i, 0);
        assert_true(err == 0 || err == -PD_E_FULL);
    }
    assert_int_equal(pd_pint_search_candidates(search), 0);
    pd_pint_search_free(search);
    pd_pint_solver_free(solver);
    pd_pint_plan_free(plan);
    pd_topology_free(topology);
}

/* Without cables: joint and peeling both find the walk, joint not later. */
static void walks_are_found_without_cables(void **state)
{
    struct random random = {test_seed()};
    (void)state;
    for (unsigned round = 0; round < 5; round++) {
        struct pd_topology *topology = network(&random, 40, 30);
        struct pd_pint_plan *plan = path_plan(8, 2, 49152, 22938);
        unsigned decided[2] = {0};
        uint32_t walk[PD_PINT_HOPS_MAX];
        const uint32_t len = random_walk(&random, topology, 8, walk);
        for (int method = PD_PINT_JOINT; method <= PD_PINT_PEEL; method++) {
            struct random packets = {77};
            struct pd_pint_solver *solver = NULL;
            struct pd_pint_search *search = NULL;
            struct pd_pint_path path;
            assert_int_equal(pd_pint_solver_new(topology, plan, (enum pd_pint_method)method,
                                                (size_t)64 << 20, &solver),
                             0);
            assert_int_equal(pd_pint_search_new(solver, PD_NONE, PD_NONE, len, 1, &search), 0);
            while (!pd_pint_search_path(search, &path) && decided[method] < 500) {
                const uint32_t packet_id = (uint32_t)random_next(&packets);
                assert_int_equal(
                    pd_pint_search_add(search, packet_id,
                                       walked(plan, topology, walk, len, 1, packet_id)),
                    0);
                decided[method]++;
            }
            assert_true(pd_pint_search_path(search, &path));
            assert_int_equal(path.switches[len - 1], topology->switches[walk[len - 1]].id);
            pd_pint_search_free(search);
            pd_pint_solver_free(solver);
        }
        assert_true(decided[PD_PINT_JOINT] <= decided[PD_PINT_PEEL]);
        pd_pint_plan_free(plan);
        pd_topology_free(topology);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(candidates_are_those_of_the_enumeration),
        cmocka_unit_test(wrong_digests_leave_nothing),
        cmocka_unit_test(walks_are_found_without_cables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

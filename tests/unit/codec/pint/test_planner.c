/* SPDX-License-Identifier: Apache-2.0 */
/* The planner: shares that fit exactly and not quite, codes, the paper's parameters. */
#include "networks.h"

#include <math.h>

#include "codec/pint/planner.h"
#include "codec/pint/shares.h"

static double share_of(const struct pd_pint_set *sets, unsigned len, unsigned query)
{
    double sum = 0;

    for (unsigned s = 0; s < len; s++) {
        sum += memchr(sets[s].queries, (int)query, sets[s].queries_len) ? sets[s].weight : 0;
    }
    return sum;
}

static int shares(const struct pd_pint_request *requests, unsigned len, unsigned *ret_misfit)
{
    struct pd_pint_set sets[PD_PINT_SETS_MAX];
    unsigned sets_len, weights = 0;
    double needed;
    int err = pd_pint_shares(requests, len, 16, sets, &sets_len, ret_misfit, &needed);

    for (unsigned s = 0; !err && s < sets_len; s++) {
        unsigned bits = 0;
        for (unsigned q = 0; q < sets[s].queries_len; q++) {
            bits += requests[sets[s].queries[q]].bits;
        }
        assert_true(bits <= 16);
        weights += sets[s].weight;
    }
    assert_true(err || weights <= PD_PINT_ONE);
    for (unsigned q = 0; !err && q < len; q++) {
        assert_true(share_of(sets, sets_len, q) >= requests[q].frequency * PD_PINT_ONE - 1 - 1e-6);
    }
    return err;
}

static void shares_that_just_fit(void **state)
{
    const struct pd_pint_request thirds[] = {{8, 2. / 3}, {8, 2. / 3}, {8, 2. / 3}};
    const struct pd_pint_request more[] = {{8, 2. / 3}, {8, 2. / 3}, {8, .67}};
    const struct pd_pint_request paper[] = {{8, 1}, {8, .9375}, {8, .0625}};
    const struct pd_pint_request wide[] = {{4, 1}, {17, .1}};
    unsigned misfit = 99;
    (void)state;
    assert_int_equal(shares(thirds, 3, &misfit), 0);
    assert_int_equal(shares(paper, 3, &misfit), 0);
    assert_int_equal(shares(more, 3, &misfit), -PD_E_FULL);
    assert_int_equal(misfit, 2);
    assert_int_equal(shares(wide, 2, &misfit), -PD_E_FULL);
    assert_int_equal(misfit, 1);
}

/* Made from random sets, so that they fit; and more than the bits of all packets never do. */
static void shares_of_random_plans(void **state)
{
    struct random random = {test_seed()};
    unsigned misfit;
    (void)state;
    for (unsigned round = 0; round < 300; round++) {
        struct pd_pint_request requests[6] = {{0}};
        double left = 1, used = 0;
        for (unsigned q = 0; q < 6; q++) {
            requests[q].bits = 1 + (unsigned)random_below(&random, 12);
        }
        while (left > .001) {
            const double weight = left * (double)(1 + random_below(&random, 100)) / 100;
            unsigned room = 16;
            for (unsigned i = 0; i < 12; i++) {
                const unsigned q = (unsigned)random_below(&random, 6);
                if (i < 6 && requests[(q + i) % 6].bits <= room) {
                    room -= requests[(q + i) % 6].bits;
                    requests[(q + i) % 6].frequency += weight;
                    break;
                }
            }
            left -= weight;
        }
        assert_int_equal(shares(requests, 6, &misfit), 0);
        for (unsigned q = 0; q < 6; q++) {
            requests[q].frequency = .05 + requests[q].frequency * .95;
            used += requests[q].frequency * requests[q].bits;
        }
        if (used > 16) {
            assert_int_equal(shares(requests, 6, &misfit), -PD_E_FULL);
        }
    }
}

static struct pd_pint_plan *make(const struct pd_topology *topology, const char *text,
                                 enum pd_pint_parameters parameters, struct pd_error *error)
{
    const struct pd_pint_order order = {
        .topology = topology, .bits = 16, .parameters = parameters, .seed = 3};
    struct pd_pint_plan *plan = NULL;
    json_t *queries = json_loads(text, 0, NULL);

    assert_non_null(queries);
    pd_pint_plan_make(queries, "q.json", &order, &plan, error);
    json_decref(queries);
    return plan;
}

static void codes_cover_their_range(void **state)
{
    struct pd_topology *topology = NULL;
    struct pd_error error = {0};
    (void)state;
    assert_int_equal(pd_topology_fat_tree(4, &topology, NULL), 0);
    struct pd_pint_plan *plan = make(
        topology,
        "[{\"name\":\"l\",\"aggregation\":\"dynamic\",\"value\":\"hop-latency-ns\",\"bits\":8,"
        "\"min\":500,\"max\":1000000},{\"name\":\"q\",\"aggregation\":\"packet\",\"function\":"
        "\"max\",\"value\":\"queue-bytes\",\"bits\":2,\"min\":0,\"max\":300,\"scale\":\"linear\"},"
        "{\"name\":\"h\",\"aggregation\":\"dynamic\",\"value\":\"high-latency\",\"bits\":1}]",
        PD_PINT_TEXT, &error);
    assert_non_null(plan);
    assert_int_equal(plan->queries[0].codes, 256);
    assert_int_equal(plan->queries[0].values[1], 500);
    assert_int_equal(plan->queries[0].values[255], 1000000);
    assert_int_equal(plan->queries[0].rounding, PD_PINT_NEAREST);
    for (uint64_t v = 500; v < 1000000; v += 997) { /* the codes' own width: 3 % apart */
        const uint64_t near = plan->queries[0].values[pd_pint_code(plan, 0, 1, 1, v)];
        assert_true(fabs((double)near / (double)v - 1) < .016);
    }
    assert_int_equal(plan->queries[1].values[1], 100);
    assert_int_equal(plan->queries[1].rounding, PD_PINT_RANDOM);
    assert_int_equal(pd_pint_code(plan, 2, 1, 1, 0), 0);
    assert_int_equal(pd_pint_code(plan, 2, 1, 1, 1), 1);
    pd_pint_plan_free(plan);
    pd_topology_free(topology);
}

static void misfits_are_named(void **state)
{
    struct pd_topology *topology = NULL;
    struct pd_error error = {0};
    (void)state;
    assert_int_equal(pd_topology_fat_tree(4, &topology, NULL), 0);
    assert_null(make(topology,
                     "[{\"name\":\"a\",\"aggregation\":\"loop\",\"bits\":10,\"threshold\":3},"
                     "{\"name\":\"b\",\"aggregation\":\"loop\",\"bits\":10,\"threshold\":3,"
                     "\"frequency\":0.5}]",
                     PD_PINT_TEXT, &error));
    assert_non_null(strstr(error.text, "\"b\" does not fit"));
    assert_null(make(topology,
                     "[{\"name\":\"l\",\"aggregation\":\"dynamic\",\"value\":\"queue-bytes\","
                     "\"bits\":8}]",
                     PD_PINT_TEXT, &error));
    assert_non_null(strstr(error.text, "q.json: queries[0].min, max"));
    pd_topology_free(topology);
}

static void parameters_are_those_of_the_paper(void **state)
{
    uint32_t tau, layers[PD_PINT_LAYERS_MAX];
    unsigned len;
    (void)state;
    pd_pint_parameters(PD_PINT_TEXT, 10, &tau, layers, &len);
    assert_int_equal(tau, 49152);
    assert_int_equal(len, 1);
    assert_int_equal(layers[0], 28462); /* 1 / ln 10 */
    pd_pint_parameters(PD_PINT_ALGORITHM1, 5, &tau, layers, &len);
    assert_in_range(tau, 26600, 26900); /* .41 */
    assert_int_equal(len, 2);
    assert_int_equal(layers[0], 13107); /* .2 and .54 */
    assert_in_range(layers[1], 35600, 35660);
    pd_pint_parameters(PD_PINT_REVISED, 5, &tau, layers, &len);
    assert_in_range(tau, 41100, 41300); /* 1 - 1 / 2.69 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_that_just_fit),
        cmocka_unit_test(shares_of_random_plans),
        cmocka_unit_test(codes_cover_their_range),
        cmocka_unit_test(misfits_are_named),
        cmocka_unit_test(parameters_are_those_of_the_paper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

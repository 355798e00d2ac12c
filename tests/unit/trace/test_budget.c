/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of traces: the paper's own setting, a graph without a shape, and what has no racks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "topology/generators.h"
#include "trace/budget.h"

static void near(double got, double wanted)
{
    if (fabs(got - wanted) > 5e-4 * fabs(wanted)) {
        fail_msg("%.6g instead of %.6g", got, wanted);
    }
}

static struct pd_topology *parse(const char *json)
{
    struct pd_topology *topology = NULL;
    struct pd_error error = {0};

    if (pd_topology_parse(json, strlen(json), "test", &topology, &error)) {
        fail_msg("%s", error.text);
    }
    return topology;
}

/* Section 6 of the paper: a T1 answers 151 times a second at the rate that Theorem 1 allows. */
static void paper(void **state)
{
    static const struct {
        const char *name;
        uint32_t value;
    } shape[] = {{"pods", 2}, {"tors", 20}, {"t1", 8}, {"t2", 10}, {"hosts", 40}};
    const struct pd_generator *clos = pd_topology_generator_find("clos");
    struct pd_budget_ask ask = {
        .t_max = 100, .bad_links = 5, .loss = .0005, .pkts_min = 10, .pkts_max = 90};
    uint32_t values[PD_GENERATOR_OPTIONS_MAX] = {0};
    struct pd_topology *topology;
    struct pd_budget budget;

    (void)state;
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        values[pd_topology_generator_option(clos, shape[i].name)] = shape[i].value;
    }
    assert_int_equal(pd_topology_generate(clos, values, false, &topology, NULL), 0);
    assert_int_equal(pd_trace_budget_work_out(topology, &ask, &budget, NULL), 0);
    near(budget.theorem_1, 1);
    near(budget.busiest_per_s, 151.28);
    near(budget.rate, .661);
    near(budget.alpha, 5.172);
    assert_false(budget.holds);
    ask.bad_links = 20; /* beyond n2 (n0 pods - 1) / (n0 (pods - 1)) = 19.5 */
    assert_int_equal(pd_trace_budget_work_out(topology, &ask, &budget, NULL), 0);
    assert_false(budget.has_theorem_2);
    pd_topology_free(topology);
}

/* Switches 1 and 2 with two hosts and one, a way over 3 and one over two cables to 4. */
static const char ring[] =
    "{\"name\":\"ring\",\"nodes\":["
    "{\"id\":1,\"role\":\"switch\",\"prefixes\":[\"10.0.1.0/24\"]},"
    "{\"id\":2,\"role\":\"switch\",\"prefixes\":[\"10.0.2.0/24\"]},{\"id\":3,\"role\":\"switch\"},"
    "{\"id\":4,\"role\":\"switch\"},"
    "{\"id\":5,\"role\":\"host\",\"addrs\":[\"10.0.1.1\"]},"
    "{\"id\":6,\"role\":\"host\",\"addrs\":[\"10.0.1.2\"]},"
    "{\"id\":7,\"role\":\"host\",\"addrs\":[\"10.0.2.1\"]}],"
    "\"links\":[{\"source\":1,\"target\":3},{\"source\":3,\"target\":2},"
    "{\"source\":1,\"target\":4,\"source_port\":11,\"target_port\":11},"
    "{\"source\":1,\"target\":4,\"source_port\":12,\"target_port\":12},"
    "{\"source\":4,\"target\":2},"
    "{\"source\":1,\"target\":5},{\"source\":1,\"target\":6},{\"source\":2,\"target\":7}]}";

/* 2 traces a second from 1, of which two thirds over 4, and 1 from 2, half of it over 4. */
static void any_graph(void **state)
{
    struct pd_topology *topology = parse(ring);
    const struct pd_budget_ask ask = {.t_max = 30, .bad_links = 1, .loss = .1, 1, 9};
    struct pd_budget budget;

    (void)state;
    assert_int_equal(pd_trace_budget_work_out(topology, &ask, &budget, NULL), 0);
    assert_false(budget.is_clos || budget.has_theorem_2);
    near(budget.rate, 10); /* switches 1 and 2 see all three */
    assert_int_equal(topology->switches[budget.busiest].id, 1);
    near(budget.busiest_per_s, 30);
    pd_topology_free(topology);
}

static void one_rack(void **state)
{
    struct pd_topology *topology = parse("{\"name\":\"one\",\"nodes\":[{\"id\":1,\"role\":"
                                         "\"switch\",\"prefixes\":[\"10.0.1.0/24\"]},"
                                         "{\"id\":2,\"role\":\"host\",\"addrs\":[\"10.0.1.1\"]}],"
                                         "\"links\":[{\"source\":1,\"target\":2}]}");
    const struct pd_budget_ask ask = {.t_max = 100};
    struct pd_budget budget;

    (void)state;
    assert_int_equal(pd_trace_budget_work_out(topology, &ask, &budget, NULL), -PD_E_TOPOLOGY);
    pd_topology_free(topology);
}

/* A fat-tree is no Clos network of the paper: an aggregation switch has some of the cores only. */
static void fat_tree(void **state)
{
    struct pd_topology *topology;
    const struct pd_budget_ask ask = {.t_max = 100};
    struct pd_budget budget;

    (void)state;
    assert_int_equal(pd_topology_fat_tree(4, &topology, NULL), 0);
    assert_int_equal(pd_trace_budget_work_out(topology, &ask, &budget, NULL), 0);
    assert_false(budget.is_clos);
    near(budget.busiest_per_s, 100);
    near(budget.rate, 25); /* a ToR: 2 traces out and 2 in, for each round of all hosts */
    pd_topology_free(topology);
}

/* P(X > most) of a Poisson variable. */
static double beyond(double mean, unsigned most)
{
    double term = exp(-mean), sum = term;

    for (unsigned n = 1; n <= most; n++) {
        term *= mean / n;
        sum += term;
    }
    return 1 - sum;
}

/* All hosts at once: hardly ever does a switch answer more often than it may. */
static void a_storm(void **state)
{
    struct pd_topology *topology;
    struct pd_budget budget;

    (void)state;
    assert_int_equal(pd_topology_fat_tree(8, &topology, NULL), 0);
    for (unsigned t_max = 100; t_max <= 600; t_max += 100) {
        const struct pd_budget_ask ask = {.t_max = t_max};
        assert_int_equal(pd_trace_budget_work_out(topology, &ask, &budget, NULL), 0);
        assert_true(budget.held >= 1 && budget.held < budget.rate);
        assert_true(beyond(budget.held * t_max / budget.rate, t_max) < 1e-5);
        assert_true(beyond(t_max, t_max) > .4);
    }
    const struct pd_budget_ask low = {.t_max = 4};
    assert_int_equal(pd_trace_budget_work_out(topology, &low, &budget, NULL), 0);
    near(budget.held, budget.rate); /* one token a host */
    pd_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(paper), cmocka_unit_test(any_graph),
                                       cmocka_unit_test(one_rack), cmocka_unit_test(fat_tree),
                                       cmocka_unit_test(a_storm)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

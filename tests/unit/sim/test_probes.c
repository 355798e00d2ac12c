/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated probes: each direction is crossed, sums are exact, a dead direction shows itself alone,
 * and flows are what they are without probes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/sim.h"
#include "small.h"
#include "topology/links.h"

enum { RATE = 100, SECONDS = 2, DIRECTIONS = 64, LINKS_MAX = 200 };

struct seen {
    const struct pd_topology *topology;
    uint64_t crossed[LINKS_MAX], passed[LINKS_MAX]; /* by directed link: probes */
    uint64_t sent, lost, flow_pkts;
    unsigned anew;
};

static int count(void *context, const struct pd_sim_period *period)
{
    struct seen *seen = context;

    seen->anew += period->anew;
    for (size_t i = 0; i < period->flows_len; i++) {
        seen->flow_pkts += period->flows[i].pkts;
    }
    for (size_t i = period->flows_len; i < period->rows_len; i++) {
        const struct pd_evidence_row *row = &period->flows[i];
        const struct pd_evidence_way *way = row->ways;

        assert_int_equal(row->kind, PD_EVIDENCE_PATH);
        assert_int_equal(way->origin, PD_EVIDENCE_FROM_PROBE);
        assert_true(row->lost <= row->pkts);
        seen->sent += row->pkts;
        seen->lost += row->lost;
        for (uint32_t n = 0; n + 1 < way->nodes_len; n++) {
            uint32_t link =
                pd_topology_links_by_ids(seen->topology, way->nodes[n], way->nodes[n + 1], NULL);

            assert_true(link < LINKS_MAX);
            seen->crossed[link] += row->pkts;
            seen->passed[link] += row->pkts - row->lost;
        }
    }
    return 0;
}

static struct seen run(const char *members)
{
    struct pd_sim_scenario scenario;
    struct pd_error error = {0};
    struct pd_sim_totals totals;
    struct seen seen = {0};

    small_scenario(members, SECONDS, &scenario);
    seen.topology = scenario.topology;
    assert_int_equal(pd_sim_run(&scenario, 7, count, &seen, &totals, &error), 0);
    pd_sim_scenario_done(&scenario);
    seen.topology = NULL;
    return seen;
}

static void every_direction_is_probed_at_the_rate(void **state)
{
    struct seen seen = run("\"load\":0,\"probes\":{\"rate_hz\":100,\"max_hops\":12}");

    (void)state;
    for (uint32_t link = 0; link < DIRECTIONS; link++) {
        assert_int_equal(seen.crossed[link], RATE * SECONDS);
    }
    assert_int_equal(seen.lost, 0);
    assert_int_equal(seen.anew, 0);
}

/* 9-17 is the direction that nothing passes, and the only one, once it is dead. */
static void a_dead_direction_stands_alone(void **state)
{
    struct seen seen = run("\"load\":0,\"probes\":{},"
                           "\"faults\":[{\"link\":\"9-17\",\"blackhole\":true}]");
    unsigned silent = 0;

    (void)state;
    for (uint32_t link = 0; link < DIRECTIONS; link++) {
        silent += seen.crossed[link] && !seen.passed[link];
    }
    assert_int_equal(silent, 1);
    assert_int_equal(seen.anew, 1);
    assert_true(seen.lost > 0);
}

static void what_came_back_begins_anew(void **state)
{
    struct seen seen = run("\"load\":0,\"probes\":{},\"faults\":[{\"link\":\"9-17\","
                           "\"blackhole\":true,\"start_s\":0.4,\"end_s\":1}]");

    (void)state;
    assert_int_equal(seen.anew, 2);
}

static void flows_know_nothing_of_probes(void **state)
{
    struct seen with = run("\"load\":0.3,\"probes\":{}"), without = run("\"load\":0.3");

    (void)state;
    assert_true(with.flow_pkts > 0);
    assert_int_equal(with.flow_pkts, without.flow_pkts);
    assert_int_equal(without.sent, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_direction_is_probed_at_the_rate),
        cmocka_unit_test(a_dead_direction_stands_alone),
        cmocka_unit_test(what_came_back_begins_anew),
        cmocka_unit_test(flows_know_nothing_of_probes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* netbouncer and canary: the paper's figure 5, lines that add up, and what a lambda hides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/localise/flows.h"

struct rig {
    struct pd_topology *topology;
    struct pd_localiser *localiser;
    struct pd_verdict verdict;
};

static void begin(struct rig *rig, const char *name)
{
    assert_int_equal(pd_topology_fat_tree(8, &rig->topology, NULL), 0);
    const struct pd_localiser_config config = {.topology = rig->topology};
    assert_int_equal(pd_localiser_new(pd_localiser_find(name), &config, &rig->localiser), 0);
}

static void end(struct rig *rig)
{
    pd_localiser_free(rig->localiser);
    pd_topology_free(rig->topology);
}

static void count(struct rig *rig, const uint32_t nodes[3], uint64_t pkts, uint64_t lost)
{
    const struct pd_evidence_way way = {.nodes = nodes, .nodes_len = 3, .reached = true};
    const struct pd_evidence_row row = {
        .kind = PD_EVIDENCE_PATH, .pkts = pkts, .lost = lost, .ways = &way, .ways_len = 1};
    const struct pd_evidence_period period = {.rows = &row, .rows_len = 1};
    assert_int_equal(pd_localiser_observe(rig->localiser, &period), 0);
}

/* Aggregation switch 40, cores 77-80 above it, ToRs 5-8 below: 78-40 loses 30 %, 40-8 0.2 %. In
 * two lines each. */
static void observe_figure5(struct rig *rig)
{
    for (uint32_t core = 77; core <= 80; core++) {
        for (uint32_t tor = 5; tor <= 8; tor++) {
            double passed = (core == 78 ? 0.7 : 1) * (tor == 8 ? 0.998 : 1);
            uint64_t lost = (uint64_t)(1000000 * (1 - passed) + 0.5);
            count(rig, (uint32_t[]){core, 40, tor}, 400000, lost * 2 / 5);
            count(rig, (uint32_t[]){core, 40, tor}, 600000, lost - lost * 2 / 5);
        }
    }
    assert_int_equal(pd_localiser_locate(rig->localiser, &rig->verdict), 0);
}

static void netbouncer_sees_the_heavy_link_alone(void **state)
{
    struct rig rig;
    (void)state;
    begin(&rig, "netbouncer");
    observe_figure5(&rig);
    assert_int_equal(rig.verdict.links_len, 1);
    assert_true(names(&rig.verdict, 78, 40));
    assert_true(rig.verdict.links[0].loss > 0.2335 && rig.verdict.links[0].loss < 0.2345);
    end(&rig);
}

static void canary_sees_both(void **state)
{
    struct rig rig;
    (void)state;
    begin(&rig, "canary");
    observe_figure5(&rig);
    assert_int_equal(rig.verdict.links_len, 2);
    assert_true(names(&rig.verdict, 78, 40) && names(&rig.verdict, 40, 8));
    assert_true(rig.verdict.ranking[0].score > 0.2335 && rig.verdict.ranking[0].score < 0.2345);
    assert_true(rig.verdict.ranking[1].score > 0.0565 && rig.verdict.ranking[1].score < 0.0575);
    assert_false(rig.verdict.certain);
    end(&rig);
}

static void what_the_topology_has_not_is_counted(void **state)
{
    struct rig rig;
    (void)state;
    begin(&rig, "canary");
    count(&rig, (uint32_t[]){1, 2, 3}, 100, 50);
    count(&rig, (uint32_t[]){5, 0, 13}, 100, 50);
    assert_int_equal(pd_localiser_locate(rig.localiser, &rig.verdict), 0);
    assert_int_equal(rig.verdict.links_len, 0);
    assert_int_equal(rig.localiser->counters.paths_unknown, 1);
    assert_int_equal(rig.localiser->counters.paths, 2);
    end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(netbouncer_sees_the_heavy_link_alone),
        cmocka_unit_test(canary_sees_both),
        cmocka_unit_test(what_the_topology_has_not_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

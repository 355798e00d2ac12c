/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: evidence that comes late, twice or out of order, a topology that is not
 * the cabling, losses of acknowledgements, routes that change: never certain and wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/localise/flows.h"

enum { PERIODS = 40, FLOWS = 150, PKTS = 300, LATE = 3 };

struct rig {
    struct pd_topology *topology;
    struct pd_localiser *localiser;
    struct flows flows, before[LATE];
    struct random random;
    struct pd_verdict verdict;
};

static int set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);

    if (!rig || pd_topology_fat_tree(4, &rig->topology, NULL)) {
        return -1;
    }
    struct pd_localiser_config config = {
        .topology = rig->topology, .link_mbps = 1000, .period_us = 200000};
    rig->random.state = test_seed();
    *state = rig;
    return pd_localiser_new(pd_localiser_find("evidence"), &config, &rig->localiser);
}

static int tear_down(void **state)
{
    struct rig *rig = *state;

    pd_localiser_free(rig->localiser);
    pd_topology_free(rig->topology);
    free(rig);
    return 0;
}

/* What points into flows points into these. */
static void settle(struct flows *flows)
{
    for (size_t i = 0; i < flows->len; i++) {
        flows->ways[i].nodes = flows->paths[i].switches;
        flows->rows[i].ways = &flows->ways[i];
    }
}

static void draw(struct rig *rig, uint32_t from, uint32_t to, double loss)
{
    for (rig->flows.len = 0; rig->flows.len < FLOWS;) {
        add_flow(&rig->flows, &rig->random, from, to, loss, PKTS);
    }
}

static void give(struct rig *rig, struct flows *flows)
{
    settle(flows);
    assert_int_equal(observe_flows(rig->localiser, flows), 0);
    assert_int_equal(pd_localiser_locate(rig->localiser, &rig->verdict), 0);
}

/* 9-17 loses packets: nothing else is named for certain. */
static void check_only_it(const struct rig *rig)
{
    assert_true(!rig->verdict.certain ||
                (rig->verdict.links_len == 1 && names(&rig->verdict, 9, 17)));
}

/* Each period is told twice, as by a host that was asked again. */
static void told_twice(void **state)
{
    struct rig *rig = *state;

    for (int period = 0; period < PERIODS; period++) {
        draw(rig, 9, 17, period < PERIODS / 2 ? 0 : 0.02);
        for (int again = 0; again < 2; again++) {
            give(rig, &rig->flows);
            check_only_it(rig);
        }
    }
    assert_true(names(&rig->verdict, 9, 17));
}

/* Some hosts' rows come three periods late, among those of others. */
static void told_late(void **state)
{
    struct rig *rig = *state;

    for (int period = 0; period < PERIODS; period++) {
        struct flows late = rig->before[period % LATE];

        draw(rig, 9, 17, 0.02);
        rig->before[period % LATE] = rig->flows;
        rig->before[period % LATE].len = FLOWS / 3;
        for (size_t i = 0; i < late.len; i++) {
            rig->flows.paths[i] = late.paths[i];
            rig->flows.ways[i] = late.ways[i];
            rig->flows.rows[i] = late.rows[i];
        }
        give(rig, &rig->flows);
        check_only_it(rig);
    }
    assert_true(names(&rig->verdict, 9, 17));
}

/* Periods in the opposite order of three: losses come before what passed. */
static void told_out_of_order(void **state)
{
    struct rig *rig = *state;

    for (int period = 0; period < PERIODS; period++) {
        for (int i = 0; i < LATE; i++) {
            draw(rig, 9, 17, 0.02);
            rig->before[i] = rig->flows;
        }
        for (int i = LATE; i-- > 0;) {
            give(rig, &rig->before[i]);
            check_only_it(rig);
        }
    }
    assert_true(rig->verdict.certain && names(&rig->verdict, 9, 17));
}

/* Two cables are swapped: 9-17 goes to 10 and 10-17 does not exist, so that ways come out that the
 * topology has not. They are counted and left aside. */
static void a_miscabled_pair_makes_nothing_certain(void **state)
{
    struct rig *rig = *state;

    for (int period = 0; period < PERIODS; period++) {
        draw(rig, 9, 17, 0.02);
        for (size_t i = 0; i < rig->flows.len; i++) {
            struct pd_path *path = &rig->flows.paths[i];
            if (path->len == 5 && path->switches[1] == 9 && path->switches[2] == 17) {
                path->switches[1] = 10;
            }
        }
        give(rig, &rig->flows);
        assert_false(rig->verdict.certain);
    }
    assert_true(rig->localiser->counters.unknown > 0);
}

/* A link that loses acknowledgements alone: senders whose own way is well send again now and then,
 * all over the network. */
static void lost_acknowledgements_name_no_link(void **state)
{
    struct rig *rig = *state;

    for (int period = 0; period < PERIODS; period++) {
        draw(rig, 1, 1, 0);
        for (size_t i = 0; i < rig->flows.len; i++) {
            bool far = rig->flows.paths[i].len == 5;
            rig->flows.rows[i].lost = far && random_below(&rig->random, 8) == 0;
        }
        give(rig, &rig->flows);
        assert_false(rig->verdict.certain);
    }
}

/* Routing takes 9-17 away in the middle: its flows go over 9-18, which is well. */
static void a_route_that_changes_blames_no_link(void **state)
{
    struct rig *rig = *state;

    for (int period = 0; period < 2 * PERIODS; period++) {
        draw(rig, 9, 17, period < PERIODS ? 0.02 : 0);
        for (size_t i = 0; i < rig->flows.len && period >= PERIODS; i++) {
            struct pd_path *path = &rig->flows.paths[i];
            if (path->len == 5 && path->switches[1] == 9) {
                path->switches[2] = 18;
            }
        }
        give(rig, &rig->flows);
        check_only_it(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(told_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(told_late, set_up, tear_down),
        cmocka_unit_test_setup_teardown(told_out_of_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_miscabled_pair_makes_nothing_certain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lost_acknowledgements_name_no_link, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_route_that_changes_blames_no_link, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of the meters: flows that are chosen and go, losses that count and those that do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "meter/loop.h"

struct changes {
    unsigned added, removed;
    uint16_t newest; /* flow */
};

static struct pd_flow_id flow_of(unsigned n)
{
    return (struct pd_flow_id){
        .src_port = (uint16_t)n, .dst_port = 80, .protocol = 6, .ip_version = 4};
}

static int change(void *context, const struct pd_meter_rule *rule, bool added)
{
    struct changes *changes = context;

    changes->added += added;
    changes->removed += !added;
    changes->newest = rule->flow.src_port;
    return 0;
}

static struct changes end(struct pd_meter_loop *loop)
{
    struct changes changes = {0};

    assert_int_equal(pd_meter_loop_end(loop, change, &changes), 0);
    return changes;
}

static struct pd_meter_loop *loop_with(struct pd_meter_loop_settings settings)
{
    struct pd_meter_loop *loop;
    uint32_t number;

    assert_int_equal(pd_meter_loop_new(&settings, 4, &loop), 0);
    assert_int_equal(pd_meter_loop_add(loop, 0, 1, &number), 0);
    assert_int_equal(number, 0);
    assert_int_equal(pd_meter_loop_add(loop, 0, 2, &number), 0);
    assert_int_equal(number, 1);
    return loop;
}

static struct pd_meter_loop_settings small(void)
{
    struct pd_meter_loop_settings settings = PD_METER_LOOP_DEFAULTS;

    settings.alpha = 100;
    settings.beta = 2;
    settings.delta = 3;
    return settings;
}

static void see(struct pd_meter_loop *loop, uint32_t segment, unsigned flow, uint64_t pkts)
{
    const struct pd_flow_id id = flow_of(flow);

    assert_int_equal(pd_meter_loop_seen(loop, segment, &id, pkts), 0);
}

static void measure(struct pd_meter_loop *loop, unsigned flow, uint64_t sent, uint64_t lost)
{
    const struct pd_flow_id id = flow_of(flow);

    pd_meter_loop_measured(loop, 0, &id, sent, lost);
}

static void the_largest_flows_are_chosen_until_there_are_enough(void **state)
{
    struct pd_meter_loop *loop = loop_with(small());
    const struct pd_flow_id largest = flow_of(9), small_one = flow_of(1);

    (void)state;
    for (unsigned n = 1; n < 10; n++) {
        see(loop, 0, n, 10 * n);
    }
    assert_int_equal(end(loop).added, 3);
    assert_non_null(pd_meter_loop_rule(loop, &largest, 0));
    assert_null(pd_meter_loop_rule(loop, &largest, 1));
    assert_null(pd_meter_loop_rule(loop, &small_one, 0));
    measure(loop, 9, 60, 0); /* too few packets */
    measure(loop, 8, 30, 0);
    see(loop, 0, 9, 60);
    see(loop, 0, 6, 60);
    see(loop, 0, 1, 16); /* not more than eta */
    assert_int_equal(end(loop).added, 1);
    measure(loop, 9, 90, 0);
    measure(loop, 8, 30, 0);
    see(loop, 0, 5, 50);
    assert_int_equal(end(loop).added, 0);
    assert_int_equal(pd_meter_loop_segment(loop, 0)->rules, 4);
    assert_int_equal(pd_meter_loop_segment(loop, 0)->state, PD_METER_SEGMENT_MEASURED);
    assert_int_equal(pd_meter_loop_segment(loop, 1)->state, PD_METER_SEGMENT_UNKNOWN);
    pd_meter_loop_free(loop);
}

static void rules_of_flows_that_ended_or_moved_go(void **state)
{
    struct pd_meter_loop *loop = loop_with(small());
    const struct pd_flow_id moved = flow_of(1);

    (void)state;
    see(loop, 0, 1, 50);
    see(loop, 0, 2, 50);
    assert_int_equal(end(loop).added, 2);
    measure(loop, 1, 50, 0);
    see(loop, 1, 1, 40);
    struct changes changes = end(loop);
    assert_int_equal(changes.removed, 1);
    assert_int_equal(changes.added, 1);
    assert_int_equal(pd_meter_loop_rule(loop, &moved, 0)->segment, 1);
    for (unsigned e = 2; e < 10; e++) {
        assert_int_equal(end(loop).removed, 0);
    }
    changes = end(loop);
    assert_int_equal(changes.removed, 1);
    assert_int_equal(changes.newest, 2);
    assert_int_equal(end(loop).removed, 1);
    assert_int_equal(pd_meter_loop_counters(loop).rules, 0);
    pd_meter_loop_free(loop);
}

static void a_full_table_is_said(void **state)
{
    struct pd_meter_loop_settings settings = small();

    (void)state;
    settings.rules_max = 2;
    struct pd_meter_loop *loop = loop_with(settings);
    for (unsigned n = 1; n < 4; n++) {
        see(loop, 0, n, 50);
    }
    assert_int_equal(end(loop).added, 2);
    assert_true(pd_meter_loop_segment(loop, 0)->rules_full);
    assert_int_equal(pd_meter_loop_counters(loop).full, 1);
    measure(loop, 1, 10, 0);
    end(loop);
    assert_int_equal(pd_meter_loop_segment(loop, 0)->state, PD_METER_SEGMENT_STARVED);
    pd_meter_loop_free(loop);
}

static void losses_count_when_they_come_again(void **state)
{
    struct pd_meter_loop *loop = loop_with(small());
    const struct pd_meter_segment *segment = pd_meter_loop_segment(loop, 0);
    uint64_t given_sent = 0, given_lost = 0;

    (void)state;
    measure(loop, 1, 200, 0);
    end(loop);
    for (unsigned e = 0; e < 2; e++) {
        measure(loop, 1, 200, 5);
        end(loop);
        assert_false(segment->loses);
        assert_int_equal(segment->given_sent, 0);
    }
    measure(loop, 1, 200, 5);
    end(loop);
    assert_true(segment->loses);
    assert_int_equal(segment->given_sent, 200);
    assert_int_equal(segment->given_lost, 5);
    for (unsigned e = 0; e < 20; e++) {
        measure(loop, 1, 200, 0);
        end(loop);
        given_sent += segment->given_sent;
        given_lost += segment->given_lost;
    }
    assert_false(segment->loses);
    assert_int_equal(given_sent, 4400); /* with those that were held */
    assert_int_equal(given_lost, 10);
    measure(loop, 1, 200, 7); /* alone */
    for (unsigned e = 0; e < 11; e++) {
        end(loop);
        measure(loop, 1, 10, 0);
    }
    assert_int_equal(pd_meter_loop_counters(loop).transient, 7);
    pd_meter_loop_free(loop);
}

static void a_segment_that_always_loses_or_loses_all_counts_at_once(void **state)
{
    struct pd_meter_loop *loop = loop_with(small());
    const struct pd_meter_segment *segment = pd_meter_loop_segment(loop, 0);

    (void)state;
    for (unsigned e = 0; e < 2; e++) {
        measure(loop, 1, 200, 2);
        end(loop);
    }
    for (unsigned e = 2; e < 10; e++) {
        assert_false(segment->loses);
        end(loop);
    }
    assert_true(segment->loses);
    assert_int_equal(segment->given_lost, 2);
    end(loop);
    assert_int_equal(segment->given_lost, 2);
    for (unsigned e = 0; e < 10; e++) {
        measure(loop, 1, 200, 0);
        end(loop);
    }
    measure(loop, 1, 3, 3);
    end(loop);
    assert_false(segment->loses);
    end(loop); /* nothing was sent */
    measure(loop, 1, 2, 2);
    end(loop);
    assert_true(segment->loses);
    assert_int_equal(segment->given_lost, 5);
    pd_meter_loop_free(loop);
}

static void a_monitor_that_missed_an_epoch_makes_no_loss(void **state)
{
    struct pd_meter_loop *loop = loop_with(small());
    const struct pd_meter_segment *segment = pd_meter_loop_segment(loop, 0);

    (void)state;
    measure(loop, 1, 200, 200);
    pd_meter_loop_unread(loop, 0);
    see(loop, 0, 2, 100);
    assert_int_equal(end(loop).added, 0);
    assert_int_equal(segment->state, PD_METER_SEGMENT_UNKNOWN);
    assert_int_equal(segment->sent, 0);
    assert_false(segment->loses);
    pd_meter_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_flows_are_chosen_until_there_are_enough),
        cmocka_unit_test(rules_of_flows_that_ended_or_moved_go),
        cmocka_unit_test(a_full_table_is_said),
        cmocka_unit_test(losses_count_when_they_come_again),
        cmocka_unit_test(a_segment_that_always_loses_or_loses_all_counts_at_once),
        cmocka_unit_test(a_monitor_that_missed_an_epoch_makes_no_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The feed: in order, nothing twice, what does not fit is counted, and nobody sleeps over what is
 * there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>

#include "agent/feed.h"
#include "base/clock.h"

#define MANY      400000
#define PATIENT_S 60

static struct pd_feed feed;

static int set_up(void **state)
{
    (void)state;
    return pd_agent_feed_init(&feed);
}

static int tear_down(void **state)
{
    (void)state;
    pd_agent_feed_done(&feed);
    return 0;
}

static void give(uint64_t number)
{
    struct pd_trajectory_record record = {.pkts = number};

    pd_agent_feed_give(&feed, PD_TRIGGER_NEW_FLOW, &record);
}

static void nothing_is_wanted_at_first(void **state)
{
    (void)state;
    assert_false(pd_feed_wanted(NULL, PD_TRIGGER_EVICTED));
    assert_false(pd_feed_wanted(&feed, PD_TRIGGER_NEW_FLOW));
    pd_agent_feed_want(&feed, 1U << PD_TRIGGER_EVICTED);
    assert_true(pd_feed_wanted(&feed, PD_TRIGGER_EVICTED));
    assert_false(pd_feed_wanted(&feed, PD_TRIGGER_NEW_FLOW));
}

/* Ten more than fit: they are dropped and counted, the others come in order. */
static void a_full_feed_drops_and_counts(void **state)
{
    static struct pd_feed_item items[PD_FEED_LEN];
    size_t n;

    (void)state;
    for (uint64_t i = 0; i < PD_FEED_LEN + 10; i++) {
        give(i);
    }
    pd_agent_feed_flush(&feed);
    assert_int_equal(feed.given, PD_FEED_LEN);
    assert_int_equal(feed.dropped, 10);
    n = pd_agent_feed_take(&feed, items, PD_FEED_LEN, 0);
    assert_int_equal(n, PD_FEED_LEN);
    for (uint64_t i = 0; i < n; i++) {
        assert_int_equal(items[i].record.pkts, i);
    }
    give(7);
    pd_agent_feed_flush(&feed);
    assert_int_equal(pd_agent_feed_take(&feed, items, PD_FEED_LEN, 0), 1);
    assert_int_equal(items[0].record.pkts, 7);
    assert_int_equal(pd_agent_feed_take(&feed, items, PD_FEED_LEN, 0), 0);
}

/* With pauses, so that the taker falls asleep at every possible moment. */
static void *write_many(void *context)
{
    (void)context;
    for (uint64_t i = 0; i < MANY; i++) {
        give(i);
        if (i % 7 == 0) {
            pd_agent_feed_flush(&feed);
        }
        if (i % 1000 == 0) {
            sched_yield();
        }
    }
    pd_agent_feed_flush(&feed);
    return NULL;
}

static void nobody_sleeps_over_what_is_there(void **state)
{
    const uint64_t deadline_ns = pd_clock_monotonic_ns() + PATIENT_S * PD_NS_PER_S;
    struct pd_feed_item items[256];
    uint64_t taken = 0, next = 0;
    pthread_t writer;

    (void)state;
    assert_int_equal(pthread_create(&writer, NULL, write_many, NULL), 0);
    while (next < MANY) {
        size_t n = pd_agent_feed_take(&feed, items, 256, deadline_ns);

        assert_true(pd_clock_monotonic_ns() < deadline_ns);
        for (size_t i = 0; i < n; i++) {
            assert_true(items[i].record.pkts >= next);
            next = items[i].record.pkts + 1;
        }
        taken += n;
        if (taken + atomic_load(&feed.dropped) == MANY) {
            break;
        }
    }
    pthread_join(writer, NULL);
    while (taken + feed.dropped < MANY) {
        taken += pd_agent_feed_take(&feed, items, 256, 0);
    }
    assert_int_equal(taken, feed.given);
    assert_int_equal(taken + feed.dropped, MANY);
}

static void *wake(void *context)
{
    (void)context;
    pd_agent_feed_wake(&feed);
    return NULL;
}

static void a_wake_ends_the_sleep(void **state)
{
    const uint64_t deadline_ns = pd_clock_monotonic_ns() + PATIENT_S * PD_NS_PER_S;
    struct pd_feed_item item;
    pthread_t waker;

    (void)state;
    assert_int_equal(pthread_create(&waker, NULL, wake, NULL), 0);
    assert_int_equal(pd_agent_feed_take(&feed, &item, 1, deadline_ns), 0);
    assert_true(pd_clock_monotonic_ns() < deadline_ns);
    pthread_join(waker, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_wanted_at_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_feed_drops_and_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_sleeps_over_what_is_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wake_ends_the_sleep, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

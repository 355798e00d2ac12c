/* SPDX-License-Identifier: Apache-2.0 */
/* The queue: order, bound, waiting, deadline. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/queue.h"
#include "base/clock.h"

enum { RECORDS = 20000, ROOM = 64 };

static void *push_all(void *context)
{
    struct pd_item items[7] = {0};
    uint64_t next = 0;

    while (next < RECORDS) {
        size_t n = 0;

        for (; n < next % 7 + 1 && next < RECORDS; n++) {
            items[n].kind = PD_ITEM_RECORD;
            items[n].record.pkts = next++;
        }
        pd_agent_queue_push(context, items, n);
        assert_true(pd_agent_queue_len(context) <= ROOM);
    }
    return NULL;
}

static void test_order(void **state)
{
    struct pd_queue *queue;
    struct pd_item items[50];
    pthread_t thread;
    uint64_t next = 0;

    (void)state;
    assert_int_equal(pd_agent_queue_new(ROOM, &queue), 0);
    assert_int_equal(pthread_create(&thread, NULL, push_all, queue), 0);
    while (next < RECORDS) {
        size_t n = pd_agent_queue_pop(queue, items, 1 + next % 50,
                                      pd_clock_monotonic_ns() + 10 * PD_NS_PER_S);

        assert_true(n > 0);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(items[i].record.pkts, next++);
        }
    }
    pthread_join(thread, NULL);
    assert_int_equal(pd_agent_queue_len(queue), 0);
    pd_agent_queue_free(queue);
}

static void test_deadline(void **state)
{
    struct pd_queue *queue;
    struct pd_item item;
    uint64_t start_ns = pd_clock_monotonic_ns();

    (void)state;
    assert_int_equal(pd_agent_queue_new(2, &queue), 0);
    assert_int_equal(pd_agent_queue_pop(queue, &item, 1, 0), 0);
    assert_int_equal(pd_agent_queue_pop(queue, &item, 1, start_ns + 20 * PD_NS_PER_MS), 0);
    assert_true(pd_clock_monotonic_ns() >= start_ns + 20 * PD_NS_PER_MS);
    pd_agent_queue_free(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_deadline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

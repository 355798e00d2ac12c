/* SPDX-License-Identifier: Apache-2.0 */
/* Who hears alarms: so many and no more, and nobody after he has left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "monitor/monitor.h"

static void hear(void *context, const struct pd_monitor_alarm *alarm)
{
    (void)alarm;
    ++*(unsigned *)context;
}

static void test_room(void **state)
{
    const struct pd_monitor_config config = {.source = PD_MONITOR_NONE};
    unsigned heard[PD_MONITOR_SUBSCRIBERS_MAX + 1] = {0};
    struct pd_monitor *monitor;

    (void)state;
    assert_int_equal(pd_monitor_open(&config, &monitor, NULL), 0);
    for (unsigned i = 0; i < PD_MONITOR_SUBSCRIBERS_MAX; i++) {
        assert_int_equal(pd_monitor_subscribe(monitor, hear, &heard[i]), 0);
    }
    assert_int_equal(pd_monitor_subscribe(monitor, hear, &heard[PD_MONITOR_SUBSCRIBERS_MAX]),
                     -PD_E_FULL);
    pd_monitor_unsubscribe(monitor, &heard[3]);
    pd_monitor_unsubscribe(monitor, &heard[3]); /* he is not there any more */
    assert_int_equal(pd_monitor_subscribe(monitor, hear, &heard[PD_MONITOR_SUBSCRIBERS_MAX]), 0);
    assert_int_equal(pd_monitor_subscribe(monitor, hear, &heard[3]), -PD_E_FULL);
    pd_monitor_close(monitor);
}

static void follow(void *context, const struct pd_monitor_loss *loss)
{
    (void)loss;
    (void)context;
}

static void test_followers_take_the_same_room(void **state)
{
    const struct pd_monitor_config config = {.source = PD_MONITOR_NONE};
    unsigned heard[PD_MONITOR_SUBSCRIBERS_MAX] = {0};
    struct pd_monitor *monitor;

    (void)state;
    assert_int_equal(pd_monitor_open(&config, &monitor, NULL), 0);
    for (unsigned i = 0; i < PD_MONITOR_SUBSCRIBERS_MAX; i++) {
        assert_int_equal(pd_monitor_follow(monitor, follow, &heard[i]), 0);
    }
    assert_int_equal(pd_monitor_subscribe(monitor, hear, heard), -PD_E_FULL);
    pd_monitor_unsubscribe(monitor, &heard[1]);
    assert_int_equal(pd_monitor_subscribe(monitor, hear, heard), 0);
    pd_monitor_close(monitor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_room),
                                       cmocka_unit_test(test_followers_take_the_same_room)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

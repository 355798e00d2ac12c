/* SPDX-License-Identifier: Apache-2.0 */
/* Time stamps of live frames while wall time is slewed, set forward and set back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "intake/live/stamp.h"

#define S    UINT64_C(1000000000)
#define MS   UINT64_C(1000000)
#define WALL (1700000000 * S) /* when the monotonic clock is 0 */

static void test_first_reading(void **state)
{
    (void)state;
    assert_int_equal(pd_live_stamp_wall_ahead(0, 5 * S, WALL + 5 * S, 5 * S + 40), WALL);
    /* Off the CPU in between: there is no better one yet. */
    assert_int_equal(pd_live_stamp_wall_ahead(0, 5 * S, WALL + 6 * S, 6 * S), WALL + S);
}

static void test_slewing_is_left_alone(void **state)
{
    (void)state;
    assert_int_equal(pd_live_stamp_wall_ahead(WALL, 5 * S, WALL + 5 * S + MS / 2, 5 * S + 40),
                     WALL);
    assert_int_equal(pd_live_stamp_wall_ahead(WALL, 5 * S, WALL + 5 * S - MS / 2, 5 * S + 40),
                     WALL);
    /* Until it has become much. */
    assert_int_equal(pd_live_stamp_wall_ahead(WALL, 5 * S, WALL + 5 * S + 2 * MS, 5 * S + 40),
                     WALL + 2 * MS);
}

static void test_pause_between_readings(void **state)
{
    (void)state;
    assert_int_equal(pd_live_stamp_wall_ahead(WALL, 5 * S, WALL + 7 * S, 7 * S), WALL);
}

static void test_steps_are_followed(void **state)
{
    (void)state;
    assert_int_equal(pd_live_stamp_wall_ahead(WALL, 5 * S, WALL + 3605 * S, 5 * S + 40),
                     WALL + 3600 * S);
    assert_int_equal(pd_live_stamp_wall_ahead(WALL, 5 * S, WALL - 3595 * S, 5 * S + 40),
                     WALL - 3600 * S);
}

static void test_times(void **state)
{
    (void)state;
    assert_int_equal(pd_live_stamp_monotonic(WALL + 9 * S + 7, WALL, 8 * S, 10 * S), 9 * S + 7);
    /* A little out of order, between CPUs. */
    assert_int_equal(pd_live_stamp_monotonic(WALL + 9 * S, WALL, 9 * S + MS, 10 * S), 9 * S);
    /* The first frame. */
    assert_int_equal(pd_live_stamp_monotonic(WALL + 9 * S, WALL, 0, 10 * S), 9 * S);
}

/* Stamped before the clock was set, read after. */
static void test_times_across_steps(void **state)
{
    (void)state;
    assert_int_equal(pd_live_stamp_monotonic(WALL + 9 * S, WALL + 3600 * S, 8 * S, 10 * S), 8 * S);
    assert_int_equal(pd_live_stamp_monotonic(WALL + 9 * S, WALL - 3600 * S, 8 * S, 10 * S), 10 * S);
    assert_int_equal(pd_live_stamp_monotonic(0, WALL, 8 * S, 10 * S), 8 * S);
    assert_int_equal(pd_live_stamp_monotonic(UINT64_MAX / 2, WALL, 8 * S, 10 * S), 10 * S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_reading),
        cmocka_unit_test(test_slewing_is_left_alone),
        cmocka_unit_test(test_pause_between_readings),
        cmocka_unit_test(test_steps_are_followed),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_times_across_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

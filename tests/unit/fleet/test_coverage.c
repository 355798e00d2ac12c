/* SPDX-License-Identifier: Apache-2.0 */
/* What a host may say of which others: of those below it, of each once, and of all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "fleet/coverage.h"

/* 7 → 3, 12 → 5 */
static struct pd_tree below12[] = {{5, "http://127.0.0.1:5", NULL, 0}};
static struct pd_tree below7[] = {{3, "http://127.0.0.1:3", NULL, 0},
                                  {12, "http://127.0.0.1:12", below12, 1}};
static const struct pd_tree top = {7, "http://127.0.0.1:7", below7, 2};

static void a_host_speaks_of_those_below_it(void **state)
{
    static const uint32_t below[] = {12, 3, 7, 5}, others[] = {0, 1, 4, 6, 8, 13, UINT32_MAX};
    struct pd_roster roster;

    (void)state;
    assert_int_equal(pd_fleet_roster_init(&roster, &top), 0);
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        assert_int_equal(pd_fleet_roster_speak(&roster, below[i]), 0);
    }
    assert_false(roster.broken);
    pd_fleet_roster_done(&roster);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(pd_fleet_roster_init(&roster, &top), 0);
        assert_int_equal(pd_fleet_roster_speak(&roster, others[i]), -PD_E_VALUE);
        assert_true(roster.broken);
        pd_fleet_roster_done(&roster);
    }
}

static void of_each_once(void **state)
{
    struct pd_roster roster;

    (void)state;
    assert_int_equal(pd_fleet_roster_init(&roster, &top), 0);
    assert_int_equal(pd_fleet_roster_speak(&roster, 5), 0);
    assert_int_equal(pd_fleet_roster_speak(&roster, 3), 0);
    assert_int_equal(pd_fleet_roster_speak(&roster, 5), -PD_E_VALUE);
    assert_true(roster.broken);
    pd_fleet_roster_done(&roster);
}

static void and_of_all(void **state)
{
    static const struct {
        uint64_t asked, answered, missing;
        int err;
    } cases[] = {
        {4, 4, 0, 0},           {4, 1, 3, 0},
        {4, 3, 0, -PD_E_VALUE}, /* one is passed over */
        {4, 4, 1, -PD_E_VALUE}, {5, 5, 0, -PD_E_VALUE},
        {3, 3, 0, -PD_E_VALUE}, {4, UINT64_MAX, 5, -PD_E_VALUE}, /* a sum that wraps around */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pd_roster roster;

        assert_int_equal(pd_fleet_roster_init(&roster, &top), 0);
        assert_int_equal(
            pd_fleet_roster_close(&roster, cases[i].asked, cases[i].answered, cases[i].missing),
            cases[i].err);
        assert_int_equal(roster.broken, cases[i].err != 0);
        pd_fleet_roster_done(&roster);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_speaks_of_those_below_it),
        cmocka_unit_test(of_each_once),
        cmocka_unit_test(and_of_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

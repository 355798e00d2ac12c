/* SPDX-License-Identifier: Apache-2.0 */
/* Paces: patience follows what servers lately took, within its limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "fleet/pace.h"

#define MS UINT64_C(1000000)

static struct pd_pace *pace;

static void follows(void **state)
{
    (void)state;
    assert_int_equal(pd_fleet_pace_patience_ns(pace, "http://a:1"), PD_PACE_LEAST_NS);
    for (int i = 0; i < 50; i++) {
        pd_fleet_pace_note(pace, "http://a:1", 2 * MS);
    }
    assert_int_equal(pd_fleet_pace_patience_ns(pace, "http://a:1"), PD_PACE_LEAST_NS);
    for (int i = 0; i < 50; i++) {
        pd_fleet_pace_note(pace, "http://a:1", 900 * MS);
    }
    assert_in_range(pd_fleet_pace_patience_ns(pace, "http://a:1"), 890 * MS, 1500 * MS);
    assert_int_equal(pd_fleet_pace_patience_ns(pace, "http://b:1"), PD_PACE_LEAST_NS);
    pd_fleet_pace_note(pace, "http://b:1", 3600 * 1000 * MS);
    assert_int_equal(pd_fleet_pace_patience_ns(pace, "http://b:1"), PD_PACE_MOST_NS);
}

/* More servers than places: each still has a patience within the limits. */
static void is_bounded(void **state)
{
    char url[40];

    (void)state;
    for (unsigned i = 0; i < 4 * PD_PACE_SERVERS; i++) {
        snprintf(url, sizeof url, "http://host%u:80", i);
        pd_fleet_pace_note(pace, url, i * MS);
        assert_in_range(pd_fleet_pace_patience_ns(pace, url), PD_PACE_LEAST_NS, PD_PACE_MOST_NS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(follows), cmocka_unit_test(is_bounded)};
    int failed;

    pace = calloc(1, sizeof *pace);
    if (!pace) {
        return 1;
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(pace);
    return failed;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Times as people type them. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

#define NOW_S      UINT64_C(1795353600) /* 2026-11-22T13:20:00Z, 14:20 in Zurich */
#define NOW        (NOW_S * PD_US_PER_S + 250000)
#define MIDNIGHT_S (NOW_S - (14 * 3600 + 20 * 60))

/* In a zone an hour east of UTC, two in summer. */
static int in_zurich(void **state)
{
    (void)state;
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    return 0;
}

static void good_ones(void **state)
{
    static const struct {
        const char *text;
        uint64_t us;
    } cases[] = {
        {"now", NOW},
        {"today", MIDNIGHT_S * PD_US_PER_S},
        {"yesterday", (MIDNIGHT_S - 86400) * PD_US_PER_S},
        {"-5m", NOW - 300 * PD_US_PER_S},
        {"-2h", NOW - 7200 * PD_US_PER_S},
        {"-1d12h", NOW - 129600 * PD_US_PER_S},
        {"-90", NOW - 90 * PD_US_PER_S},
        {"-0s", NOW},
        {"2026-11-22 14:00", (NOW_S - 1200) * PD_US_PER_S},
        {"2026-11-22T14:00", (NOW_S - 1200) * PD_US_PER_S},
        {"2026-11-22 14:00:30", (NOW_S - 1170) * PD_US_PER_S},
        {"2026-11-22 14:00:30.5", (NOW_S - 1170) * PD_US_PER_S + 500000},
        {"2026-11-22", MIDNIGHT_S * PD_US_PER_S},
        {"14:00", (NOW_S - 1200) * PD_US_PER_S},
        {"2026-07-01 02:00", UINT64_C(1782864000) * PD_US_PER_S}, /* summer */
        {"1700000000.25", UINT64_C(1700000000250000)},
        {"2026-11-22T13:20:00Z", NOW_S * PD_US_PER_S},
        {"2026-11-22 14:20:00+01:00", NOW_S * PD_US_PER_S},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t us = 0;
        assert_int_equal(pd_time_parse_words(cases[i].text, NOW, &us), 0);
        if (us != cases[i].us) {
            fail_msg("%s: %llu instead of %llu", cases[i].text, (unsigned long long)us,
                     (unsigned long long)cases[i].us);
        }
    }
}

static void bad_ones(void **state)
{
    static const char *const texts[] = {"",
                                        "-",
                                        "-5x",
                                        "-m",
                                        "-5m-3m",
                                        "-99999999999",
                                        "later",
                                        "2026-02-30 14:00",
                                        "25:00",
                                        "2026-11-22 14:00x",
                                        "2026-11-22 14:00.5",
                                        "now ",
                                        "2026-13-01",
                                        "-5mm",
                                        "-60000d"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint64_t us = 7;
        if (!pd_time_parse_words(texts[i], NOW, &us)) {
            fail_msg("%s is taken", texts[i]);
        }
        assert_int_equal(us, 7);
    }
}

/* What a table shows can be typed again. */
static void local_times_come_back(void **state)
{
    char text[PD_TIME_TEXT_BYTES];
    uint64_t us = 0;
    (void)state;
    assert_string_equal(pd_time_format_local(NOW, text), "2026-11-22T14:20:00.250000+01:00");
    assert_int_equal(pd_time_parse(text, &us), 0);
    assert_int_equal(us, NOW);
    setenv("TZ", "XXX3:30", 1);
    tzset();
    assert_string_equal(pd_time_format_local(NOW, text), "2026-11-22T09:50:00.250000-03:30");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_ones),
        cmocka_unit_test(bad_ones),
        cmocka_unit_test(local_times_come_back),
    };
    return cmocka_run_group_tests(tests, in_zurich, NULL);
}

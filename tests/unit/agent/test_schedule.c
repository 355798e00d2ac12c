/* SPDX-License-Identifier: Apache-2.0 */
/* Times of periodic runs, on a clock of our own; and what the memory of raised violations keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/installed/raised.h"
#include "agent/installed/schedule.h"

#define MS UINT64_C(1000000)

/* A hundred runs of 3 ms on a period of 10 ms take a second: no drift, nothing skipped. */
static void runs_do_not_drift(void **state)
{
    const uint64_t begin_ns = 77 * MS;
    struct pd_schedule schedule = pd_schedule_begin(10 * MS, begin_ns);

    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        uint64_t due_ns = schedule.due_ns;

        assert_int_equal(due_ns, begin_ns + i * 10 * MS);
        assert_false(pd_schedule_due(&schedule, due_ns - 1));
        assert_true(pd_schedule_due(&schedule, due_ns));
        assert_int_equal(pd_schedule_end(&schedule, due_ns + 3 * MS), 0);
    }
}

/* A run of 35 ms passes three that were due; the next one is on the grid again, after its end. */
static void what_falls_due_meanwhile_is_skipped(void **state)
{
    struct pd_schedule schedule = pd_schedule_begin(10 * MS, 0);

    (void)state;
    assert_int_equal(pd_schedule_end(&schedule, 35 * MS), 3);
    assert_int_equal(schedule.due_ns, 40 * MS);
    assert_int_equal(pd_schedule_end(&schedule, 50 * MS), 1); /* the one due just now as well */
    assert_int_equal(schedule.due_ns, 60 * MS);
}

static void each_violation_is_new_once(void **state)
{
    struct pd_path path = {.len = 2, .switches = {1, 9}}, other = {.len = 2, .switches = {1, 10}};
    const struct pd_path none = {.len = 0};
    struct pd_claim claim = {
        .path = &none, .state = PD_CLAIM_INFEASIBLE, .mark = {.scheme = 1, .len = 1}};
    struct pd_tib_record record = {.flow = {.ip_version = 4, .src_port = 1}, .path = &path};
    struct pd_raised *raised;

    (void)state;
    assert_int_equal(pd_installed_raised_new(&raised), 0);
    assert_true(pd_installed_raised_add(raised, &record, "max_hops"));
    assert_false(pd_installed_raised_add(raised, &record, "max_hops"));
    assert_true(pd_installed_raised_add(raised, &record, "avoid"));
    record.path = &other;
    assert_true(pd_installed_raised_add(raised, &record, "avoid"));
    record.flow.src_port++;
    assert_true(pd_installed_raised_add(raised, &record, "avoid"));
    assert_false(pd_installed_raised_add(raised, &record, "avoid"));
    record.path = &none; /* without a path the marks tell violations apart */
    record.claim = &claim;
    assert_true(pd_installed_raised_add(raised, &record, "avoid"));
    assert_false(pd_installed_raised_add(raised, &record, "avoid"));
    claim.mark.bytes[0]++;
    assert_true(pd_installed_raised_add(raised, &record, "avoid"));
    pd_installed_raised_free(raised);
}

/* Ten times what it holds: memory stays, the latest ones are still known. */
static void the_memory_is_bounded(void **state)
{
    struct pd_path path = {.len = 1, .switches = {1}};
    struct pd_tib_record record = {.flow.ip_version = 4, .path = &path};
    struct pd_raised *raised;
    unsigned fresh = 0;

    (void)state;
    assert_int_equal(pd_installed_raised_new(&raised), 0);
    for (unsigned i = 0; i < 10 * PD_RAISED_MAX; i++) {
        record.flow.src_port = (uint16_t)i;
        record.flow.dst_port = (uint16_t)(i >> 16);
        fresh += pd_installed_raised_add(raised, &record, "avoid");
    }
    assert_int_equal(fresh, 10 * PD_RAISED_MAX);
    for (unsigned i = 10 * PD_RAISED_MAX - 8; i < 10 * PD_RAISED_MAX; i++) {
        record.flow.src_port = (uint16_t)i;
        record.flow.dst_port = (uint16_t)(i >> 16);
        assert_false(pd_installed_raised_add(raised, &record, "avoid"));
    }
    pd_installed_raised_free(raised);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_do_not_drift),
        cmocka_unit_test(what_falls_due_meanwhile_is_skipped),
        cmocka_unit_test(each_violation_is_new_once),
        cmocka_unit_test(the_memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

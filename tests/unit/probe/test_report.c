/* SPDX-License-Identifier: Apache-2.0 */
/* Reports: what was written is read, and what is cut anywhere is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "probe/report.h"

static const struct pd_probe_report head = {
    .host = 21, .plan = 7, .order = 3, .epoch = 4000000000U, .sent_len = 1, .came_len = 2};
static const struct pd_probe_report_sent sent = {5, {4294967290U, 20}}; /* wraps around */
static const struct pd_probe_report_came none = {.number = 6, .silent = true};
static const struct pd_probe_report_came some = {
    .number = 900,
    .came = {.any = true, .first = 7, .newest = 107, .missing = UINT64_MAX - 1},
    .count = 10,
    .hops = 1};
static const struct pd_probe_hop hop = {
    .hop_latency_ns = {-5000, -100, PD_PROBE_REPORT_VALUE_MAX, 0},
    .residence_ns = {1, 2, 3, 3},
    .queue_bytes = {-PD_PROBE_REPORT_VALUE_MAX, 0, UINT32_MAX, 100},
};

static void write_all(struct pd_probe_report_out *out)
{
    pd_probe_report_begin(out, &head);
    pd_probe_report_put_sent(out, &sent);
    pd_probe_report_put_came(out, &none);
    pd_probe_report_put_came(out, &some);
    pd_probe_report_put_hop(out, &hop);
    assert_int_equal(out->err, 0);
}

static bool read_all(struct pd_bytes bytes, struct pd_probe_report *report,
                     struct pd_probe_report_sent *one, struct pd_probe_report_came came[2],
                     struct pd_probe_hop *of)
{
    return pd_probe_report_read(&bytes, report) && pd_probe_report_next_sent(&bytes, one) &&
           pd_probe_report_next_came(&bytes, &came[0]) &&
           pd_probe_report_next_came(&bytes, &came[1]) && pd_probe_report_next_hop(&bytes, of) &&
           !bytes.left;
}

static void what_was_written_is_read(void **state)
{
    struct pd_probe_report_out out = {0};
    struct pd_probe_report report;
    struct pd_probe_report_sent one;
    struct pd_probe_report_came came[2];
    struct pd_probe_hop of;

    (void)state;
    write_all(&out);
    assert_true(read_all((struct pd_bytes){out.bytes, out.len}, &report, &one, came, &of));
    assert_memory_equal(&report, &head, sizeof head);
    assert_memory_equal(&one, &sent, sizeof sent);
    assert_memory_equal(&of, &hop, sizeof hop);
    assert_false(came[0].came.any);
    assert_true(came[0].silent && !came[1].silent);
    assert_int_equal(came[1].came.newest, 107);
    assert_true(came[1].came.missing == some.came.missing);
    assert_int_equal(came[1].count, 10);
    for (size_t len = 0; len < out.len; len++) {
        assert_false(read_all((struct pd_bytes){out.bytes, len}, &report, &one, came, &of));
    }
    free(out.bytes);
}

/* A host has at most so many ways: more would only keep the reader busy. */
static void too_many_ways_are_a_lie(void **state)
{
    (void)state;
    for (uint32_t more = 0; more < 2; more++) {
        const struct pd_probe_report sends = {.sent_len = PD_PROBE_ORDER_WAYS_MAX + more};
        const struct pd_probe_report collects = {.came_len = PD_PROBE_ORDER_WAYS_MAX + more};
        struct pd_probe_report_out out = {0};
        struct pd_probe_report report;

        pd_probe_report_begin(&out, &sends);
        assert_int_equal(pd_probe_report_read(&(struct pd_bytes){out.bytes, out.len}, &report),
                         !more);
        pd_probe_report_begin(&out, &collects);
        assert_int_equal(pd_probe_report_read(&(struct pd_bytes){out.bytes, out.len}, &report),
                         !more);
        free(out.bytes);
    }
}

static void too_many_hops_are_a_lie(void **state)
{
    struct pd_probe_report_out out = {0};
    struct pd_probe_report_came came = some;
    struct pd_bytes bytes;

    (void)state;
    came.hops = 65;
    pd_probe_report_begin(&out, &head);
    size_t at = out.len;
    pd_probe_report_put_came(&out, &came);
    bytes = (struct pd_bytes){out.bytes + at, out.len - at};
    assert_false(pd_probe_report_next_came(&bytes, &came));
    free(out.bytes);
}

static void values_beyond_all_bounds_are_a_lie(void **state)
{
    struct pd_probe_hop wrong = hop;
    struct pd_probe_report_out out = {0};

    (void)state;
    wrong.residence_ns.most = PD_PROBE_REPORT_VALUE_MAX + 1;
    pd_probe_report_begin(&out, &head);
    size_t at = out.len;
    pd_probe_report_put_hop(&out, &wrong);
    struct pd_bytes bytes = {out.bytes + at, out.len - at};
    assert_false(pd_probe_report_next_hop(&bytes, &wrong));
    free(out.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(too_many_ways_are_a_lie),
        cmocka_unit_test(too_many_hops_are_a_lie),
        cmocka_unit_test(values_beyond_all_bounds_are_a_lie),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

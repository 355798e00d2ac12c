/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of switches: the specification's example, several in one datagram, lengths that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "telemetry/int_report/int_report.h"

/* Section "Baseline Metadata and Truncated IPv4": ports and queue, then 40 bytes of a packet. */
static const uint8_t example[] = {
    0x20, 0x40, 0x00, 0x07, 0, 0, 0,    3,    /* version 2, hardware 1, sequence 7, node 3 */
    0x14, 14,   2,    0x20,                   /* INT, IPv4, 14 words, 2 of metadata, F */
    0x50, 0x00, 0,    0,    0, 0, 0,    0,    /* ports, queue */
    0,    1,    0,    2,    5, 0, 0x10, 0x00, /* 1, 2; queue 5 holds 4096 */
};

static size_t write_example(uint8_t *bytes)
{
    memcpy(bytes, example, sizeof example);
    memset(bytes + sizeof example, 0x45, 40);
    return sizeof example + 40;
}

static void the_example_is_read(void **state)
{
    uint8_t bytes[256];
    struct pd_bytes datagram = {bytes, write_example(bytes)};
    struct pd_int_report_head head;
    struct pd_int_report report;

    (void)state;
    assert_int_equal(pd_int_report_begin(&datagram, &head), 0);
    assert_int_equal(head.node, 3);
    assert_int_equal(head.seq, 7);
    assert_int_equal(head.hardware, 1);
    assert_int_equal(pd_int_report_next(&datagram, &head, &report), 0);
    assert_true(report.tracked && report.measured && !report.dropped && !report.congested);
    assert_int_equal(report.hop.in_port, 1);
    assert_int_equal(report.hop.out_port, 2);
    assert_int_equal(report.hop.queue_bytes, 4096);
    assert_int_equal(report.inner, PD_INT_REPORT_IPV4);
    assert_int_equal(report.packet.left, 40);
    assert_int_equal(pd_int_report_next(&datagram, &head, &report), -PD_E_NOT_FOUND);
}

static void several_follow_each_other(void **state)
{
    uint8_t bytes[512];
    size_t len = write_example(bytes);
    struct pd_int_report_head head;
    struct pd_int_report report;
    unsigned found = 0;

    (void)state;
    memcpy(bytes + len, bytes + 8, len - 8); /* another one */
    bytes[len + 1] = 0xff;                   /* to the end */
    struct pd_bytes datagram = {bytes, 2 * len - 8};
    assert_int_equal(pd_int_report_begin(&datagram, &head), 0);
    while (!pd_int_report_next(&datagram, &head, &report)) {
        assert_int_equal(report.packet.left, 40);
        found++;
    }
    assert_int_equal(found, 2);
}

static void lengths_that_lie_are_refused(void **state)
{
    uint8_t bytes[256];
    const size_t len = write_example(bytes);
    struct pd_int_report_head head;
    struct pd_int_report report;

    (void)state;
    for (size_t cut = 0; cut < len; cut++) {
        struct pd_bytes datagram = {bytes, cut};
        int err = pd_int_report_begin(&datagram, &head);
        err = err ? err : pd_int_report_next(&datagram, &head, &report);
        assert_int_equal(err, cut == 8 ? -PD_E_NOT_FOUND : -PD_E_SYNTAX);
    }
    struct pd_bytes datagram = {bytes, len};
    bytes[10] = 13; /* more metadata than the report has */
    assert_int_equal(pd_int_report_begin(&datagram, &head), 0);
    assert_int_equal(pd_int_report_next(&datagram, &head, &report), -PD_E_SYNTAX);
    bytes[0] = 0x10;
    datagram = (struct pd_bytes){bytes, len};
    assert_int_equal(pd_int_report_begin(&datagram, &head), -PD_E_SYNTAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_is_read),
        cmocka_unit_test(several_follow_each_other),
        cmocka_unit_test(lengths_that_lie_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

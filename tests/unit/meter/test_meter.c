/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets against a list of packets, places of known flows, and epochs of marks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "meter/epoch.h"
#include "meter/meter.h"
#include "tests/shared/random.h"

enum { ROWS = 3, WIDTH = 64, FLOWS = 80, PACKETS = 4000 };

static struct pd_flow_id flow_of(unsigned n)
{
    struct pd_flow_id flow = {.src_port = (uint16_t)(1000 + n),
                              .dst_port = 80,
                              .protocol = 6,
                              .ip_version = n % 3 ? 4 : 6};

    memcpy(flow.src.bytes, (uint8_t[]){10, 1, 1, 2}, 4);
    memcpy(flow.dst.bytes, (uint8_t[]){10, 2, 1, 2}, 4);
    return flow;
}

/* CRC-32 of 0a010102 0a020102 1388 0050 06, by another implementation (zlib's for row 0). */
static void places_are_those_of_the_polynomials(void **state)
{
    static const uint32_t wanted[ROWS] = {0x4cf8d, 0x1379d, 0x26b26};
    struct pd_flow_id flow = flow_of(4000);

    (void)state;
    flow.ip_version = 4;
    for (unsigned row = 0; row < ROWS; row++) {
        assert_int_equal(pd_meter_place(&flow, row, 1u << 20), wanted[row]);
        assert_int_equal(pd_meter_place(&flow, row, 1024), wanted[row] & 1023);
    }
}

/* What a bucket must hold, from all packets that fell into it. */
static void check_bucket(const struct pd_meter *meter, unsigned row, uint32_t place,
                         const unsigned *flows, const uint64_t *filters, unsigned len)
{
    const struct pd_meter_bucket *bucket = pd_meter_bucket(meter, 1, row, place);
    uint64_t pkts = 0;
    int first = -1;
    bool dirty = false;

    for (unsigned i = 0; i < len; i++) {
        const struct pd_flow_id flow = flow_of(flows[i]);
        if (pd_meter_place(&flow, row, WIDTH) != place) {
            continue;
        }
        first = first < 0 ? (int)i : first;
        dirty |= flows[i] != flows[first] || filters[i] != filters[first];
        pkts++;
    }
    assert_int_equal(bucket->used, first >= 0);
    assert_int_equal(bucket->dirty, dirty);
    if (first >= 0 && !dirty) {
        const struct pd_flow_id flow = flow_of(flows[first]);
        assert_true(pd_flow_id_equal(&bucket->flow, &flow));
        assert_int_equal(bucket->pkts, pkts);
        assert_int_equal(bucket->filter, filters[first]);
    }
}

static void buckets_hold_what_came(void **state)
{
    static unsigned flows[PACKETS];
    static uint64_t filters[PACKETS];
    struct pd_meter *meter;

    (void)state;
    struct random random = {test_seed()};
    assert_int_equal(pd_meter_new(ROWS, WIDTH, &meter), 0);
    for (unsigned i = 0; i < PACKETS; i++) {
        flows[i] = (unsigned)random_below(&random, FLOWS);
        filters[i] = flows[i] % 7 || random_below(&random, 2) ? flows[i] : 99;
        const struct pd_flow_id flow = flow_of(flows[i]);
        pd_meter_add(meter, 1, &flow, filters[i], 1);
    }
    for (unsigned row = 0; row < ROWS; row++) {
        for (uint32_t place = 0; place < WIDTH; place++) {
            check_bucket(meter, row, place, flows, filters, PACKETS);
            assert_false(pd_meter_bucket(meter, 0, row, place)->used);
        }
    }
    pd_meter_clear(meter, 1);
    for (unsigned row = 0; row < ROWS; row++) {
        check_bucket(meter, row, 0, flows, filters, 0);
    }
    pd_meter_free(meter);
}

static void wrong_sizes_are_refused(void **state)
{
    struct pd_meter *meter;

    (void)state;
    assert_int_not_equal(pd_meter_new(0, 64, &meter), 0);
    assert_int_not_equal(pd_meter_new(4, 64, &meter), 0);
    assert_int_not_equal(pd_meter_new(3, 0, &meter), 0);
    assert_int_not_equal(pd_meter_new(3, 65, &meter), 0);
    assert_int_not_equal(pd_meter_new(3, 1u << 21, &meter), 0);
}

static void marks_tell_epochs(void **state)
{
    static const struct {
        uint8_t mark;
        uint64_t time_ns;
        int64_t epoch; /* -1: none */
    } cases[] = {
        {PD_METER_EVEN, 1000, 10},
        {PD_METER_EVEN, 1099, 10},
        {PD_METER_ODD, 1000, 9},
        {PD_METER_ODD, 1024, 9},
        {PD_METER_ODD, 1025, -1},
        {PD_METER_ODD, 1074, -1},
        {PD_METER_ODD, 1075, 11},
        {PD_METER_ODD, 1099, 11},
        {PD_METER_ODD, 10, -1},
        {PD_METER_UNMARKED, 7, -1},
        {1, 1000, -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t epoch = 77;
        const bool found = pd_meter_epoch(cases[i].mark, cases[i].time_ns, 100, &epoch);
        assert_int_equal(found, cases[i].epoch >= 0);
        assert_int_equal(epoch, found ? (uint64_t)cases[i].epoch : 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_those_of_the_polynomials),
        cmocka_unit_test(buckets_hold_what_came),
        cmocka_unit_test(wrong_sizes_are_refused),
        cmocka_unit_test(marks_tell_epochs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

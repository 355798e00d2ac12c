/* SPDX-License-Identifier: Apache-2.0 */
/* Trajectory memory: one worked example for each rule of trajectory.h, and its use of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trajectory/trajectory.h"

#define MS      UINT64_C(1000000)
#define S       (1000 * MS)
#define ACK     0x10
#define FIN_ACK 0x11
#define RST     0x04

struct seen {
    struct pd_trajectory_record records[8]; /* the first ones */
    unsigned len, new_flows;
    bool refuses;
};

static bool take(void *context, const struct pd_trajectory_record *record)
{
    struct seen *seen = context;
    if (!seen->refuses && seen->len < 8) {
        seen->records[seen->len] = *record;
    }
    seen->len += !seen->refuses;
    return !seen->refuses;
}

static void announce(void *context, const struct pd_trajectory_record *record)
{
    struct seen *seen = context;
    assert_int_equal(record->eviction, PD_EVICTION_NONE);
    assert_int_equal(record->first_ns, record->last_ns);
    seen->new_flows++;
}

static struct pd_trajectory *make(struct seen *seen)
{
    struct pd_trajectory_config config = PD_TRAJECTORY_DEFAULTS;
    struct pd_trajectory_sink sink = {seen, take, announce};
    struct pd_trajectory *trajectory;
    assert_int_equal(pd_trajectory_new(&config, &sink, &trajectory), 0);
    return trajectory;
}

static uint64_t mark_of(uint16_t first, uint16_t second, uint8_t dscp)
{
    const struct pd_tags tags = {.vids = {first, second}, .len = 2, .dscp = dscp};
    return pd_tags_pack(&tags);
}

static struct pd_packet packet_of(uint16_t src_port, uint8_t tcp_flags)
{
    return (struct pd_packet){.flow = {.src = {{10, 1, 1, 2}},
                                       .dst = {{10, 2, 1, 2}},
                                       .src_port = src_port,
                                       .dst_port = 80,
                                       .protocol = 6,
                                       .ip_version = 4},
                              .mark = mark_of(9, 14, 5),
                              .tags_len = 2,
                              .tcp_flags = tcp_flags,
                              .ip_bytes = 100};
}

static void feed(struct pd_trajectory *trajectory, uint64_t now_ns, uint8_t tcp_flags)
{
    struct pd_packet packet = packet_of(1000, tcp_flags);
    pd_trajectory_update(trajectory, &packet, NULL, &now_ns, 1, pd_tags_bits(false));
}

static void sweep_all(struct pd_trajectory *trajectory, uint64_t now_ns)
{
    pd_trajectory_sweep(trajectory, now_ns - S); /* a whole turn of the hand at now_ns */
    pd_trajectory_sweep(trajectory, now_ns);
}

static void a_record_holds_what_came(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct pd_trajectory *trajectory = make(&seen);
    feed(trajectory, 10 * S, 0x02);
    feed(trajectory, 11 * S, ACK);
    feed(trajectory, 10 * S - 5, ACK);
    assert_int_equal(pd_trajectory_flush(trajectory), 0);
    struct pd_packet packet = packet_of(1000, 0);
    const struct pd_trajectory_record *record = &seen.records[0];
    assert_int_equal(seen.len, 1);
    assert_memory_equal(&record->flow, &packet.flow, sizeof packet.flow);
    assert_true(record->mark == mark_of(9, 14, 0));
    assert_int_equal(record->tcp_flags, 0x12);
    assert_int_equal(record->eviction, PD_EVICTION_FLUSH);
    assert_int_equal(record->pkts, 3);
    assert_int_equal(record->bytes, 300);
    assert_int_equal(record->first_ns, 10 * S - 5);
    assert_int_equal(record->last_ns, 11 * S);
    pd_trajectory_free(trajectory);
}

/* Late packets merge up to 200 ms after the first FIN; what comes then is a new flow. */
static void fin_lingers(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct pd_trajectory *trajectory = make(&seen);
    feed(trajectory, 10 * S, ACK);
    feed(trajectory, 10 * S + 1, FIN_ACK);
    feed(trajectory, 10 * S + 100 * MS, FIN_ACK); /* again: does not prolong */
    feed(trajectory, 10 * S + 200 * MS + 1, ACK);
    assert_int_equal(seen.len, 0);
    feed(trajectory, 10 * S + 200 * MS + 2, RST);
    assert_int_equal(seen.len, 1);
    assert_int_equal(seen.records[0].pkts, 4);
    assert_int_equal(seen.records[0].eviction, PD_EVICTION_FIN);
    assert_int_equal(seen.new_flows, 2);
    sweep_all(trajectory, 10 * S + 401 * MS); /* the RST lingers too */
    assert_int_equal(seen.len, 2);
    assert_int_equal(seen.records[1].pkts, 1);
    assert_int_equal(seen.records[1].eviction, PD_EVICTION_FIN);
    assert_int_equal(pd_trajectory_len(trajectory), 0);
    pd_trajectory_free(trajectory);
}

static void idle_and_active_timeouts_slice(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct pd_trajectory *trajectory = make(&seen);
    for (unsigned i = 0; i <= 61; i++) {
        feed(trajectory, (100 + i) * S, ACK);
    }
    assert_int_equal(seen.len, 1); /* 100 to 160 s; 161 s begins the next slice, of the same flow */
    assert_int_equal(seen.records[0].pkts, 61);
    assert_int_equal(seen.records[0].eviction, PD_EVICTION_ACTIVE);
    assert_int_equal(seen.new_flows, 1);
    feed(trajectory, 166 * S, ACK);
    feed(trajectory, 171 * S + 1, ACK);
    assert_int_equal(seen.len, 2);
    assert_int_equal(seen.records[1].pkts, 2);
    assert_int_equal(seen.records[1].eviction, PD_EVICTION_IDLE);
    assert_int_equal(seen.new_flows, 2);
    sweep_all(trajectory, 176 * S + 1);
    assert_int_equal(seen.len, 2);
    sweep_all(trajectory, 176 * S + 2);
    assert_int_equal(seen.len, 3);
    pd_trajectory_free(trajectory);
}

/* One packet from the future neither swallows the flow's next packets nor stays for ever. */
static void time_from_the_future_ends_a_slice(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct pd_trajectory *trajectory = make(&seen);
    feed(trajectory, 100 * S, ACK);
    feed(trajectory, UINT64_MAX, ACK);
    feed(trajectory, 101 * S, ACK);
    assert_int_equal(seen.len, 2);
    assert_int_equal(seen.records[0].last_ns, 100 * S);
    assert_int_equal(seen.records[1].last_ns, INT64_MAX);
    feed(trajectory, UINT64_MAX, ACK);
    sweep_all(trajectory, 102 * S);
    assert_int_equal(pd_trajectory_len(trajectory), 0);
    pd_trajectory_free(trajectory);
}

/* A sink that is full is not asked again before the next sweep, and the record goes on counting. */
static void a_refused_record_goes_on_counting(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct pd_trajectory *trajectory = make(&seen);
    feed(trajectory, 100 * S, ACK);
    seen.refuses = true;
    feed(trajectory, 200 * S, ACK);
    feed(trajectory, 300 * S, ACK);
    assert_int_equal(pd_trajectory_counters(trajectory)->refused, 1);
    sweep_all(trajectory, 400 * S);
    assert_int_equal(pd_trajectory_counters(trajectory)->refused, 2);
    assert_int_equal(pd_trajectory_flush(trajectory), 1);
    assert_int_equal(pd_trajectory_len(trajectory), 1);
    seen.refuses = false;
    sweep_all(trajectory, 401 * S);
    assert_int_equal(seen.len, 1);
    assert_int_equal(seen.records[0].pkts, 3);
    assert_int_equal(seen.new_flows, 1);
    pd_trajectory_free(trajectory);
}

static void a_mark_is_key_in_its_scheme_s_bits_only(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct pd_trajectory *trajectory = make(&seen);
    struct pd_packet packets[] = {packet_of(1, ACK), packet_of(1, ACK), packet_of(1, ACK)};
    uint64_t now_ns[] = {S, S, S};
    packets[1].mark = mark_of(9, 14, 6);
    packets[2].mark = mark_of(9, 15, 5);
    pd_trajectory_update(trajectory, packets, NULL, now_ns, 3, pd_tags_bits(false));
    assert_int_equal(pd_trajectory_len(trajectory), 2);
    assert_int_equal(pd_trajectory_flush(trajectory), 0);
    pd_trajectory_update(trajectory, packets, NULL, now_ns, 3, pd_tags_bits(true));
    assert_int_equal(pd_trajectory_len(trajectory), 3);
    assert_int_equal(pd_trajectory_flush(trajectory), 0);
    assert_int_equal(pd_tags_dscp(seen.records[2].mark) + pd_tags_dscp(seen.records[3].mark) +
                         pd_tags_dscp(seen.records[4].mark),
                     16);
    pd_trajectory_free(trajectory);
}

static void wrong_settings_are_refused(void **state)
{
    (void)state;
    static const struct pd_trajectory_config wrong[] = {
        {0, S, 0, 1, 0},         {S, 0, 0, 1, 0},        {S, S, 0, 0, 0},
        {S, S, 4 * S + 1, 1, 0}, {S, S, 0, 1U << 29, 0},
    };
    struct pd_trajectory_sink sink = {NULL, take, NULL};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct pd_trajectory *trajectory = NULL;
        assert_int_equal(pd_trajectory_new(&wrong[i], &sink, &trajectory), -EINVAL);
        assert_null(trajectory);
    }
    assert_string_equal(pd_trajectory_eviction_id(PD_EVICTION_ACTIVE), "active");
    pd_trajectory_free(NULL);
}

static size_t resident_bytes(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*s %zu", &pages), 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Room for a million records costs nothing as long as there are a few: not even under the sweep. */
static void memory_is_used_as_records_come(void **state)
{
    (void)state;
    struct seen seen = {0};
    size_t before = resident_bytes();
    struct pd_trajectory *trajectory = make(&seen);
    for (unsigned i = 0; i < 100; i++) {
        uint64_t now_ns = (100 + i) * S;
        struct pd_packet packet = packet_of((uint16_t)i, ACK);
        pd_trajectory_update(trajectory, &packet, NULL, &now_ns, 1, pd_tags_bits(false));
        sweep_all(trajectory, now_ns);
    }
    assert_true(resident_bytes() < before + ((size_t)2 << 20));
    pd_trajectory_free(trajectory);
}

/* Of each record another address; returns what is resident more than `before`. */
static size_t grow_by(struct pd_trajectory *trajectory, uint32_t records, size_t before)
{
    for (uint32_t i = 0; i < records; i++) {
        uint64_t now_ns = 100 * S;
        struct pd_packet packet = packet_of(1, ACK);
        memcpy(packet.flow.src.bytes, &i, sizeof i);
        pd_trajectory_update(trajectory, &packet, NULL, &now_ns, 1, pd_tags_bits(false));
    }
    assert_int_equal(pd_trajectory_len(trajectory), records);
    return resident_bytes() - before;
}

/* A wave of flows is over: its memory goes back, first that of the smaller table, then all. */
static void memory_is_given_back(void **state)
{
    (void)state;
    struct seen seen = {0};
    size_t before = resident_bytes();
    struct pd_trajectory *trajectory = make(&seen);
    for (unsigned round = 1; round <= 2; round++) {
        /* Of 64 bytes, 512 Ki slots; half as many had been outgrown. */
        size_t grown = grow_by(trajectory, 150000, before);
        assert_in_range(grown, (size_t)20 << 20, (size_t)36 << 20);
        assert_int_equal(pd_trajectory_flush(trajectory), 0);
        assert_int_equal(seen.len, round * 150000);
        assert_true(resident_bytes() < before + ((size_t)3 << 20));
    }
    pd_trajectory_free(trajectory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_holds_what_came),
        cmocka_unit_test(fin_lingers),
        cmocka_unit_test(idle_and_active_timeouts_slice),
        cmocka_unit_test(time_from_the_future_ends_a_slice),
        cmocka_unit_test(a_refused_record_goes_on_counting),
        cmocka_unit_test(a_mark_is_key_in_its_scheme_s_bits_only),
        cmocka_unit_test(wrong_settings_are_refused),
        cmocka_unit_test(memory_is_used_as_records_come),
        cmocka_unit_test(memory_is_given_back),
    };
    return cmocka_run_group_tests_name("trajectory/records", tests, NULL, NULL);
}

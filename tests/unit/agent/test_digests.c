/* SPDX-License-Identifier: Apache-2.0 */
/* Digests on their way to the store: records split by path, and nothing lost or invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/digests.h"
#include "codec/pint/encode.h"
#include "codec/pint/numbers.h"
#include "packet/sample.h"
#include "telemetry/column.h"
#include "tib/record.h"

#define PLAN                                                                                     \
    "{\"version\":1,\"seed\":7,\"carrier\":\"tag\",\"bits\":16,\"queries\":[{\"name\":\"path\"," \
    "\"aggregation\":\"static\",\"value\":\"switch-id\",\"bits\":8,\"tau\":0,\"xor\":[65536]},"  \
    "{\"name\":\"latency\",\"aggregation\":\"dynamic\",\"value\":\"hop-latency-ns\",\"bits\":2," \
    "\"rounding\":\"nearest\",\"values\":[0,10,20,30],\"bounds\":[0,5,15,25]}],"                 \
    "\"sets\":[{\"weight\":65536,\"queries\":[\"path\",\"latency\"]}]}"

enum { FLOWS_MAX = 1000, FLOOD = 20000 };

static const uint32_t one[] = {1, 9, 17, 11, 3}, two[] = {1, 10, 20, 12, 4, 11, 3};
static const uint32_t crossed[] = {1, 9, 20, 11, 3}; /* 9-20 is no cable */

static struct pd_agent_counters counters;
static struct pd_alarms *alarms;
static struct pd_digests *digests;
static const struct pd_intake_tap *tap;
static struct pd_pint_plan *plan;
static char folder[] = "/tmp/pathdump-digests-XXXXXX";

static void write_file(const char *name, char *path, size_t room, const char *text)
{
    snprintf(path, room, "%s/%s", folder, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    if (text) {
        fputs(text, out);
    } else {
        struct pd_topology *topology;
        assert_int_equal(pd_topology_fat_tree(4, &topology, NULL), 0);
        pd_topology_write(topology, out);
        pd_topology_free(topology);
    }
    fclose(out);
}

static int set_up(void **state)
{
    char topology_file[64];
    struct pd_pint_plan *theirs;
    struct pd_error error = {0};
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(pd_alarms_new(&alarms), 0);
    write_file("t.json", topology_file, sizeof topology_file, NULL);
    assert_int_equal(pd_pint_plan_parse(PLAN, strlen(PLAN), "plan", &theirs, &error), 0);
    assert_int_equal(pd_agent_digests_new(topology_file, theirs, 0, FLOWS_MAX, &counters, alarms,
                                          &digests, &error),
                     0);
    assert_int_equal(pd_pint_plan_parse(PLAN, strlen(PLAN), "plan", &plan, &error), 0);
    tap = pd_agent_digests_tap(digests, NULL);
    unlink(topology_file);
    return rmdir(folder);
}

static int tear_down(void **state)
{
    (void)state;
    pd_agent_digests_free(digests);
    pd_alarms_free(alarms);
    pd_pint_plan_free(plan);
    return 0;
}

static const uint64_t latencies[] = {0, 10, 20, 30, 10, 20, 30}; /* of the hops */

/* 10.1.1.2 to 10.2.1.2, TCP, IP ID and sequence by number. */
static void send_from(uint16_t port, const uint32_t *path, size_t len, unsigned from, unsigned pkts)
{
    uint8_t frame[64] = {2, 0, 0, 0,  0, 2, 2, 0,  0, 0, 0, 1,  8, 0, 0x45, 0,    0,    40, 0,
                         0, 0, 0, 64, 6, 0, 0, 10, 1, 1, 2, 10, 2, 1, 2,    0x9c, 0x40, 0,  80};
    const uint64_t *values[PD_PINT_QUERIES_MAX] = {NULL, latencies};
    uint8_t arrived[80];

    frame[34] = (uint8_t)(port >> 8);
    frame[35] = (uint8_t)port;
    frame[46] = 0x50;
    for (unsigned i = from; i < from + pkts; i++) {
        struct pd_packet packet;
        struct pd_pint_crossing crossing;
        frame[18] = (uint8_t)(i >> 8);
        frame[19] = (uint8_t)i;
        assert_int_equal(pd_packet_parse(frame, 54, 54, &packet), PD_PACKET_OK);
        assert_int_equal(
            pd_pint_encode(plan, frame, 54, &packet, path, len, values, arrived, &crossing, NULL),
            0);
        assert_int_equal(
            pd_packet_parse(arrived, crossing.frame_bytes, crossing.frame_bytes, &packet),
            PD_PACKET_OK);
        tap->frame(tap->context, &packet, arrived, crossing.frame_bytes, crossing.frame_bytes,
                   1000 * (uint64_t)i);
    }
}

static void send(const uint32_t *path, size_t len, unsigned from, unsigned pkts)
{
    send_from(40000, path, len, from, pkts);
}

struct parts {
    struct pd_trajectory_record records[20];
    uint8_t extras[20][PD_TELEMETRY_COLUMN_BYTES_MAX + 6];
    uint32_t extra_bytes[20];
    size_t len;
};

static void keep(void *context, const struct pd_trajectory_record *record, const uint8_t *extra,
                 uint32_t extra_bytes)
{
    struct parts *parts = context;
    assert_true(extra_bytes <= sizeof parts->extras[0]);
    if (extra_bytes) {
        memcpy(parts->extras[parts->len], extra, extra_bytes);
    }
    parts->extra_bytes[parts->len] = extra_bytes;
    parts->records[parts->len++] = *record;
}

static struct pd_trajectory_record record_of(uint64_t pkts)
{
    struct pd_trajectory_record record = {
        .pkts = pkts, .bytes = 40 * pkts, .first_ns = 0, .last_ns = 1000000};
    record.flow = (struct pd_flow_id){.src = {{10, 1, 1, 2}},
                                      .dst = {{10, 2, 1, 2}},
                                      .src_port = 40000,
                                      .dst_port = 80,
                                      .protocol = 6,
                                      .ip_version = 4};
    return record;
}

static void expect_path(const struct pd_trajectory_record *record, const uint32_t *path, size_t len)
{
    struct pd_pint_path known;
    assert_true(pd_pint_number_path(record->mark, &known));
    assert_int_equal(known.len, len);
    assert_memory_equal(known.switches, path, len * sizeof *path);
}

static void records_are_split_by_path(void **state)
{
    struct pd_trajectory_record record = record_of(60);
    struct parts parts = {.len = 0};
    (void)state;
    send(one, 5, 0, 40);
    send(two, 7, 40, 20);
    pd_agent_digests_split(digests, &record, false, true, keep,
                           &parts); /* a look takes nothing away */
    assert_int_equal(parts.len, 2);
    parts.len = 0;
    pd_agent_digests_split(digests, &record, true, true, keep, &parts);
    assert_int_equal(parts.len, 2);
    expect_path(&parts.records[0], one, 5);
    expect_path(&parts.records[1], two, 7);
    assert_int_equal(parts.records[0].pkts, 40);
    assert_int_equal(parts.records[1].pkts, 20);
    assert_int_equal(parts.records[0].bytes + parts.records[1].bytes, 60 * 40);
    assert_true(parts.records[0].last_ns < parts.records[1].first_ns);
    parts.len = 0;
    pd_agent_digests_split(digests, &record, true, true, keep,
                           &parts); /* nothing new: nothing known of it */
    assert_int_equal(parts.len, 1);
    assert_int_equal(parts.records[0].mark, 0);
    assert_int_equal(parts.records[0].pkts, 60);
}

/* The record says what there is: packets that came after it wait for the next one. */
static void parts_never_exceed_the_record(void **state)
{
    struct pd_trajectory_record record = record_of(10);
    struct parts parts = {.len = 0};
    (void)state;
    send(one, 5, 1000, 25);
    for (unsigned i = 0; i < 3; i++) {
        pd_agent_digests_split(digests, &record, true, true, keep, &parts);
    }
    uint64_t known = 0, pkts = 0, bytes = 0;
    for (size_t i = 0; i < parts.len; i++) {
        known += parts.records[i].mark ? parts.records[i].pkts : 0;
        pkts += parts.records[i].pkts;
        bytes += parts.records[i].bytes;
        assert_true(parts.records[i].first_ns <= parts.records[i].last_ns);
    }
    assert_int_equal(known, 25);
    assert_int_equal(pkts, 30);
    assert_int_equal(bytes, 1200);
}

static void flows_without_digests_stay_whole(void **state)
{
    struct pd_trajectory_record record = record_of(5);
    struct parts parts = {.len = 0};
    (void)state;
    record.flow.src_port = 1;
    record.mark = 77;
    pd_agent_digests_split(digests, &record, true, true, keep, &parts);
    assert_int_equal(parts.len, 1);
    assert_int_equal(parts.records[0].mark, 0);
    assert_int_equal(parts.records[0].pkts, 5);
}

/* Small enough to be solved from checksums alone. */
static void walks_beside_the_file_raise_an_alarm(void **state)
{
    (void)state;
    send(crossed, 5, 2000, 200);
    json_t *list = pd_alarms_json(alarms);
    char *text = json_dumps(list, JSON_COMPACT);
    assert_non_null(strstr(text, "not in the topology: the walk 1,9,20,11,3"));
    free(text);
    json_decref(list);
}

/* Every hop has its own value, and every packet tells one of them. */
static uint64_t expect_values(const uint8_t *extra, uint32_t extra_bytes, size_t len)
{
    const struct pd_tib_record record = {.extra = extra, .extra_bytes = extra_bytes};
    struct pd_telemetry_column column;
    struct pd_telemetry_series series;
    struct pd_tib_extra chunk;
    uint32_t at = 0;
    uint64_t samples = 0;

    assert_true(pd_tib_extra_valid(extra, extra_bytes));
    assert_true(pd_tib_extra_next(&record, &at, &chunk));
    assert_int_equal(chunk.kind, PD_TELEMETRY_COLUMN_KIND);
    assert_int_equal(pd_telemetry_column_open(chunk.bytes, chunk.len, &column), 0);
    assert_int_equal(column.host, 25); /* 10.2.1.2 */
    series.name[0] = '\0';
    while (pd_telemetry_column_next(&column, &series)) {
        assert_string_equal(series.name, "latency");
        assert_in_range(series.place, 1, len);
        assert_int_equal(series.len, 1);
        assert_int_equal(series.bins[0].value, latencies[series.place - 1]);
        samples += series.bins[0].count;
    }
    return samples;
}

static void values_go_with_their_path(void **state)
{
    struct pd_trajectory_record record = record_of(80);
    static struct parts parts;
    (void)state;
    record.flow.src_port = 40001;
    send_from(40001, one, 5, 0, 50);
    send_from(40001, two, 7, 50, 30);
    pd_agent_digests_split(digests, &record, false, false, keep, &parts);
    assert_int_equal(parts.extra_bytes[0], 0);  /* not asked for */
    for (unsigned take = 0; take < 2; take++) { /* a look takes nothing away */
        parts.len = 0;
        pd_agent_digests_split(digests, &record, take, true, keep, &parts);
        assert_int_equal(parts.len, 2);
        assert_int_equal(expect_values(parts.extras[0], parts.extra_bytes[0], 5), 50);
        assert_int_equal(expect_values(parts.extras[1], parts.extra_bytes[1], 7), 30);
    }
    parts.len = 0;
    send_from(40001, one, 5, 100, 10);
    record.pkts = 10;
    pd_agent_digests_split(digests, &record, true, true, keep, &parts);
    assert_int_equal(expect_values(parts.extras[0], parts.extra_bytes[0], 5), 10);
}

/* Flows that nobody has, a packet each, are as many as there is room for and more: flows that are
 * known keep their paths, and each packet without room is counted. */
static void a_flood_takes_no_known_path_away(void **state)
{
    struct pd_trajectory_record record = record_of(60);
    struct parts parts = {.len = 0};
    const uint64_t begun = counters.digests;
    (void)state;
    record.flow.src_port = 40002;
    send_from(40002, one, 5, 0, 30);
    assert_int_equal(counters.digests_lost, 0);
    for (unsigned port = 1; port <= FLOOD; port++) {
        send_from((uint16_t)port, two, 7, port, 1);
    }
    send_from(40002, one, 5, 30, 30);
    pd_agent_digests_split(digests, &record, true, true, keep, &parts);
    assert_int_equal(parts.len, 1);
    assert_int_equal(parts.records[0].pkts, 60);
    expect_path(&parts.records[0], one, 5);
    assert_int_equal(counters.digests - begun, 60 + FLOOD);
    assert_in_range(counters.digests_lost, FLOOD - FLOWS_MAX + 1, FLOOD - FLOWS_MAX + 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_split_by_path),
        cmocka_unit_test(parts_never_exceed_the_record),
        cmocka_unit_test(flows_without_digests_stay_whole),
        cmocka_unit_test(walks_beside_the_file_raise_an_alarm),
        cmocka_unit_test(values_go_with_their_path),
        cmocka_unit_test(a_flood_takes_no_known_path_away),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

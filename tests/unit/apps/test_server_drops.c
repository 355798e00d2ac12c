/* SPDX-License-Identifier: Apache-2.0 */
/* server-drops: what arrives twice the server had dropped, what arrives once the network had;
 * nothing is said without evidence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/apps/fake_world.h"

enum { MSS = 1448, HEADER = 52, SENT = 1000 };

static int set_up(void **state)
{
    *state = fake_world_new(4);
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    fake_world_free(*state);
    return 0;
}

static json_t *last_poor(struct fake_world *world)
{
    return json_array_get(world->poor, json_array_size(world->poor) - 1);
}

/* A connection of 1000 segments to host 25; of those sent again, `twice` had arrived before. Its
 * records are two slices. */
static void add_flow(struct fake_world *world, const char *src, uint32_t host, uint16_t port,
                     const char *path, uint64_t resent, uint64_t twice)
{
    uint64_t pkts = SENT + twice;
    struct pd_flow_id flow = fake_world_record(world, src, port, "10.2.1.2", 80, path, 9000000,
                                               5000000, (pkts - 400) * (MSS + HEADER), pkts - 400)
                                 ->flow;

    fake_world_record(world, src, port, "10.2.1.2", 80, path, 5000000, 1000, 400 * (MSS + HEADER),
                      400);
    fake_world_poor(world, host, &flow, resent, 1000000);
    json_object_set_new(last_poor(world), "bytes_acked", json_integer(SENT * MSS + 1));
    json_object_set_new(last_poor(world), "mss_bytes", json_integer(MSS));
    json_object_set_new(last_poor(world), "opened_us",
                        json_integer((json_int_t)(FAKE_NOW_US - 9000000)));
}

static const char *lost_by(const json_t *report)
{
    return json_string_value(
        json_object_get(json_array_get(report_rows(report, "servers"), 0), "lost_by"));
}

static void what_arrives_twice_the_server_dropped(void **state)
{
    struct fake_world *world = *state;

    add_flow(world, "10.1.1.2", 21, 1, "1,9,17,11,3", 100, 100);
    add_flow(world, "10.3.1.2", 29, 2, "5,13,17,11,3", 100, 98);
    json_t *report = fake_world_run(world, "server-drops", NULL);
    assert_string_equal(lost_by(report), "server");
    assert_int_equal(json_array_size(json_object_get(report, "flows")), 2);
    json_decref(report);
}

static void what_arrives_once_the_network_lost(void **state)
{
    struct fake_world *world = *state;

    add_flow(world, "10.1.1.2", 21, 1, "1,9,17,11,3", 100, 0);
    json_t *report = fake_world_run(world, "server-drops", "{\"server\": 25}");
    assert_string_equal(lost_by(report), "network");
    json_decref(report);
}

static void without_losses_nothing_is_reported(void **state)
{
    struct fake_world *world = *state;
    json_t *report = fake_world_run(world, "server-drops", NULL);

    assert_null(report_rows(report, "servers"));
    assert_false(report_certain(report));
    json_decref(report);
    add_flow(world, "10.1.1.2", 21, 1, "1,9,17,11,3", 2, 0);
    report = fake_world_run(world, "server-drops", NULL);
    assert_null(report_rows(report, "servers"));
    assert_false(report_certain(report));
    json_decref(report);
}

static void a_server_that_does_not_open_is_told(void **state)
{
    struct fake_world *world = *state;
    struct pd_flow_id flow = fake_world_record(world, "10.1.1.2", 1, "10.2.1.2", 80, "1,9,17,11,3",
                                               9000000, 1000, 7 * 60, 7)
                                 ->flow;

    fake_world_poor(world, 21, &flow, 6, 0);
    json_t *report = fake_world_run(world, "server-drops", NULL);
    assert_string_equal(lost_by(report), "server");
    assert_false(report_certain(report));
    json_decref(report);
}

/* A host without an intake has no records: that no SYN came is not known there. One record of any
 * other flow, and it is. */
static void silence_counts_where_packets_are_seen(void **state)
{
    struct fake_world *world = *state;
    struct pd_flow_id flow = fake_world_record(world, "10.1.1.2", 1, "10.2.1.2", 80, "1,9,17,11,3",
                                               9000000, 1000, 7 * 60, 7)
                                 ->flow;

    world->records_len = 0;
    fake_world_poor(world, 21, &flow, 6, 0);
    json_t *report = fake_world_run(world, "server-drops", NULL);
    assert_null(report_rows(report, "servers"));
    assert_false(report_certain(report));
    assert_true(report_has(report, "lacks", "not there"));
    json_decref(report);
    fake_world_record(world, "10.3.1.2", 9, "10.2.1.2", 81, "5,13,17,11,3", 9000000, 1000, 90000,
                      60);
    report = fake_world_run(world, "server-drops", NULL);
    assert_string_equal(lost_by(report), "network");
    json_decref(report);
}

static void records_that_are_missing_are_said(void **state)
{
    struct fake_world *world = *state;

    add_flow(world, "10.1.1.2", 21, 1, "1,9,17,11,3", 100, 100);
    world->records_len = 1;
    json_t *report = fake_world_run(world, "server-drops", NULL);
    assert_null(report_rows(report, "servers"));
    assert_true(report_has(report, "lacks", "not complete"));
    json_decref(report);
    fake_world_missing(world, 25, "timeout");
    report = fake_world_run(world, "server-drops", NULL);
    assert_null(report_rows(report, "servers"));
    assert_false(report_certain(report));
    json_decref(report);
}

static void hostile_input_is_survived(void **state)
{
    struct fake_world *world = *state;

    add_flow(world, "10.1.1.2", 21, 1, "1,9,17,11,3", 100, 0);
    json_object_set_new(last_poor(world), "bytes_acked", json_real(1e300));
    json_object_set_new(last_poor(world), "mss_bytes", json_string("many"));
    json_object_set_new(last_poor(world), "pkts_out", json_integer(-5));
    json_array_append_new(world->poor, json_pack("{s:i, s:i}", "host", 21, "flow_id", 7));
    json_t *report = fake_world_run(world, "server-drops", NULL);
    assert_false(report_certain(report));
    json_decref(report);
    assert_true(fake_world_fails(world, "server-drops", "{\"server\": 4711}") < 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_arrives_twice_the_server_dropped),
        TEST(what_arrives_once_the_network_lost),
        TEST(without_losses_nothing_is_reported),
        TEST(a_server_that_does_not_open_is_told),
        TEST(silence_counts_where_packets_are_seen),
        TEST(records_that_are_missing_are_said),
        TEST(hostile_input_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

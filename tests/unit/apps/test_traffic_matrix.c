/* SPDX-License-Identifier: Apache-2.0 */
/* traffic-matrix: sums by pairs of racks, silence, wrong rows, hosts that are missing. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

#include "fake_world.h"

static void add_flows(struct fake_world *world)
{
    fake_world_record(world, "10.1.1.2", 1000, "10.2.1.2", 80, "1,9,17,11,3", 2000000, 1000000,
                      700000, 500);
    fake_world_record(world, "10.1.1.3", 1001, "10.2.1.3", 80, "1,10,19,12,3", 2000000, 1000000,
                      200000, 200);
    fake_world_record(world, "10.1.2.2", 1002, "10.1.1.2", 80, "2,9,1", 2000000, 1000000, 100000,
                      100);
    /* an hour ago */
    fake_world_record(world, "10.4.1.2", 1003, "10.1.1.2", 80, "7,15,17,9,1", 3600000000,
                      3599000000, 5000, 5);
}

static json_int_t number(const json_t *row, const char *member)
{
    return json_integer_value(json_object_get(row, member));
}

static void pairs_are_summed_and_sorted(void **state)
{
    struct fake_world *world = fake_world_new(4);
    json_t *report;
    (void)state;

    add_flows(world);
    report = fake_world_run(world, "traffic-matrix", NULL);
    const json_t *pairs = report_rows(report, "pairs"), *first = json_array_get(pairs, 0);
    assert_int_equal(json_array_size(pairs), 2);
    assert_int_equal(number(first, "src_switch"), 1);
    assert_int_equal(number(first, "dst_switch"), 3);
    assert_int_equal(number(first, "bytes"), 900000);
    assert_int_equal(number(first, "pkts"), 700);
    assert_true(report_certain(report));
    assert_string_equal(report_verdict(report), "1 MB in 60 s between 2 pairs of racks; most from "
                                                "1 to 3 900 kB (90 %), 2 to 1 100 kB (10 %)");
    json_decref(report);
    report = fake_world_run(world, "traffic-matrix", "{\"window\":7200}");
    assert_int_equal(json_array_size(report_rows(report, "pairs")), 3);
    json_decref(report);
    fake_world_free(world);
}

static void without_traffic_there_is_nothing(void **state)
{
    struct fake_world *world = fake_world_new(4);
    json_t *report = fake_world_run(world, "traffic-matrix", NULL);
    (void)state;

    assert_string_equal(report_verdict(report), "no traffic in 60 s");
    assert_false(report_certain(report));
    json_decref(report);
    fake_world_free(world);
}

static void missing_hosts_are_named(void **state)
{
    struct fake_world *world = fake_world_new(4);
    json_t *report;
    (void)state;

    add_flows(world);
    fake_world_missing(world, world->topology->hosts[0].id, "it is off");
    report = fake_world_run(world, "traffic-matrix", NULL);
    assert_false(report_certain(report));
    assert_true(report_has(report, "lacks", "it is off"));
    assert_int_equal(json_array_size(report_rows(report, "pairs")), 1);
    json_decref(report);
    fake_world_free(world);
}

static void wrong_rows_are_counted(void **state)
{
    struct fake_world *world = fake_world_new(4);
    json_t *report;
    (void)state;

    fake_world_canned(world, "trafficMatrix",
                      "{\"pairs\":[{\"src_switch\":1,\"dst_switch\":3,\"bytes\":10,\"pkts\":1},"
                      "{\"src_switch\":99,\"dst_switch\":3,\"bytes\":10,\"pkts\":1},"
                      "{\"src_switch\":1,\"dst_switch\":3,\"bytes\":-10,\"pkts\":1},7,null,"
                      "{\"src_switch\":1.5,\"dst_switch\":\"3\",\"bytes\":10,\"pkts\":1}]}");
    report = fake_world_run(world, "traffic-matrix", NULL);
    assert_int_equal(json_array_size(report_rows(report, "pairs")), 1);
    assert_true(report_has(report, "lacks", "4 rows"));
    assert_true(report_has(report, "lacks", "1 rows of an answer (pairs) name switches"));
    assert_false(report_certain(report));
    json_decref(report);
    fake_world_canned(world, "trafficMatrix", "[1]");
    fake_world_fails(world, "traffic-matrix", NULL);
    assert_int_equal(fake_world_fails(world, "traffic-matrix", "{\"from\":2e9,\"to\":1e9}"),
                     -PD_E_VALUE);
    fake_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_summed_and_sorted),
        cmocka_unit_test(without_traffic_there_is_nothing),
        cmocka_unit_test(missing_hosts_are_named),
        cmocka_unit_test(wrong_rows_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

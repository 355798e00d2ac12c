/* SPDX-License-Identifier: Apache-2.0 */
/* congested-link and load-imbalance with what ports measured: more than arrived counts, less does
 * not; rows that are none are left out. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <string.h>

#include "fake_world.h"

enum { FLOWS = 200 };

/* 10 s of so many Mb/s. */
static void flow(struct fake_world *world, uint16_t port, const char *path, double mbps)
{
    uint64_t bytes = (uint64_t)(mbps * 1e6 / 8 * 10);

    fake_world_record(world, "10.1.1.2", port, "10.2.1.2", 80, path, 10000000, 0, bytes,
                      bytes / 1400 + 1);
}

#define ROW(sw, to, ppm)                                                                       \
    "{\"switch\":" sw ",\"to\":" to ",\"samples\":4,\"values\":[[" ppm ",3],[0,1]],\"low\":1," \
    "\"high\":2,\"quantiles\":{\"0.5\":1},\"max\":9}"

static void measure(struct fake_world *world, const char *rows)
{
    char answer[3000];

    snprintf(answer, sizeof answer, "{\"rows\":[%s],\"complete\":true}", rows);
    fake_world_canned(world, "getTelemetry", answer);
}

/* 30 % arrived over 9-17, its port was busy for 90 %: of four samples three of 1.2. */
static void a_port_that_sent_more_is_congested(void **state)
{
    struct fake_world *world = fake_world_new(4);
    json_t *report;

    (void)state;
    world->world.link_mbps = 100;
    flow(world, 1, "1,9,17,11,3", 30);
    measure(world, ROW("9", "17", "1200000") "," ROW("17", "11", "100000") ",7,{\"switch\":9}," ROW(
                       "9", "18", "-5") "," ROW("9", "99", "1e300"));
    report = fake_world_run(world, "congested-link", NULL);
    assert_int_equal(json_array_size(json_object_get(report, "links")), 1);
    assert_string_equal(json_string_value(json_array_get(json_object_get(report, "links"), 0)),
                        "9-17");
    assert_true(report_has(report, "evidence", "the ports of 2 of 64 links measured"));
    assert_true(report_has(report, "evidence", "9-17 is 90 % full"));
    json_decref(report);
    fake_world_free(world);
}

/* What arrived was sent, whatever a port says. */
static void what_arrived_counts_at_least(void **state)
{
    struct fake_world *world = fake_world_new(4);
    json_t *report;

    (void)state;
    world->world.link_mbps = 100;
    flow(world, 1, "1,9,17,11,3", 95);
    measure(world, ROW("9", "17", "1000"));
    report = fake_world_run(world, "congested-link", NULL);
    assert_int_equal(json_array_size(json_object_get(report, "links")), 4);
    json_decref(report);
    fake_world_free(world);
}

static json_t *balance(struct fake_world *world, const char *rows)
{
    for (unsigned i = 0; i < FLOWS; i++) {
        flow(world, (uint16_t)(1000 + i), i % 2 ? "1,9,17,11,3" : "1,9,18,11,3", .01);
    }
    measure(world, rows);
    return fake_world_run(world, "load-imbalance", "{\"switch\":9}");
}

/* As many flows and bytes arrived over both ways; one of the ports had four times the load. */
static void loads_are_those_of_the_ports(void **state)
{
    struct fake_world *world = fake_world_new(4);
    json_t *report = balance(world, ROW("9", "17", "800000") "," ROW("9", "18", "200000"));

    (void)state;
    assert_true(report_certain(report));
    assert_string_equal(json_string_value(json_array_get(json_object_get(report, "links"), 0)),
                        "9-17");
    assert_true(report_has(report, "evidence", "the utilisation that ports measured"));
    json_decref(report);
    fake_world_free(world);
}

/* One port of two says nothing of how they compare. */
static void a_group_is_measured_as_a_whole(void **state)
{
    struct fake_world *world = fake_world_new(4);
    json_t *report = balance(world, ROW("9", "17", "800000"));

    (void)state;
    assert_int_equal(json_array_size(json_object_get(report, "links")), 0);
    assert_false(report_has(report, "evidence", "measured"));
    json_decref(report);
    fake_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_that_sent_more_is_congested),
        cmocka_unit_test(what_arrived_counts_at_least),
        cmocka_unit_test(loads_are_those_of_the_ports),
        cmocka_unit_test(a_group_is_measured_as_a_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

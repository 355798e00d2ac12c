/* SPDX-License-Identifier: Apache-2.0 */
/* congested-link: full links and their relief, room that is taken once, links with room, long
 * records, bad answers. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <string.h>

#include "fake_world.h"

/* 10 s of so many Mb/s. */
static void flow(struct fake_world *world, uint16_t port, const char *path, double mbps)
{
    uint64_t bytes = (uint64_t)(mbps * 1e6 / 8 * 10);

    fake_world_record(world, "10.1.1.2", port, "10.2.1.2", 80, path, 10000000, 0, bytes,
                      bytes / 1400 + 1);
}

static const char *move_to(const json_t *report, size_t i)
{
    return json_string_value(
        json_object_get(json_array_get(report_rows(report, "moves"), i), "to"));
}

static void flows_are_moved_to_where_there_is_room(void **state)
{
    struct fake_world *world = fake_world_new(4);
    json_t *report;
    (void)state;

    world->world.link_mbps = 100;
    flow(world, 1, "1,9,17,11,3", 40);
    flow(world, 2, "1,9,17,11,3", 30);
    flow(world, 3, "1,9,17,11,3", 25);
    flow(world, 4, "1,10,19,12,3", 35); /* 19 has no room for the first, 20 has not either: 10-12 */
    report = fake_world_run(world, "congested-link", NULL);
    assert_non_null(strstr(report_verdict(report), "4 links are more than 80 % full"));
    assert_true(report_certain(report));
    assert_int_equal(json_array_size(json_object_get(report, "links")), 4);
    /* 1-10 and 12-3 are shared by both ways of position 2: 35 + 30 fit under 70, 35 + 40 do not */
    assert_int_equal(json_array_size(report_rows(report, "moves")), 1);
    assert_string_equal(move_to(report, 0), "1-10-20-12-3");
    assert_int_equal(json_array_size(json_object_get(report, "flows")), 1);
    assert_true(report_has(report, "evidence", "1-9 is 95 % full; with 1 flow moved"));
    json_decref(report);
    fake_world_free(world);
}

/* Two flows want the same room. */
static void room_is_given_once(void **state)
{
    struct fake_world *world = fake_world_new(4);
    json_t *report;
    (void)state;

    world->world.link_mbps = 100;
    flow(world, 1, "1,9,17,11,3", 50);
    flow(world, 2, "1,9,18,11,3", 50);
    flow(world, 3, "1,9,18,11,3", 60);
    report = fake_world_run(world, "congested-link", NULL);
    assert_int_equal(json_array_size(report_rows(report, "moves")), 1);
    assert_true(report_has(report, "evidence", "the moves that find room leave"));
    json_decref(report);
    fake_world_free(world);
}

static void links_with_room_are_not_named(void **state)
{
    struct fake_world *world = fake_world_new(4);
    json_t *report;
    (void)state;

    world->world.link_mbps = 100;
    report = fake_world_run(world, "congested-link", NULL);
    assert_string_equal(report_verdict(report), "no traffic");
    assert_false(report_certain(report));
    json_decref(report);
    flow(world, 1, "1,9,17,11,3", 40);
    /* a minute of 100 Mb/s that ended nine seconds ago: a tenth of the window */
    fake_world_record(world, "10.1.1.3", 9, "10.2.1.2", 80, "1,9,17,11,3", 69000000, 9000000,
                      750000000, 500000);
    report = fake_world_run(world, "congested-link", NULL);
    assert_non_null(strstr(report_verdict(report), "no link is congested: the fullest is"));
    assert_non_null(strstr(report_verdict(report), "50 %"));
    assert_int_equal(json_array_size(json_object_get(report, "links")), 0);
    assert_null(report_rows(report, "moves"));
    json_decref(report);
    fake_world_free(world);
}

static void what_is_wrong_or_missing_is_said(void **state)
{
    struct fake_world *world = fake_world_new(4);
    json_t *report;
    (void)state;

    flow(world, 3, "1,9,17,11,3", 95); /* of what nobody knows */
    report = fake_world_run(world, "congested-link", NULL);
    assert_true(report_has(report, "lacks", "link_mbps"));
    assert_non_null(strstr(report_verdict(report), "the busiest is 1-9, 95 Mb/s"));
    assert_int_equal(json_array_size(json_object_get(report, "links")), 0);
    assert_int_equal(json_array_size(report_rows(report, "links")), 4);
    json_decref(report);
    world->records_len = 0;
    assert_int_equal(fake_world_fails(world, "congested-link",
                                      "{\"link_mbps\":10,\"above\":0.5,\"target\":0.6}"),
                     -PD_E_VALUE);
    world->world.link_mbps = 100;
    flow(world, 1, "1,9,17,11,3", 95);
    flow(world, 2, "1,18,3", 95);
    fake_world_missing(world, 22, "it is off");
    report = fake_world_run(world, "congested-link", NULL);
    assert_true(report_has(report, "lacks", "it is off"));
    assert_true(report_has(report, "lacks", "1 flows have a path that does not exist"));
    assert_false(report_certain(report));
    json_decref(report);
    fake_world_canned(world, "getFlows", "{\"flows\":{}}");
    fake_world_fails(world, "congested-link", NULL);
    fake_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flows_are_moved_to_where_there_is_room),
        cmocka_unit_test(room_is_given_once),
        cmocka_unit_test(links_with_room_are_not_named),
        cmocka_unit_test(what_is_wrong_or_missing_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

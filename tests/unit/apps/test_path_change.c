/* SPDX-License-Identifier: Apache-2.0 */
/* path-change: flows that moved off a link, flows in turns, and none. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <string.h>

#include "fake_world.h"

#define S UINT64_C(1000000)

/* On one path until 20 s ago, then on another one. */
static void move(struct fake_world *world, uint16_t port, const char *from, const char *to)
{
    fake_world_record(world, "10.1.1.2", port, "10.2.1.2", 80, from, 50 * S, 20 * S, 100000, 100);
    fake_world_record(world, "10.1.1.2", port, "10.2.1.2", 80, to, 19 * S, 1 * S, 100000, 100);
}

static void the_link_that_all_left_is_named(void **state)
{
    struct fake_world *world = fake_world_new(4);
    (void)state;
    for (uint16_t port = 1; port <= 20; port++) {
        move(world, port, "1,9,17,11,3", port % 2 ? "1,9,18,11,3" : "1,10,19,12,3");
        fake_world_record(world, "10.1.1.2", (uint16_t)(1000 + port), "10.2.1.2", 80, "1,9,18,11,3",
                          50 * S, 1 * S, 100000, 100);
        fake_world_record(world, "10.1.1.2", (uint16_t)(2000 + port), "10.2.1.2", 80, "1,9,17,11,3",
                          50 * S, 20 * S, 100000, 100); /* has ended */
    }
    json_t *report = fake_world_run(world, "path-change", NULL);
    const json_t *links = json_object_get(report, "links");
    assert_string_equal(report_verdict(report), "20 changes of paths");
    assert_true(report_certain(report));
    assert_int_equal(json_array_size(links), 2); /* 9-17 and, behind it, 17-11 */
    assert_string_equal(json_string_value(json_array_get(links, 0)), "9-17");
    assert_string_equal(json_string_value(json_array_get(links, 1)), "17-11");
    assert_int_equal(json_array_size(report_rows(report, "changes")), 20);
    assert_int_equal(json_array_size(json_object_get(report, "flows")), 20);
    json_decref(report);
    fake_world_free(world);
}

static void a_link_that_is_used_is_not_named(void **state)
{
    struct fake_world *world = fake_world_new(4);
    (void)state;
    move(world, 1, "1,9,17,11,3", "1,10,19,12,3");
    fake_world_record(world, "10.1.1.2", 99, "10.2.1.2", 80, "1,9,17,11,3", 50 * S, 1 * S, 1000, 1);
    json_t *report = fake_world_run(world, "path-change", NULL);
    assert_string_equal(report_verdict(report), "1 change of paths");
    const json_t *links = json_object_get(report, "links"), *link;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)links, i, link)
    {
        assert_string_not_equal(json_string_value(link), "9-17");
    }
    json_decref(report);
    fake_world_free(world);
}

static void turns_are_no_changes(void **state)
{
    struct fake_world *world = fake_world_new(4);
    (void)state;
    json_t *report = fake_world_run(world, "path-change", NULL);
    assert_string_equal(report_verdict(report), "no traffic");
    assert_false(report_certain(report));
    json_decref(report);
    fake_world_record(world, "10.1.1.2", 1, "10.2.1.2", 80, "1,9,17,11,3", 50 * S, 1 * S, 1000, 1);
    fake_world_record(world, "10.1.1.2", 1, "10.2.1.2", 80, "1,9,18,11,3", 40 * S, 2 * S, 1000, 1);
    fake_world_record(world, "10.1.1.2", 2, "10.2.1.2", 80, "1,9,18,11,3", 40 * S, 2 * S, 1000, 1);
    report = fake_world_run(world, "path-change", NULL);
    assert_string_equal(report_verdict(report), "no flow changed its path");
    assert_true(report_has(report, "evidence", "1 flows go several ways in turns"));
    assert_int_equal(json_array_size(json_object_get(report, "links")), 0);
    json_decref(report);
    fake_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_link_that_all_left_is_named),
        cmocka_unit_test(a_link_that_is_used_is_not_named),
        cmocka_unit_test(turns_are_no_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* miscabling: walks in alarms, cables beside the file, words that are none. */
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

static void alarm_with(struct fake_world *world, const char *words)
{
    const struct pd_flow_id flow = {.src.bytes = {10, 1, 1, 2},
                                    .dst.bytes = {10, 2, 1, 2},
                                    .src_port = 7,
                                    .dst_port = 80,
                                    .protocol = 6,
                                    .ip_version = 4};
    fake_world_alarm(world, 25, "INFEASIBLE_PATH", &flow);
    json_t *alarm = json_array_get(world->alarms, json_array_size(world->alarms) - 1);
    json_object_set_new(alarm, "detail", json_string(words));
}

static void cables_beside_the_file_are_named(void **state)
{
    struct fake_world *world = fake_world_new(4);
    (void)state;
    alarm_with(world, "not in the topology: the walk 1,9,20,11,3");
    alarm_with(world, "not in the topology: the walk 2,9,20,11,3");
    fake_world_record(world, "10.1.1.2", 1, "10.2.1.2", 80, "1,9,18,11,3", 5 * S, 1 * S, 1000, 1);
    json_t *report = fake_world_run(world, "miscabling", NULL);
    const json_t *links = json_object_get(report, "links"), *row;
    bool missing = false;
    size_t i;
    assert_int_equal(json_array_size(links), 2); /* 9-20, and 20-11: core 20 is of other switches */
    assert_string_equal(json_string_value(json_array_get(links, 0)), "9-20");
    assert_true(report_certain(report));
    assert_non_null(strstr(report_verdict(report), "the first joins 9 and 20"));
    json_array_foreach((json_t *)(uintptr_t)report_rows(report, "missing"), i, row)
    {
        const json_int_t sw = json_integer_value(json_object_get(row, "switch"));
        const json_int_t to = json_integer_value(json_object_get(row, "to"));
        missing |= sw == 9 && to == 17;
        assert_false(sw == 9 && to == 18); /* that one was crossed */
    }
    assert_true(missing);
    json_decref(report);
    fake_world_free(world);
}

static void words_that_are_none_are_passed_over(void **state)
{
    struct fake_world *world = fake_world_new(4);
    (void)state;
    alarm_with(world, "link tags that fit no path");
    alarm_with(world, "not in the topology: the walk ");
    alarm_with(world, "not in the topology: the walk 1,x");
    alarm_with(world, "not in the topology: the walk 1,,9");
    alarm_with(world, "");
    json_t *report = fake_world_run(world, "miscabling", NULL);
    assert_string_equal(report_verdict(report), "no walk was taken that the topology has not");
    assert_false(report_certain(report));
    json_decref(report);
    alarm_with(world, "not in the topology: the walk 1,4000000000,3");
    report = fake_world_run(world, "miscabling", NULL);
    assert_true(report_has(report, "lacks", "2 steps of walks are of switches"));
    assert_false(report_certain(report));
    json_decref(report);
    fake_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cables_beside_the_file_are_named),
        cmocka_unit_test(words_that_are_none_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* top-flows: order, heavy hitters and none, one link, what is cut off, wrong rows, hosts that are
 * missing. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <string.h>

#include "fake_world.h"

static void add_flows(struct fake_world *world, unsigned mice, uint64_t elephant)
{
    for (unsigned i = 0; i < mice; i++) {
        fake_world_record(world, "10.1.1.2", (uint16_t)(1000 + i), "10.2.1.2", 80, "1,9,17,11,3",
                          2000000, 1000000, 10000 + i, 10);
    }
    if (elephant) {
        fake_world_record(world, "10.3.1.2", 7, "10.2.1.2", 80, "5,13,17,11,3", 2000000, 1000000,
                          elephant, 1000);
    }
}

static void a_heavy_hitter_is_named(void **state)
{
    struct fake_world *world = fake_world_new(4);
    json_t *report;
    (void)state;

    add_flows(world, 50, 500000);
    report = fake_world_run(world, "top-flows", "{\"k\":5}");
    const json_t *rows = report_rows(report, "flows");
    assert_int_equal(json_array_size(rows), 5);
    assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "flow")),
                        "10.3.1.2:7 > 10.2.1.2:80");
    assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, 4), "bytes")), 10046);
    assert_non_null(strstr(report_verdict(report), "1 heavy hitter, each with 10 % of 1 MB"));
    assert_int_equal(json_array_size(json_object_get(report, "flows")), 1);
    assert_true(report_certain(report));
    json_decref(report);
    /* it does not cross this link */
    report = fake_world_run(world, "top-flows", "{\"link\":\"1-9\",\"k\":100}");
    assert_int_equal(json_array_size(report_rows(report, "flows")), 50);
    assert_int_equal(json_array_size(json_object_get(report, "flows")), 0);
    json_decref(report);
    /* one flow that is looked at, and heavy: there may be more */
    report = fake_world_run(world, "top-flows", "{\"k\":1}");
    assert_true(report_has(report, "lacks", "beyond the first 1"));
    assert_false(report_certain(report));
    json_decref(report);
    fake_world_free(world);
}

static void without_one_nothing_is_named(void **state)
{
    struct fake_world *world = fake_world_new(4);
    json_t *report = fake_world_run(world, "top-flows", NULL);
    (void)state;

    assert_string_equal(report_verdict(report), "no flows in 60 s");
    assert_false(report_certain(report));
    json_decref(report);
    add_flows(world, 50, 0);
    report = fake_world_run(world, "top-flows", NULL);
    assert_non_null(strstr(report_verdict(report), "no heavy hitters"));
    assert_int_equal(json_array_size(json_object_get(report, "flows")), 0);
    json_decref(report);
    fake_world_free(world);
}

static void what_is_wrong_or_missing_is_said(void **state)
{
    static const char *const wrong[] = {"{\"k\":0}", "{\"k\":100000}", "{\"share\":0}",
                                        "{\"share\":1.5}", "{\"by\":\"colour\"}"};
    struct fake_world *world = fake_world_new(4);
    json_t *report;
    (void)state;

    add_flows(world, 5, 0);
    fake_world_missing(world, 23, "it is off");
    report = fake_world_run(world, "top-flows", NULL);
    assert_true(report_has(report, "lacks", "it is off"));
    assert_false(report_certain(report));
    json_decref(report);
    fake_world_canned(world, "topFlows",
                      "{\"top\":[{\"flow_id\":{\"src_ip\":\"x\"},\"bytes\":1,\"pkts\":1},3]}");
    report = fake_world_run(world, "top-flows", NULL);
    assert_true(report_has(report, "lacks", "2 rows"));
    assert_false(report_certain(report));
    json_decref(report);
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(fake_world_fails(world, "top-flows", wrong[i]), -PD_E_VALUE);
    }
    fake_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_heavy_hitter_is_named),
        cmocka_unit_test(without_one_nothing_is_named),
        cmocka_unit_test(what_is_wrong_or_missing_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

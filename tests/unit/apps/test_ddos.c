/* SPDX-License-Identifier: Apache-2.0 */
/* ddos: many sources and few, found by itself and asked for, by path and by where they come in, bad
 * answers. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <string.h>

#include "fake_world.h"

/* So many addresses of pods 2 to 4, each with two flows to one host. */
static void attack(struct fake_world *world, unsigned sources)
{
    char src[32], path[32];

    for (unsigned i = 0; i < 2 * sources; i++) {
        unsigned pod = 2 + i / 2 % 3;

        snprintf(src, sizeof src, "10.%u.1.%u", pod, 2 + i / 6);
        snprintf(path, sizeof path, "%u,%u,17,9,1", 2 * pod - 1, 7 + 2 * pod);
        fake_world_record(world, src, (uint16_t)(1000 + i), "10.1.1.2", 80, path, 5000000, 0, 60000,
                          1000);
    }
}

static void background(struct fake_world *world)
{
    for (unsigned i = 0; i < 300; i++) {
        fake_world_record(world, "10.2.2.2", (uint16_t)i, "10.4.1.2", 80, "4,11,17,15,7", 5000000,
                          0, 900000, 700);
    }
}

static void many_sources_are_found(void **state)
{
    static const char *const questions[] = {NULL, "{\"dst_ip\":\"10.1.1.2\"}"};
    struct fake_world *world = fake_world_new(4);
    (void)state;

    background(world);
    attack(world, 150);
    for (unsigned i = 0; i < 2; i++) {
        json_t *report = fake_world_run(world, "ddos", questions[i]);
        const json_t *source = json_array_get(report_rows(report, "sources"), 0);

        assert_non_null(strstr(report_verdict(report),
                               "150 sources send 18 MB to 10.1.1.2 in 60 s, by 3 "
                               "paths from 3 switches"));
        assert_true(report_certain(report));
        assert_int_equal(json_array_size(report_rows(report, "sources")), 150);
        assert_int_equal(json_array_size(report_rows(report, "paths")), 3);
        assert_int_equal(json_array_size(report_rows(report, "ingress")), 3);
        assert_int_equal(json_array_size(json_object_get(report, "switches")), 3);
        assert_int_equal(json_integer_value(json_object_get(source, "bytes")), 120000);
        assert_int_equal(json_integer_value(json_object_get(source, "flows")), 2);
        assert_int_equal(json_array_size(report_rows(report, "destinations")), i ? 1 : 2);
        json_decref(report);
    }
    fake_world_free(world);
}

static void few_sources_are_nothing(void **state)
{
    struct fake_world *world = fake_world_new(4);
    json_t *report = fake_world_run(world, "ddos", NULL);
    (void)state;

    assert_string_equal(report_verdict(report), "no flows in 60 s");
    assert_false(report_certain(report));
    json_decref(report);
    background(world);
    attack(world, 50);
    report = fake_world_run(world, "ddos", NULL);
    assert_non_null(strstr(report_verdict(report), "nothing: 10.1.1.2 has the most sources, 50"));
    assert_int_equal(json_array_size(json_object_get(report, "switches")), 0);
    assert_int_equal(json_array_size(json_object_get(report, "flows")), 0);
    json_decref(report);
    report = fake_world_run(world, "ddos", "{\"sources\":20,\"mbps\":100}");
    assert_non_null(strstr(report_verdict(report), "nothing: "));
    json_decref(report);
    report = fake_world_run(world, "ddos", "{\"sources\":20,\"mbps\":0.5}");
    assert_non_null(strstr(report_verdict(report), "50 sources send"));
    json_decref(report);
    fake_world_free(world);
}

static void what_is_wrong_or_missing_is_said(void **state)
{
    struct fake_world *world = fake_world_new(4);
    json_t *report;
    (void)state;

    attack(world, 150);
    fake_world_missing(world, 36, "it is off");
    report = fake_world_run(world, "ddos", NULL);
    assert_true(report_has(report, "lacks", "it is off"));
    assert_false(report_certain(report));
    json_decref(report);
    fake_world_canned(world, "getFlows", "{\"flows\":[null,{\"path\":[1,9]},{\"flow_id\":{}}]}");
    report = fake_world_run(world, "ddos", NULL);
    assert_true(report_has(report, "lacks", "2 rows"));
    assert_false(report_certain(report));
    json_decref(report);
    assert_int_equal(fake_world_fails(world, "ddos", "{\"dst_ip\":\"10.1\"}"), -PD_E_VALUE);
    fake_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_sources_are_found),
        cmocka_unit_test(few_sources_are_nothing),
        cmocka_unit_test(what_is_wrong_or_missing_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

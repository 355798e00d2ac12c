/* SPDX-License-Identifier: Apache-2.0 */
/* drop-causes: the link that hurt most is first, each flow has its cause, and what cannot be known
 * is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/apps/fake_world.h"

/* Rows of getTraces, written one behind the other. */
struct traces {
    char text[32768];
    size_t len, rows;
};

/* Host 2 of rack `from` to host 2 of rack `to` of fat-tree(4), `ago_ms` before now. */
static void trace(struct traces *traces, unsigned port, unsigned from, unsigned to,
                  const char *path, bool reached, unsigned retransmissions, unsigned ago_ms)
{
    traces->len += (size_t)snprintf(
        traces->text + traces->len, sizeof traces->text - traces->len,
        "%s{\"flow_id\":{\"src_ip\":\"10.%u.%u.2\",\"dst_ip\":\"10.%u.%u.2\",\"src_port\":%u,"
        "\"dst_port\":80,\"protocol\":6},\"dip\":\"10.%u.%u.2\",\"path\":[%s],\"reached\":%s,"
        "\"consistent\":true,\"time_us\":%llu,\"epoch_us\":0,\"retransmissions\":%u,\"hops\":[]}",
        traces->rows++ ? "," : "{\"traces\":[", (from + 1) / 2, 2 - from % 2, (to + 1) / 2,
        2 - to % 2, port, (to + 1) / 2, 2 - to % 2, path, reached ? "true" : "false",
        (unsigned long long)(FAKE_NOW_US - ago_ms * 1000ULL), retransmissions);
}

static json_t *run(struct fake_world *world, struct traces *traces, const char *args)
{
    snprintf(traces->text + traces->len, sizeof traces->text - traces->len,
             "%s],\"complete\":true}", traces->rows ? "" : "{\"traces\":[");
    fake_world_canned(world, "getTraces", traces->text);
    return fake_world_run(world, "drop-causes", args);
}

/* Eight flows of two hosts lost packets over 9-17, two lost one elsewhere. */
static void suffer(struct traces *traces)
{
    for (unsigned i = 0; i < 8; i++) {
        const bool odd = i & 1;
        trace(traces, 1000 + i, odd ? 2 : 1, i < 4 ? 3 : 5,
              i < 4 ? (odd ? "2,9,17,11,3" : "1,9,17,11,3") : (odd ? "2,9,17,13,5" : "1,9,17,13,5"),
              true, 3, 5000);
    }
    trace(traces, 2000, 6, 7, "6,14,19,16,7", true, 1, 5000);
    trace(traces, 2001, 8, 4, "8,15,18,11,4", true, 1, 5000);
}

static void the_bad_link_is_first(void **state)
{
    struct fake_world *world = fake_world_new(4);
    struct traces traces = {.len = 0};
    const json_t *ranking, *causes, *row;
    size_t i, failures = 0;

    (void)state;
    suffer(&traces);
    json_t *report = run(world, &traces, "{\"flows\":true}");
    ranking = report_rows(report, "ranking");
    row = json_array_get(ranking, 0);
    assert_string_equal(json_string_value(json_object_get(row, "link")), "9-17");
    assert_int_equal(json_integer_value(json_object_get(row, "flows")), 8);
    assert_int_equal(json_integer_value(json_object_get(row, "hosts")), 2);
    assert_int_equal(json_integer_value(json_object_get(row, "retransmissions")), 24);
    causes = report_rows(report, "causes");
    assert_int_equal(json_array_size(causes), 10);
    json_array_foreach(causes, i, row)
    {
        const char *link = json_string_value(json_object_get(row, "link"));
        if (json_integer_value(json_object_get(row, "src_port")) < 2000) {
            assert_string_equal(link, "9-17");
            failures++;
        }
    }
    assert_int_equal(failures, 8);
    assert_int_equal(json_array_size(json_object_get(report, "flows")), 10);
    assert_false(report_certain(report));
    json_decref(report);
    fake_world_free(world);
}

static void nothing_is_said_of_nothing(void **state)
{
    struct fake_world *world = fake_world_new(4);
    struct traces traces = {.len = 0};

    (void)state;
    trace(&traces, 1, 1, 3, "1,9,17,11,3", true, 0, 5000);  /* it lost nothing: DSACK */
    trace(&traces, 2, 1, 3, "1,9,17,11,3", true, 5, 60000); /* before the window */
    json_t *report = run(world, &traces, NULL);
    assert_non_null(strstr(report_verdict(report), "no flow"));
    assert_int_equal(json_array_size(json_object_get(report, "links")), 0);
    json_decref(report);
    fake_world_free(world);
}

static void flows_are_chosen(void **state)
{
    struct fake_world *world = fake_world_new(4);
    struct traces traces = {.len = 0};

    (void)state;
    suffer(&traces);
    json_t *report = run(world, &traces, "{\"prefix\":\"10.4.0.0/16\"}");
    assert_int_equal(json_array_size(report_rows(report, "causes")), 2);
    json_decref(report);
    report = fake_world_run(world, "drop-causes", "{\"dst_port\":443}");
    assert_null(report_rows(report, "causes"));
    json_decref(report);
    assert_true(fake_world_fails(world, "drop-causes", "{\"prefix\":\"10.4.0.1/16\"}") < 0);
    assert_true(fake_world_fails(world, "drop-causes", "{\"symptom\":\"srtt\"}") < 0);
    assert_true(fake_world_fails(world, "drop-causes", "{\"method\":\"guess\"}") < 0);
    fake_world_free(world);
}

static void flows_without_a_path_are_told(void **state)
{
    struct fake_world *world = fake_world_new(4);
    struct traces traces = {.len = 0};

    (void)state;
    trace(&traces, 1, 1, 3, "", false, 4, 5000);
    trace(&traces, 2, 1, 3, "1,9", false, 4, 5000);
    json_t *report = run(world, &traces, NULL);
    assert_true(report_has(report, "lacks", "the paths of 1 flows"));
    assert_int_equal(json_array_size(report_rows(report, "causes")), 2);
    json_decref(report);
    fake_world_free(world);
}

/* Of a host that lies. */
static void rows_that_make_no_sense(void **state)
{
    static const char *const wrong[] = {
        "{\"traces\":[7,null,{}],\"complete\":true}",
        "{\"traces\":[{\"flow_id\":{},\"path\":[1]}],\"complete\":true}",
        "{\"traces\":[{\"flow_id\":{\"src_ip\":\"10.1.1.2\",\"dst_ip\":\"10.2.1.2\",\"src_port\":1,"
        "\"dst_port\":80,\"protocol\":6},\"path\":[-1],\"time_us\":1,\"retransmissions\":1}],"
        "\"complete\":true}"};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct fake_world *world = fake_world_new(4);

        fake_world_canned(world, "getTraces", wrong[i]);
        json_t *report = fake_world_run(world, "drop-causes", NULL);
        assert_true(report_has(report, "lacks", "made no sense"));
        json_decref(report);
        fake_world_free(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bad_link_is_first), cmocka_unit_test(nothing_is_said_of_nothing),
        cmocka_unit_test(flows_are_chosen), cmocka_unit_test(flows_without_a_path_are_told),
        cmocka_unit_test(rows_that_make_no_sense)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

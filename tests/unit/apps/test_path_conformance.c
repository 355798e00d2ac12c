/* SPDX-License-Identifier: Apache-2.0 */
/* path-conformance: the four rules, links that deviate, alarms, and answers that cannot be. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/flow_id.h"
#include "tests/unit/apps/fake_world.h"

#define S 1000000

/* 10.1.1.0/24 is the rack of switch 1, 10.2.1.0/24 that of 3; pod 2 has the ToRs 3, 4 and the aggs
 * 11, 12. */
static struct fake_world *new_world(void)
{
    struct fake_world *w = fake_world_new(4);

    fake_world_record(w, "10.1.1.2", 1000, "10.2.1.2", 80, "1,9,17,11,3", 10 * S, 5 * S, 9000, 9);
    fake_world_record(w, "10.1.1.3", 1001, "10.2.1.2", 80, "1,10,19,12,3", 10 * S, 5 * S, 9000, 9);
    return w;
}

static const char *text_of(const json_t *json, const char *list, size_t i)
{
    const char *text = json_string_value(json_array_get(json_object_get(json, list), i));

    return text ? text : "";
}

static size_t len_of(const json_t *json, const char *list)
{
    return json_array_size(json_object_get(json, list));
}

/* Section 4.1: a packet that takes the detour over another ToR. */
static void the_detour_is_found(void **unused)
{
    struct fake_world *w = new_world();
    json_t *json;

    (void)unused;
    fake_world_record(w, "10.1.1.2", 1002, "10.2.1.2", 80, "1,9,17,11,4,12,3", 9 * S, 8 * S, 500,
                      5);
    json = fake_world_run(w, "path-conformance", "{\"max_hops\": 4}");
    assert_int_equal(len_of(json, "links"), 2);
    assert_string_equal(text_of(json, "links", 0), "11-4");
    assert_string_equal(text_of(json, "links", 1), "4-12");
    assert_int_equal(len_of(json, "flows"), 1);
    assert_true(report_certain(json));
    assert_non_null(strstr(report_verdict(json), "1-9-17-11-4-12-3"));
    assert_true(report_has(json, "evidence", "word of host 25 alone"));
    json_decref(json);
    w->edges = (struct pd_app_edges){.held = 7, .open = 1, .first_open = 2};
    json = fake_world_run(w, "path-conformance", "{\"max_hops\": 4}");
    assert_int_equal(len_of(json, "flows"), 1);
    assert_false(report_certain(json));
    assert_true(report_has(json, "lacks", "the first is 2"));
    json_decref(json);
    w->edges = (struct pd_app_edges){.held = 8};
    json = fake_world_run(w, "path-conformance", "{\"max_hops\": 6, \"avoid\": [18]}");
    assert_string_equal(report_verdict(json), "all paths conform");
    assert_int_equal(len_of(json, "links") + len_of(json, "flows") + len_of(json, "lacks"), 0);
    json_decref(json);
    fake_world_free(w);
}

static void switches_to_avoid_and_to_pass(void **unused)
{
    struct fake_world *w = new_world();
    json_t *json = fake_world_run(w, "path-conformance", "{\"avoid\": [17]}");

    (void)unused;
    assert_int_equal(len_of(json, "flows"), 1);
    assert_string_equal(text_of(json, "links", 0), "9-17");
    assert_string_equal(text_of(json, "links", 1), "17-11");
    json_decref(json);
    json = fake_world_run(w, "path-conformance", "{\"must_pass\": [9]}");
    assert_int_equal(len_of(json, "flows"), 1);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(json, "switches"), 0)), 9);
    assert_int_equal(len_of(json, "links"), 0);
    json_decref(json);
    fake_world_free(w);
}

static void isolation(void **unused)
{
    struct fake_world *w = new_world();
    json_t *json =
        fake_world_run(w, "path-conformance", "{\"allow\": [[\"10.1.1.2/32\", \"10.2.0.0/16\"]]}");

    (void)unused;
    assert_int_equal(len_of(json, "flows"), 1);
    assert_string_equal(json_string_value(json_object_get(
                            json_array_get(json_object_get(json, "flows"), 0), "rule")),
                        "allow");
    json_decref(json);
    json =
        fake_world_run(w, "path-conformance", "{\"allow\": [[\"10.1.0.0/16\", \"10.2.0.0/16\"]]}");
    assert_int_equal(len_of(json, "flows"), 0);
    json_decref(json);
    fake_world_free(w);
}

/* Only the window counts; a host that is missing is said, and then nothing is certain. */
static void windows_and_hosts(void **unused)
{
    struct fake_world *w = new_world();
    json_t *json = fake_world_run(w, "path-conformance", "{\"max_hops\": 2, \"seconds\": 2}");

    (void)unused;
    assert_int_equal(len_of(json, "flows"), 0);
    json_decref(json);
    fake_world_missing(w, 25, "connection refused");
    json = fake_world_run(w, "path-conformance", NULL);
    assert_true(report_has(json, "lacks", "connection refused")); /* its alarms may be missing */
    json_decref(json);
    json = fake_world_run(w, "path-conformance", "{\"max_hops\": 2}");
    assert_false(report_certain(json));
    assert_true(report_has(json, "lacks", "connection refused"));
    json_decref(json);
    fake_world_free(w);
}

static void infeasible_trajectories_stand_apart(void **unused)
{
    struct fake_world *w = new_world();
    struct pd_tib_record *record =
        fake_world_record(w, "10.1.1.2", 1002, "10.2.1.2", 80, "", 9 * S, 8 * S, 500, 5);
    json_t *json;

    (void)unused;
    fake_world_alarm(w, 25, "INFEASIBLE_PATH", &record->flow);
    fake_world_alarm(w, 25, "PC_FAIL", &record->flow);
    json = fake_world_run(w, "path-conformance", "{\"max_hops\": 5}");
    assert_int_equal(len_of(json, "flows"), 0);
    assert_false(report_certain(json));
    assert_true(report_has(json, "lacks", "fit no path"));
    assert_int_equal(json_array_size(report_rows(json, "infeasible")), 1);
    assert_int_equal(json_array_size(report_rows(json, "alarms")), 1);
    json_decref(json);
    fake_world_free(w);
}

static void answers_that_cannot_be(void **unused)
{
    static const char flow[] = "{\"src_ip\":\"10.1.1.2\",\"dst_ip\":\"10.2.1.2\",\"src_port\":1,"
                               "\"dst_port\":2,\"protocol\":6}";
    struct fake_world *w = new_world();
    char answer[2000];
    json_t *json;

    (void)unused;
    snprintf(answer, sizeof answer,
             "{\"violations\":[{\"flow_id\":%s,\"path\":[1,3],\"rule\":\"max_hops\"},"
             "{\"flow_id\":%s,\"path\":[1,9,4711],\"rule\":\"avoid\"},"
             "{\"flow_id\":%s,\"path\":[1,9,17,11,3],\"rule\":\"taste\"},"
             "{\"path\":[1,9,17,11,3],\"rule\":\"avoid\"},7,{\"flow_id\":{}}],"
             "\"infeasible\":-1,\"complete\":true}",
             flow, flow, flow);
    fake_world_canned(w, "conformance", answer);
    json = fake_world_run(w, "path-conformance", "{\"max_hops\": 1}");
    assert_int_equal(len_of(json, "flows") + len_of(json, "links"), 0);
    assert_false(report_certain(json));
    assert_true(report_has(json, "lacks", "left out"));
    json_decref(json);
    fake_world_free(w);
    w = new_world();
    fake_world_canned(w, "conformance", "{\"violations\": 3}");
    assert_true(fake_world_fails(w, "path-conformance", "{\"max_hops\": 1}") < 0);
    assert_true(fake_world_fails(w, "path-conformance", "{\"from\": 20, \"to\": 10}") < 0);
    fake_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_detour_is_found),
        cmocka_unit_test(switches_to_avoid_and_to_pass),
        cmocka_unit_test(isolation),
        cmocka_unit_test(windows_and_hosts),
        cmocka_unit_test(infeasible_trajectories_stand_apart),
        cmocka_unit_test(answers_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

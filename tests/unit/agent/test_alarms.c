/* SPDX-License-Identifier: Apache-2.0 */
/* Alarms: aggregation, the bound of the list, the budget, and the document. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/alarms.h"
#include "base/clock.h"

static json_t *first(json_t *document)
{
    return json_array_get(json_object_get(document, "alarms"), 0);
}

static void test_one(void **state)
{
    struct pd_flow_id flow = {.src_port = 40000, .dst_port = 80, .protocol = 6};
    struct pd_path path = {.tags_len = 2, .tags = {9, 14}};
    struct pd_alarms *alarms;
    json_t *document, *alarm;

    (void)state;
    assert_int_equal(pd_addr_parse("10.1.1.2", &flow.src, &flow.ip_version), 0);
    assert_int_equal(pd_addr_parse("10.2.1.2", &flow.dst, &flow.ip_version), 0);
    assert_int_equal(pd_alarms_new(&alarms), 0);
    pd_alarms_raise(alarms, PD_ALARM_INFEASIBLE_PATH, &flow, &path, "as \"they\" say \xff");
    pd_alarms_raise(alarms, PD_ALARM_INFEASIBLE_PATH, &flow, &path, "again");
    document = pd_alarms_json(alarms);
    assert_int_equal(json_array_size(json_object_get(document, "alarms")), 1);
    assert_true(json_is_true(json_object_get(document, "complete")));
    alarm = first(document);
    assert_int_equal(json_integer_value(json_object_get(alarm, "count")), 2);
    assert_string_equal(json_string_value(json_object_get(alarm, "reason")), "INFEASIBLE_PATH");
    assert_string_equal(json_string_value(json_object_get(alarm, "detail")), "as \"they\" say ?");
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(alarm, "flow_id"), "src_ip")),
        "10.1.1.2");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(alarm, "tags"), 1)), 14);
    assert_int_equal(json_array_size(json_object_get(alarm, "paths")), 0);
    json_decref(document);

    path = (struct pd_path){.len = 2, .switches = {1, 9}};
    pd_alarms_raise(alarms, PD_ALARM_UNKNOWN_HOST, NULL, &path, "");
    document = pd_alarms_json(alarms);
    alarm = json_array_get(json_object_get(document, "alarms"), 1);
    assert_true(json_is_null(json_object_get(alarm, "flow_id")));
    assert_int_equal(json_array_size(json_array_get(json_object_get(alarm, "paths"), 0)), 2);
    json_decref(document);
    pd_alarms_free(alarms);
}

/* Everything that was raised is kept, pushed out, merged or suppressed: the counts add up. */
static void test_bounds(void **state)
{
    enum { EACH = PD_ALARMS_PER_S + 20 };
    struct pd_alarm_counts counts;
    struct pd_alarms *alarms;
    json_t *document;
    uint64_t second = pd_clock_monotonic_ns() / PD_NS_PER_S;

    (void)state;
    while (pd_clock_monotonic_ns() / PD_NS_PER_S == second)
        usleep(1000); /* a whole second lies ahead */
    assert_int_equal(pd_alarms_new(&alarms), 0);
    for (unsigned i = 0; i < EACH; i++) {
        struct pd_path path = {.tags_len = 1, .tags = {(uint16_t)i}};

        pd_alarms_raise(alarms, PD_ALARM_INFEASIBLE_PATH, NULL, &path, "");
    }
    pd_alarms_counts(alarms, &counts);
    assert_int_equal(counts.by_reason[PD_ALARM_INFEASIBLE_PATH], EACH);
    assert_int_equal(counts.suppressed, EACH - PD_ALARMS_PER_S);
    assert_int_equal(counts.kept, PD_ALARMS_PER_S);
    assert_int_equal(counts.overwritten, 0);
    document = pd_alarms_json(alarms);
    assert_true(json_is_false(json_object_get(document, "complete")));
    json_decref(document);
    pd_alarms_free(alarms);
}

static void *raise_many(void *context)
{
    for (unsigned i = 0; i < 500; i++) {
        struct pd_path path = {.tags_len = 1, .tags = {(uint16_t)i}};

        pd_alarms_raise(context, PD_ALARM_INFEASIBLE_PATH, NULL, &path, "x");
        if (i % 50 == 0)
            json_decref(pd_alarms_json(context));
    }
    return NULL;
}

static void test_threads(void **state)
{
    struct pd_alarm_counts counts;
    struct pd_alarms *alarms;
    pthread_t threads[4];

    (void)state;
    assert_int_equal(pd_alarms_new(&alarms), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, raise_many, alarms), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    pd_alarms_counts(alarms, &counts);
    assert_int_equal(counts.by_reason[PD_ALARM_INFEASIBLE_PATH], 2000);
    pd_alarms_free(alarms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

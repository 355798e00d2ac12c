/* SPDX-License-Identifier: Apache-2.0 */
/* Alarms: sameness, the bound of the list, budgets of reasons, listeners, and the document. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/alarms/alarms.h"
#include "base/clock.h"
#include "base/error.h"
#include "codec/tagging/mark.h"

static json_t *nth(json_t *document, size_t n)
{
    return json_array_get(json_object_get(document, "alarms"), n);
}

static json_int_t number(const json_t *object, const char *name)
{
    assert_true(json_is_integer(json_object_get(object, name)));
    return json_integer_value(json_object_get(object, name));
}

static const struct pd_alarm_reason_counts *counts_of(const struct pd_alarm_counts *counts,
                                                      const char *reason)
{
    for (unsigned i = 0; i < counts->reasons_len; i++) {
        if (!strcmp(counts->reasons[i].reason, reason)) {
            return &counts->reasons[i];
        }
    }
    fail_msg("no counts of %s", reason);
    return NULL;
}

/* A whole second lies ahead. */
static void wait_for_second(void)
{
    uint64_t second = pd_clock_monotonic_ns() / PD_NS_PER_S;

    while (pd_clock_monotonic_ns() / PD_NS_PER_S == second) {
        usleep(1000);
    }
}

static void raise_tag(struct pd_alarms *alarms, const char *reason, unsigned tag)
{
    const struct pd_mark mark = pd_tagging_mark((uint16_t[]){(uint16_t)tag}, 1, 0);

    assert_int_equal(
        pd_alarms_raise(alarms, &(struct pd_alarm_raise){.reason = reason, .mark = &mark}), 0);
}

static void test_one(void **state)
{
    struct pd_flow_id flow = {.src_port = 40000, .dst_port = 80, .protocol = 6};
    const struct pd_mark mark = pd_tagging_mark((uint16_t[]){9, 14}, 2, 0);
    struct pd_alarm_raise raise = {.reason = PD_ALARM_INFEASIBLE_PATH,
                                   .flow = &flow,
                                   .mark = &mark,
                                   .detail = "as \"they\" say \xff"};
    struct pd_alarms *alarms;
    json_t *document, *alarm;

    (void)state;
    assert_int_equal(pd_addr_parse("10.1.1.2", &flow.src, &flow.ip_version), 0);
    assert_int_equal(pd_addr_parse("10.2.1.2", &flow.dst, &flow.ip_version), 0);
    assert_int_equal(pd_alarms_new(&alarms), 0);
    assert_int_equal(pd_alarms_raise(alarms, &raise), 0);
    raise.detail = "again";
    assert_int_equal(pd_alarms_raise(alarms, &raise), 0);
    document = pd_alarms_json(alarms);
    assert_int_equal(json_array_size(json_object_get(document, "alarms")), 1);
    assert_true(json_is_true(json_object_get(document, "complete")));
    alarm = nth(document, 0);
    assert_int_equal(number(alarm, "count"), 2);
    assert_string_equal(json_string_value(json_object_get(alarm, "reason")), "INFEASIBLE_PATH");
    assert_string_equal(json_string_value(json_object_get(alarm, "detail")), "as \"they\" say ?");
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(alarm, "flow_id"), "src_ip")),
        "10.1.1.2");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(alarm, "tags"), 1)), 14);
    assert_int_equal(json_array_size(json_object_get(alarm, "paths")), 0);
    json_decref(document);
    pd_alarms_free(alarms);
}

static void test_paths(void **state)
{
    struct pd_path paths[PD_ALARM_PATHS_MAX + 3];
    struct pd_alarm_raise raise = {.reason = "POOR_PERF", .paths = paths};
    struct pd_alarms *alarms;
    json_t *document, *alarm;

    (void)state;
    for (unsigned i = 0; i < PD_ALARM_PATHS_MAX + 3; i++) {
        paths[i] = (struct pd_path){.len = 2, .switches = {1, 9 + i}};
    }
    assert_int_equal(pd_alarms_new(&alarms), 0);
    raise.paths_len = 2;
    assert_int_equal(pd_alarms_raise(alarms, &raise), 0);
    raise.paths_len = PD_ALARM_PATHS_MAX + 3;
    assert_int_equal(pd_alarms_raise(alarms, &raise), 0);
    document = pd_alarms_json(alarms);
    alarm = nth(document, 0);
    assert_true(json_is_null(json_object_get(alarm, "flow_id")));
    assert_int_equal(json_array_size(json_object_get(alarm, "paths")), 2);
    assert_int_equal(number(alarm, "paths_left"), 0);
    alarm = nth(document, 1);
    assert_int_equal(json_array_size(json_object_get(alarm, "paths")), PD_ALARM_PATHS_MAX);
    assert_int_equal(number(alarm, "paths_left"), 3);
    json_decref(document);
    pd_alarms_free(alarms);
}

static void test_reasons(void **state)
{
    static const char *const wrong[] = {
        "", "lower", "1ST", "_A", "A B", "A\"", "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG", "\xc3\x84"};
    struct pd_alarm_counts counts;
    struct pd_alarms *alarms;

    (void)state;
    assert_int_equal(pd_alarms_new(&alarms), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(pd_alarms_raise(alarms, &(struct pd_alarm_raise){.reason = wrong[i]}),
                         -PD_E_VALUE);
    }
    assert_int_equal(pd_alarms_raise(alarms, &(struct pd_alarm_raise){0}), -PD_E_VALUE);
    raise_tag(alarms, "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345", 1);
    for (unsigned i = 0; i < 3 * PD_ALARM_REASONS_MAX; i++) {
        char reason[PD_ALARM_REASON_BYTES];

        snprintf(reason, sizeof reason, "R%u", i);
        raise_tag(alarms, reason, 1);
    }
    pd_alarms_counts(alarms, &counts);
    assert_int_equal(counts.reasons_len, PD_ALARM_REASONS_MAX);
    assert_int_equal(counts_of(&counts, PD_ALARM_OTHER)->raised,
                     3 * PD_ALARM_REASONS_MAX + 1 -
                         (PD_ALARM_REASONS_MAX - 1 - PD_ALARM_KNOWN_COUNT));
    assert_int_equal(counts_of(&counts, "R0")->raised, 1);
    assert_int_equal(counts_of(&counts, "TIB_FULL")->raised, 0);
    pd_alarms_free(alarms);
}

struct heard {
    unsigned alarms;
    uint64_t suppressed;
    char last[PD_ALARM_REASON_BYTES];
};

static void hear(void *context, const struct pd_alarm *alarm)
{
    struct heard *heard = context;

    heard->alarms++;
    heard->suppressed += alarm->suppressed;
    memcpy(heard->last, alarm->reason, sizeof heard->last);
}

/* A storm leaves other reasons their budget, and becomes a count that the next alarm tells, or else
 * settling. */
static void test_storm(void **state)
{
    enum { EACH = PD_ALARMS_PER_S + 20 };
    struct pd_alarm_counts counts;
    struct heard heard = {0};
    struct pd_alarms *alarms;
    json_t *document;

    (void)state;
    assert_int_equal(pd_alarms_new(&alarms), 0);
    pd_alarms_listen(alarms, hear, &heard);
    wait_for_second();
    for (unsigned i = 0; i < EACH; i++) {
        raise_tag(alarms, PD_ALARM_INFEASIBLE_PATH, i);
    }
    raise_tag(alarms, "POOR_PERF", 1);
    pd_alarms_counts(alarms, &counts);
    assert_int_equal(counts_of(&counts, "INFEASIBLE_PATH")->raised, EACH);
    assert_int_equal(counts_of(&counts, "INFEASIBLE_PATH")->suppressed, 20);
    assert_int_equal(counts_of(&counts, "POOR_PERF")->suppressed, 0);
    assert_int_equal(counts.suppressed, 20);
    assert_int_equal(counts.kept, PD_ALARMS_PER_S + 1);
    assert_int_equal(counts.overwritten, 0);
    assert_int_equal(heard.alarms, PD_ALARMS_PER_S + 1);
    assert_int_equal(heard.suppressed, 0);
    assert_string_equal(heard.last, "POOR_PERF");

    assert_int_equal(pd_alarms_settle(alarms), 0); /* it may go on */
    wait_for_second();
    raise_tag(alarms, PD_ALARM_INFEASIBLE_PATH, EACH);
    assert_int_equal(heard.suppressed, 20);
    assert_int_equal(pd_alarms_settle(alarms), 0); /* told already */
    for (unsigned i = 0; i < EACH; i++) {
        raise_tag(alarms, PD_ALARM_INFEASIBLE_PATH, 1000 + i);
    }
    wait_for_second();
    assert_int_equal(pd_alarms_settle(alarms), 1);
    assert_int_equal(heard.suppressed, 20 + 21);
    document = pd_alarms_json(alarms);
    assert_true(json_is_false(json_object_get(document, "complete")));
    json_decref(document);
    pd_alarms_free(alarms);
}

/* Connections that go on suffering are told of again soon, all else is not. */
static void test_response_cache(void **state)
{
    struct heard heard = {0};
    struct pd_alarms *alarms;

    (void)state;
    assert_int_equal(pd_alarms_new(&alarms), 0);
    pd_alarms_listen(alarms, hear, &heard);
    raise_tag(alarms, "POOR_PERF", 1);
    raise_tag(alarms, "TIB_FULL", 1);
    raise_tag(alarms, "POOR_PERF", 2);
    raise_tag(alarms, "TIB_FULL", 1);
    assert_int_equal(heard.alarms, 3);
    for (unsigned i = 0; i < 1000 && heard.alarms < 4; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        raise_tag(alarms, "TIB_FULL", 1);
        raise_tag(alarms, "POOR_PERF", 1);
    }
    assert_int_equal(heard.alarms, 4);
    assert_string_equal(heard.last, "POOR_PERF");
    pd_alarms_free(alarms);
}

/* A full list gives up the oldest of what it has most of. */
static void test_pushed_out(void **state)
{
    struct pd_alarm_counts counts;
    struct pd_alarms *alarms;
    json_t *document;
    unsigned tag = 0;

    (void)state;
    assert_int_equal(pd_alarms_new(&alarms), 0);
    raise_tag(alarms, "RARE", 1);
    for (unsigned i = 0; i < PD_ALARMS_MAX + 50; i++) {
        char reason[PD_ALARM_REASON_BYTES];

        snprintf(reason, sizeof reason, "R%u", i % 32); /* within the budget of each */
        raise_tag(alarms, reason, tag++);
    }
    pd_alarms_counts(alarms, &counts);
    assert_int_equal(counts.kept, PD_ALARMS_MAX);
    assert_int_equal(counts.overwritten, 51);
    assert_int_equal(counts.suppressed, 0);
    assert_int_equal(counts_of(&counts, "RARE")->kept, 1);
    for (unsigned i = 0; i < 32; i++) {
        assert_in_range(counts.reasons[PD_ALARM_KNOWN_COUNT + 1 + i].kept, 31, 33);
    }
    document = pd_alarms_json(alarms);
    assert_string_equal(json_string_value(json_object_get(nth(document, 0), "reason")), "RARE");
    assert_int_equal(json_array_size(json_object_get(document, "alarms")), PD_ALARMS_MAX);
    json_decref(document);
    pd_alarms_free(alarms);
}

static void *raise_many(void *context)
{
    for (unsigned i = 0; i < 500; i++) {
        raise_tag(context, PD_ALARM_INFEASIBLE_PATH, i);
        if (i % 50 == 0) {
            json_decref(pd_alarms_json(context));
        }
    }
    return NULL;
}

/* Everything that was raised is kept, pushed out, the same as another one, or suppressed: the
 * counts add up. */
static void test_threads(void **state)
{
    const struct pd_alarm_reason_counts *reason;
    struct pd_alarm_counts counts;
    struct pd_alarms *alarms;
    pthread_t threads[4];

    (void)state;
    assert_int_equal(pd_alarms_new(&alarms), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, raise_many, alarms), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    pd_alarms_counts(alarms, &counts);
    reason = counts_of(&counts, "INFEASIBLE_PATH");
    assert_int_equal(reason->raised, 2000);
    assert_int_equal(reason->suppressed + reason->repeated + counts.kept + counts.overwritten,
                     2000);
    pd_alarms_free(alarms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_storm),
        cmocka_unit_test(test_response_cache),
        cmocka_unit_test(test_pushed_out),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Runs on periods and on events, whose turn it is, and what happens to queries that fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "installed_fixture.h"

static void test_period(void **state)
{
    uint64_t id = add("{" COUNT ",\"period_ms\":10}");
    json_t *got;

    (void)state;
    assert_int_equal(pd_installed_start(installed), 0);
    wait_for(&host.queries, 5);
    host.run_ms = 35; /* three more fall due meanwhile */
    wait_for(&host.queries, 10);
    got = get(id);
    assert_true(json_integer_value(json_object_get(got, "runs")) >= 9);
    assert_true(json_integer_value(json_object_get(got, "skipped")) >= 6);
    assert_true(json_integer_value(json_object_get(got, "busy_us")) >= 3 * 35000);
    assert_true(json_is_true(json_object_get(json_object_get(got, "answer"), "complete")));
    assert_int_equal(json_integer_value(json_object_get(got, "answer_bytes")), strlen(ANSWER));
    json_decref(got);
}

/* The one that always takes long leaves their turns to others. */
static void test_admission(void **state)
{
    uint64_t slow = add("{" PROGRAM ",\"period_ms\":10}"),
             other = add("{" COUNT ",\"period_ms\":10}");

    (void)state;
    host.run_ms = 20;
    assert_int_equal(pd_installed_start(installed), 0);
    wait_for(&host.programs, 10);
    assert_true(number_of(other, "runs") >= 8);
    assert_true(number_of(slow, "runs") >= 9);
}

/* Programs that run for long share one worker, however many they are: a short query keeps its
 * turns. */
static void test_long_ones(void **state)
{
    uint64_t slow[3], quick;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        slow[i] = add("{" PROGRAM ",\"period_ms\":10}");
    }
    host.program_ms = 120;
    assert_int_equal(pd_installed_start(installed), 0);
    wait_for(&host.programs, 3); /* the first runs tell that they are long */
    quick = add("{" COUNT ",\"period_ms\":10}");
    wait_for(&host.programs, 12);
    assert_true(number_of(quick, "runs") >= 9 * 12 / 2);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(number_of(slow[i], "runs") >= 3); /* and turns among themselves */
    }
}

static void test_failures(void **state)
{
    uint64_t id = add("{" PROGRAM ",\"period_ms\":10}");
    struct pd_installed_sums sums;
    json_t *got;

    (void)state;
    host.fail_with = -PD_E_BUSY; /* not its fault */
    assert_int_equal(pd_installed_start(installed), 0);
    wait_for(&host.programs, 8);
    assert_int_equal(seen(&host.stops), 0);
    host.fail_with = -PD_E_PROGRAM;
    wait_for(&host.stops, 1);
    got = get(id);
    assert_string_equal(json_string_value(json_object_get(got, "state")), "stopped");
    assert_string_equal(json_string_value(json_object_get(got, "error")), "it went wrong");
    assert_int_equal(json_integer_value(json_object_get(got, "failures")), 5);
    json_decref(got);
    pd_installed_sums(installed, &sums);
    assert_int_equal(sums.stopped, 1);
    assert_int_equal(sums.active, 0);
    close_list();
    open_list(); /* it stays so over a restart */
    got = get(id);
    assert_string_equal(json_string_value(json_object_get(got, "state")), "stopped");
    json_decref(got);
}

/* The same violation again and again: one alarm; and each search begins where the last one ended.
 */
static void test_periodic_conformance(void **state)
{
    uint64_t id = add("{\"query\":\"conformance\",\"args\":{\"avoid\":[9]},\"period_ms\":10}");
    json_t *got;

    (void)state;
    assert_int_equal(pd_installed_start(installed), 0);
    wait_for(&host.searches, 3);
    pthread_mutex_lock(&host.lock);
    assert_int_equal(strncmp(host.since, "token", 5), 0);
    assert_int_equal(host.alarms, 1);
    assert_string_equal(host.rule, "avoid");
    pthread_mutex_unlock(&host.lock);
    got = get(id);
    assert_int_equal(json_integer_value(json_object_get(got, "alarms")), 1);
    json_decref(got);
}

/* ---- events ---- */

/* Packets between two hosts of rack 1 pass that switch alone. */
static void feed(enum pd_trigger trigger, unsigned src_port)
{
    struct pd_trajectory_record record = {
        .flow = {.src = {{10, 1, 1, 2}},
                 .dst = {{10, 1, 1, 3}},
                 .src_port = (uint16_t)src_port,
                 .dst_port = 80,
                 .protocol = 6,
                 .ip_version = 4},
        .pkts = 1,
        .bytes = 100,
        .first_ns = 1000,
        .last_ns = 1000,
    };

    if (pd_feed_wanted(pd_installed_feed(installed), trigger)) {
        pd_agent_feed_give(pd_installed_feed(installed), trigger, &record);
    }
    pd_agent_feed_flush(pd_installed_feed(installed));
}

static void test_new_flow(void **state)
{
    uint64_t id =
        add("{\"query\":\"conformance\",\"args\":{\"must_pass\":[9]},\"on\":\"new_flow\"}");
    json_t *got, *first;

    (void)state;
    add("{\"query\":\"conformance\",\"args\":{\"avoid\":[9]},\"on\":\"new_flow\"}"); /* holds */
    assert_int_equal(pd_installed_start(installed), 0);
    feed(PD_TRIGGER_NEW_FLOW, 1);
    wait_for(&host.alarms, 1);
    for (unsigned i = 0; i < 300; i++) {
        feed(PD_TRIGGER_NEW_FLOW, 1);
    }
    feed(PD_TRIGGER_EVICTED, 3); /* nobody wants these */
    feed(PD_TRIGGER_NEW_FLOW, 2);
    wait_for(&host.alarms, 2);
    pthread_mutex_lock(&host.lock);
    assert_int_equal(host.alarms, 2);
    assert_string_equal(host.rule, "must_pass");
    assert_int_equal(host.flow.src_port, 2);
    assert_int_equal(host.path.len, 1);
    assert_int_equal(host.path.switches[0], 1);
    pthread_mutex_unlock(&host.lock);
    while (number_of(id, "runs") < 302) {
        poll(NULL, 0, 1);
    }
    got = get(id);
    assert_int_equal(json_integer_value(json_object_get(got, "alarms")), 2);
    first = json_array_get(json_object_get(json_object_get(got, "answer"), "violations"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "rule")), "must_pass");
    json_decref(got);
}

static void test_event_program(void **state)
{
    (void)state;
    add("{" PROGRAM ",\"on\":\"evicted\",\"args\":{\"x\":1}}");
    add("{\"query\":\"getPaths\",\"args\":{\"src_port\":4},\"on\":\"evicted\"}");
    assert_int_equal(pd_installed_start(installed), 0);
    feed(PD_TRIGGER_EVICTED, 4);
    wait_for(&host.programs, 1);
    wait_for(&host.queries, 1);
    feed(PD_TRIGGER_EVICTED, 5); /* the query concerns another flow */
    wait_for(&host.programs, 2);
    pthread_mutex_lock(&host.lock);
    assert_int_equal(host.queries, 1);
    assert_true(host.all_flow);
    assert_string_equal(json_string_value(json_object_get(host.event, "on")), "evicted");
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(host.event, "flow_id"), "src_port")), 5);
    assert_int_equal(json_array_size(json_object_get(host.event, "path")), 1);
    pthread_mutex_unlock(&host.lock);
}

/* Ten times as many as may wait: each is run or counted. */
static void test_event_storm(void **state)
{
    const unsigned many = 10 * PD_INSTALLED_PENDING_MAX;
    uint64_t id = add("{" PROGRAM ",\"on\":\"new_flow\"}");
    const uint64_t until_ns = pd_clock_monotonic_ns() + PATIENT_NS;

    (void)state;
    host.run_ms = 2;
    assert_int_equal(pd_installed_start(installed), 0);
    for (unsigned i = 0; i < many; i++) {
        feed(PD_TRIGGER_NEW_FLOW, i);
    }
    while (number_of(id, "runs") + number_of(id, "skipped") < many) {
        assert_true(pd_clock_monotonic_ns() < until_ns);
        poll(NULL, 0, 1);
    }
    assert_true(number_of(id, "runs") >= PD_INSTALLED_PENDING_MAX);
    assert_int_equal(number_of(id, "runs") + number_of(id, "skipped"), many);
}

/* A program that raises an alarm on each alarm would never end. */
static void test_alarms(void **state)
{
    uint64_t id = add("{" PROGRAM ",\"on\":\"alarm\"}");

    (void)state;
    host.echo = true;
    assert_true(pd_installed_hears(installed));
    assert_int_equal(pd_installed_start(installed), 0);
    tell_installed("FIRST");
    wait_for(&host.programs, 1);
    tell_installed("SECOND");
    wait_for(&host.programs, 2);
    pthread_mutex_lock(&host.lock);
    assert_string_equal(json_string_value(json_object_get(host.event, "reason")), "SECOND");
    pthread_mutex_unlock(&host.lock);
    poll(NULL, 0, 20); /* an echo would be run by now, most likely */
    assert_int_equal(seen(&host.programs), 2);
    assert_int_equal(number_of(id, "skipped"), 0);
}

/* ---- all at once ---- */

static void *change(void *context)
{
    const char *body = context;

    for (unsigned i = 0; i < 30; i++) {
        struct pd_error error = {0};
        struct pd_installed_sums sums;
        uint64_t id = add(body);

        json_decref(pd_installed_list(installed));
        pd_installed_sums(installed, &sums);
        tell_installed("BOO");
        pd_installed_model(installed, model);
        assert_int_equal(pd_installed_remove(installed, id, &error), 0);
    }
    return NULL;
}

static void test_threads(void **state)
{
    static char bodies[][120] = {
        "{\"query\":\"conformance\",\"args\":{\"avoid\":[1]},\"on\":\"new_flow\"}",
        "{" PROGRAM ",\"on\":\"alarm\"}", "{" COUNT ",\"period_ms\":10}",
        "{" PROGRAM ",\"on\":\"new_flow\"}"};
    enum { LEN = sizeof bodies / sizeof bodies[0] };
    pthread_t threads[LEN] = {0};

    (void)state;
    assert_int_equal(pd_installed_start(installed), 0);
    for (size_t i = 0; i < LEN; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, change, bodies[i]), 0);
    }
    for (unsigned i = 0; i < 20000; i++) {
        feed(PD_TRIGGER_NEW_FLOW, i);
    }
    for (size_t i = 0; i < LEN; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(list_len(), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_period),
        TEST(test_admission),
        TEST(test_long_ones),
        TEST(test_failures),
        TEST(test_periodic_conformance),
        TEST(test_new_flow),
        TEST(test_event_program),
        TEST(test_event_storm),
        TEST(test_alarms),
        TEST(test_threads),
    };
    return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What is believed of an alarm: who may say what, when it can have been, and of which flows and
 * paths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "controller/alarms/judge.h"

#define NOW_US UINT64_C(1790000000000000)

static struct pd_topology *topology;
static struct pd_http_request request = {.role = PD_ROLE_AGENT, .peer = "21"};
static struct pd_controller_alarm_judge judge = {.request = &request, .now_us = NOW_US};

static int set_up(void **state)
{
    (void)state;
    return pd_topology_fat_tree(4, &topology, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    pd_topology_free(topology);
    return 0;
}

static struct pd_alarm_message make(const char *reason)
{
    struct pd_alarm_message message = {
        .time_us = NOW_US, .flow = {.src_port = 1, .dst_port = 2, .protocol = 6}, .count = 1};

    snprintf(message.reason, sizeof message.reason, "%s", reason);
    assert_int_equal(pd_addr_parse("10.1.1.2", &message.flow.src, &message.flow.ip_version), 0);
    assert_int_equal(pd_addr_parse("10.2.1.2", &message.flow.dst, &message.flow.ip_version), 0);
    message.paths_len = 1;
    message.paths[0] = (struct pd_path){.len = 5, .switches = {1, 9, 17, 11, 3}};
    return message;
}

static int hear(struct pd_alarm_message *message)
{
    struct pd_error error = {0};
    int err;

    judge.topology = topology;
    err = pd_controller_alarm_judge(&judge, message, &error);
    assert_true(!err || (err == -PD_E_VALUE && *error.text));
    return err;
}

static void who_may_say_what(void **state)
{
    static const struct {
        enum pd_alarm_origin origin;
        const char *reason;
        int err;
    } cases[] = {
        {PD_ALARM_ORIGIN_MONITOR, "POOR_PERF", 0},
        {PD_ALARM_ORIGIN_MONITOR, "ANYTHING", 0},
        {PD_ALARM_ORIGIN_MONITOR, "APP_LOOP", -PD_E_VALUE},
        {PD_ALARM_ORIGIN_MONITOR, "SWITCH_UNKNOWN", -PD_E_VALUE},
        {PD_ALARM_ORIGIN_MONITOR, "USER_X", -PD_E_VALUE},
        {PD_ALARM_ORIGIN_INSTALLED, "PC_FAIL", 0},
        {PD_ALARM_ORIGIN_INSTALLED, "USER_X", 0},
        {PD_ALARM_ORIGIN_INSTALLED, "APP_X", -PD_E_VALUE},
        {PD_ALARM_ORIGIN_PROGRAM, "USER_X", 0},
        {PD_ALARM_ORIGIN_PROGRAM, "POOR_PERF", -PD_E_VALUE},
        {PD_ALARM_ORIGIN_PROGRAM, "APP_LOOP", -PD_E_VALUE},
        {PD_ALARM_ORIGIN_APP, "APP_LOOP", -PD_E_VALUE},
        {PD_ALARM_ORIGIN_API, "X", -PD_E_VALUE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pd_alarm_message message = make(cases[i].reason);

        message.origin = cases[i].origin;
        assert_int_equal(hear(&message), cases[i].err);
    }
}

/* Somebody who is no agent speaks for himself, where people are told from agents. */
static void a_person_is_named(void **state)
{
    struct pd_alarm_message message = make("POOR_PERF");

    (void)state;
    request = (struct pd_http_request){.role = PD_ROLE_ADMIN, .peer = "ada"};
    assert_int_equal(hear(&message), 0);
    assert_int_equal(message.origin, PD_ALARM_ORIGIN_API);
    assert_string_equal(message.by, "ada");
    message = make("APP_LOOP");
    assert_int_equal(hear(&message), -PD_E_VALUE);
    judge.open = true;
    message = make("POOR_PERF");
    assert_int_equal(hear(&message), 0);
    assert_int_equal(message.origin, PD_ALARM_ORIGIN_MONITOR);
    message = make("APP_LOOP");
    assert_int_equal(hear(&message), -PD_E_VALUE);
    judge.open = false;
    request = (struct pd_http_request){.role = PD_ROLE_AGENT, .peer = "21"};
}

static void times_are_of_today(void **state)
{
    static const struct {
        uint64_t time_us;
        bool kept;
    } cases[] = {
        {NOW_US, true},
        {NOW_US - PD_CONTROLLER_ALARM_TIME_US, true},
        {NOW_US + PD_CONTROLLER_ALARM_TIME_US, true},
        {NOW_US - PD_CONTROLLER_ALARM_TIME_US - 1, false},
        {NOW_US + PD_CONTROLLER_ALARM_TIME_US + 1, false},
        {0, false},
        {PD_ALARM_MESSAGE_MAX_US, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pd_alarm_message message = make("POOR_PERF");

        memset(message.detail, 'x', 5);
        message.time_us = cases[i].time_us;
        assert_int_equal(hear(&message), 0);
        assert_int_equal(message.time_us, cases[i].kept ? cases[i].time_us : NOW_US);
        assert_int_equal(strstr(message.detail, "; its host's clock said") != NULL, !cases[i].kept);
    }
}

static bool is_marked(struct pd_alarm_message message)
{
    message.unverified = !message.unverified; /* whatever its host says */
    assert_int_equal(hear(&message), 0);
    return message.unverified;
}

static void of_this_network(void **state)
{
    static const struct pd_path others[] = {
        {.len = 3, .switches = {9, 3, 17}},
        {.len = 3, .switches = {1, 9, 999}},
        {.len = 1, .switches = {UINT32_MAX}},
        {.len = 2, .switches = {1, 1}},
    };
    struct pd_alarm_message message = make("POOR_PERF");

    (void)state;
    assert_false(is_marked(message));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        message.paths_len = 2;
        message.paths[1] = others[i];
        assert_true(is_marked(message));
    }
    message = make("POOR_PERF");
    assert_int_equal(pd_addr_parse("192.0.2.7", &message.flow.src, &message.flow.ip_version), 0);
    assert_true(is_marked(message));
    message = make("POOR_PERF");
    assert_int_equal(pd_addr_parse("127.0.0.1", &message.flow.dst, &message.flow.ip_version), 0);
    assert_true(is_marked(message));
    message.flow = (struct pd_flow_id){0};
    message.paths_len = 0;
    assert_false(is_marked(message));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_may_say_what),
        cmocka_unit_test(a_person_is_named),
        cmocka_unit_test(times_are_of_today),
        cmocka_unit_test(of_this_network),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}

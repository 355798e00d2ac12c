/* SPDX-License-Identifier: Apache-2.0 */
/* Programs in an agent: each call against what the agent's own queries answer, arguments that are
 * refused, alarms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/program_host.h"
#include "base/clock.h"
#include "fixture.h"

#define PKTS  100
#define FLOWS 10
#define ODD   5

static struct fixture fixture;
static struct pd_error error;
static uint64_t alarms;

static int start(void **state)
{
    (void)state;
    fixture_init(&fixture, PKTS, FLOWS, ODD);
    fixture_start(&fixture);
    fixture_wait_end(&fixture);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fixture_done(&fixture);
    return 0;
}

static struct pd_program_host_caller caller = {
    .origin = PD_ALARM_ORIGIN_PROGRAM, .by = "ada", .may_alarm = true};

static int run(const char *source, uint64_t ms, json_t **ret_result)
{
    json_t *args = json_object();
    error = (struct pd_error){0};
    int err = pd_agent_program_host_run(&fixture.agent, &caller, source, args,
                                        pd_clock_monotonic_ns() + ms * PD_NS_PER_MS, ret_result,
                                        &alarms, &error);
    json_decref(args);
    return err;
}

static void expect(const char *source, const char *wanted)
{
    json_t *result = NULL;
    if (run(source, 60000, &result)) {
        fail_msg("%s: %s", source, error.text);
    }
    char *text = json_dumps(result, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    assert_string_equal(text, wanted);
    free(text);
    json_decref(result);
}

static void expect_failure(const char *source, int wanted, const char *words)
{
    json_t *result = NULL;
    int err = run(source, 60000, &result);
    if (err != wanted || !strstr(error.text, words)) {
        fail_msg("%s: %d (%s) instead of %d (%s)", source, err, error.text, wanted, words);
    }
}

/* Every ODDth flow has a tag that fits no path: 100 packets over 10 flows, all inside of one rack.
 */
static void rows_are_those_of_the_queries(void **state)
{
    (void)state;
    expect("function run() local n, b, bad = 0, 0, 0 for f in get_flows{} do n = n + 1 b = b + "
           "f.bytes if #f.path == 0 then bad = "
           "bad + f.tags[1] // 4000 end end return {n, b, bad} end",
           "[10,10000,2]");
    expect("function run() for f in get_flows{src_port = 1025} do return f.flow_id end end",
           "{\"dst_ip\":\"10.1.1.3\",\"dst_port\":80,\"protocol\":17,\"src_ip\":\"10.1.1.2\",\"src_"
           "port\":1025}");
    expect("function run() local t = {} for p in get_paths{} do t[#t + 1] = p end return t end",
           "[[1]]");
    expect("function run() for f in get_flows{link = \"9-17\"} do return 1 end return 0 end", "0");
}

static void values_are_those_of_the_queries(void **state)
{
    (void)state;
    expect("function run() return {get_count{}} end", "[10000,100]");
    expect("function run() return {get_count{src_port = \"1025\"}} end", "[1000,10]");
    expect("function run() local d, s, e = get_duration{} return {d, e - s == d} end",
           "[99000,true]");
    expect("function run() local d, s, e = get_duration{src_port = 9} return {d, s == nil, e == "
           "nil} end",
           "[0,true,true]");
    expect("function run() return {get_count{from = 1700000000.0, to = 1700000000.05}} end",
           "[10000,100]");
    expect("function run() return {get_count{to = 1600000000}} end", "[0,0]");
}

/* Each row is asked on: the sums over all are those of all. */
static void rows_can_be_asked_on(void **state)
{
    (void)state;
    expect("function run() local b = 0 for f in get_flows{} do b = b + get_count{flow_id = "
           "f.flow_id, path = f.path} end return b end",
           "10000");
    expect("function run() for f in get_flows{src_port = 1026} do for p in get_paths{flow_id = "
           "f.flow_id} do return p end end end",
           "[1]");
}

static void slips_are_named(void **state)
{
    (void)state;
    expect_failure("function run() get_count{lnk = \"1-9\"} end", -PD_E_PROGRAM,
                   "get_count: args.lnk");
    expect_failure("function run() get_count{link = \"nine\"} end", -PD_E_PROGRAM, "link");
    expect_failure("function run() get_flows{k = 3} end", -PD_E_PROGRAM, "does not take it");
    expect_failure("function run() get_paths{flow_id = 7} end", -PD_E_PROGRAM, "flow_id");
    expect_failure("function run() get_paths{flow_id = {src_port = 7}, src_port = 8} end",
                   -PD_E_PROGRAM, "given twice");
    expect_failure("function run() for f in get_poor_tcp_flows{} do end end", -PD_E_PROGRAM,
                   "not supported here");
    expect("function run() return (pcall(get_count, {since = \"x y\"})) end", "false");
}

static unsigned raised(const char *reason)
{
    json_t *list = pd_alarms_json(fixture.agent.alarms), *alarm;
    unsigned len = 0;
    size_t i;
    json_array_foreach(json_object_get(list, "alarms"), i, alarm)
    {
        len += !strcmp(json_string_value(json_object_get(alarm, "reason")), reason);
    }
    json_decref(list);
    return len;
}

static void alarms_are_raised(void **state)
{
    (void)state;
    expect("function run() for f in get_flows{} do alarm{flow_id = f.flow_id, reason = "
           "\"USER_TOO_LARGE\", paths = {{1, 9}, {1}}, detail = \"x\"} "
           "end alarm{reason = \"USER_MANY\"} end",
           "null");
    assert_int_equal(alarms, FLOWS + 1);
    assert_int_equal(raised("USER_TOO_LARGE"), FLOWS);
    assert_int_equal(raised("USER_MANY"), 1);
    expect("function run() local t = {} for i = 1, 40 do t[i] = {i} end alarm{reason = "
           "\"USER_PATHS\", "
           "paths = t} end",
           "null");
    assert_int_equal(raised("USER_PATHS"), 1);
    expect_failure("function run() alarm{} end", -PD_E_PROGRAM, "reason");
    expect_failure("function run() alarm{reason = \"pc fail\"} end", -PD_E_PROGRAM, "reason");
    expect_failure("function run() alarm{reason = \"X\", flow_id = 3} end", -PD_E_PROGRAM,
                   "flow_id");
    expect_failure("function run() alarm{reason = \"X\", colour = 3} end", -PD_E_PROGRAM,
                   "members");
    assert_int_equal(alarms, 0);
}

/* What the agent itself says nobody's program can say, and a reader's says nothing. */
static void alarms_are_their_makers(void **state)
{
    static const char *const others[] = {"POOR_PERF", "APP_LOOP", "INFEASIBLE_PATH", "USER",
                                         "PC_FAIL"};
    char source[100];
    json_t *list, *alarm;
    size_t i, found = 0;

    (void)state;
    for (i = 0; i < sizeof others / sizeof *others; i++) {
        unsigned before = raised(others[i]);

        snprintf(source, sizeof source, "function run() alarm{reason = \"%s\"} end", others[i]);
        expect_failure(source, -PD_E_PROGRAM, "USER_");
        assert_int_equal(raised(others[i]), before);
    }
    expect("function run() alarm{reason = \"USER_OWN\", origin = \"monitor\", by = \"eve\", count "
           "= 9} end",
           "null");
    list = pd_alarms_json(fixture.agent.alarms);
    json_array_foreach(json_object_get(list, "alarms"), i, alarm)
    {
        if (strcmp(json_string_value(json_object_get(alarm, "reason")), "USER_OWN") != 0) {
            continue;
        }
        assert_string_equal(json_string_value(json_object_get(alarm, "origin")), "program");
        assert_string_equal(json_string_value(json_object_get(alarm, "by")), "ada");
        assert_int_equal(json_integer_value(json_object_get(alarm, "count")), 1);
        found++;
    }
    assert_int_equal(found, 1);
    json_decref(list);
    caller.may_alarm = false;
    expect_failure("function run() alarm{reason = \"USER_READER\"} end", -PD_E_PROGRAM,
                   "install and admin");
    caller.may_alarm = true;
    assert_int_equal(raised("USER_READER"), 0);
}

static void it_ends(void **state)
{
    json_t *result = NULL;
    (void)state;
    int err = run("function run() while true do for f in get_flows{} do end end end", 300, &result);
    assert_true(err == -PD_E_DEADLINE || err == -PD_E_LIMIT);
    atomic_store(&fixture.agent.stopping, true);
    expect_failure("function run() for f in get_flows{} do end end", -PD_E_PROGRAM, "in use");
    atomic_store(&fixture.agent.stopping, false);
    expect("function run() return 1 end", "1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_the_queries),
        cmocka_unit_test(values_are_those_of_the_queries),
        cmocka_unit_test(rows_can_be_asked_on),
        cmocka_unit_test(slips_are_named),
        cmocka_unit_test(alarms_are_raised),
        cmocka_unit_test(alarms_are_their_makers),
        cmocka_unit_test(it_ends),
    };
    return cmocka_run_group_tests(tests, start, stop);
}

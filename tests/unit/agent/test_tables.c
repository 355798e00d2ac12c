/* SPDX-License-Identifier: Apache-2.0 */
/* openapi.json, /v1/status and /metrics are what the tables of routes, parameters and counters say.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/openapi.h"
#include "agent/poor.h"
#include "agent/request.h"
#include "agent/rest.h"
#include "fixture.h"

static struct fixture fixture;

static int start(void **state)
{
    (void)state;
    fixture_init(&fixture, 100, 10, 5);
    fixture_start(&fixture);
    fixture_wait_end(&fixture);
    /* No alarms: what else goes on on this machine must not be in the list. */
    return pd_agent_watch_tcp(&fixture.agent,
                              &(struct pd_monitor_config){.source = PD_MONITOR_INET_DIAG}, NULL);
}

static int stop(void **state)
{
    (void)state;
    pd_monitor_close(fixture.agent.monitor);
    pd_agent_poor_done(&fixture.agent);
    fixture_done(&fixture);
    return 0;
}

static void ask(const char *method, const char *target, struct pd_answer *answer)
{
    fixture_ask(&fixture.agent, method, target, answer);
}

static json_t *post_json(const char *body, const char *accept, int http_status)
{
    struct pd_answer answer;
    json_t *document;

    pd_http_answer_init(&answer);
    pd_agent_rest_answer(&fixture.agent,
                         &(struct pd_http_request){.role = PD_ROLE_ADMIN,
                                                   .method = "POST",
                                                   .target = "/v1/query",
                                                   .target_bytes = strlen("/v1/query"),
                                                   .accept = accept,
                                                   .body = body,
                                                   .body_bytes = strlen(body)},
                         &answer);
    if (answer.http_status != http_status) {
        fail_msg("%s: %d", body, answer.http_status);
    }
    document = json_loadb(answer.bytes, answer.len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(document);
    pd_http_answer_done(&answer);
    return document;
}

static json_t *ask_json(const char *target, int http_status)
{
    struct pd_answer answer;
    json_t *document;

    ask("GET", target, &answer);
    assert_int_equal(answer.http_status, http_status);
    document = json_loadb(answer.bytes, answer.len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(document);
    pd_http_answer_done(&answer);
    return document;
}

static const json_t *operation(const json_t *openapi, const char *method, const char *path)
{
    char key[10] = "";
    const json_t *found;

    for (size_t i = 0; method[i]; i++) {
        key[i] = (char)tolower((unsigned char)method[i]);
    }
    found = json_object_get(json_object_get(json_object_get(openapi, "paths"), path), key);
    if (!found) {
        fail_msg("%s %s is not in openapi.json", method, path);
    }
    return found;
}

static const json_t *route(const json_t *openapi, const char *path)
{
    return operation(openapi, "GET", path);
}

static size_t count_operations(const json_t *openapi)
{
    json_t *item;
    const char *path;
    size_t n = 0;

    json_object_foreach(json_object_get(openapi, "paths"), path, item) n += json_object_size(item);
    return n;
}

/* A route of the table takes no parameters but the number in its path, and a body exactly when it
 * is a POST or PUT. */
static void check_operation(const json_t *openapi, const char *method, const char *path,
                            const char *help)
{
    const json_t *found = operation(openapi, method, path);

    assert_string_equal(json_string_value(json_object_get(found, "summary")), help);
    assert_int_equal(json_array_size(json_object_get(found, "parameters")),
                     (strchr(path, '{') != NULL) + !strcmp(path, "/v1/query") +
                         !strcmp(path, "/v1/meters"));
    assert_int_equal(json_object_get(found, "requestBody") != NULL,
                     !strcmp(method, "POST") || !strcmp(method, "PUT"));
}

/* It stands there itself, or among the parts that several share. */
static const char *parameter_name(const json_t *openapi, const json_t *parameter)
{
    const json_t *parts = json_object_get(json_object_get(openapi, "components"), "parameters");
    const char *ref = json_string_value(json_object_get(parameter, "$ref"));

    return json_string_value(
        json_object_get(ref ? json_object_get(parts, strrchr(ref, '/') + 1) : parameter, "name"));
}

/* The parameters that it takes, in the order of the table. Returns how many operations it has. */
static size_t check_question(const json_t *openapi, const struct pd_question *question)
{
    char path[64];
    size_t len = 0;

    if (question->member) {
        return 0; /* it is asked by POST /v1/query */
    }
    snprintf(path, sizeof path, "/v1/%s", question->name);
    const json_t *found = route(openapi, path), *list = json_object_get(found, "parameters");

    assert_string_equal(json_string_value(json_object_get(found, "summary")), question->help);
    for (size_t i = 0; question->params[i].name; i++) {
        if (pd_query_question_takes(question, question->params[i].name)) {
            assert_string_equal(parameter_name(openapi, json_array_get(list, len++)),
                                question->params[i].name);
        }
    }
    assert_int_equal(json_array_size(list), len);
    if (question->posts) {
        check_operation(openapi, "POST", path, "the same, with the parameters in the body");
    }
    return question->posts ? 2 : 1;
}

static void test_routes(void **state)
{
    json_t *openapi = json_loads(pd_openapi, JSON_REJECT_DUPLICATES, NULL);
    size_t routes = 0;

    (void)state;
    assert_non_null(openapi);
#define X(name, method, path, role, handler, help)   \
    check_operation(openapi, #method, (path), help); \
    routes++;
    PD_ROUTES(X)
#undef X
    for (size_t i = 0; i < pd_questions_own; i++) {
        routes += check_question(openapi, pd_query_questions[i]);
    }
    for (size_t i = 0; pd_agent_parts[i]; i++) {
        const struct pd_part_route *row = pd_agent_parts[i]->routes;

        for (; row && row->route.path; row++, routes++) {
            check_operation(openapi, row->route.method, row->route.path, row->route.help);
        }
    }
    assert_int_equal(count_operations(openapi), routes);
    json_decref(openapi);
}

/* Both have the same members, down to the leaves. */
static void same_members(const char *where, const json_t *schema, const json_t *document)
{
    const json_t *properties = json_object_get(schema, "properties"), *value;
    const char *name;

    json_object_foreach(((json_t *)(uintptr_t)properties), name, value)
    {
        if (!json_object_get(document, name)) {
            fail_msg("%s.%s is in openapi.json but not in the answer", where, name);
        }
        if (json_object_get(value, "properties")) {
            same_members(name, value, json_object_get(document, name));
        }
    }
    json_object_foreach(((json_t *)(uintptr_t)document), name, value)
    {
        if (!json_object_get(properties, name)) {
            fail_msg("%s.%s is in the answer but not in openapi.json", where, name);
        }
    }
}

/* What the code checks of numbers and of members that exclude each other stands there, too. */
static void test_bounds(void **state)
{
    static const char *const either[] = {"Installation", "Document"};
    json_t *openapi = json_loads(pd_openapi, 0, NULL);
    const json_t *parts = json_object_get(openapi, "components"), *hops;

    (void)state;
    hops = json_object_get(json_object_get(parts, "parameters"), "max_hops");
    hops = json_object_get(json_object_get(hops, "schema"), "maximum");
    assert_int_equal(json_integer_value(hops), PD_PATH_MAX - 1);
    for (size_t i = 0; i < sizeof either / sizeof *either; i++) {
        const json_t *schema = json_object_get(json_object_get(parts, "schemas"), either[i]);

        assert_int_equal(json_array_size(json_object_get(schema, "oneOf")), 2);
    }
    json_decref(openapi);
}

static void test_status(void **state)
{
    json_t *openapi = json_loads(pd_openapi, 0, NULL), *status = ask_json("/v1/status", 200);
    const json_t *schemas = json_object_get(json_object_get(openapi, "components"), "schemas");
    const json_t *intake = json_object_get(status, "intake");

    (void)state;
    same_members("status", json_object_get(schemas, "Status"), status);
    assert_string_equal(json_string_value(json_object_get(intake, "kind")), "pcap");
    assert_string_equal(json_string_value(json_object_get(intake, "state")), "finished");
    assert_int_equal(json_integer_value(json_object_get(intake, "frames")), 100);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(intake, "verdicts"), "ok")),
                     100);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(status, "decoder"), "infeasible")), 2);
    json_decref(status);
    json_decref(openapi);
}

static void test_alarms(void **state)
{
    json_t *openapi = json_loads(pd_openapi, 0, NULL), *alarms = ask_json("/v1/alarms", 200);
    const json_t *schemas = json_object_get(json_object_get(openapi, "components"), "schemas");
    const json_t *reasons = json_object_get(
        json_object_get(json_object_get(json_object_get(schemas, "Alarm"), "properties"), "reason"),
        "examples");
    const json_t *list = json_object_get(alarms, "alarms");

    (void)state;
    assert_int_equal(json_array_size(reasons), PD_ALARM_KNOWN_COUNT);
#define X(name, id, text) \
    assert_string_equal(json_string_value(json_array_get(reasons, PD_ALARM_KNOWN_##name)), id);
    PD_ALARM_REASONS(X)
#undef X
    assert_int_equal(json_array_size(list), 2); /* two of ten ports */
    same_members("alarm", json_object_get(schemas, "Alarm"), json_array_get(list, 0));
    json_decref(alarms);
    json_decref(openapi);
}

static void has_metric(const char *text, const char *name, const char *type)
{
    char line[200];

    snprintf(line, sizeof line, "# TYPE pathdump_%s %s\npathdump_%s", name, type, name);
    if (!strstr(text, line)) {
        fail_msg("no metric %s", name);
    }
    snprintf(line, sizeof line, "# HELP pathdump_%s ", name);
    assert_non_null(strstr(text, line));
}

static void test_metrics(void **state)
{
    struct pd_answer answer;

    (void)state;
    ask("GET", "/metrics", &answer);
    assert_int_equal(answer.http_status, 200);
    assert_memory_equal(answer.type, "text/plain", 10);
    assert_int_equal(pd_http_answer_write(&answer, "", 1), 0);
#define X(name, text) has_metric(answer.bytes, "intake_" #name "_total", "counter");
    PD_INTAKE_COUNTERS(X)
#undef X
#define X(name, text) has_metric(answer.bytes, "trajectory_" #name "_total", "counter");
    PD_TRAJECTORY_COUNTERS(X)
#undef X
#define X(name, text) has_metric(answer.bytes, "tib_" #name "_total", "counter");
    PD_TIB_COUNTERS(X)
#undef X
#define X(name, text) has_metric(answer.bytes, "agent_" #name "_total", "counter");
    PD_AGENT_COUNTERS(X)
#undef X
#define X(name, id, text)                                                                       \
    assert_non_null(strstr(answer.bytes, "\npathdump_intake_verdicts_total{verdict=\"" id "\"}" \
                                         " "));
    PD_PACKET_VERDICTS(X)
#undef X
#define X(name, id, text) \
    assert_non_null(strstr(answer.bytes, "\npathdump_alarms_total{reason=\"" id "\"} "));
    PD_ALARM_REASONS(X)
#undef X
#define X(name, text) has_metric(answer.bytes, "tcp_" #name "_total", "counter");
    PD_MONITOR_COUNTERS(X)
#undef X
    assert_non_null(strstr(answer.bytes, "\npathdump_tcp_source{source=\"inet_diag\"} 1\n"));
    assert_non_null(strstr(answer.bytes, "\npathdump_intake_verdicts_total{verdict=\"ok\"} 100\n"));
    assert_non_null(
        strstr(answer.bytes, "\npathdump_alarms_total{reason=\"INFEASIBLE_PATH\"} 2\n"));
    assert_non_null(strstr(answer.bytes, "\npathdump_intake_state{state=\"finished\"} 1\n"));
    pd_http_answer_done(&answer);
}

/* Every route answers, and every kind of error is a problem document of its status. */
static void test_answers(void **state)
{
    static const struct {
        const char *target;
        int http_status;
        const char *member;
    } cases[] = {
        {"/v1/getFlows", 200, "flows"},
        {"/v1/getFlows?live=true", 200, "flows"},
        {"/v1/getPaths?src_port=1025", 200, "paths"},
        {"/v1/getCount", 200, "pkts"},
        {"/v1/getDuration", 200, "duration_us"},
        {"/v1/topRecords", 200, "top"},
        {"/v1/topFlows?k=3&by=pkts", 200, "top"},
        {"/v1/topHosts", 200, "top"},
        {"/v1/topLinks?live=true", 200, "top"},
        {"/v1/flowSizes?link=9-17&bin_bytes=1000", 200, "bins"},
        {"/v1/trafficMatrix", 200, "pairs"},
        {"/v1/pathBytes", 200, "paths"},
        {"/v1/distinct?of=sources", 200, "count"},
        {"/openapi.json", 200, "paths"},
        {"/v1/getFlows?link=x", 400, "parameter"},
        {"/v1/getFlows?bogus=1", 400, "parameter"},
        {"/v1/getFlows?k=1", 400, "parameter"},
        {"/v1/flowSizes?link=9-17", 400, "parameter"},
        {"/v1/distinct", 400, "parameter"},
        {"/v1/getFlows?since=0123456789abcdef-7", 409, "parameter"},
        {"/v1/getPoorTCPFlows?threshold=0&from=1.5", 200, "flows"},
        {"/v1/getPoorTCPFlows", 200, "forgotten"},
        {"/v1/getPoorTCPFlows?threshold=x", 400, "parameter"},
        {"/v1/getPoorTCPFlows?from=yesterday", 400, "parameter"},
        {"/v1/getPoorTCPFlows?link=9-17", 400, "parameter"},
        {"/v1/getPoorTCPFlows?threshold=1&threshold=1", 400, "parameter"},
        {"/v1/x", 404, "title"},
    };
    struct pd_answer answer;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *document = ask_json(cases[i].target, cases[i].http_status);

        assert_non_null(json_object_get(document, cases[i].member));
        json_decref(document);
    }
    ask("PUT", "/v1/getFlows", &answer);
    assert_int_equal(answer.http_status, 405);
    assert_string_equal(answer.allow, "GET, HEAD");
    pd_http_answer_done(&answer);
}

/* A turn that does not come until the deadline, and a queue that is full. */
static void test_busy(void **state)
{
    static const struct pd_daemon_admission_limits one = {1, 1, 1}, none = {1, 0, 0};
    struct pd_daemon_admission *usual = fixture.agent.query_turns;
    json_t *problem;

    (void)state;
    assert_int_equal(pd_daemon_admission_new(&one, &fixture.agent.query_turns), 0);
    assert_int_equal(pd_daemon_admission_take(fixture.agent.query_turns, "x", 0), 0);
    problem = post_json("{\"query\":\"getCount\",\"deadline_ms\":20}", NULL, 504);
    json_decref(problem);
    pd_daemon_admission_free(fixture.agent.query_turns);
    assert_int_equal(pd_daemon_admission_new(&none, &fixture.agent.query_turns), 0);
    assert_int_equal(pd_daemon_admission_take(fixture.agent.query_turns, "x", 0), 0);
    problem = ask_json("/v1/getCount", 503);
    assert_string_equal(json_string_value(json_object_get(problem, "title")),
                        "Service Unavailable");
    json_decref(problem);
    pd_daemon_admission_free(fixture.agent.query_turns);
    fixture.agent.query_turns = usual;
    problem = ask_json("/v1/getCount", 200);
    json_decref(problem);
}

/* Documents get what the named routes give, each mistake its status. */
static void test_documents(void **state)
{
    static const struct {
        const char *body, *accept;
        int http_status;
        const char *member;
    } cases[] = {
        {"{\"query\":\"getFlows\",\"args\":{\"src_port\":1025}}", NULL, 200, "flows"},
        {"{\"query\":\"topFlows\",\"args\":{\"k\":3},\"deadline_ms\":5000,\"children\":[]}", "*/*",
         200, "top"},
        {"{}", NULL, 400, "detail"},
        {"[]", NULL, 400, "detail"},
        {"{\"query\":\"getCount\",\"deadline_ms\":0}", NULL, 400, "detail"},
        {"{\"query\":\"getCount\",\"more\":1}", NULL, 400, "detail"},
        {"{\"query\":\"getCount\",\"args\":{\"k\":1}}", NULL, 400, "detail"},
        {"{\"query\":\"getCount\",\"children\":[{\"id\":1,\"url\":\"ftp://x\"}]}", NULL, 400,
         "detail"},
        {"{\"query\":\"getCount\",\"children\":[{\"id\":77,\"url\":\"http://x\"}]}", NULL, 400,
         "detail"},
        {"{\"query\":\"getCount\"}", "text/html", 406, "detail"},
        {"{\"program\":\"function run(\"}", "application/x-ndjson", 406, "detail"},
    };

    (void)state;
    fixture.agent.host_id = 77;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *document = post_json(cases[i].body, cases[i].accept, cases[i].http_status);

        assert_non_null(json_object_get(document, cases[i].member));
        json_decref(document);
    }
    fixture.agent.host_id = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_routes),    cmocka_unit_test(test_status),
        cmocka_unit_test(test_alarms),    cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_answers),   cmocka_unit_test(test_busy),
        cmocka_unit_test(test_documents), cmocka_unit_test(test_bounds),
    };

    return cmocka_run_group_tests(tests, start, stop);
}

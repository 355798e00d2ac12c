/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of requests: routes, parameters, and every way to get one wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/request.h"
#include "http/target.h"

static int parse(const char *method, const char *target, struct pd_request *request,
                 struct pd_problem *problem)
{
    struct pd_http_request http = {.role = PD_ROLE_ADMIN,
                                   .method = method,
                                   .target = target,
                                   .target_bytes = strlen(target),
                                   .body = ""};

    return pd_agent_request_parse(&http, request, problem);
}

static void test_routes(void **state)
{
    static const struct {
        const char *target;
        enum pd_request_route route;
        enum pd_query_name name;
    } cases[] = {
        {"/v1/getFlows", PD_ROUTE_QUESTION, PD_QUERY_GET_FLOWS},
        {"/v1/getPaths?", PD_ROUTE_QUESTION, PD_QUERY_GET_PATHS},
        {"/v1/getCount?&&", PD_ROUTE_QUESTION, PD_QUERY_GET_COUNT},
        {"/v1/get%44uration", PD_ROUTE_QUESTION, PD_QUERY_GET_DURATION},
        {"/v1/alarms", PD_ROUTE_ALARMS, 0},
        {"/v1/status", PD_ROUTE_STATUS, 0},
        {"/metrics", PD_ROUTE_METRICS, 0},
        {"/openapi.json?", PD_ROUTE_OPENAPI, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pd_request request = {.route = PD_ROUTE_COUNT};
        struct pd_problem problem = {0};

        assert_int_equal(parse(i % 2 ? "GET" : "HEAD", cases[i].target, &request, &problem), 0);
        assert_int_equal(request.route, cases[i].route);
        if (request.route == PD_ROUTE_QUESTION) {
            assert_int_equal(pd_query_document_query(&request.document)->name, cases[i].name);
        }
        pd_agent_request_done(&request);
    }
}

static void test_parameters(void **state)
{
    struct pd_request request;
    struct pd_problem problem;

    (void)state;
    assert_int_equal(
        parse(
            "GET",
            "/v1/"
            "getFlows?link=9-17&src_ip=fd00%3A%3a2&dst_port=80&from=1970-01-01T01:00:01+01:00&to=2"
            "&live=true&path=1,9&src_port=*",
            &request, &problem),
        0);
    const struct pd_query *query = pd_query_document_query(&request.document);
    assert_int_equal(query->filter.link.from, 9);
    assert_int_equal(query->filter.link.to, 17);
    assert_int_equal(query->filter.flow.id.ip_version, 6);
    assert_int_equal(query->filter.flow.fields, PD_FLOW_SRC_IP | PD_FLOW_DST_PORT);
    assert_int_equal(query->filter.from_us, 1000000);
    assert_int_equal(query->filter.to_us, 2000000);
    assert_int_equal(query->path.len, 2);
    assert_true(query->live);
    pd_agent_request_done(&request);
}

static void test_problems(void **state)
{
    static const struct {
        const char *method, *target;
        int err;
        const char *parameter;
    } cases[] = {
        {"GET", "/", -PD_E_NOT_FOUND, ""},
        {"GET", "", -PD_E_NOT_FOUND, ""},
        {"GET", "*", -PD_E_NOT_FOUND, ""},
        {"GET", "/v1/", -PD_E_NOT_FOUND, ""},
        {"GET", "/v1/getNothing", -PD_E_NOT_FOUND, ""},
        {"GET", "/v1/getFlows/", -PD_E_NOT_FOUND, ""},
        {"GET", "/v1/getFlows%00", -PD_E_NOT_FOUND, ""},
        {"GET", "/v1/getFlow%", -PD_E_NOT_FOUND, ""},
        {"GET", "http://host/v1/getFlows", -PD_E_NOT_FOUND, ""},
        {"POST", "/v1/getFlows", -PD_E_METHOD, ""},
        {"DELETE", "/v1/status", -PD_E_METHOD, ""},
        {"get", "/v1/status", -PD_E_METHOD, ""},
        {"POST", "/v1/nothing", -PD_E_NOT_FOUND, ""},
        {"GET", "/v1/getFlows?link=nine-17", -PD_E_VALUE, "link"},
        {"GET", "/v1/getFlows?link=9", -PD_E_VALUE, "link"},
        {"GET", "/v1/getFlows?link", -PD_E_VALUE, "link"},
        {"GET", "/v1/getFlows?from=yesterday", -PD_E_VALUE, "from"},
        {"GET", "/v1/getFlows?src_port=70000", -PD_E_VALUE, "src_port"},
        {"GET", "/v1/getPaths?src_ip=10.1.1", -PD_E_VALUE, "src_ip"},
        {"GET", "/v1/getCount?path=1,x", -PD_E_VALUE, "path"},
        {"GET", "/v1/getFlows?bogus=1", -PD_E_UNKNOWN_KEY, "bogus"},
        {"GET", "/v1/getFlows?=1", -PD_E_UNKNOWN_KEY, ""},
        {"GET", "/v1/getFlows?from=20&to=10", -PD_E_VALUE, "to"},
        {"GET", "/v1/getFlows?link=1-2&link=1-2", -PD_E_VALUE, "link"},
        {"GET", "/v1/getFlows?link=1-2%00", -PD_E_SYNTAX, "link"},
        {"GET", "/v1/getFlows?link=%zz", -PD_E_SYNTAX, "link"},
        {"GET", "/v1/getFlows?link=1-%3", -PD_E_SYNTAX, "link"},
        {"GET", "/v1/getFlows?li%00nk=1-2", -PD_E_SYNTAX, ""},
        {"GET", "/v1/getFlows?live=perhaps", -PD_E_VALUE, "live"},
        {"GET", "/v1/status?verbose=1", -PD_E_UNKNOWN_KEY, "verbose"},
        {"GET", "/metrics?x", -PD_E_UNKNOWN_KEY, "x"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pd_request request;
        struct pd_problem problem = {0};
        int err = parse(cases[i].method, cases[i].target, &request, &problem);

        if (err != cases[i].err || problem.error.code != err ||
            strcmp(problem.parameter, cases[i].parameter)) {
            fail_msg("%s %s: %d, \"%s\", \"%s\"", cases[i].method, cases[i].target, err,
                     problem.parameter, problem.error.text);
        }
        assert_true(problem.error.text[0]);
    }
}

static int parse_bytes(const char *target, size_t bytes, struct pd_request *request,
                       struct pd_problem *problem)
{
    struct pd_http_request http = {
        .role = PD_ROLE_ADMIN, .method = "GET", .target = target, .target_bytes = bytes};

    return pd_agent_request_parse(&http, request, problem);
}

static void test_lengths(void **state)
{
    enum { LONG = 70000 };
    static const char head[] = "/v1/getFlows?link=";
    char *target = malloc(LONG);
    struct pd_request request;
    struct pd_problem problem;

    (void)state;
    memset(target, '9', LONG);
    memcpy(target, head, sizeof head - 1);
    assert_int_equal(parse_bytes(target, LONG, &request, &problem), -PD_E_URI_TOO_LONG);
    assert_int_equal(parse_bytes(target, PD_TARGET_MAX_BYTES + 1, &request, &problem),
                     -PD_E_URI_TOO_LONG);
    assert_int_equal(parse_bytes(target, PD_TARGET_MAX_BYTES, &request, &problem), -PD_E_VALUE);
    assert_string_equal(problem.parameter, "link");
    memset(target + 13, 'n', 200); /* an over-long name */
    assert_int_equal(parse_bytes(target, 300, &request, &problem), -PD_E_SYNTAX);
    free(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_routes),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_lengths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

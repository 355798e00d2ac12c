/* SPDX-License-Identifier: Apache-2.0 */
/* The router: every route is found, HEAD is GET, what stands for {id}, 404 and 405 with what is
 * allowed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/routes.h"

static const struct pd_route routes[] = {
    {"GET", "/v1/status", PD_ROLE_READ, "state"},
    {"GET", "/v1/alarms", PD_ROLE_READ, "alarms"},
    {"POST", "/v1/alarms", PD_ROLE_AGENT, "new ones"},
    {"GET", "/v1/alarms/stream", PD_ROLE_READ, "as they come"},
    {"GET", "/v1/installed", PD_ROLE_READ, "all"},
    {"DELETE", "/v1/installed/{id}", PD_ROLE_INSTALL, "one less"},
    {"GET", "/v1/links/{id}/history", PD_ROLE_READ, "its past"},
};
#define LEN (sizeof routes / sizeof routes[0])

static int find(const char *method, const char *path, size_t *ret_index, char *ret_id,
                struct pd_problem *problem)
{
    *problem = (struct pd_problem){0};
    return pd_daemon_route_find(routes, LEN, method, path, ret_index, ret_id, problem);
}

static void test_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < LEN; i++) {
        struct pd_problem problem;
        char id[PD_ROUTE_ID_BYTES] = "?";
        size_t index = LEN;
        const char *path = strstr(routes[i].path, "links") ? "/v1/links/17/history"
                           : strchr(routes[i].path, '{')   ? "/v1/installed/17"
                                                           : routes[i].path;

        assert_int_equal(find(routes[i].method, path, &index, id, &problem), 0);
        assert_int_equal(index, i);
        assert_string_equal(id, strchr(routes[i].path, '{') ? "17" : "");
        if (!strcmp(routes[i].method, "GET")) {
            assert_int_equal(find("HEAD", path, &index, id, &problem), 0);
            assert_int_equal(index, i);
        }
    }
}

static void test_not_found(void **state)
{
    static const char *const paths[] = {
        "",
        "/",
        "/v1/status/",
        "/v1",
        "/v1/installed/",
        "/v1/installed/1/2",
        "/v1/links//history",
        "/v1/links/17",
        "/v1/links/17/history/",
        "/v1/links/17/histories",
        "v1/status",
        "/v1/installed/0123456789012345678901234567890123456789012345678901234567890123"};

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct pd_problem problem;
        char id[PD_ROUTE_ID_BYTES];
        size_t index;

        assert_int_equal(find("GET", paths[i], &index, id, &problem), -PD_E_NOT_FOUND);
    }
}

static void test_allowed(void **state)
{
    static const struct {
        const char *method, *path, *allow;
    } cases[] = {{"POST", "/v1/status", "GET, HEAD"},
                 {"PUT", "/v1/alarms", "GET, HEAD, POST"},
                 {"GET", "/v1/installed/3", "DELETE"},
                 {"get", "/v1/status", "GET, HEAD"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pd_problem problem;
        char id[PD_ROUTE_ID_BYTES];
        size_t index;

        assert_int_equal(find(cases[i].method, cases[i].path, &index, id, &problem), -PD_E_METHOD);
        assert_string_equal(problem.allow, cases[i].allow);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_not_found),
        cmocka_unit_test(test_allowed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Roles: the whole table of who may do what, and whose name an agent may speak in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "http/role.h"

/* have, then what is needed: read, install, admin, agent, any */
static void test_may(void **state)
{
    static const struct {
        enum pd_role have;
        bool may[5];
    } rows[] = {
        {PD_ROLE_NONE, {0, 0, 0, 0, 0}},    {PD_ROLE_READ, {1, 0, 0, 0, 1}},
        {PD_ROLE_INSTALL, {1, 1, 0, 0, 1}}, {PD_ROLE_ADMIN, {1, 1, 1, 1, 1}},
        {PD_ROLE_AGENT, {0, 0, 0, 1, 1}},
    };
    static const enum pd_role needed[] = {PD_ROLE_READ, PD_ROLE_INSTALL, PD_ROLE_ADMIN,
                                          PD_ROLE_AGENT, PD_ROLE_ANY};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t n = 0; n < 5; n++) {
            assert_int_equal(pd_http_role_may(rows[i].have, needed[n]), rows[i].may[n]);
        }
    }
    assert_false(pd_http_role_may(PD_ROLE_ANY, PD_ROLE_READ)); /* nobody has it */
}

static void test_check(void **state)
{
    struct pd_http_request request = {0};
    struct pd_problem problem = {0};

    (void)state;
    assert_int_equal(pd_http_role_check(&request, PD_ROLE_READ, &problem), -PD_E_UNAUTHORIZED);
    assert_int_equal(pd_error_http(problem.error.code), 401);
    request.role = PD_ROLE_READ;
    assert_int_equal(pd_http_role_check(&request, PD_ROLE_READ, &problem), 0);
    assert_int_equal(pd_http_role_check(&request, PD_ROLE_INSTALL, &problem), -PD_E_FORBIDDEN);
    assert_int_equal(pd_error_http(problem.error.code), 403);
    assert_string_equal(problem.error.text, "this needs the role install, not read");
}

static void test_parse(void **state)
{
    enum pd_role role;

    (void)state;
    assert_int_equal(pd_http_role_parse("install", &role), 0);
    assert_int_equal(role, PD_ROLE_INSTALL);
    assert_int_equal(pd_http_role_parse("any", &role), -PD_E_VALUE);
    assert_int_equal(pd_http_role_parse("none", &role), -PD_E_VALUE);
    assert_int_equal(pd_http_role_parse("Admin", &role), -PD_E_VALUE);
    assert_int_equal(pd_http_role_parse("", &role), -PD_E_VALUE);
}

static void test_speaks_for(void **state)
{
    struct pd_http_request request = {.role = PD_ROLE_AGENT, .peer = "21"};

    (void)state;
    assert_true(pd_http_role_speaks_for(&request, 21));
    assert_false(pd_http_role_speaks_for(&request, 2));
    request.peer = "021";
    assert_false(pd_http_role_speaks_for(&request, 21));
    request.peer = NULL;
    assert_false(pd_http_role_speaks_for(&request, 21));
    request = (struct pd_http_request){.role = PD_ROLE_INSTALL, .peer = "21"};
    assert_false(pd_http_role_speaks_for(&request, 21));
    request.role = PD_ROLE_ADMIN;
    assert_true(pd_http_role_speaks_for(&request, 7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_may),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_speaks_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Roles at the agent's routes: generated from the table. What stands in openapi.json says the same.
 */
#include "../../shared/roles.h"

#include <ctype.h>
#include <jansson.h>

#include "agent/openapi.h"
#include "agent/request.h"
#include "agent/rest.h"
#include "fixture.h"

static struct fixture fixture;

static void answer(const struct pd_http_request *request, struct pd_answer *answer)
{
    pd_agent_rest_answer(&fixture.agent, request, answer);
}

static int start(void **state)
{
    (void)state;
    fixture_init(&fixture, 10, 2, 0);
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

static void test_all(void **state)
{
    size_t len;
    const struct pd_route *routes = pd_agent_request_routes(&len);

    (void)state;
    roles_check_all(routes, len, answer);
}

static void test_described(void **state)
{
    json_t *document = json_loads(pd_openapi, 0, NULL);
    size_t len = pd_agent_request_routes_own();
    const struct pd_route *routes = pd_agent_request_routes(&(size_t){0});

    (void)state;
    for (size_t i = 0; i < len; i++) {
        const json_t *path = json_object_get(json_object_get(document, "paths"), routes[i].path);
        char method[16] = "";

        for (size_t k = 0; routes[i].method[k]; k++) {
            method[k] = (char)tolower((unsigned char)routes[i].method[k]);
        }
        const char *role =
            json_string_value(json_object_get(json_object_get(path, method), "x-role"));
        if (!role || strcmp(role, pd_http_role_id(routes[i].role)) != 0) {
            fail_msg("%s %s: x-role is not %s", routes[i].method, routes[i].path,
                     pd_http_role_id(routes[i].role));
        }
    }
    json_decref(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_described),
    };

    return cmocka_run_group_tests(tests, start, stop);
}

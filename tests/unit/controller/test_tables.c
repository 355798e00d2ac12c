/* SPDX-License-Identifier: Apache-2.0 */
/* docs/api/controller.json describes the routes of the table and of parts, each with its method,
 * help and role, and no others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "controller/openapi.h"
#include "controller/rest.h"
#include "controller/routes.h"
#include "http/role.h"

static json_t *openapi;

static void lower(const char *text, char *lowered)
{
    do {
        *lowered++ = (char)(*text >= 'A' && *text <= 'Z' ? *text + ('a' - 'A') : *text);
    } while (*text++);
}

/* Of the table, and of parts. */
static void test_routes(void **state)
{
    const json_t *paths = json_object_get(openapi, "paths");
    const struct pd_rest *rest = pd_controller_rest();
    size_t methods = 0;
    const char *path;
    json_t *described;

    (void)state;
    for (size_t i = 0; i < rest->len; i++) {
        const struct pd_route *route = &rest->routes[i];
        char method[16];

        lower(route->method, method);
        described = json_object_get(json_object_get(paths, route->path), method);
        if (!described) {
            fail_msg("%s %s is not in controller.json", route->method, route->path);
        }
        assert_string_equal(json_string_value(json_object_get(described, "summary")), route->help);
        assert_string_equal(json_string_value(json_object_get(described, "x-role")),
                            pd_http_role_id(route->role));
    }
    json_object_foreach((json_t *)(uintptr_t)paths, path, described) methods +=
        json_object_size(described);
    assert_int_equal(methods, rest->len);
}

/* Every $ref leads somewhere. */
static void check_refs(const json_t *at)
{
    const char *key;
    json_t *value;
    size_t i;

    json_object_foreach((json_t *)(uintptr_t)at, key, value)
    {
        if (!strcmp(key, "$ref")) {
            static const char prefix[] = "#/components/";
            char folder[64] = "", name[64] = "";
            const char *rest = json_string_value(value) + strlen(prefix);

            assert_memory_equal(json_string_value(value), prefix, strlen(prefix));
            assert_int_equal(sscanf(rest, "%63[^/]/%63s", folder, name), 2);
            if (!json_object_get(json_object_get(json_object_get(openapi, "components"), folder),
                                 name)) {
                fail_msg("%s leads nowhere", json_string_value(value));
            }
        }
        check_refs(value);
    }
    json_array_foreach((json_t *)(uintptr_t)at, i, value) check_refs(value);
}

static void test_refs(void **state)
{
    (void)state;
    check_refs(openapi);
}

static void test_counters(void **state)
{
    const json_t *properties = json_object_get(
        json_object_get(
            json_object_get(
                json_object_get(json_object_get(json_object_get(openapi, "components"), "schemas"),
                                "Status"),
                "properties"),
            "controller"),
        "properties");

    (void)state;
#define X(name, text)                                                                          \
    assert_string_equal(                                                                       \
        json_string_value(json_object_get(json_object_get(properties, #name), "description")), \
        text);
    PD_CONTROLLER_COUNTERS(X)
#undef X
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_routes),
        cmocka_unit_test(test_refs),
        cmocka_unit_test(test_counters),
    };
    int failed;

    openapi = json_loads(pd_controller_openapi, JSON_REJECT_DUPLICATES, NULL);
    if (!openapi) {
        return 1;
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    json_decref(openapi);
    return failed;
}

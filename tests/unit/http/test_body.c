/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies as JSON: what is none, what is too deep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "http/body.h"

static void check_body(const char *text, size_t len, int wanted)
{
    json_t *document = NULL;
    struct pd_error error = {0};

    if (pd_http_body_json(text, len, &document, &error) != wanted || error.code != wanted) {
        fail_msg("%.40s: %d, %s", text, error.code, error.text);
    }
    assert_int_equal(document != NULL, !wanted);
    json_decref(document);
}

static void test_bodies(void **state)
{
    enum { DEEP = 100000 };
    static const char *const bad[] = {
        "",
        "[]",
        "7",
        "{",
        "{\"a\":1,\"a\":2}",
        "{\"a\":\"\xff\"}",
        "{} {}",
        "{\"a\\",
        "nul",
        "{\"a\":1e999}",
        "{\"a\":\"b\"",
        "{\"a\":\"b\"}x",
        "{\"a\":\"b\\u0000c\"}",
    };
    char *deep = malloc(DEEP);

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check_body(bad[i], strlen(bad[i]), -PD_E_SYNTAX);
    }
    check_body("{\"a\":\"[[\\\"[[\"}", 14, 0);
    check_body("{\"a\0\":1}", 8, -PD_E_SYNTAX);
    memset(deep, '[', DEEP);
    check_body(deep, DEEP, -PD_E_SYNTAX);
    memcpy(deep, "{\"a\":", 5);
    memset(deep + 5, '[', PD_BODY_DEPTH_MAX - 1);
    memset(deep + 5 + PD_BODY_DEPTH_MAX - 1, ']', PD_BODY_DEPTH_MAX - 1);
    deep[5 + 2 * (PD_BODY_DEPTH_MAX - 1)] = '}';
    check_body(deep, 6 + 2 * (PD_BODY_DEPTH_MAX - 1), 0);
    free(deep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What clients write into Accept, and what they get. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http/accept.h"

static const char *const types[] = {"application/json", "application/x-ndjson",
                                    "application/vnd.pathdump.partial"};

static void test_choices(void **state)
{
    static const struct {
        const char *accept;
        int wanted; /* -1: none */
    } cases[] = {
        {NULL, 0},
        {"", 0},
        {" , ", 0},
        {"*/*", 0},
        {"application/*", 0},
        {"application/json", 0},
        {"APPLICATION/X-NDJSON", 1},
        {"application/x-ndjson; charset=utf-8", 1},
        {"application/vnd.pathdump.partial", 2},
        {"text/html, application/x-ndjson;q=0.5, */*;q=0.1", 1},
        {"application/json;q=0.3,application/x-ndjson ; q=0.4", 1},
        {"application/json;q=0, */*", 1},
        {"*/*;q=0.5, application/json;q=0.1", 1},
        {"application/*;q=0.2, */*;q=0.9", 0},
        {"application/json;level=1;q=0.2, application/x-ndjson;q=0.1", 0},
        {"text/html", -1},
        {"text/*", -1},
        {"*/*;q=0", -1},
        {"application/json;q=x", -1},
        {"application/json;q=0.12345", -1},
        {"json", -1},
        {";;;;,;q,=,q=;", -1},
        {"application/jsonx", -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pd_error error = {0};
        size_t index = 99;
        int err = pd_http_accept_choose(cases[i].accept, types, 3, &index, &error);

        if (cases[i].wanted < 0 ? err != -PD_E_NOT_ACCEPTABLE || !error.text[0]
                                : err || (int)index != cases[i].wanted) {
            fail_msg("%s: %d, %zu", cases[i].accept, err, index);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_choices)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Names in Host: those that mean this machine to everybody, and those that were allowed. */
#include "http/host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_local(void **state)
{
    static const char *const known[] = {"127.0.0.1",  "127.0.0.1:7411", "127.8.9.1",
                                        "localhost",  "LocalHost:80",   "[::1]",
                                        "[::1]:7411", "localhost:",     "[0:0::1]"};
    static const char *const unknown[] = {"",
                                          ":",
                                          ":80",
                                          "attacker.example",
                                          "attacker.example:80",
                                          "127.0.0.1.attacker.example:7411",
                                          "localhost.attacker.example",
                                          "10.0.0.1",
                                          "[2001:db8::1]",
                                          "127.0.0.1@attacker.example",
                                          "127.1",
                                          "[::1",
                                          "::1",
                                          "[127.0.0.1]",
                                          "[]",
                                          "[",
                                          "localhost:80x",
                                          "localhost:80:1",
                                          "localhostx",
                                          "localhos",
                                          "localhost,",
                                          "0.0.0.0",
                                          "127.0.0.1 "};

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_true(pd_http_host_known(known[i], NULL));
    }
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        assert_false(pd_http_host_known(unknown[i], NULL));
        assert_false(pd_http_host_known(unknown[i], "fleet.example"));
    }
}

static void test_allowed(void **state)
{
    static const char list[] = "fleet.example,10.0.0.9,[2001:db8::1]";

    (void)state;
    assert_true(pd_http_host_known("fleet.example", list));
    assert_true(pd_http_host_known("FLEET.example:7412", list));
    assert_true(pd_http_host_known("10.0.0.9:1", list));
    assert_true(pd_http_host_known("[2001:db8::1]:1", list));
    assert_false(pd_http_host_known("fleet.example,10.0.0.9", list));
    assert_false(pd_http_host_known("leet.example", list));
    assert_false(pd_http_host_known("fleet.exampl", list));
    assert_false(pd_http_host_known("", ",,"));
    assert_int_equal(pd_http_host_check_list(list, NULL), 0);
}

static void test_lists(void **state)
{
    static const char *const bad[] = {"",    ",",        "a,",  ",a",   "a,,b", "a:80",
                                      "a b", "http://a", "[x]", "[::1", "*"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct pd_error error = {0};

        assert_int_equal(pd_http_host_check_list(bad[i], &error), -PD_E_VALUE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_local),
        cmocka_unit_test(test_allowed),
        cmocka_unit_test(test_lists),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

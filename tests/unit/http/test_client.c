/* SPDX-License-Identifier: Apache-2.0 */
/* Where credentials may go: hosts of URLs, and clear text that is refused before anything is sent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "http/client.h"
#include "http/principal.h"
#include "http/url.h"

static void test_hosts(void **state)
{
    static const char *const cases[][2] = {
        {"http://h1:8001", "h1"},        {"https://10.0.0.1", "10.0.0.1"},
        {"https://[::1]:8001", "::1"},   {"https://h1.example/", "h1.example"},
        {"http://[fe80::1]", "fe80::1"},
    };
    char host[PD_HTTP_URL_BYTES], small[4];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(pd_http_url_host(cases[i][0], host, sizeof host), 0);
        assert_string_equal(host, cases[i][1]);
    }
    assert_int_equal(pd_http_url_host("unix:/run/x", host, sizeof host), -PD_E_NOT_FOUND);
    assert_int_equal(pd_http_url_host("http://long:1", small, sizeof small), -PD_E_URI_TOO_LONG);
}

static void test_clear_text(void **state)
{
    static const struct {
        const char *base;
        bool secret, fine;
    } cases[] = {
        {"http://127.0.0.1:1", true, true},     {"http://localhost:1", true, true},
        {"http://[::1]:1", true, true},         {"unix:/run/x", true, true},
        {"https://h1:1", true, true},           {"http://h1:1", false, true},
        {"http://h1:1", true, false},           {"http://localhost.evil:1", true, false},
        {"http://127.0.0.1.evil", true, false}, {"http://[::2]:1", true, false},
        {"http://10.0.0.1", true, false},
    };
    struct pd_credentials_set set = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CURL *curl = curl_easy_init();
        struct pd_error error = {0};

        set.token_out = cases[i].secret ? (char *)(uintptr_t) "0123456789abcdef" : NULL;
        int err = pd_http_client_set_up(curl, cases[i].base, cases[i].base, &set, &error);
        if (err != (cases[i].fine ? 0 : -PD_E_FORBIDDEN) || strstr(error.text, "0123")) {
            fail_msg("%s: %d %s", cases[i].base, err, error.text);
        }
        curl_easy_cleanup(curl);
    }
}

static void test_urls(void **state)
{
    char url[32];

    (void)state;
    assert_int_equal(pd_http_client_url("http://h1:1//", "/v1/x", url, sizeof url), 0);
    assert_string_equal(url, "http://h1:1/v1/x");
    assert_int_equal(pd_http_client_url("unix:/run/x", "/v1/x", url, sizeof url), 0);
    assert_string_equal(url, "http://localhost/v1/x");
    assert_int_equal(
        pd_http_client_url("http://h1:1", "/a-route-that-is-too-long-here", url, sizeof url),
        -PD_E_URI_TOO_LONG);
}

static void test_reasons(void **state)
{
    static const char *const cases[][2] = {
        {"Failed to connect to h port 1 after 12 ms: Couldn't connect to server",
         "Failed to connect to h port 1: Couldn't connect to server"},
        {"after 3 ms after 4 ms", "after 3 ms"},
        {"not after  ms, nor after 5 s", "not after  ms, nor after 5 s"},
        {"", "Couldn't connect to server"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[CURL_ERROR_SIZE];

        snprintf(words, sizeof words, "%s", cases[i][0]);
        assert_string_equal(pd_http_client_reason(CURLE_COULDNT_CONNECT, words), cases[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_clear_text),
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

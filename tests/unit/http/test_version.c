/* SPDX-License-Identifier: Apache-2.0 */
/* What clients have already (If-None-Match) and can read (Accept-Encoding); packed bodies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "http/answer.h"

static void test_version(void **state)
{
    static const struct {
        const char *if_none_match;
        bool has_it;
    } cases[] = {
        {NULL, false},        {"", false},        {"*", true},
        {"W/\"ab12\"", true}, {"\"ab12\"", true}, {"\"other\", W/\"ab12\" , \"x\"", true},
        {"\"other\"", false}, {"\"ab12", false},  {"ab12", false},
        {"\"ab12\"x", false}, {",,,", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pd_answer answer;

        pd_http_answer_init(&answer);
        assert_int_equal(pd_http_answer_version(&answer, "ab12", cases[i].if_none_match),
                         cases[i].has_it);
        assert_string_equal(answer.etag, "W/\"ab12\"");
        assert_int_equal(answer.http_status, cases[i].has_it ? 304 : 200);
        pd_http_answer_done(&answer);
    }
}

static void test_problem_has_none(void **state)
{
    struct pd_problem problem = {.error.code = -PD_E_VALUE};
    struct pd_answer answer;

    (void)state;
    pd_http_answer_init(&answer);
    pd_http_answer_version(&answer, "ab12", NULL);
    answer.encoding = "gzip";
    pd_http_answer_problem(&answer, &problem);
    assert_string_equal(answer.etag, "");
    assert_null(answer.encoding);
    pd_http_answer_done(&answer);
}

static void test_accepted(void **state)
{
    static const struct {
        const char *accept;
        bool gzip;
    } cases[] = {
        {NULL, false},
        {"", false},
        {"gzip", true},
        {"GZIP", true},
        {"gzip, deflate, br", true},
        {"br;q=1.0, gzip;q=0.8", true},
        {"deflate", false},
        {"gzip;q=0", false},
        {"gzip; Q=0.000", false},
        {"gzipped", false},
        {"x-gzip", false},
        {"identity, gzip ;q=0.5", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(pd_http_answer_gzip_accepted(cases[i].accept), cases[i].gzip);
    }
}

static void test_packed(void **state)
{
    char text[100000], *packed, unpacked[sizeof text + 1];
    size_t len;
    z_stream stream = {.next_out = (Bytef *)unpacked, .avail_out = sizeof unpacked};

    (void)state;
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = (char)(i * i % 251);
    }
    assert_int_equal(pd_http_answer_gzip(text, sizeof text, &packed, &len), 0);
    assert_true(len < sizeof text);
    stream.next_in = (Bytef *)packed;
    stream.avail_in = (uInt)len;
    assert_int_equal(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.total_out, sizeof text);
    assert_memory_equal(unpacked, text, sizeof text);
    inflateEnd(&stream);
    free(packed);
    assert_int_equal(pd_http_answer_gzip("", 0, &packed, &len), 0);
    free(packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_problem_has_none),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_packed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Answers: bodies in memory and in a file, problem documents, words of any bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "http/answer.h"

static void test_memory(void **state)
{
    struct pd_answer answer;

    (void)state;
    pd_http_answer_init(&answer);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(pd_http_answer_write(&answer, "0123456789", 10), 0);
    }
    assert_int_equal(pd_http_answer_finish(&answer), 0);
    assert_int_equal(answer.fd, -1);
    assert_int_equal(answer.len, 10000);
    assert_memory_equal(answer.bytes + 9990, "0123456789", 10);
    pd_http_answer_done(&answer);
}

/* Pieces of odd sizes, so that they straddle the bound. */
static void test_file(void **state)
{
    enum { PIECE = 1021, PIECES = 2000 };
    static char piece[PIECE], back[PIECE];
    struct pd_answer answer;

    (void)state;
    pd_http_answer_init(&answer);
    for (int i = 0; i < PIECES; i++) {
        memset(piece, 'a' + i % 26, PIECE);
        assert_int_equal(pd_http_answer_write(&answer, piece, PIECE), 0);
        assert_true(answer.size <= PD_ANSWER_MEMORY_BYTES);
    }
    assert_int_equal(pd_http_answer_finish(&answer), 0);
    assert_true(answer.fd >= 0);
    assert_int_equal(answer.file_bytes, PIECE * PIECES);
    for (int i = 0; i < PIECES; i++) {
        memset(piece, 'a' + i % 26, PIECE);
        assert_int_equal(pread(answer.fd, back, PIECE, (off_t)i * PIECE), PIECE);
        assert_memory_equal(piece, back, PIECE);
    }
    pd_http_answer_done(&answer);
}

static void test_no_folder(void **state)
{
    static char piece[PD_ANSWER_MEMORY_BYTES + 1];
    struct pd_answer answer;

    (void)state;
    setenv("TMPDIR", "/nonexistent", 1);
    pd_http_answer_init(&answer);
    assert_int_equal(pd_http_answer_write(&answer, piece, sizeof piece), -PD_E_FULL);
    unsetenv("TMPDIR");
    pd_http_answer_done(&answer);
}

static json_t *problem_json(int err, const char *parameter, const char *text,
                            struct pd_answer *answer)
{
    struct pd_problem problem = {0};
    json_t *document;

    pd_fail(&problem.error, err, "%s", text);
    strncpy(problem.parameter, parameter, sizeof problem.parameter - 1);
    pd_http_answer_init(answer);
    assert_int_equal(pd_http_answer_write(answer, "half an answer", 14), 0);
    pd_http_answer_problem(answer, &problem);
    document = json_loadb(answer->bytes, answer->len, 0, NULL);
    assert_non_null(document);
    return document;
}

static void test_problem(void **state)
{
    struct pd_answer answer;
    json_t *document =
        problem_json(-PD_E_VALUE, "link", "link: expected \"two\"\n switches", &answer);

    (void)state;
    assert_int_equal(answer.http_status, 400);
    assert_string_equal(answer.type, "application/problem+json");
    assert_string_equal(answer.allow, "");
    assert_string_equal(json_string_value(json_object_get(document, "title")), "Bad Request");
    assert_int_equal(json_integer_value(json_object_get(document, "status")), 400);
    assert_string_equal(json_string_value(json_object_get(document, "detail")),
                        "link: expected \"two\"\n switches");
    assert_string_equal(json_string_value(json_object_get(document, "parameter")), "link");
    json_decref(document);
    pd_http_answer_done(&answer);

    document = problem_json(-PD_E_METHOD, "", "", &answer);
    assert_int_equal(answer.http_status, 405);
    assert_string_equal(answer.allow, "GET, HEAD");
    assert_null(json_object_get(document, "parameter"));
    assert_string_equal(json_string_value(json_object_get(document, "detail")),
                        "method not allowed");
    json_decref(document);
    pd_http_answer_done(&answer);

    document = problem_json(-PD_E_VALUE, "\xff\xfe", "l\xc3\xafnk \x80", &answer);
    assert_string_equal(json_string_value(json_object_get(document, "parameter")), "??");
    assert_string_equal(json_string_value(json_object_get(document, "detail")), "l??nk ?");
    json_decref(document);
    pd_http_answer_done(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_no_folder),
        cmocka_unit_test(test_problem),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* How an answer that is passed on ends is read off it, whichever way it is cut; lists and hosts of
 * answers as text. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/fleet.h"
#include "cli/listing.h"

static int pass(const char *text, size_t step, struct pd_cli_stream *stream)
{
    size_t len = strlen(text);
    pd_cli_stream_begin(stream);
    const struct pd_query_sink sink = pd_cli_stream_sink(stream);
    for (size_t at = 0; at < len; at += step) {
        assert_int_equal(sink.write(sink.context, text + at, len - at < step ? len - at : step), 0);
    }
    return pd_cli_stream_end(stream);
}

static void ends_are_read(void **state)
{
    static const struct {
        const char *text;
        bool found, complete;
        uint64_t asked, answered;
    } cases[] = {
        {"{\"flows\":[],\"complete\":true}", true, true, 0, 0},
        {"{\n \"complete\" : false ,\n \"flows\":[{\"complete\":true}]\n}\n", true, false, 0, 0},
        {"{\"complete\":true,\"hosts\":{\"asked\":12,\"answered\":11,\"missing\":[{\"id\":1,"
         "\"asked\":7}]}}",
         true, true, 12, 11},
        {"{\"hosts\":{\"missing\":[],\"answered\":3,\"asked\":3},\"why\":\"\\\"complete\\\":"
         "true\"}",
         false, false, 3, 3},
        {"{\"a\":\"complete\",\"b\":true}", false, false, 0, 0},
        {"{\"complete\":\"true\"}", false, false, 0, 0},
        {"{\"complete\":1}", false, false, 0, 0},
        {"{\"complete!\":true,\"complet\":true}", false, false, 0, 0},
        {"{\"complete\":true}\n{\"row\":1}\n", false, false, 0, 0},
        {"{\"row\":1}\n{\"complete\":true,\"hosts\":{\"asked\":2,\"answered\":1}}\n", true, true, 2,
         1},
        {"7", false, false, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t step = 1; step < 40; step++) {
            struct pd_cli_stream stream;
            assert_int_equal(pass(cases[i].text, step, &stream), 0);
            assert_int_equal(stream.found, cases[i].found);
            assert_int_equal(stream.outcome.complete, cases[i].complete);
            assert_int_equal(stream.outcome.asked, cases[i].asked);
            assert_int_equal(stream.outcome.answered, cases[i].answered);
        }
    }
}

static void torn_answers_are_seen(void **state)
{
    static const char *const torn[] = {"", "{", "{\"complete\":true",
                                       "{\"complete\":true,\"a\":\"}", "[{\"complete\":true}"};
    (void)state;
    for (size_t i = 0; i < sizeof torn / sizeof *torn; i++) {
        struct pd_cli_stream stream;
        assert_int_equal(pass(torn[i], 3, &stream), -PD_E_TRUNCATED);
    }
}

static void memory_has_a_limit(void **state)
{
    struct pd_cli_memory memory = {0};
    const struct pd_query_sink sink = pd_cli_memory_sink(&memory);
    static char piece[1 << 20];
    int err = 0;
    size_t pieces = 0;
    (void)state;
    while (!err && pieces++ < 200) {
        err = sink.write(sink.context, piece, sizeof piece);
    }
    assert_int_equal(err, -PD_E_TOO_LARGE);
    assert_int_equal(memory.len, PD_CLI_MEMORY_MAX_BYTES);
    free(memory.bytes);
}

static void hosts_are_all_a_rack_or_a_list(void **state)
{
    static const char *const good[][2] = {{"all", "\"all\""},
                                          {"rack:3", "\"rack:3\""},
                                          {"rack:tor-1-1", "\"rack:tor-1-1\""},
                                          {"21", "[21]"},
                                          {"h1,21,host-2", "[\"h1\",21,\"host-2\"]"},
                                          {"21,4294967295", "[21,4294967295]"}};
    static const char *const bad[] = {
        "",
        "rack:",
        "rack:a:b",
        "rack:0",
        "21,",
        ",21",
        "0",
        "4294967296",
        "99999999999999999999",
        "h1,",
        "21 22",
        "h1:2",
        "a\n",
        "01234567890123456789012345678901234567890123456789012345678901234"};
    struct pd_error error;
    json_t *hosts;
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(pd_cli_hosts_json(good[i][0], &hosts, &error), 0);
        char *text = json_dumps(hosts, JSON_COMPACT | JSON_ENCODE_ANY);
        assert_string_equal(text, good[i][1]);
        free(text);
        json_decref(hosts);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(pd_cli_hosts_json(bad[i], &hosts, &error), -PD_E_VALUE);
    }
}

static void missing_hosts_are_named_up_to_a_number(void **state)
{
    json_t *missing = json_array(), *answer;
    const struct pd_cli_outcome outcome = {.asked = 100, .answered = 70};
    char *text = NULL;
    size_t bytes, lines = 0;
    (void)state;
    for (int i = 0; i < 30; i++) {
        json_array_append_new(missing,
                              json_pack("{s:i, s:s}", "id", i, "reason", "gone\n\x1b[31m"));
    }
    answer = json_pack("{s:s, s:{s:o}}", "mode", "direct", "hosts", "missing", missing);
    FILE *out = open_memstream(&text, &bytes);
    pd_cli_outcome_view(answer, &outcome, out);
    fclose(out);
    for (const char *at = text; *at; at++) {
        lines += *at == '\n';
    }
    assert_int_equal(lines, 1 + 20 + 1);
    assert_null(strchr(text, '\x1b'));
    assert_non_null(strstr(text, "70 of 100 hosts answered; asked directly\n"));
    assert_non_null(strstr(text, "10 more"));
    free(text);
    json_decref(answer);
}

static void lists_show_whatever_there_is(void **state)
{
    static const struct pd_cli_field fields[] = {
        {.title = "A", .member = "a", .kind = PD_CLI_WORD},
        {.title = "N", .member = "n", .kind = PD_CLI_NUMBER},
        {.title = "T", .member = "t", .kind = PD_CLI_TIME_US},
        {.title = "W", .member = NULL, .kind = PD_CLI_WHEN},
        {.title = "Q", .member = NULL, .kind = PD_CLI_QUESTION}};
    static const struct pd_cli_listing listing = {"rows", "row", "rows", fields, 5};
    const struct pd_style style = {.utf8 = false};
    struct pd_error error = {0};
    char *text = NULL;
    size_t bytes;
    json_t *answer = json_loads("{\"rows\":[{\"a\":\"x\\u009by\",\"n\":1234,\"t\":1000000,\"period_"
                                "ms\":5000,\"query\":\"getFlows\",\"args\":{\"k\":1}},"
                                "{\"a\":{\"b\":[1]},\"n\":\"many\",\"t\":-1,\"on\":7},{\"n\":1e300,"
                                "\"program\":\"\",\"period_ms\":-3}]}",
                                0, NULL);
    (void)state;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(pd_cli_list(&listing, answer, &style, out, &error), 0);
    fclose(out);
    assert_non_null(strstr(text, "x??y"));
    assert_non_null(strstr(text, "1,234"));
    assert_non_null(strstr(text, "every 5.000 s  getFlows {\"k\":1}"));
    assert_non_null(strstr(text, "{\"b\":[1]}"));
    assert_non_null(strstr(text, "many"));
    assert_non_null(strstr(text, "3 rows\n"));
    free(text);
    json_decref(answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_are_read),
        cmocka_unit_test(torn_answers_are_seen),
        cmocka_unit_test(memory_has_a_limit),
        cmocka_unit_test(hosts_are_all_a_rack_or_a_list),
        cmocka_unit_test(missing_hosts_are_named_up_to_a_number),
        cmocka_unit_test(lists_show_whatever_there_is),
    };
    if (!freopen("/dev/null", "w",
                 stdout)) { /* where what is passed on goes; cmocka speaks on stderr */
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

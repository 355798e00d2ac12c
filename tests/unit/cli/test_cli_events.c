/* SPDX-License-Identifier: Apache-2.0 */
/* Server-sent events: the same whichever way the stream is cut, bounded, and with IDs that can go
 * back in a header. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/events.h"

struct taken {
    char text[4096];
    int err; /* to return */
};

static int take(void *context, const char *data, size_t len)
{
    struct taken *taken = context;
    assert_int_equal(data[len], '\0');
    strcat(taken->text, data);
    strcat(taken->text, "|");
    return taken->err;
}

/* In pieces of `step` bytes; what was taken and the last ID: "a|b|#7". */
static int feed(const char *stream, size_t len, size_t step, struct taken *taken)
{
    struct pd_cli_events events;
    pd_cli_events_begin(&events, take, taken);
    const struct pd_query_sink sink = pd_cli_events_sink(&events);
    int err = 0;
    for (size_t at = 0; at < len && !err; at += step) {
        err = sink.write(sink.context, stream + at, len - at < step ? len - at : step);
    }
    strcat(taken->text, "#");
    strcat(taken->text, events.id);
    pd_cli_events_done(&events);
    return err;
}

static void streams_are_taken_apart(void **state)
{
    static const struct {
        const char *stream, *wanted;
    } cases[] = {
        {"", "#"},
        {"data: a\n\n", "a|#"},
        {"data:a\r\n\r\ndata:  b\r\rdata\n\n", "a| b||#"},
        {"id: 7\ndata: a\ndata: b\n\nid: 8\ndata: torn", "a\nb|#7"},
        {"id: 7\n\nid: 8\ndata: torn\n", "#7"},
        {": comment\nevent: x\nretry: 5\ndata: a\n\n", "a|#"},
        {"id: 1\x1b\ndata: a\n\n", "a|#"},
        {"id: 1\r\ndata: a\r\n\r\nid: 0000000000000000000000000000000000000000\ndata: b\n\n",
         "a|b|#1"},
        {"dataa: 1\nid\n: \n\n\n\n", "#"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t len = strlen(cases[i].stream);
        for (size_t step = 1; step <= len + 1; step++) {
            struct taken taken = {"", 0};
            assert_int_equal(feed(cases[i].stream, len, step, &taken), 0);
            assert_string_equal(taken.text, cases[i].wanted);
        }
    }
}

static void what_ends_it_is_passed_on(void **state)
{
    static const char stream[] = "id: 1\ndata: a\n\nid: 2\ndata: b\n\n";
    struct taken taken = {"", -42};
    (void)state;
    assert_int_equal(feed(stream, strlen(stream), 3, &taken), -42);
    assert_string_equal(taken.text, "a|#"); /* not taken: its ID is not that of a taken one */
}

static void nothing_grows_without_end(void **state)
{
    char *line = malloc(PD_CLI_EVENT_MAX_BYTES + 100);
    struct taken taken = {"", 0};
    (void)state;
    memset(line, 'x', PD_CLI_EVENT_MAX_BYTES + 100);
    assert_int_equal(feed(line, PD_CLI_EVENT_MAX_BYTES + 100, 4096, &taken), -PD_E_TOO_LARGE);
    for (size_t at = 0; at + 100 <= PD_CLI_EVENT_MAX_BYTES + 100; at += 100) {
        memcpy(line + at, "\ndata:", 6);
    }
    assert_int_equal(feed(line, PD_CLI_EVENT_MAX_BYTES + 100, 4096, &taken), 0);
    struct pd_cli_events events;
    pd_cli_events_begin(&events, take, &taken);
    const struct pd_query_sink sink = pd_cli_events_sink(&events);
    assert_int_equal(sink.write(sink.context, line, PD_CLI_EVENT_MAX_BYTES), 0);
    assert_int_equal(sink.write(sink.context, line, PD_CLI_EVENT_MAX_BYTES), -PD_E_TOO_LARGE);
    pd_cli_events_done(&events);
    free(line);
}

/* What was begun before a connection broke is forgotten; the ID is what the next one goes on from.
 */
static void a_new_connection_begins_anew(void **state)
{
    struct taken taken = {"", 0};
    struct pd_cli_events events;
    (void)state;
    pd_cli_events_begin(&events, take, &taken);
    const struct pd_query_sink sink = pd_cli_events_sink(&events);
    assert_false(events.heard);
    assert_int_equal(sink.write(sink.context, "id: 1\ndata: a\n\nid: 2\ndata: b\nda", 31), 0);
    assert_true(events.heard);
    pd_cli_events_restart(&events);
    assert_int_equal(sink.write(sink.context, "data: c\n\n", 9), 0);
    assert_string_equal(taken.text, "a|c|");
    assert_string_equal(events.id, "1");
    pd_cli_events_done(&events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_taken_apart),
        cmocka_unit_test(what_ends_it_is_passed_on),
        cmocka_unit_test(nothing_grows_without_end),
        cmocka_unit_test(a_new_connection_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

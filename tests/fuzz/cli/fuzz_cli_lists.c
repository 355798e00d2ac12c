/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: what a hostile controller sends: streams of events, lists, results, hosts. The first
 * byte chooses. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/events.h"
#include "cli/fleet.h"
#include "cli/listing.h"
#include "cli/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int take(void *context, const char *text, size_t len)
{
    if (strnlen(text, len + 1) > len) {
        abort();
    }
    return ++*(int *)context > 1000;
}

/* The same events come of one piece and of many. */
static void events_of(const char *text, size_t len)
{
    int whole = 0, pieces = 0, err = 0;
    struct pd_cli_events events;
    pd_cli_events_begin(&events, take, &whole);
    struct pd_query_sink sink = pd_cli_events_sink(&events);
    (void)sink.write(sink.context, text, len);
    pd_cli_events_done(&events);
    pd_cli_events_begin(&events, take, &pieces);
    sink = pd_cli_events_sink(&events);
    for (size_t i = 0; i < len && !err; i++) {
        err = sink.write(sink.context, text + i, 1);
    }
    pd_cli_events_done(&events);
    if (whole != pieces) {
        abort();
    }
}

static const struct pd_cli_field fields[] = {
    {.title = "A", .member = "a", .kind = PD_CLI_WORD},
    {.title = "N", .member = "n", .kind = PD_CLI_NUMBER},
    {.title = "T", .member = "t", .kind = PD_CLI_TIME_US},
    {.title = "S", .member = "s", .kind = PD_CLI_SPAN_US},
    {.title = "Q", .kind = PD_CLI_QUESTION},
    {.title = "W", .kind = PD_CLI_WHEN},
};
static const struct pd_cli_listing listing = {"a", "one", "many", fields, 6};

static void list_of(const char *text, size_t len, FILE *out)
{
    const struct pd_cli_memory memory = {(char *)(uintptr_t)text, len, len};
    const struct pd_style style = {.utf8 = false};
    struct pd_error error = {0};
    json_t *answer;
    if (pd_cli_memory_json(&memory, &answer, &error)) {
        return;
    }
    (void)pd_cli_list(&listing, answer, &style, out, &error);
    json_decref(answer);
}

/* Nothing may reach the terminal but text: bytes of UTF-8, but none of its control characters. */
static void check(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < ' ' && c != '\n') || c == 0x7f ||
            (c == 0xc2 && (unsigned char)text[i + 1] < 0xa0)) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct pd_cli_outcome outcome;
    struct pd_error error = {0};
    char *text = NULL;
    size_t bytes = 0;
    if (!len) {
        return 0;
    }
    const char *rest = (const char *)data + 1;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) {
        return 0;
    }
    if (data[0] % 3 == 0) {
        events_of(rest, len - 1);
    } else if (data[0] % 3 == 1) {
        list_of(rest, len - 1, out);
    } else {
        const struct pd_style style = {.utf8 = true};

        (void)pd_cli_view(&pd_query_question_program, rest, len - 1, &style, out, &outcome, &error);
    }
    fclose(out);
    check(text, bytes);
    free(text);
    return 0;
}

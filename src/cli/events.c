/* SPDX-License-Identifier: Apache-2.0 */
/* Server-sent events, taken apart as their bytes come. */
#include "cli/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"

static int append(struct pd_cli_text *text, const char *bytes, size_t len)
{
    if (len > PD_CLI_EVENT_MAX_BYTES - text->len) {
        return -PD_E_TOO_LARGE;
    }
    if (PD_GROW(text->bytes, text->max, text->len + len + 1)) {
        return -ENOMEM;
    }
    if (len) {
        memcpy(text->bytes + text->len, bytes, len);
    }
    text->len += len;
    text->bytes[text->len] = '\0';
    return 0;
}

void pd_cli_events_begin(struct pd_cli_events *events,
                         int (*take)(void *context, const char *data, size_t len), void *context)
{
    *events = (struct pd_cli_events){.take = take, .context = context};
}

void pd_cli_events_restart(struct pd_cli_events *events)
{
    events->line.len = events->data.len = 0;
    events->after_cr = events->has_data = false;
    memcpy(events->next_id, events->id, sizeof events->id);
}

void pd_cli_events_done(struct pd_cli_events *events)
{
    free(events->line.bytes);
    free(events->data.bytes);
    events->line = events->data = (struct pd_cli_text){0};
}

/* ---- lines ---- */

/* An ID goes back to the server in a header: one that would not fit there is none. */
static void set_id(struct pd_cli_events *events, const char *value, size_t len)
{
    if (len >= sizeof events->next_id || strspn(value, "0123456789") != len) {
        return;
    }
    memcpy(events->next_id, value, len);
    events->next_id[len] = '\0';
}

static int dispatch(struct pd_cli_events *events)
{
    int err = 0;
    if (events->has_data) {
        err = events->take(events->context, events->data.bytes, events->data.len);
    }
    if (!err) {
        memcpy(events->id, events->next_id, sizeof events->id);
    }
    events->data.len = 0;
    events->has_data = false;
    return err;
}

static int add_data(struct pd_cli_events *events, const char *value, size_t len)
{
    int err = events->has_data ? append(&events->data, "\n", 1) : 0;
    events->has_data = true;
    return err ? err : append(&events->data, value, len);
}

static int take_line(struct pd_cli_events *events)
{
    int err = append(&events->line, "", 0); /* there is a NUL, even when nothing came */
    if (err) {
        return err;
    }
    const char *line = events->line.bytes, *colon = memchr(line, ':', events->line.len);
    size_t len = events->line.len, name = colon ? (size_t)(colon - line) : len;
    const char *value = colon ? colon + 1 : line + len;
    value += colon && *value == ' ';
    size_t value_len = (size_t)(line + len - value);
    events->line.len = 0;
    if (!len) {
        return dispatch(events);
    }
    if (name == 4 && !memcmp(line, "data", 4)) {
        return add_data(events, value, value_len);
    }
    if (name == 2 && !memcmp(line, "id", 2)) {
        set_id(events, value, value_len);
    }
    return 0;
}

/* Lines end with CR, LF or both. */
static int write_events(void *context, const char *bytes, size_t len)
{
    struct pd_cli_events *events = context;
    const char *end = bytes + len;
    events->heard = true;
    while (bytes < end) {
        const char *at = bytes;
        if (events->after_cr && *at == '\n') {
            events->after_cr = false;
            bytes++;
            continue;
        }
        events->after_cr = false;
        while (at < end && *at != '\n' && *at != '\r') {
            at++;
        }
        int err = append(&events->line, bytes, (size_t)(at - bytes));
        if (!err && at < end) {
            events->after_cr = *at == '\r';
            err = take_line(events);
            at++;
        }
        if (err) {
            return err;
        }
        bytes = at;
    }
    return 0;
}

struct pd_query_sink pd_cli_events_sink(struct pd_cli_events *events)
{
    return (struct pd_query_sink){events, write_events};
}

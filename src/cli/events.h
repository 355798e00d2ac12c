/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of server-sent events, taken apart as its bytes come. */
#ifndef PD_CLI_EVENTS_H
#define PD_CLI_EVENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "query/query.h"

/* The format is that of HTML's EventSource: lines "field: value", a blank line ends an event;
 * "data" and "id" are read, comments and other fields passed over. The stream is whatever another
 * program sends: lines and events have a limit.
 *
 * Usage: pd_cli_events_begin → pd_cli_events_sink to pd_cli_ask, again for each connection after
 * pd_cli_events_restart → pd_cli_events_done. Thread safety: works on the caller's memory. */

#define PD_CLI_EVENT_MAX_BYTES ((size_t)1 << 20) /* of an event's data, and of a line */
#define PD_CLI_EVENT_ID_BYTES  32

struct pd_cli_text {
    char *bytes;
    size_t len, max;
};

struct pd_cli_events {
    void *context;
    /* An event with its data, NUL-terminated. Non-zero ends the stream with that value. */
    int (*take)(void *context, const char *data, size_t len);
    char id[PD_CLI_EVENT_ID_BYTES]; /* of the last event that was taken; "": none */
    char next_id[PD_CLI_EVENT_ID_BYTES];
    struct pd_cli_text line, data;
    bool after_cr;
    bool has_data;
    bool heard; /* anything at all, since the beginning: there was a connection */
};

void pd_cli_events_begin(struct pd_cli_events *events,
                         int (*take)(void *context, const char *data, size_t len), void *context);
void pd_cli_events_restart(
    struct pd_cli_events *events); /* what was begun is forgotten, the ID kept */
void pd_cli_events_done(struct pd_cli_events *events);

/* -PD_E_TOO_LARGE, -ENOMEM, or what `take` returned. */
struct pd_query_sink pd_cli_events_sink(struct pd_cli_events *events);

#endif

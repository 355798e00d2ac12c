/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of a controller (hosts, switches, installed queries) as tables: a column for each member
 * worth seeing. */
#ifndef PD_CLI_LISTING_H
#define PD_CLI_LISTING_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/server.h"
#include "cli/table.h"
#include "query/rows/text.h"

/* These lists describe programs that go on changing, so no member is insisted on: one that is
 * absent or null is "-", one of another type than expected is shown as what it is.
 *
 * Thread safety: works on the caller's memory. */

enum pd_cli_kind {
    PD_CLI_WORD,     /* any value */
    PD_CLI_NUMBER,   /* of things: 1,234 */
    PD_CLI_TIME_US,  /* wall time */
    PD_CLI_SPAN_US,  /* how long */
    PD_CLI_RATE_BPS, /* bits a second: 1.2 Gbit/s */
    PD_CLI_SHARE,    /* 0 to 1: 12 % */
    PD_CLI_QUESTION, /* of the row: its "query" or "program", and "args" */
    PD_CLI_WHEN,     /* of the row: its "period_ms" or "on" */
};

struct pd_cli_field {
    const char *title;
    const char *member; /* NULL: the row itself */
    enum pd_cli_kind kind;
    unsigned char spare; /* on narrow terminals: struct pd_rows_column */
};

struct pd_cli_listing {
    const char *member; /* of the answer: "hosts" */
    const char *noun, *nouns;
    const struct pd_cli_field *fields;
    size_t fields_len;
};

/* Prints the rows and how many they are. -PD_E_SYNTAX or -ENOMEM; nothing is printed then. */
int pd_cli_list(const struct pd_cli_listing *listing, const json_t *answer,
                const struct pd_style *style, FILE *out, struct pd_error *error);

/* ---- commands that ask a controller for nothing but such an answer ---- */

struct pd_cli_list_settings {
    struct pd_cli_server server;
    bool json;
    struct pd_cli_table table;
};
extern const struct pd_option pd_cli_list_options[];
extern const struct pd_option pd_cli_deed_options[]; /* of those that list nothing */

/* struct pd_cli_command's `check`, and what its `run` does. */
int pd_cli_list_check(void *settings, const struct pd_cli_words *words, struct pd_error *error);
int pd_cli_list_ask(const struct pd_cli_list_settings *settings, const char *route,
                    const struct pd_cli_listing *listing, struct pd_error *error);

/* ---- commands that have a controller do something ---- */

/* What came of it, in words on stdout. 0, or what the command returns. */
typedef int pd_cli_say(const json_t *answer, struct pd_error *error);

/* Asks, and prints the answer as it came (`json`) or as `say` words it. */
int pd_cli_deed(const struct pd_cli_server *server, bool json, struct pd_cli_request request,
                pd_cli_say *say, struct pd_error *error);

/* The same with a POST of a document, which it takes over; NULL: there was no memory for it. */
int pd_cli_deed_post(const struct pd_cli_server *server, bool json, const char *route,
                     json_t *document, pd_cli_say *say, struct pd_error *error);

#endif

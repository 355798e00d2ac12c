/* SPDX-License-Identifier: Apache-2.0 */
/* What comes of an answer: into memory, to be shown as a table, or straight to standard output,
 * watched for how it ends. */
#ifndef PD_CLI_ANSWER_H
#define PD_CLI_ANSWER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "query/query.h"

/* An answer can be larger than memory, so --json passes it on as it comes. Whether it is whole and
 * complete stands in it: members "complete" and "hosts" of the object, wherever they are, and of
 * the last object where one stands on each line (NDJSON).
 *
 * Thread safety: works on the caller's memory. */

/* What an answer says of itself. */
struct pd_cli_outcome {
    bool complete;
    uint64_t asked, answered; /* hosts; 0: one store alone was asked */
};

/* ---- into memory ---- */

#define PD_CLI_MEMORY_MAX_BYTES ((size_t)64 << 20) /* beyond: -PD_E_TOO_LARGE from the sink */

struct pd_cli_memory {
    char *bytes; /* the caller frees it */
    size_t len;
    size_t max; /* allocated */
};

struct pd_query_sink pd_cli_memory_sink(struct pd_cli_memory *memory);

/* The memory as JSON, without duplicate members. -PD_E_SYNTAX. */
int pd_cli_memory_json(const struct pd_cli_memory *memory, json_t **ret_json,
                       struct pd_error *error);

/* ---- straight out ---- */

#define PD_CLI_WATCH_TOKEN 16

struct pd_cli_stream {
    struct pd_cli_outcome outcome;
    bool found; /* "complete" */
    /* control characters are replaced: JSON has none outside of its line breaks */
    bool on_terminal;
    bool in_string, escaped;
    char last;
    unsigned depth;
    char keys[3][PD_CLI_WATCH_TOKEN]; /* at depths 1 and 2; a quotation mark comes first */
    char token[PD_CLI_WATCH_TOKEN];   /* cut */
    size_t token_len;
};

void pd_cli_stream_begin(struct pd_cli_stream *stream);
struct pd_query_sink pd_cli_stream_sink(struct pd_cli_stream *stream);

/* Is what has come one whole answer? Ends the last line. -PD_E_TRUNCATED. */
int pd_cli_stream_end(struct pd_cli_stream *stream);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Answers into memory, and answers straight out, watched. */
#include "cli/answer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"

/* ---- into memory ---- */

static int memory_write(void *context, const char *bytes, size_t len)
{
    struct pd_cli_memory *memory = context;
    if (len > PD_CLI_MEMORY_MAX_BYTES - memory->len) {
        return -PD_E_TOO_LARGE;
    }
    if (PD_GROW(memory->bytes, memory->max, memory->len + len)) {
        return -ENOMEM;
    }
    memcpy(memory->bytes + memory->len, bytes, len);
    memory->len += len;
    return 0;
}

struct pd_query_sink pd_cli_memory_sink(struct pd_cli_memory *memory)
{
    return (struct pd_query_sink){memory, memory_write};
}

int pd_cli_memory_json(const struct pd_cli_memory *memory, json_t **ret_json,
                       struct pd_error *error)
{
    json_error_t where;
    json_t *json =
        json_loadb(memory->len ? memory->bytes : "", memory->len, JSON_REJECT_DUPLICATES, &where);
    if (!json) {
        pd_fail(error, -PD_E_SYNTAX, "the answer is not JSON: byte %d: %s", where.position,
                where.text);
        if (error) {
            pd_printable(error->text);
        }
        return -PD_E_SYNTAX;
    }
    *ret_json = json;
    return 0;
}

/* ---- straight out ---- */

void pd_cli_stream_begin(struct pd_cli_stream *stream)
{
    *stream = (struct pd_cli_stream){.on_terminal = isatty(STDOUT_FILENO)};
}

static void forget(struct pd_cli_stream *stream)
{
    stream->token_len = 0;
    *stream->token = '\0';
}

static void append(struct pd_cli_stream *stream, char c)
{
    if (stream->token_len + 1 < sizeof stream->token) {
        stream->token[stream->token_len++] = c;
        stream->token[stream->token_len] = '\0';
    }
}

/* A member's value has come. */
static void take(struct pd_cli_stream *stream)
{
    const char *token = stream->token, *key = stream->keys[1];
    if (stream->depth == 1 && !strcmp(key, "\"complete")) {
        stream->outcome.complete = !strcmp(token, "true");
        stream->found = stream->outcome.complete || !strcmp(token, "false");
    } else if (stream->depth == 2 && !strcmp(key, "\"hosts")) {
        if (!strcmp(stream->keys[2], "\"asked")) {
            stream->outcome.asked = strtoull(token, NULL, 10);
        } else if (!strcmp(stream->keys[2], "\"answered")) {
            stream->outcome.answered = strtoull(token, NULL, 10);
        }
    }
    forget(stream);
}

static void open_one(struct pd_cli_stream *stream)
{
    if (!stream->depth) {
        stream->found = false;
        stream->outcome = (struct pd_cli_outcome){0};
    }
    stream->depth++;
    if (stream->depth <= 2) {
        *stream->keys[stream->depth] = '\0';
    }
    forget(stream);
}

static void close_one(struct pd_cli_stream *stream)
{
    take(stream);
    if (stream->depth) {
        stream->depth--;
    }
}

static void watch_string(struct pd_cli_stream *stream, char c)
{
    if (stream->escaped) {
        stream->escaped = false;
    } else if (c == '\\') {
        stream->escaped = true;
    } else if (c == '"') {
        stream->in_string = false;
    }
    if (stream->in_string) {
        append(stream, c);
    }
}

static void watch(struct pd_cli_stream *stream, char c)
{
    if (stream->in_string) {
        watch_string(stream, c);
        return;
    }
    switch (c) {
    case '"':
        forget(stream);
        append(stream, c);
        stream->in_string = true;
        break;
    case '{':
    case '[': open_one(stream); break;
    case '}':
    case ']': close_one(stream); break;
    case ',': take(stream); break;
    case ':':
        if (stream->depth == 1 || stream->depth == 2) {
            memcpy(stream->keys[stream->depth], stream->token, sizeof stream->token);
        }
        forget(stream);
        break;
    case ' ':
    case '\t':
    case '\r':
    case '\n': break;
    default: append(stream, c);
    }
}

static int write_out(const struct pd_cli_stream *stream, const char *bytes, size_t len)
{
    if (!stream->on_terminal) {
        return fwrite(bytes, 1, len, stdout) == len ? 0 : -EIO;
    }
    for (size_t i = 0; i < len; i++) {
        bool blank = bytes[i] == '\n' || bytes[i] == '\t' || bytes[i] == '\r';
        bool control = (unsigned char)bytes[i] < ' ' || bytes[i] == 0x7f;
        if (putchar(control && !blank ? '?' : bytes[i]) == EOF) {
            return -EIO;
        }
    }
    return 0;
}

static int stream_write(void *context, const char *bytes, size_t len)
{
    struct pd_cli_stream *stream = context;
    for (size_t i = 0; i < len; i++) {
        watch(stream, bytes[i]);
    }
    stream->last = len ? bytes[len - 1] : stream->last;
    int err = write_out(stream, bytes, len);
    if (!err && len && bytes[len - 1] == '\n' && fflush(stdout)) { /* rows that came ahead */
        return -EIO;
    }
    return err;
}

struct pd_query_sink pd_cli_stream_sink(struct pd_cli_stream *stream)
{
    return (struct pd_query_sink){stream, stream_write};
}

int pd_cli_stream_end(struct pd_cli_stream *stream)
{
    if (stream->depth || stream->in_string || !stream->last) {
        return -PD_E_TRUNCATED;
    }
    if (stream->last != '\n') {
        putchar('\n');
    }
    return 0;
}

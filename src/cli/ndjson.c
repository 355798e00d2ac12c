/* SPDX-License-Identifier: Apache-2.0 */
/* Records as NDJSON: lines of bounded length, each checked member by member. */
#include "cli/ndjson.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"

#define BUFFER_BYTES (4 * PD_NDJSON_LINE_BYTES)
#define BATCH        256

struct ndjson {
    FILE *in;
    const struct pd_ndjson_taker *taker;
    struct pd_error *error;
    uint64_t line; /* number, from 1 */
    uint64_t read_bytes;
    size_t from, end; /* of what is in the buffer and not yet used */
    bool at_end;      /* of `in` */
    size_t batch_len;
    struct pd_tib_record records[BATCH];
    struct pd_path paths[BATCH];
    char buffer[BUFFER_BYTES];
};

/* ---- lines ---- */

static int fill(struct ndjson *ndjson)
{
    if (ndjson->end - ndjson->from > PD_NDJSON_LINE_BYTES) {
        return pd_fail(ndjson->error, -PD_E_SYNTAX, "line %" PRIu64 ": longer than %d bytes",
                       ndjson->line + 1, PD_NDJSON_LINE_BYTES);
    }
    memmove(ndjson->buffer, ndjson->buffer + ndjson->from, ndjson->end - ndjson->from);
    ndjson->end -= ndjson->from;
    ndjson->from = 0;
    size_t n = fread(ndjson->buffer + ndjson->end, 1, BUFFER_BYTES - ndjson->end, ndjson->in);
    ndjson->end += n;
    ndjson->read_bytes += n;
    ndjson->at_end = !n;
    return ferror(ndjson->in) ? pd_fail(ndjson->error, -EIO, "standard input: %s", strerror(errno))
                              : 0;
}

/* The next line without its end, in the buffer; *ret_line is NULL after the last one. */
static int next_line(struct ndjson *ndjson, const char **ret_line, size_t *ret_len)
{
    const char *line, *newline;
    for (;;) {
        line = ndjson->buffer + ndjson->from;
        newline = memchr(line, '\n', ndjson->end - ndjson->from);
        if (newline || ndjson->at_end) {
            break;
        }
        int code = fill(ndjson);
        if (code) {
            return code;
        }
    }
    size_t len = newline ? (size_t)(newline - line) : ndjson->end - ndjson->from;
    if (len > PD_NDJSON_LINE_BYTES) {
        return pd_fail(ndjson->error, -PD_E_SYNTAX, "line %" PRIu64 ": longer than %d bytes",
                       ndjson->line + 1, PD_NDJSON_LINE_BYTES);
    }
    ndjson->from += len + (newline != NULL);
    ndjson->line++;
    *ret_line = newline || len ? line : NULL;
    *ret_len = len;
    return 0;
}

/* ---- one record ---- */

/* No member but these; NULL-terminated. */
static int check_members(const struct pd_reader *reader, const json_t *object,
                         const char *const *allowed)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        size_t i = 0;
        while (allowed[i] && strcmp(allowed[i], key) != 0) {
            i++;
        }
        if (!allowed[i]) {
            return pd_fail(reader->error, -PD_E_SYNTAX,
                           "%s \"%.40s\" is no member that belongs there", reader->where, key);
        }
    }
    return 0;
}

static int read_record(const struct pd_reader *reader, const json_t *object,
                       struct pd_tib_record *record, struct pd_path *path)
{
    static const char *const ids[] = {"src_ip", "dst_ip", "src_port", "dst_port", "protocol", NULL};
    static const char *const members[] = {"flow_id", "path", "stime_us", "etime_us", "bytes",
                                          "pkts",    "tags", "dscp",     NULL};
    static const char *const feasible[] = {"flow_id", "path", "stime_us", "etime_us",
                                           "bytes",   "pkts", NULL};
    int code = pd_read_flow(reader, object, &record->flow);
    if (!code) {
        code = check_members(reader, json_object_get(object, "flow_id"), ids);
    }
    if (!code) {
        code = pd_read_path(reader, object, path);
    }
    if (!code) {
        code = pd_read_times(reader, object, record);
    }
    if (!code) {
        code = pd_read_counts(reader, object, INT64_MAX, record);
    }
    return code ? code : check_members(reader, object, path->len ? feasible : members);
}

static int read_line(struct ndjson *ndjson, const char *line, size_t len)
{
    char place[32];
    snprintf(place, sizeof place, "line %" PRIu64 ":", ndjson->line);
    const struct pd_reader reader = {place, ndjson->error};
    json_error_t where;
    json_t *object = json_loadb(line, len, JSON_REJECT_DUPLICATES, &where);
    if (!object) {
        return pd_fail(ndjson->error, -PD_E_SYNTAX, "%s not JSON: byte %d: %s", place,
                       where.position, where.text);
    }
    struct pd_tib_record record = {0};
    struct pd_path *path = &ndjson->paths[ndjson->batch_len];
    int code = json_is_object(object)
                   ? read_record(&reader, object, &record, path)
                   : pd_fail(ndjson->error, -PD_E_SYNTAX, "%s not an object", place);
    json_decref(object);
    if (code) {
        return code;
    }
    record.path = path;
    ndjson->records[ndjson->batch_len++] = record;
    return 0;
}

/* ---- all of them ---- */

static int flush(struct ndjson *ndjson)
{
    size_t len = ndjson->batch_len;
    ndjson->batch_len = 0;
    return len ? ndjson->taker->take(ndjson->taker->context, ndjson->records, len,
                                     ndjson->read_bytes - (ndjson->end - ndjson->from))
               : 0;
}

static int read_all(struct ndjson *ndjson)
{
    for (;;) {
        const char *line = NULL;
        size_t len = 0;
        int code = next_line(ndjson, &line, &len);
        if (code || !line) {
            return code;
        }
        len -= len && line[len - 1] == '\r';
        code = len ? read_line(ndjson, line, len) : 0;
        if (!code && ndjson->batch_len == BATCH) {
            code = flush(ndjson);
        }
        if (code) {
            return code;
        }
    }
}

int pd_ndjson_read(FILE *in, const struct pd_ndjson_taker *taker, struct pd_error *error)
{
    struct ndjson *ndjson = calloc(1, sizeof *ndjson);
    if (!ndjson) {
        return pd_fail(error, -ENOMEM, "no memory to read records");
    }
    ndjson->in = in;
    ndjson->taker = taker;
    ndjson->error = error;
    int code = read_all(ndjson), flushed = flush(ndjson);
    free(ndjson);
    return code ? code : flushed;
}

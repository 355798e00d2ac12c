/* SPDX-License-Identifier: Apache-2.0 */
/* Records as NDJSON: lines of bounded length, each checked member by member. */
#include "cli/ndjson.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "query/telemetry_column.h"
#include "query/way.h"
#include "telemetry/column.h"

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
    struct pd_claim claims[BATCH];
    uint8_t *extras[BATCH]; /* NULL: none */
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
        int err = fill(ndjson);
        if (err) {
            return err;
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

static bool is_one_of(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0) {
        names++;
    }
    return *names;
}

/* Of a way that has no mark. */
static bool is_exact(const char *member)
{
    static const char *const exact[] = {"path", "origin", "state", NULL};

    return is_one_of(exact, member);
}

/* No member but these, NULL-terminated, and those that `also` knows. */
static int check_members(const struct pd_cli_reader *reader, const json_t *object,
                         const char *const *allowed, bool (*also)(const char *member))
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (!is_one_of(allowed, key) && !(also && also(key))) {
            return pd_fail(reader->error, -PD_E_SYNTAX, "%s: %.40s: no member that belongs there",
                           reader->where, key);
        }
    }
    return 0;
}

static const char *read_chunk(const json_t *chunk, uint8_t *to, uint32_t *used)
{
    const json_t *kind = json_object_get(chunk, "kind");
    const char *text = json_string_value(json_object_get(chunk, "bytes"));
    size_t len = text ? strlen(text) / 2 : 0;
    uint16_t kind_le = htole16((uint16_t)json_integer_value(kind));
    uint32_t len_le = htole32((uint32_t)len);

    if (!json_is_integer(kind) || json_integer_value(kind) < 0 ||
        json_integer_value(kind) > UINT16_MAX || !text || strlen(text) % 2 ||
        strspn(text, "0123456789abcdef") != 2 * len || len + 6 > PD_TIB_EXTRA_BYTES - *used) {
        return "a list of kinds with bytes in hexadecimal";
    }
    memcpy(to + *used, &kind_le, 2);
    memcpy(to + *used + 2, &len_le, 4);
    *used += 6;
    for (size_t i = 0; i < len; i++) {
        char byte[3] = {text[2 * i], text[2 * i + 1], '\0'};

        to[(*used)++] = (uint8_t)strtoul(byte, NULL, 16);
    }
    return NULL;
}

static const char *read_telemetry(const json_t *list, const struct pd_path *path, uint8_t *to,
                                  uint32_t *used)
{
    const uint16_t kind_le = htole16(PD_TELEMETRY_COLUMN_KIND);
    size_t len;

    if (pd_query_telemetry_column_read(list, path, to + 6, &len)) {
        return "a list of what hops of the path measured, by name and hop";
    }
    const uint32_t len_le = htole32((uint32_t)len);
    memcpy(to, &kind_le, 2);
    memcpy(to + 2, &len_le, 4);
    *used = 6 + (uint32_t)len;
    return NULL;
}

/* [{"kind":N,"bytes":"00ff"}…]: further columns of a record; those that have words of their own
 * before them. */
static int read_extra(const struct pd_cli_reader *reader, const json_t *object,
                      const struct pd_path *path, struct pd_tib_record *record, uint8_t **ret_extra)
{
    static const char wrong[] = "a list of kinds with bytes in hexadecimal";
    const json_t *list = json_object_get(object, "extra");
    const json_t *telemetry = json_object_get(object, "telemetry");
    const char *expected = NULL;
    uint32_t used = 0;
    uint8_t *bytes;

    if (!list && !telemetry) {
        return 0;
    }
    bytes = !list || json_is_array(list) ? malloc(PD_TIB_EXTRA_BYTES) : NULL;
    if (!bytes) {
        return pd_cli_read_bad(reader, "extra", wrong);
    }
    if (telemetry) {
        expected = read_telemetry(telemetry, path, bytes, &used);
    }
    const char *member = expected ? "telemetry" : "extra";
    for (size_t i = 0; i < json_array_size(list) && !expected; i++) {
        expected = read_chunk(json_array_get(list, i), bytes, &used);
    }
    if (expected) {
        free(bytes);
        return pd_cli_read_bad(reader, member, expected);
    }
    record->extra = *ret_extra = bytes;
    record->extra_bytes = used;
    return 0;
}

static int read_record(const struct pd_cli_reader *reader, const json_t *object,
                       struct pd_tib_record *record, struct pd_path *path, struct pd_claim *claim,
                       uint8_t **ret_extra)
{
    static const char *const ids[] = {"src_ip", "dst_ip", "src_port", "dst_port", "protocol", NULL};
    static const char *const members[] = {"flow_id", "stime_us",  "etime_us",
                                          "bytes",   "pkts",      "retransmissions",
                                          "extra",   "telemetry", NULL};
    int err = pd_cli_read_flow(reader, object, &record->flow);
    if (!err) {
        err = check_members(reader, json_object_get(object, "flow_id"), ids, NULL);
    }
    if (!err) {
        err = pd_cli_read_path(reader, object, path, claim);
    }
    if (!err) {
        err = pd_cli_read_times(reader, object, record);
    }
    if (!err) {
        err = pd_cli_read_counts(reader, object, INT64_MAX, record);
    }
    if (!err && json_object_get(object, "retransmissions")) {
        uint64_t number;

        err = pd_cli_read_number(reader, object, "retransmissions", UINT32_MAX, &number);
        record->retransmissions = err ? 0 : (uint32_t)number;
    }
    if (!err) {
        err = read_extra(reader, object, path, record, ret_extra);
    }
    /* Marks are kept where there is no path, or not a certain one. */
    if (!err && claim->state == PD_CLAIM_EXACT) {
        return check_members(reader, object, members, is_exact);
    }
    return err ? err : check_members(reader, object, members, pd_query_way_has);
}

static int read_line(struct ndjson *ndjson, const char *line, size_t len)
{
    char place[32];
    snprintf(place, sizeof place, "line %" PRIu64, ndjson->line);
    const struct pd_cli_reader reader = {place, ndjson->error};
    json_error_t where;
    json_t *object = json_loadb(line, len, JSON_REJECT_DUPLICATES, &where);
    if (!object) {
        return pd_fail(ndjson->error, -PD_E_SYNTAX, "%s: not JSON: byte %d: %s", place,
                       where.position, where.text);
    }
    struct pd_tib_record record = {0};
    struct pd_path *path = &ndjson->paths[ndjson->batch_len];
    struct pd_claim *claim = &ndjson->claims[ndjson->batch_len];
    uint8_t **extra = &ndjson->extras[ndjson->batch_len];
    int err = json_is_object(object)
                  ? read_record(&reader, object, &record, path, claim, extra)
                  : pd_fail(ndjson->error, -PD_E_SYNTAX, "%s: not an object", place);
    json_decref(object);
    if (err) {
        return err;
    }
    record.path = path;
    record.claim = pd_tib_claim_kept(claim);
    ndjson->records[ndjson->batch_len++] = record;
    return 0;
}

/* ---- all of them ---- */

static int flush(struct ndjson *ndjson)
{
    size_t len = ndjson->batch_len;
    int err = len ? ndjson->taker->take(ndjson->taker->context, ndjson->records, len,
                                        ndjson->read_bytes - (ndjson->end - ndjson->from))
                  : 0;
    ndjson->batch_len = 0;
    for (size_t i = 0; i < BATCH; i++) {
        free(ndjson->extras[i]);
        ndjson->extras[i] = NULL;
    }
    return err;
}

static int read_all(struct ndjson *ndjson)
{
    for (;;) {
        const char *line = NULL;
        size_t len = 0;
        int err = next_line(ndjson, &line, &len);
        if (err || !line) {
            return err;
        }
        len -= len && line[len - 1] == '\r';
        err = len ? read_line(ndjson, line, len) : 0;
        if (!err && ndjson->batch_len == BATCH) {
            err = flush(ndjson);
        }
        if (err) {
            return err;
        }
    }
}

int pd_cli_ndjson_read(FILE *in, const struct pd_ndjson_taker *taker, struct pd_error *error)
{
    struct ndjson *ndjson = calloc(1, sizeof *ndjson);
    if (!ndjson) {
        return pd_fail(error, -ENOMEM, "no memory to read records");
    }
    ndjson->in = in;
    ndjson->taker = taker;
    ndjson->error = error;
    int err = read_all(ndjson), flushed = flush(ndjson);
    free(ndjson);
    return err ? err : flushed;
}

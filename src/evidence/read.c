/* SPDX-License-Identifier: Apache-2.0 */
/* Reads evidence from NDJSON: each line checked, rows handed on in parts. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "evidence/file.h"
#include "json/cursor.h"

/* Rows of the part at hand. What a row points to is kept by offset while the arrays grow. */
struct part {
    struct pd_evidence_row *rows;
    struct pd_evidence_way *ways;
    uint32_t *nodes;
    size_t rows_len, rows_room, ways_len, ways_room, nodes_len, nodes_room;
};

struct reading {
    const struct pd_evidence_sink *sink;
    struct part part;
    double time_s; /* of the rows of the part; -1: none was given */
    bool continues;
    const char *name;
    unsigned long long line;
    struct pd_error *error;
};

static struct pd_json_cursor cursor(const struct reading *r, const json_t *object)
{
    return (struct pd_json_cursor){
        .object = object, .file = r->name, .line = r->line, .err = -PD_E_SYNTAX, .error = r->error};
}

static int refuse(const struct reading *r, const char *member, const char *expected)
{
    const struct pd_json_cursor at = cursor(r, NULL);

    return pd_json_wrong(&at, member, "%s", expected);
}

static int no_memory(const struct reading *r)
{
    return pd_fail(r->error, -ENOMEM, "%.300s: %s", r->name, pd_error_text(-ENOMEM));
}

/* ---- room ---- */

static bool reserve(void **array, size_t len, size_t *room, size_t item_bytes)
{
    void *grown = len < *room ? *array : pd_grow(*array, room, len + 1, item_bytes, SIZE_MAX);

    if (!grown) {
        return false;
    }
    *array = grown;
    return true;
}

/* Offsets become pointers, once nothing grows any more. */
static void point(struct part *part)
{
    size_t way = 0, node = 0;
    for (size_t i = 0; i < part->rows_len; i++) {
        part->rows[i].ways = part->ways + way;
        for (size_t w = 0; w < part->rows[i].ways_len; w++, way++) {
            part->ways[way].nodes = part->nodes + node;
            node += part->ways[way].nodes_len;
        }
    }
}

static int hand_over(struct reading *r)
{
    struct part *part = &r->part;
    uint64_t time_us = r->time_s > 0 ? (uint64_t)(r->time_s * 1e6) : 0;
    struct pd_evidence_period period = {.to_us = time_us,
                                        .continues = r->continues,
                                        .rows = part->rows,
                                        .rows_len = part->rows_len};
    if (!part->rows_len) {
        return 0;
    }
    point(part);
    int err = r->sink->take(r->sink->context, &period);
    part->rows_len = part->ways_len = part->nodes_len = 0;
    r->continues = true;
    return err;
}

/* ---- members of a line ---- */

static int read_count(const struct reading *r, const json_t *object, const char *key,
                      uint64_t *ret_count)
{
    const struct pd_json_cursor at = cursor(r, object);

    return pd_json_number(&at, key, 0, PD_JSON_NUMBER_MAX, ret_count);
}

/* Null or missing: not known. */
static int read_count_or_null(const struct reading *r, const json_t *object, const char *key,
                              uint64_t *ret_count)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value)) {
        *ret_count = PD_EVIDENCE_UNKNOWN;
        return 0;
    }
    return read_count(r, object, key, ret_count);
}

static int read_nodes(struct reading *r, const json_t *array, size_t least)
{
    struct part *part = &r->part;
    const json_t *node;
    size_t i;
    if (!json_is_array(array) || json_array_size(array) < least ||
        json_array_size(array) > PD_EVIDENCE_NODES_MAX) {
        return refuse(r, "path", "a list of at most 130 IDs");
    }
    json_array_foreach(array, i, node)
    {
        if (!json_is_integer(node) || json_integer_value(node) < 0 ||
            json_integer_value(node) > UINT32_MAX) {
            return refuse(r, "path", "IDs of switches; 0 for one that is not known");
        }
        if (!reserve((void **)&part->nodes, part->nodes_len, &part->nodes_room,
                     sizeof *part->nodes)) {
            return no_memory(r);
        }
        part->nodes[part->nodes_len++] = (uint32_t)json_integer_value(node);
    }
    return 0;
}

static int read_origin(const struct reading *r, const json_t *object, uint8_t *ret_origin)
{
    const struct pd_json_cursor at = cursor(r, object);
    const char *name = "tags";
    int err = json_object_get(object, "origin") ? pd_json_words(&at, "origin", &name) : 0;

    *ret_origin = (uint8_t)pd_evidence_origin_find(name);
    return err;
}

static int read_reached(const struct reading *r, const json_t *object, bool *ret_reached)
{
    const struct pd_json_cursor at = cursor(r, object);

    *ret_reached = true;
    return pd_json_flag_or(&at, "reached", ret_reached);
}

/* One way of the row: `object` has its path and what is known of it. */
static int read_way(struct reading *r, const json_t *object, size_t least)
{
    struct part *part = &r->part;
    struct pd_evidence_way way = {.nodes = NULL};
    size_t before = part->nodes_len;
    if (!json_is_object(object)) {
        return refuse(r, "paths", "a list of objects");
    }
    int err = read_nodes(r, json_object_get(object, "path"), least);
    err = err ? err : read_count_or_null(r, object, "pkts", &way.pkts);
    err = err ? err : read_count_or_null(r, object, "bytes", &way.bytes);
    err = err ? err : read_origin(r, object, &way.origin);
    err = err ? err : read_reached(r, object, &way.reached);
    if (err) {
        return err;
    }
    if (!reserve((void **)&part->ways, part->ways_len, &part->ways_room, sizeof *part->ways)) {
        return no_memory(r);
    }
    way.bytes = way.bytes == PD_EVIDENCE_UNKNOWN ? 0 : way.bytes;
    way.nodes_len = (uint32_t)(part->nodes_len - before);
    part->ways[part->ways_len++] = way;
    return 0;
}

/* ---- lines ---- */

static int read_flow_row(struct reading *r, const json_t *line, struct pd_evidence_row *row)
{
    const json_t *paths = json_object_get(line, "paths"), *way;
    uint64_t srtt_us = 0;
    size_t i;
    row->kind = PD_EVIDENCE_FLOW;
    struct pd_json_cursor at = cursor(r, json_object_get(line, "flow_id"));
    at.place = "flow_id";
    int err = pd_json_flow(&at, &row->flow);
    err = err ? err : read_count(r, line, "retransmissions", &row->lost);
    err = err ? err : read_count_or_null(r, line, "pkts", &row->pkts);
    err = err ? err : read_count_or_null(r, line, "srtt_us", &srtt_us);
    if (!err && (!json_is_array(paths) || json_array_size(paths) > PD_EVIDENCE_WAYS_MAX)) {
        err = refuse(r, "paths", "a list of at most 1024 paths");
    }
    row->srtt_us = srtt_us < UINT32_MAX ? (uint32_t)srtt_us : 0;
    json_array_foreach(paths, i, way)
    {
        if (err) {
            break;
        }
        err = read_way(r, way, 0);
        uint64_t pkts = err ? PD_EVIDENCE_UNKNOWN : r->part.ways[r->part.ways_len - 1].pkts;
        if (!err && pkts != PD_EVIDENCE_UNKNOWN && pkts > row->pkts) {
            err = refuse(r, "paths", "no more packets on a path than the flow has");
        }
    }
    row->ways_len = json_array_size(paths);
    return err;
}

static int read_path_row(struct reading *r, const json_t *line, struct pd_evidence_row *row)
{
    row->kind = PD_EVIDENCE_PATH;
    row->ways_len = 1;
    int err = read_way(r, line, 1);
    err = err ? err : read_count(r, line, "pkts", &row->pkts);
    err = err ? err : read_count(r, line, "lost", &row->lost);
    if (!err && row->lost > row->pkts) {
        err = refuse(r, "lost", "no more than pkts");
    }
    return err;
}

static int read_began(const struct reading *r, const json_t *line, struct pd_evidence_row *row)
{
    int err = read_count_or_null(r, line, "began", &row->began);

    row->began = row->began == PD_EVIDENCE_UNKNOWN ? 0 : row->began;
    return err;
}

/* A new time ends the period. */
static int read_time(struct reading *r, const json_t *line)
{
    const json_t *value = json_object_get(line, "t_s");
    double time_s = json_number_value(value);
    if (!value) {
        time_s = -1;
    } else if (!json_is_number(value) || !isfinite(time_s) || time_s < 0 || time_s > 1e12) {
        return refuse(r, "t_s", "seconds from 0 on");
    }
    if (time_s > r->time_s || time_s < r->time_s) {
        int err = hand_over(r);
        r->continues = false;
        r->time_s = time_s;
        return err;
    }
    return 0;
}

static int take_object(struct reading *r, const json_t *line)
{
    struct part *part = &r->part;
    struct pd_evidence_row row = {.pkts = PD_EVIDENCE_UNKNOWN};
    if (!json_is_object(line)) {
        return refuse(r, "the line", "an object");
    }
    int err = read_time(r, line);
    if (err) {
        return err;
    }
    if (!reserve((void **)&part->rows, part->rows_len, &part->rows_room, sizeof *part->rows)) {
        return no_memory(r);
    }
    err = json_object_get(line, "flow_id") ? read_flow_row(r, line, &row)
                                           : read_path_row(r, line, &row);
    err = err ? err : read_began(r, line, &row);
    if (!err) {
        part->rows[part->rows_len++] = row;
        err = part->rows_len == PD_EVIDENCE_PART ? hand_over(r) : 0;
    }
    return err;
}

static bool is_blank(const char *text, size_t len)
{
    return strspn(text, " \t\r\n") >= len;
}

static int take_line(struct reading *r, const char *text, size_t len)
{
    json_error_t why;
    if (is_blank(text, len)) {
        return 0;
    }
    if (len > PD_EVIDENCE_LINE_BYTES) {
        return refuse(r, "the line", "at most 1 MiB");
    }
    json_t *line = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
    if (!line) {
        return pd_fail(r->error, -PD_E_SYNTAX, "%.300s:%llu: no JSON, at byte %d", r->name, r->line,
                       why.position);
    }
    int err = take_object(r, line);
    json_decref(line);
    return err;
}

/* getline() would take a file without a newline as one line: the limit holds before. */
static int next_line(FILE *in, char *line, size_t *ret_len)
{
    size_t len = 0;
    int c;
    while (len <= PD_EVIDENCE_LINE_BYTES && (c = getc_unlocked(in)) != EOF) {
        if (c == '\n') {
            break;
        }
        line[len++] = (char)c;
    }
    line[len] = '\0';
    *ret_len = len;
    return len || !feof(in);
}

int pd_evidence_read(FILE *in, const char *name, const struct pd_evidence_sink *sink,
                     struct pd_error *error)
{
    struct reading r = {.sink = sink, .time_s = -1, .name = name, .error = error};
    char *line = malloc(PD_EVIDENCE_LINE_BYTES + 2);
    size_t len;
    int err = line ? 0 : no_memory(&r);
    while (!err && next_line(in, line, &len) && !ferror(in)) {
        r.line++;
        err = take_line(&r, line, len);
    }
    if (!err && ferror(in)) {
        err = pd_fail(error, -EIO, "%.300s: cannot be read", name);
    }
    if (!err) {
        err = hand_over(&r);
    }
    free(line);
    free(r.part.rows);
    free(r.part.ways);
    free(r.part.nodes);
    return err;
}

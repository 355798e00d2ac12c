/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of measurements to JSON and back. */
#include "query/telemetry_column.h"

#include <string.h>

#include "query/members.h"
#include "telemetry/column.h"

/* ---- to JSON */

static void put_series(struct pd_rows_out *out, const struct pd_path *path, uint32_t host,
                       const struct pd_telemetry_series *series)
{
    const uint32_t to = series->place < path->len ? path->switches[series->place] : host;

    pd_rows_out_text(out, "{\"name\":\"");
    pd_rows_out_text(out, series->name);
    pd_rows_out_text(out, "\"");
    if (series->place) {
        pd_rows_out_member(out, ",\"hop\":", series->place);
        pd_rows_out_member(out, ",\"switch\":", path->switches[series->place - 1]);
        pd_rows_out_member(out, ",\"to\":", to);
    }
    pd_rows_out_text(out, ",\"values\":[");
    for (uint32_t i = 0; i < series->len; i++) {
        pd_rows_out_member(out, i ? ",[" : "[", series->bins[i].value);
        pd_rows_out_member(out, ",", series->bins[i].count);
        pd_rows_out_text(out, "]");
    }
    pd_rows_out_text(out, "]}");
}

static bool is_of(const struct pd_path *path, struct pd_telemetry_column column)
{
    struct pd_telemetry_series series;

    series.name[0] = '\0';
    while (pd_telemetry_column_next(&column, &series)) {
        if (series.place > path->len) {
            return false;
        }
    }
    return true;
}

bool pd_query_rows_out_telemetry(struct pd_rows_out *out, const struct pd_path *path,
                                 const uint8_t *bytes, size_t len)
{
    struct pd_telemetry_column column;
    struct pd_telemetry_series series;

    if (pd_telemetry_column_open(bytes, len, &column) || !is_of(path, column)) {
        return false;
    }
    series.name[0] = '\0';
    pd_rows_out_text(out, ",\"telemetry\":[");
    for (unsigned i = 0; pd_telemetry_column_next(&column, &series); i++) {
        pd_rows_out_text(out, i ? "," : "");
        put_series(out, path, column.host, &series);
    }
    pd_rows_out_text(out, "]");
    return true;
}

/* ---- from JSON */

static bool read_name(const json_t *object, struct pd_telemetry_series *series)
{
    const json_t *name = json_object_get(object, "name");
    const size_t len = json_string_length(name);

    if (!json_is_string(name) || !len || len > PD_TELEMETRY_NAME_MAX ||
        !pd_telemetry_is_name(json_string_value(name), len)) {
        return false;
    }
    memset(series->name, 0, sizeof series->name);
    memcpy(series->name, json_string_value(name), len);
    return true;
}

static bool read_bins(const json_t *object, struct pd_telemetry_series *series)
{
    const json_t *values = json_object_get(object, "values"), *pair;
    size_t i;

    series->len = (uint32_t)json_array_size(values);
    if (!series->len || json_array_size(values) > PD_TELEMETRY_BINS_MAX) {
        return false;
    }
    json_array_foreach((json_t *)(uintptr_t)values, i, pair)
    {
        struct pd_telemetry_bin *bin = &series->bins[i];
        if (json_array_size(pair) != 2 || !pd_query_row_number(pair, 0, &bin->value) ||
            !pd_query_row_number(pair, 1, &bin->count) || !bin->count ||
            (i && bin->value <= bin[-1].value)) {
            return false;
        }
    }
    return true;
}

/* Switch and next node are the path's; behind its last switch stands the host. */
static bool read_place(const json_t *object, const struct pd_path *path,
                       struct pd_telemetry_series *series, uint32_t *host)
{
    const uint64_t most = path->len < PD_TELEMETRY_PLACES_MAX ? path->len : PD_TELEMETRY_PLACES_MAX;
    uint64_t hop = 0, sw = 0, to = 0;

    series->place = 0;
    if (!json_object_get(object, "hop")) {
        return json_object_size(object) == 2;
    }
    if (json_object_size(object) != 5 ||
        pd_query_member_number(object, "hop", 1, most, &hop, NULL) ||
        pd_query_member_number(object, "switch", 1, UINT32_MAX, &sw, NULL) ||
        pd_query_member_number(object, "to", 0, UINT32_MAX, &to, NULL) ||
        sw != path->switches[hop - 1] || (hop < path->len && to != path->switches[hop])) {
        return false;
    }
    series->place = (uint32_t)hop;
    *host = hop == path->len ? (uint32_t)to : *host;
    return true;
}

static bool write_all(const json_t *list, const struct pd_path *path, uint32_t *host,
                      struct pd_telemetry_writer *writer)
{
    struct pd_telemetry_series series;
    const json_t *object;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)list, i, object)
    {
        if (!read_name(object, &series) || !read_bins(object, &series) ||
            !read_place(object, path, &series, host)) {
            return false;
        }
        pd_telemetry_writer_add(writer, &series);
    }
    return !writer->full;
}

int pd_query_telemetry_column_read(const json_t *list, const struct pd_path *path,
                                   uint8_t *ret_bytes, size_t *ret_len)
{
    struct pd_telemetry_writer writer;
    struct pd_telemetry_column column;
    uint32_t host = 0;

    if (!json_is_array(list) || !json_array_size(list)) {
        return -PD_E_VALUE;
    }
    for (unsigned turn = 0; turn < 2; turn++) { /* the host is known behind the first one */
        pd_telemetry_writer_begin(&writer, ret_bytes, PD_TELEMETRY_COLUMN_BYTES_MAX, host);
        if (!write_all(list, path, &host, &writer)) {
            return -PD_E_VALUE;
        }
    }
    *ret_len = writer.used;
    return pd_telemetry_column_open(ret_bytes, writer.used, &column) ? -PD_E_VALUE : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of queries as tables for people. */
#include "cli/view.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/clock.h"
#include "base/flow_id.h"
#include "query/protocol.h"

struct view {
    const struct pd_style *style;
    FILE *out;
    struct pd_error *error;
};

/* ---- reading ---- */

static int bad(const struct view *view, const char *key, const char *expected)
{
    pd_fail(view->error, -PD_E_SYNTAX, "the answer's \"%s\" is not %s", key, expected);
    return -PD_E_SYNTAX;
}

static int get_number(const struct view *view, const json_t *object, const char *key, uint64_t max,
                      uint64_t *ret_number)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > max)
        return bad(view, key, "a number in its range");
    *ret_number = (uint64_t)json_integer_value(value);
    return 0;
}

static int get_array(const struct view *view, const json_t *object, const char *key,
                     const json_t **ret_array)
{
    const json_t *array = json_object_get(object, key);
    if (!json_is_array(array))
        return bad(view, key, "a list");
    *ret_array = array;
    return 0;
}

static bool is_number(const json_t *value, json_int_t max)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= max;
}

static int read_switches(const struct view *view, const json_t *array, struct pd_path *path)
{
    size_t len = json_array_size(array);
    if (!json_is_array(array) || len > PD_PATH_MAX)
        return bad(view, "path", "a list of switch IDs");
    for (size_t i = 0; i < len; i++) {
        if (!is_number(json_array_get(array, i), UINT32_MAX))
            return bad(view, "path", "a list of switch IDs");
        path->switches[i] = (uint32_t)json_integer_value(json_array_get(array, i));
    }
    path->len = (uint16_t)len;
    return 0;
}

/* "tags" and "dscp", of an infeasible trajectory. */
static int read_tags(const struct view *view, const json_t *object, struct pd_path *path)
{
    const json_t *tags = NULL, *dscp = json_object_get(object, "dscp");
    int code = get_array(view, object, "tags", &tags);
    size_t len = json_array_size(tags);
    if (code)
        return code;
    if (len > PD_RAW_TAGS_MAX)
        return bad(view, "tags", "a list of link tags");
    for (size_t i = 0; i < len; i++) {
        if (!is_number(json_array_get(tags, i), UINT16_MAX))
            return bad(view, "tags", "a list of link tags");
        path->tags[i] = (uint16_t)json_integer_value(json_array_get(tags, i));
    }
    if (dscp && !is_number(dscp, UINT8_MAX))
        return bad(view, "dscp", "a DSCP");
    path->tags_len = (uint8_t)len;
    path->dscp = (uint8_t)json_integer_value(dscp);
    return 0;
}

static int read_path(const struct view *view, const json_t *row, struct pd_path *ret_path)
{
    struct pd_path path = {0};
    int code = read_switches(view, json_object_get(row, "path"), &path);
    if (!code && !path.len)
        code = read_tags(view, row, &path);
    if (!code)
        *ret_path = path;
    return code;
}

static int read_addr(const struct view *view, const json_t *flow, const char *key,
                     struct pd_addr *ret_addr, uint8_t *ret_ip_version)
{
    const char *text = json_string_value(json_object_get(flow, key));
    if (!text || pd_addr_parse(text, ret_addr, ret_ip_version))
        return bad(view, key, "an address");
    return 0;
}

static int read_flow(const struct view *view, const json_t *flow, struct pd_flow_id *ret_flow)
{
    struct pd_flow_id id = {0};
    uint64_t src_port, dst_port, protocol;
    int code = read_addr(view, flow, "src_ip", &id.src, &id.ip_version);
    if (!code)
        code = read_addr(view, flow, "dst_ip", &id.dst, &id.ip_version);
    if (!code)
        code = get_number(view, flow, "src_port", UINT16_MAX, &src_port);
    if (!code)
        code = get_number(view, flow, "dst_port", UINT16_MAX, &dst_port);
    if (!code)
        code = get_number(view, flow, "protocol", UINT8_MAX, &protocol);
    if (code)
        return code;
    id.src_port = (uint16_t)src_port;
    id.dst_port = (uint16_t)dst_port;
    id.protocol = (uint8_t)protocol;
    *ret_flow = id;
    return 0;
}

/* ---- writing ---- */

#define END_BYTES (PD_ADDR_TEXT_BYTES + 12)

/* "10.1.1.2:80", "[fd00::2]:80"; the address alone for a protocol without ports. */
static const char *end_text(const struct pd_addr *addr, const struct pd_flow_id *flow,
                            uint16_t port, char text[END_BYTES])
{
    char addr_text[PD_ADDR_TEXT_BYTES];
    const char *name = pd_protocol_name(flow->protocol);
    bool ports = flow->src_port || flow->dst_port ||
                 (name && (!strcmp(name, "tcp") || !strcmp(name, "udp") || !strcmp(name, "sctp")));
    pd_addr_format(addr, flow->ip_version, addr_text);
    if (!ports)
        return strcpy(text, addr_text);
    snprintf(text, END_BYTES, flow->ip_version == 6 ? "[%s]:%u" : "%s:%u", addr_text, port);
    return text;
}

/* RFC 3339 with a blank instead of the T: easier on the eye, and still read by --from and --to. */
static const char *time_text(uint64_t wall_us, char text[PD_TIME_TEXT_BYTES])
{
    char *t = strchr(pd_time_format(wall_us, text), 'T');
    if (t)
        *t = ' ';
    return text;
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void flow_cells(struct pd_table *table, const struct pd_flow_id *flow,
                       const struct pd_path *path, const struct pd_style *style)
{
    char end[END_BYTES], path_text[PD_CLI_PATH_BYTES], number[PD_CLI_NUMBER_BYTES];
    const char *name = pd_protocol_name(flow->protocol);
    snprintf(number, sizeof number, "%u", flow->protocol);
    pd_table_cell(table, end_text(&flow->src, flow, flow->src_port, end));
    pd_table_cell(table, end_text(&flow->dst, flow, flow->dst_port, end));
    pd_table_cell(table, name ? name : number);
    pd_table_cell(table, pd_cli_path(path, style, path_text));
}

struct counts {
    uint64_t stime_us, etime_us, bytes, pkts;
};

static int read_counts(const struct view *view, const json_t *row, struct counts *ret)
{
    const uint64_t max = (UINT64_C(1) << 53) - 1;
    int code = get_number(view, row, "stime_us", max, &ret->stime_us);
    if (!code)
        code = get_number(view, row, "etime_us", max, &ret->etime_us);
    if (!code)
        code = get_number(view, row, "bytes", max, &ret->bytes);
    if (!code)
        code = get_number(view, row, "pkts", max, &ret->pkts);
    if (!code && ret->etime_us < ret->stime_us)
        code = bad(view, "etime_us", "at or after \"stime_us\"");
    return code;
}

static void count_cells(struct pd_table *table, const struct counts *counts)
{
    char time[PD_TIME_TEXT_BYTES], number[PD_CLI_NUMBER_BYTES];
    pd_table_cell(table, time_text(counts->stime_us, time));
    pd_table_cell(table, pd_cli_span(counts->etime_us - counts->stime_us, number));
    pd_table_cell(table, pd_cli_number(counts->pkts, number));
    pd_table_cell(table, pd_cli_bytes(counts->bytes, number));
}

static const struct pd_column flow_columns[] = {
    {"SOURCE", false},       {"DESTINATION", false}, {"PROTO", false},  {"PATH", false},
    {"FIRST PACKET", false}, {"LASTED", true},       {"PACKETS", true}, {"BYTES", true},
};
#define FLOW_COLUMNS (sizeof flow_columns / sizeof flow_columns[0])

static int fill_flows(const struct view *view, const json_t *rows, struct pd_table *table,
                      struct counts *sums)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        struct pd_flow_id flow;
        struct pd_path path;
        struct counts counts;
        int code = read_flow(view, json_object_get(row, "flow_id"), &flow);
        if (!code)
            code = read_path(view, row, &path);
        if (!code)
            code = read_counts(view, row, &counts);
        if (code)
            return code;
        flow_cells(table, &flow, &path, view->style);
        count_cells(table, &counts);
        sums->bytes += counts.bytes;
        sums->pkts += counts.pkts;
    }
    return 0;
}

static int view_flows(const struct view *view, const json_t *answer)
{
    struct counts sums = {0};
    char number[PD_CLI_NUMBER_BYTES];
    const json_t *rows = NULL;
    struct pd_table *table = pd_table_new(flow_columns, FLOW_COLUMNS);
    int code = table ? get_array(view, answer, "flows", &rows) : -ENOMEM;
    if (!code)
        code = fill_flows(view, rows, table, &sums);
    if (!code && json_array_size(rows))
        code = pd_table_print(table, view->style, view->out);
    if (!code) {
        size_t len = json_array_size(rows);
        fprintf(view->out, "%s%s flow%s", len ? "\n" : "", pd_cli_number(len, number), plural(len));
        if (len) {
            fprintf(view->out, ", %s packet%s", pd_cli_number(sums.pkts, number),
                    plural(sums.pkts));
            fprintf(view->out, ", %s", pd_cli_bytes(sums.bytes, number));
        }
        fputc('\n', view->out);
    }
    pd_table_free(table);
    return code;
}

static const struct pd_column path_columns[] = {{"HOPS", true}, {"PATH", false}};

static void path_cells(const struct view *view, struct pd_table *table, const struct pd_path *path)
{
    char text[PD_CLI_PATH_BYTES], hops[12] = "?";
    if (path->len)
        snprintf(hops, sizeof hops, "%u", path->len - 1U);
    pd_table_cell(table, hops);
    pd_table_cell(table, pd_cli_path(path, view->style, text));
}

static int fill_paths(const struct view *view, const json_t *paths, const json_t *infeasible,
                      struct pd_table *table)
{
    for (size_t i = 0; i < json_array_size(paths); i++) {
        struct pd_path path = {0};
        int code = read_switches(view, json_array_get(paths, i), &path);
        if (code)
            return code;
        path_cells(view, table, &path);
    }
    for (size_t i = 0; i < json_array_size(infeasible); i++) {
        struct pd_path path = {0};
        int code = read_tags(view, json_array_get(infeasible, i), &path);
        if (code)
            return code;
        path_cells(view, table, &path);
    }
    return 0;
}

static int view_paths(const struct view *view, const json_t *answer)
{
    const json_t *paths = NULL, *infeasible = json_object_get(answer, "infeasible");
    struct pd_table *table = pd_table_new(path_columns, 2);
    int code = table ? get_array(view, answer, "paths", &paths) : -ENOMEM;
    if (!code)
        code = fill_paths(view, paths, infeasible, table);
    if (!code) {
        size_t len = json_array_size(paths), others = json_array_size(infeasible);
        if (len + others)
            code = pd_table_print(table, view->style, view->out);
        fprintf(view->out, "%s%zu path%s", len + others ? "\n" : "", len, plural(len));
        if (others)
            fprintf(view->out, ", %zu infeasible trajector%s", others, others == 1 ? "y" : "ies");
        fputc('\n', view->out);
    }
    pd_table_free(table);
    return code;
}

static int view_count(const struct view *view, const json_t *answer)
{
    uint64_t bytes, pkts;
    char number[PD_CLI_NUMBER_BYTES], scaled[PD_CLI_NUMBER_BYTES];
    int code = get_number(view, answer, "bytes", UINT64_MAX, &bytes);
    if (!code)
        code = get_number(view, answer, "pkts", UINT64_MAX, &pkts);
    if (code)
        return code;
    fprintf(view->out, "packets  %s\n", pd_cli_number(pkts, number));
    fprintf(view->out, "bytes    %s", pd_cli_number(bytes, number));
    fprintf(view->out, bytes < 1024 ? "\n" : " (%s)\n", pd_cli_bytes(bytes, scaled));
    return 0;
}

static int view_duration(const struct view *view, const json_t *answer)
{
    const uint64_t max = (UINT64_C(1) << 53) - 1;
    uint64_t stime_us, etime_us, duration_us;
    char text[PD_TIME_TEXT_BYTES], number[PD_CLI_NUMBER_BYTES];
    if (json_is_null(json_object_get(answer, "stime_us"))) {
        fputs("no packet\n", view->out);
        return 0;
    }
    int code = get_number(view, answer, "stime_us", max, &stime_us);
    if (!code)
        code = get_number(view, answer, "etime_us", max, &etime_us);
    if (!code)
        code = get_number(view, answer, "duration_us", max, &duration_us);
    if (code)
        return code;
    fprintf(view->out, "first packet  %s\n", time_text(stime_us, text));
    fprintf(view->out, "last packet   %s\n", time_text(etime_us, text));
    fprintf(view->out, "lasted        %s\n", pd_cli_span(duration_us, number));
    return 0;
}

int pd_cli_view(enum pd_query_name name, const char *json, size_t len, const struct pd_style *style,
                FILE *out, bool *ret_complete, struct pd_error *error)
{
    static int (*const views[PD_QUERY_COUNT])(const struct view *, const json_t *) = {
        [PD_QUERY_GET_FLOWS] = view_flows,
        [PD_QUERY_GET_PATHS] = view_paths,
        [PD_QUERY_GET_COUNT] = view_count,
        [PD_QUERY_GET_DURATION] = view_duration,
    };
    const struct view view = {style, out, error};
    json_error_t where;
    json_t *answer = json_loadb(json, len, JSON_REJECT_DUPLICATES, &where);
    int code;
    if (!answer)
        return pd_fail(error, -PD_E_SYNTAX, "the answer is not JSON: byte %d: %s", where.position,
                       where.text);
    if (!json_is_boolean(json_object_get(answer, "complete")))
        code = bad(&view, "complete", "true or false");
    else
        code = views[name](&view, answer);
    if (code == -ENOMEM)
        pd_fail(error, code, "no memory for the table");
    if (!code)
        *ret_complete = json_is_true(json_object_get(answer, "complete"));
    json_decref(answer);
    return code;
}

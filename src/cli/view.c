/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of queries as tables for people. */
#include "cli/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fleet.h"
#include "cli/json.h"
#include "cli/report.h"
#include "query/poor.h"
#include "query/rows/cells.h"
#include "query/rows/record.h"
#include "tib/group.h"

struct view {
    const struct pd_style *style;
    FILE *out;
    struct pd_cli_reader reader;
};

/* What is summed below a list, too. */
static int counts(const struct view *view, const json_t *row, struct pd_rows_table *table,
                  struct pd_tib_record *sums)
{
    struct pd_tib_record record = {0};
    int err = pd_cli_read_counts(&view->reader, row, PD_READ_MAX, &record);
    if (err) {
        return err;
    }
    pd_rows_number(table, record.pkts);
    pd_rows_bytes(table, record.bytes);
    pd_tib_sum(&sums->bytes, record.bytes);
    pd_tib_sum(&sums->pkts, record.pkts);
    return 0;
}

/* ---- lists: one row each, their sums below ---- */

struct list {
    const char *member; /* of the answer */
    const char *noun;   /* one of them */
    bool counted;       /* rows have packets and bytes */
    const struct pd_rows_column *columns;
    size_t columns_len;
    int (*row)(const struct view *view, const json_t *row, struct pd_rows_table *table,
               struct pd_tib_record *sums);
};

static int flow_path_row(const struct view *view, const json_t *row, struct pd_rows_table *table,
                         struct pd_tib_record *sums)
{
    struct pd_tib_record record = {0};
    struct pd_path path;
    struct pd_claim claim;
    int err = pd_cli_read_flow(&view->reader, row, &record.flow);
    if (!err) {
        err = pd_cli_read_path(&view->reader, row, &path, &claim);
    }
    if (!err) {
        err = pd_cli_read_times(&view->reader, row, &record);
    }
    if (err) {
        return err;
    }
    pd_rows_flow(table, &record.flow);
    pd_rows_way(view->style, table, &claim);
    pd_rows_times(table, &record);
    return counts(view, row, table, sums);
}

static const struct pd_rows_column flow_columns[] = {
    {.title = "SOURCE", .csv = "src_ip,src_port"},
    {.title = "DESTINATION", .csv = "dst_ip,dst_port"},
    {.title = "PROTO", .csv = "protocol", .spare = 1},
    {.title = "PACKETS", .right = true},
    {.title = "BYTES", .right = true},
};

static int flow_row(const struct view *view, const json_t *row, struct pd_rows_table *table,
                    struct pd_tib_record *sums)
{
    struct pd_flow_id flow;
    int err = pd_cli_read_flow(&view->reader, row, &flow);
    if (err) {
        return err;
    }
    pd_rows_flow(table, &flow);
    return counts(view, row, table, sums);
}

static const struct pd_rows_column host_columns[] = {
    {.title = "SOURCE", .csv = "src_ip"},
    {.title = "PACKETS", .right = true},
    {.title = "BYTES", .right = true},
};

static int host_row(const struct view *view, const json_t *row, struct pd_rows_table *table,
                    struct pd_tib_record *sums)
{
    char text[PD_ADDR_TEXT_BYTES];
    struct pd_addr addr;
    uint8_t version;
    int err = pd_cli_read_addr(&view->reader, row, "src_ip", &addr, &version);
    if (err) {
        return err;
    }
    pd_rows_cell(table, pd_addr_format(&addr, version, text));
    return counts(view, row, table, sums);
}

static const struct pd_rows_column link_columns[] = {
    {.title = "LINK"},
    {.title = "PACKETS", .right = true},
    {.title = "BYTES", .right = true},
};

static int link_row(const struct view *view, const json_t *row, struct pd_rows_table *table,
                    struct pd_tib_record *sums)
{
    const char *text = json_string_value(json_object_get(row, "link"));
    struct pd_link_match link;
    if (!text || pd_link_parse(text, &link) || !link.from || !link.to) {
        return pd_cli_read_bad(&view->reader, "link", "a link");
    }
    pd_rows_path(view->style, table, &(struct pd_path){.len = 2, .switches = {link.from, link.to}});
    return counts(view, row, table, sums);
}

static const struct pd_rows_column pair_columns[] = {
    {.title = "FROM SWITCH", .right = true},
    {.title = "TO SWITCH", .right = true},
    {.title = "PACKETS", .right = true},
    {.title = "BYTES", .right = true},
};

static int pair_row(const struct view *view, const json_t *row, struct pd_rows_table *table,
                    struct pd_tib_record *sums)
{
    static const char *const keys[] = {"src_switch", "dst_switch"};
    for (size_t i = 0; i < 2; i++) {
        char text[PD_TEXT_NUMBER_BYTES];
        uint64_t id;
        int err = pd_cli_read_number(&view->reader, row, keys[i], UINT32_MAX, &id);
        if (err) {
            return err;
        }
        snprintf(text, sizeof text, "%" PRIu64, id); /* a name, not an amount */
        pd_rows_cell(table, text);
    }
    return counts(view, row, table, sums);
}

static const struct pd_rows_column path_counts_columns[] = {
    {.title = "HOPS", .right = true},
    {.title = "PATH"},
    {.title = "PACKETS", .right = true},
    {.title = "BYTES", .right = true},
};

static int path_counts_row(const struct view *view, const json_t *row, struct pd_rows_table *table,
                           struct pd_tib_record *sums)
{
    struct pd_path path;
    struct pd_claim claim;
    int err = pd_cli_read_path(&view->reader, row, &path, &claim);
    if (err) {
        return err;
    }
    pd_rows_hops(table, &path);
    pd_rows_way(view->style, table, &claim);
    return counts(view, row, table, sums);
}

static const struct pd_rows_column bin_columns[] = {
    {.title = "FROM BYTES", .right = true},
    {.title = "FLOWS", .right = true},
};

static int bin_row(const struct view *view, const json_t *row, struct pd_rows_table *table,
                   struct pd_tib_record *sums)
{
    uint64_t from_bytes, flows;
    int err = pd_cli_read_number(&view->reader, row, "from_bytes", PD_READ_MAX, &from_bytes);
    if (!err) {
        err = pd_cli_read_number(&view->reader, row, "flows", PD_READ_MAX, &flows);
    }
    if (err) {
        return err;
    }
    (void)sums;
    pd_rows_number(table, from_bytes);
    pd_rows_number(table, flows);
    return 0;
}

static const struct pd_rows_column violation_columns[] = {
    {.title = "SOURCE", .csv = "src_ip,src_port"},
    {.title = "DESTINATION", .csv = "dst_ip,dst_port"},
    {.title = "PROTO", .csv = "protocol", .spare = 2},
    {.title = "PATH", .spare = 1},
    {.title = "RULE"},
};

static int violation_row(const struct view *view, const json_t *row, struct pd_rows_table *table,
                         struct pd_tib_record *sums)
{
    const char *text = json_string_value(json_object_get(row, "rule"));
    unsigned rule = 0;
    struct pd_flow_id flow;
    struct pd_path path;
    struct pd_claim claim;
    int err = pd_cli_read_flow(&view->reader, row, &flow);
    if (!err) {
        err = pd_cli_read_path(&view->reader, row, &path, &claim);
    }
    if (err) {
        return err;
    }
    while (text && rule < PD_CONFORMANCE_RULE_COUNT &&
           strcmp(text, pd_query_conformance_rule_text((enum pd_conformance_rule)rule)) != 0) {
        rule++;
    }
    if (!text || rule == PD_CONFORMANCE_RULE_COUNT) {
        return pd_cli_read_bad(&view->reader, "rule", "a rule of conformance");
    }
    (void)sums;
    pd_rows_flow(table, &flow);
    pd_rows_way(view->style, table, &claim);
    pd_rows_cell(table, text);
    return 0;
}

#define COLUMNS(list) list, sizeof(list) / sizeof(list)[0]

static const struct list lists[PD_QUERY_COUNT] = {
    [PD_QUERY_GET_FLOWS] = {"flows", "flow", true, pd_rows_record_columns, PD_ROWS_RECORD_COLUMNS,
                            flow_path_row},
    [PD_QUERY_TOP_RECORDS] = {"top", "record", true, pd_rows_record_columns, PD_ROWS_RECORD_COLUMNS,
                              flow_path_row},
    [PD_QUERY_TOP_FLOWS] = {"top", "flow", true, COLUMNS(flow_columns), flow_row},
    [PD_QUERY_TOP_HOSTS] = {"top", "host", true, COLUMNS(host_columns), host_row},
    [PD_QUERY_TOP_LINKS] = {"top", "link", false, COLUMNS(link_columns), link_row},
    [PD_QUERY_LINK_LOAD] = {"links", "link", false, COLUMNS(link_columns), link_row},
    [PD_QUERY_FLOW_SIZES] = {"bins", "bin", false, COLUMNS(bin_columns), bin_row},
    [PD_QUERY_TRAFFIC_MATRIX] = {"pairs", "pair", true, COLUMNS(pair_columns), pair_row},
    [PD_QUERY_PATH_BYTES] = {"paths", "path", true, COLUMNS(path_counts_columns), path_counts_row},
    [PD_QUERY_CONFORMANCE] = {"violations", "violation", false, COLUMNS(violation_columns),
                              violation_row},
};

static void print_sums(const struct view *view, const struct list *list, size_t len,
                       const struct pd_tib_record *sums)
{
    char number[PD_TEXT_NUMBER_BYTES];
    fprintf(view->out, "%s%s %s%s", len ? "\n" : "", pd_row_text_number(len, number), list->noun,
            pd_row_text_plural(len));
    if (len && list->counted) {
        fprintf(view->out, ", %s packet%s", pd_row_text_number(sums->pkts, number),
                pd_row_text_plural(sums->pkts));
        fprintf(view->out, ", %s", pd_row_text_bytes(sums->bytes, number));
    }
    fputc('\n', view->out);
}

static int view_list(const struct view *view, const json_t *answer, const struct list *list)
{
    struct pd_tib_record sums = {0};
    const json_t *rows = NULL;
    struct pd_rows_table *table = pd_rows_new(list->columns, list->columns_len, view->style);
    int err = table ? pd_cli_read_array(&view->reader, answer, list->member, &rows) : -ENOMEM;
    size_t len = json_array_size(rows);
    for (size_t i = 0; i < len && !err; i++) {
        err = list->row(view, json_array_get(rows, i), table, &sums);
    }
    if (!err) {
        err = pd_rows_print(table, view->out);
    }
    if (!err && !view->style->csv) {
        print_sums(view, list, len, &sums);
    }
    pd_rows_free(table);
    return err;
}

/* ---- the others ---- */

static const struct pd_rows_column path_columns[] = {
    {.title = "HOPS", .right = true},
    {.title = "PATH"},
};

/* A trajectory that fits no path: a row without one. */
static int read_mark(const struct view *view, const json_t *row, struct pd_path *path,
                     struct pd_claim *claim)
{
    json_t *whole = json_copy((json_t *)(uintptr_t)row);
    int err = json_object_set_new(whole, "path", json_array());

    err = err ? pd_cli_read_bad(&view->reader, "infeasible", "a list of objects")
              : pd_cli_read_path(&view->reader, whole, path, claim);
    json_decref(whole);
    return err;
}

static int fill_paths(const struct view *view, const json_t *paths, const json_t *infeasible,
                      struct pd_rows_table *table)
{
    size_t feasible = json_array_size(paths), len = feasible + json_array_size(infeasible);
    for (size_t i = 0; i < len; i++) {
        struct pd_path path = {.len = 0};
        struct pd_claim claim = {.path = &path};
        int err = i < feasible
                      ? pd_cli_read_switches(&view->reader, json_array_get(paths, i), &path)
                      : read_mark(view, json_array_get(infeasible, i - feasible), &path, &claim);
        if (err) {
            return err;
        }
        pd_rows_hops(table, &path);
        pd_rows_way(view->style, table, &claim);
    }
    return 0;
}

static int view_paths(const struct view *view, const json_t *answer)
{
    const json_t *paths = NULL, *infeasible = json_object_get(answer, "infeasible");
    struct pd_rows_table *table = pd_rows_new(path_columns, 2, view->style);
    int err = table ? pd_cli_read_array(&view->reader, answer, "paths", &paths) : -ENOMEM;
    if (!err) {
        err = fill_paths(view, paths, infeasible, table);
    }
    if (!err) {
        err = pd_rows_print(table, view->out);
    }
    if (!err && !view->style->csv) {
        size_t len = json_array_size(paths), others = json_array_size(infeasible);
        fprintf(view->out, "%s%zu path%s", len + others ? "\n" : "", len, pd_row_text_plural(len));
        if (others) {
            fprintf(view->out, ", %zu infeasible trajector%s", others, others == 1 ? "y" : "ies");
        }
        fputc('\n', view->out);
    }
    pd_rows_free(table);
    return err;
}

/* In CSV: columns that are aligned to the right are numbers, the others times. `values` NULL: no
 * row. */
static int print_values(const struct view *view, const struct pd_rows_column *columns,
                        const uint64_t *values, size_t len)
{
    struct pd_rows_table *table = pd_rows_new(columns, len, view->style);

    for (size_t i = 0; table && values && i < len; i++) {
        (columns[i].right ? pd_rows_number : pd_rows_time)(table, values[i]);
    }
    int err = table ? pd_rows_print(table, view->out) : -ENOMEM;
    pd_rows_free(table);
    return err;
}

static const struct pd_rows_column count_columns[] = {
    {.title = "PACKETS", .right = true},
    {.title = "BYTES", .right = true},
};
static const struct pd_rows_column duration_columns[] = {
    {.title = "FIRST PACKET"},
    {.title = "LAST PACKET"},
    {.title = "LASTED", .right = true, .csv = "lasted_us"},
};
static const struct pd_rows_column distinct_columns[] = {{.title = "COUNT", .right = true}};

static int view_count(const struct view *view, const json_t *answer)
{
    uint64_t bytes, pkts;
    char number[PD_TEXT_NUMBER_BYTES], scaled[PD_TEXT_NUMBER_BYTES];
    int err = pd_cli_read_number(&view->reader, answer, "bytes", UINT64_MAX, &bytes);
    if (!err) {
        err = pd_cli_read_number(&view->reader, answer, "pkts", UINT64_MAX, &pkts);
    }
    if (err) {
        return err;
    }
    if (view->style->csv) {
        return print_values(view, count_columns, (const uint64_t[]){pkts, bytes}, 2);
    }
    fprintf(view->out, "packets  %s\n", pd_row_text_number(pkts, number));
    fprintf(view->out, "bytes    %s", pd_row_text_number(bytes, number));
    fprintf(view->out, bytes < 1024 ? "\n" : " (%s)\n", pd_row_text_bytes(bytes, scaled));
    return 0;
}

static int view_duration(const struct view *view, const json_t *answer)
{
    uint64_t stime_us, etime_us, duration_us;
    char text[PD_TIME_TEXT_BYTES], number[PD_TEXT_NUMBER_BYTES];
    if (json_is_null(json_object_get(answer, "stime_us"))) {
        if (view->style->csv) {
            return print_values(view, duration_columns, NULL, 3);
        }
        fputs("no packet\n", view->out);
        return 0;
    }
    int err = pd_cli_read_number(&view->reader, answer, "stime_us", PD_READ_MAX, &stime_us);
    if (!err) {
        err = pd_cli_read_number(&view->reader, answer, "etime_us", PD_READ_MAX, &etime_us);
    }
    if (!err) {
        err = pd_cli_read_number(&view->reader, answer, "duration_us", PD_READ_MAX, &duration_us);
    }
    if (err) {
        return err;
    }
    if (view->style->csv) {
        return print_values(view, duration_columns,
                            (const uint64_t[]){stime_us, etime_us, duration_us}, 3);
    }
    fprintf(view->out, "first packet  %s\n", pd_row_text_time(stime_us, view->style, text));
    fprintf(view->out, "last packet   %s\n", pd_row_text_time(etime_us, view->style, text));
    fprintf(view->out, "lasted        %s\n", pd_row_text_span(duration_us, number));
    return 0;
}

static int view_distinct(const struct view *view, const json_t *answer)
{
    uint64_t count;
    char number[PD_TEXT_NUMBER_BYTES];
    int err = pd_cli_read_number(&view->reader, answer, "count", PD_READ_MAX, &count);
    if (!err && view->style->csv) {
        return print_values(view, distinct_columns, &count, 1);
    }
    if (!err) {
        fprintf(view->out, "count  %s\n", pd_row_text_number(count, number));
    }
    return err;
}

/* Flows without a path are no violations, and nobody should think that they conform. */
static int view_violations(const struct view *view, const json_t *answer)
{
    char number[PD_TEXT_NUMBER_BYTES];
    uint64_t infeasible = 0;
    int err = 0;
    if (json_object_get(answer, "infeasible")) {
        err = pd_cli_read_number(&view->reader, answer, "infeasible", PD_READ_MAX, &infeasible);
    }
    if (!err) {
        err = view_list(view, answer, &lists[PD_QUERY_CONFORMANCE]);
    }
    if (!err && infeasible && !view->style->csv) {
        fprintf(view->out, "%s flow%s with an infeasible trajectory cannot be judged\n",
                pd_row_text_number(infeasible, number), pd_row_text_plural(infeasible));
    }
    return err;
}

static int view_answer(const struct view *view, enum pd_query_name name, const json_t *answer)
{
    switch (name) {
    case PD_QUERY_GET_PATHS: return view_paths(view, answer);
    case PD_QUERY_GET_COUNT: return view_count(view, answer);
    case PD_QUERY_GET_DURATION: return view_duration(view, answer);
    case PD_QUERY_DISTINCT: return view_distinct(view, answer);
    case PD_QUERY_CONFORMANCE: return view_violations(view, answer);
    default: return view_list(view, answer, &lists[name]);
    }
}

/* Strings of a program may hold anything: in ASCII all of it but DEL is harmless. */
static int print_result(const json_t *result, FILE *out)
{
    char *text =
        json_dumps(result, JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_SORT_KEYS);
    if (!text) {
        return -ENOMEM;
    }
    for (const char *at = text; *at; at++) {
        fputc(*at == 0x7f ? '?' : *at, out);
    }
    fputc('\n', out);
    free(text);
    return 0;
}

/* ---- answers that are objects ---- */

static int refuse_csv(const struct view *view)
{
    return pd_fail(view->reader.error, -PD_E_VALUE,
                   "the answer is no table: --json instead of --csv");
}

static int view_result(const struct view *view, const json_t *answer)
{
    if (view->style->csv) {
        return refuse_csv(view);
    }
    const json_t *result = json_object_get(answer, "result");

    if (!result) {
        return pd_cli_read_bad(&view->reader, "result", "there");
    }
    return print_result(result, view->out)
               ? pd_fail(view->reader.error, -ENOMEM, "no memory for the result")
               : 0;
}

static int view_poor(const struct view *view, const json_t *answer)
{
    return pd_cli_view_poor(&view->reader, answer, view->style, view->out);
}

/* All that is no part of every answer. */
static int view_object(const struct view *view, const json_t *answer)
{
    static const char *const everywhere[] = {"mode", "why", "hosts", "cost", "complete", NULL};
    json_t *own;

    if (view->style->csv) {
        return refuse_csv(view);
    }
    own = json_copy((json_t *)(uintptr_t)answer);
    for (size_t i = 0; everywhere[i]; i++) {
        json_object_del(own, everywhere[i]);
    }
    int err = own ? print_result(own, view->out) : -ENOMEM;
    json_decref(own);
    return err;
}

/* Whoever has no view of its own is shown as it is. */
static int view_other(const struct view *view, const struct pd_question *question,
                      const json_t *answer)
{
    static const struct {
        const struct pd_question *question;
        int (*show)(const struct view *view, const json_t *answer);
    } shown[] = {{.question = &pd_query_question_program, .show = view_result},
                 {.question = &pd_query_question_poor, .show = view_poor}};

    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        if (shown[i].question == question) {
            return shown[i].show(view, answer);
        }
    }
    return view_object(view, answer);
}

/* Nothing is printed of an answer that is refused. */
int pd_cli_view(const struct pd_question *question, const char *json, size_t len,
                const struct pd_style *style, FILE *out, struct pd_cli_outcome *ret_outcome,
                struct pd_error *error)
{
    const struct view view = {style, out, {"the answer", error}};
    const struct pd_cli_memory memory = {(char *)(uintptr_t)json, len, len};
    struct pd_cli_outcome outcome = {0};
    json_t *answer = NULL;
    int err = pd_cli_memory_json(&memory, &answer, error);
    if (!err) {
        err = pd_cli_outcome_read(&view.reader, answer, question->member, &outcome);
    }
    if (!err) {
        err = question->query ? view_answer(&view, (enum pd_query_name)question->place, answer)
                              : view_other(&view, question, answer);
    }
    if (err == -ENOMEM) {
        pd_fail(error, err, "no memory for the table");
    }
    if (!err && !style->csv) {
        pd_cli_outcome_view(answer, &outcome, out);
    }
    if (!err) {
        *ret_outcome = outcome;
    }
    json_decref(answer);
    return err;
}

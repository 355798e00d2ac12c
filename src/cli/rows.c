/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of objects whose members nobody knows beforehand, as tables. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "cli/report.h"
#include "query/members.h"
#include "query/rows/cells.h"

#define COLUMNS_MAX  20u
#define CELL_BYTES   200
#define TITLE_BYTES  40
#define JSON_WORDS   (JSON_COMPACT | JSON_ENCODE_ANY)
#define FLOW_COLUMNS 3u /* source, destination, protocol */
#define FLOW_VALUES  5u /* in CSV */
/* A number of microseconds above it is a time, below it is a span. */
#define WALL_MIN_US 1000000000000

/* What to show: members by name, of which flow IDs take three columns. */
struct shape {
    const char *members[COLUMNS_MAX];
    size_t members_len;
    struct pd_rows_column columns[COLUMNS_MAX * FLOW_COLUMNS];
    char titles[COLUMNS_MAX][TITLE_BYTES];
    size_t columns_len;
};

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);

    return len > end_len && !strcmp(text + len - end_len, end);
}

static bool is_flow(const json_t *value)
{
    return json_object_get(value, "src_ip") && json_object_get(value, "dst_ip");
}

/* ---- columns ---- */

static bool has(const struct shape *shape, const char *member)
{
    for (size_t i = 0; i < shape->members_len; i++) {
        if (!strcmp(shape->members[i], member)) {
            return true;
        }
    }
    return shape->members_len == COLUMNS_MAX;
}

static void put_title(char title[TITLE_BYTES], const char *member)
{
    char *at = title;

    pd_row_text_word(member, title, TITLE_BYTES);
    if (ends_with(title, "_us")) {
        title[strlen(title) - 3] = '\0';
    }
    for (; *at; at++) {
        *at = *at == '_' ? ' ' : (char)toupper((unsigned char)*at);
    }
}

static void add_column(struct shape *shape, const char *member, const json_t *value)
{
    static const struct pd_rows_column flow[FLOW_COLUMNS] = {
        {.title = "SOURCE", .csv = "src_ip,src_port"},
        {.title = "DESTINATION", .csv = "dst_ip,dst_port"},
        {.title = "PROTO", .csv = "protocol", .spare = 1},
    };
    char *title = shape->titles[shape->members_len];

    shape->members[shape->members_len++] = member;
    if (is_flow(value)) {
        memcpy(&shape->columns[shape->columns_len], flow, sizeof flow);
        shape->columns_len += FLOW_COLUMNS;
        return;
    }
    put_title(title, member);
    shape->columns[shape->columns_len++] =
        (struct pd_rows_column){.title = title, .right = json_is_number(value)};
}

static void find_shape(const json_t *rows, struct shape *shape)
{
    const json_t *row, *value;
    const char *member;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)rows, i, row)
    {
        json_object_foreach((json_t *)(uintptr_t)row, member, value)
        {
            if (!has(shape, member)) {
                add_column(shape, member, value);
            }
        }
    }
}

/* ---- cells ---- */

static void word_cell(struct pd_rows_table *table, const json_t *value)
{
    char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_WORDS);

    pd_rows_word(table, text ? text : json_string_value(value), CELL_BYTES);
    free(text);
}

static void integer_cell(struct pd_rows_table *table, const char *member, json_int_t number)
{
    char text[PD_TEXT_NUMBER_BYTES];
    bool is_name =
        ends_with(member, "port") || ends_with(member, "host") || ends_with(member, "switch");

    if (number < 0 || (uint64_t)number > PD_READ_MAX || is_name) {
        snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, number);
        pd_rows_cell(table, text);
    } else if (ends_with(member, "_us") && number >= WALL_MIN_US) {
        pd_rows_time(table, (uint64_t)number);
    } else if (ends_with(member, "_us")) {
        pd_rows_span(table, (uint64_t)number);
    } else {
        pd_rows_number(table, (uint64_t)number);
    }
}

static void number_cell(struct pd_rows_table *table, const char *member, const json_t *value)
{
    char text[PD_TEXT_NUMBER_BYTES];

    if (json_is_integer(value)) {
        integer_cell(table, member, json_integer_value(value));
        return;
    }
    snprintf(text, sizeof text, pd_rows_is_csv(table) ? "%.17g" : "%.4g", json_real_value(value));
    pd_rows_cell(table, text);
}

/* All three of them, also when it is none. */
static void flow_cells(struct pd_rows_table *table, const json_t *value)
{
    struct pd_flow_id flow;

    if (!pd_query_flow_id_read(value, &flow, NULL)) {
        pd_rows_flow(table, &flow);
        return;
    }
    word_cell(table, value ? value : json_null());
    for (unsigned i = 1; i < (pd_rows_is_csv(table) ? FLOW_VALUES : FLOW_COLUMNS); i++) {
        pd_rows_cell(table, "-");
    }
}

static void value_cell(struct pd_rows_table *table, const struct pd_style *style,
                       const char *member, const json_t *value)
{
    struct pd_path path;

    if (!value || json_is_null(value)) {
        pd_rows_cell(table, "-");
    } else if (json_is_number(value)) {
        number_cell(table, member, value);
    } else if (json_is_boolean(value)) {
        pd_rows_cell(table, json_is_true(value) ? "yes" : "no");
    } else if (json_is_array(value) && !pd_query_path_read(value, member, &path, NULL)) {
        pd_rows_path(style, table, &path);
    } else {
        word_cell(table, value);
    }
}

/* Whether this member's column is one of a flow ID: as it was where it was first met. */
static bool takes_flow(const struct shape *shape, size_t member)
{
    return !*shape->titles[member];
}

static void fill(const json_t *rows, const struct shape *shape, const struct pd_style *style,
                 struct pd_rows_table *table)
{
    const json_t *row;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)rows, i, row)
    {
        for (size_t k = 0; k < shape->members_len; k++) {
            const json_t *value = json_object_get(row, shape->members[k]);

            if (takes_flow(shape, k)) {
                flow_cells(table, value);
            } else {
                value_cell(table, style, shape->members[k], value);
            }
        }
    }
}

int pd_cli_rows(const json_t *rows, const struct pd_style *style, FILE *out, struct pd_error *error)
{
    struct shape shape = {0};
    struct pd_rows_table *table;
    int err;

    find_shape(rows, &shape);
    if (!shape.columns_len) {
        return 0;
    }
    table = pd_rows_new(shape.columns, shape.columns_len, style);
    if (table) {
        fill(rows, &shape, style, table);
    }
    err = table ? pd_rows_print(table, out) : -ENOMEM;
    pd_rows_free(table);
    return err ? pd_fail(error, err, "no memory for the table") : 0;
}

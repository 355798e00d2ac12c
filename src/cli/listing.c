/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of a controller as tables. */
#include "cli/listing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "query/rows/cells.h"

#define CELL_BYTES 160
#define FIELDS_MAX 16
#define MS_US      1000
#define JSON_WORDS (JSON_COMPACT | JSON_ENCODE_ANY)

static bool is_count(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= (json_int_t)PD_READ_MAX;
}

/* Any value: texts without their quotation marks, all else as JSON. */
static void word_cell(struct pd_rows_table *table, const json_t *value)
{
    char *text = NULL;
    const char *string = json_string_value(value);
    if (!value || json_is_null(value) || (string && !*string)) {
        pd_rows_cell(table, "-");
        return;
    }
    if (json_is_boolean(value)) {
        pd_rows_cell(table, json_is_true(value) ? "yes" : "no");
        return;
    }
    if (!json_is_string(value)) {
        text = json_dumps(value, JSON_WORDS);
    }
    pd_rows_word(table, text ? text : string, CELL_BYTES);
    free(text);
}

static void count_cell(struct pd_rows_table *table, const json_t *value, enum pd_cli_kind kind)
{
    uint64_t number = (uint64_t)json_integer_value(value);
    if (!is_count(value)) {
        word_cell(table, value);
    } else if (kind == PD_CLI_TIME_US) {
        pd_rows_time(table, number);
    } else if (kind == PD_CLI_SPAN_US) {
        pd_rows_span(table, number);
    } else {
        pd_rows_number(table, number);
    }
}

/* Any number; as it is in CSV. */
static void real_cell(struct pd_rows_table *table, const json_t *value, enum pd_cli_kind kind)
{
    char text[PD_TEXT_NUMBER_BYTES];
    double number = json_number_value(value);

    if (!json_is_number(value)) {
        word_cell(table, value);
        return;
    }
    if (pd_rows_is_csv(table)) {
        snprintf(text, sizeof text, "%.17g", number);
    } else if (kind == PD_CLI_SHARE) {
        snprintf(text, sizeof text, "%.1f %%", number * 100);
    } else {
        pd_row_text_rate(number, text);
    }
    pd_rows_cell(table, text);
}

/* "conformance {"max_hops":5}", "program {…}" */
static void question_cell(struct pd_rows_table *table, const json_t *row)
{
    char name[64];
    const json_t *args = json_object_get(row, "args");
    const char *query = json_string_value(json_object_get(row, "query"));
    char *text = json_object_size(args) ? json_dumps(args, JSON_WORDS) : NULL, *all = NULL;
    pd_row_text_word(query                             ? query
                     : json_object_get(row, "program") ? "program"
                                                       : "?",
                     name, sizeof name);
    if (asprintf(&all, "%s%s%s", name, text ? " " : "", text ? text : "") < 0) {
        all = NULL;
    }
    pd_rows_word(table, all ? all : name, CELL_BYTES);
    free(all);
    free(text);
}

/* "every 10.000 ms", "on new_flow" */
static void when_cell(struct pd_rows_table *table, const json_t *row)
{
    char word[64], span[PD_TEXT_NUMBER_BYTES], text[80];
    const json_t *period = json_object_get(row, "period_ms");
    const char *on = json_string_value(json_object_get(row, "on"));
    if (is_count(period)) {
        snprintf(text, sizeof text, "every %s",
                 pd_row_text_span((uint64_t)json_integer_value(period) * MS_US, span));
    } else {
        snprintf(text, sizeof text, "on %s", pd_row_text_word(on, word, sizeof word));
    }
    pd_rows_cell(table, text);
}

static void cell(struct pd_rows_table *table, const json_t *row, const struct pd_cli_field *field)
{
    const json_t *value = field->member ? json_object_get(row, field->member) : row;
    switch (field->kind) {
    case PD_CLI_WORD: word_cell(table, value); break;
    case PD_CLI_QUESTION: question_cell(table, value); break;
    case PD_CLI_WHEN: when_cell(table, value); break;
    case PD_CLI_RATE_BPS:
    case PD_CLI_SHARE: real_cell(table, value, field->kind); break;
    case PD_CLI_NUMBER:
    case PD_CLI_TIME_US:
    case PD_CLI_SPAN_US: count_cell(table, value, field->kind); break;
    }
}

static int fill(const struct pd_cli_listing *listing, const json_t *rows,
                struct pd_rows_table *table, const struct pd_cli_reader *reader)
{
    size_t i;
    const json_t *row;
    json_array_foreach((json_t *)(uintptr_t)rows, i, row)
    {
        if (!json_is_object(row)) {
            return pd_cli_read_bad(reader, listing->member, "a list of objects");
        }
        for (size_t field = 0; field < listing->fields_len; field++) {
            cell(table, row, &listing->fields[field]);
        }
    }
    return 0;
}

static bool is_right(enum pd_cli_kind kind)
{
    return kind == PD_CLI_NUMBER || kind == PD_CLI_SPAN_US || kind == PD_CLI_RATE_BPS ||
           kind == PD_CLI_SHARE;
}

int pd_cli_list(const struct pd_cli_listing *listing, const json_t *answer,
                const struct pd_style *style, FILE *out, struct pd_error *error)
{
    const struct pd_cli_reader reader = {"the answer", error};
    struct pd_rows_column columns[FIELDS_MAX];
    const json_t *rows = NULL;
    char number[PD_TEXT_NUMBER_BYTES];
    for (size_t i = 0; i < listing->fields_len; i++) {
        const struct pd_cli_field *field = &listing->fields[i];

        columns[i] = (struct pd_rows_column){.title = field->title,
                                             .right = is_right(field->kind),
                                             .csv = field->member,
                                             .spare = field->spare};
    }
    struct pd_rows_table *table = pd_rows_new(columns, listing->fields_len, style);
    int err = table ? pd_cli_read_array(&reader, answer, listing->member, &rows) : -ENOMEM;
    size_t len = json_array_size(rows);
    if (!err) {
        err = fill(listing, rows, table, &reader);
    }
    if (!err) {
        err = pd_rows_print(table, out);
    }
    if (!err && !style->csv) {
        fprintf(out, "%s%s %s\n", len ? "\n" : "", pd_row_text_number(len, number),
                len == 1 ? listing->noun : listing->nouns);
    }
    if (err == -ENOMEM) {
        pd_fail(error, err, "no memory for the table");
    }
    pd_rows_free(table);
    return err;
}

/* ---- commands ---- */

const struct pd_option pd_cli_list_options[] = {
    PD_CLI_SERVER_OPTIONS(struct pd_cli_list_settings, server),
    PD_CLI_JSON_OPTION(struct pd_cli_list_settings, json),
    PD_CLI_TABLE_OPTIONS(struct pd_cli_list_settings, table),
    {0},
};

const struct pd_option pd_cli_deed_options[] = {
    PD_CLI_SERVER_OPTIONS(struct pd_cli_list_settings, server),
    PD_CLI_JSON_OPTION(struct pd_cli_list_settings, json),
    {0},
};

int pd_cli_list_check(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    struct pd_cli_list_settings *set = settings;
    (void)words;
    int err = pd_cli_table_check(&set->table, set->json, error);
    return err ? err : pd_cli_server_check(&set->server, error);
}

int pd_cli_list_ask(const struct pd_cli_list_settings *settings, const char *route,
                    const struct pd_cli_listing *listing, struct pd_error *error)
{
    struct pd_cli_memory text;
    json_t *answer;
    int err = pd_cli_server_ask(&settings->server, (struct pd_cli_request){.route = route}, &text,
                                &answer, error);
    if (err) {
        return err;
    }
    if (settings->json) {
        err = pd_cli_print_text(&text, error);
    } else {
        struct pd_style style = pd_cli_table_style(&settings->table);
        err = pd_cli_list(listing, answer, &style, stdout, error);
    }
    if (err && !settings->json) {
        pd_fail_within(error, settings->server.url);
    }
    json_decref(answer);
    free(text.bytes);
    return err;
}

int pd_cli_deed(const struct pd_cli_server *server, bool json, struct pd_cli_request request,
                pd_cli_say *say, struct pd_error *error)
{
    struct pd_cli_memory text = {0};
    json_t *answer = NULL;
    int err = pd_cli_server_ask(server, request, &text, &answer, error);

    if (!err && json) {
        err = pd_cli_print_text(&text, error);
    } else if (!err) {
        err = say(answer, error);
    }
    free(text.bytes);
    json_decref(answer);
    return err;
}

int pd_cli_deed_post(const struct pd_cli_server *server, bool json, const char *route,
                     json_t *document, pd_cli_say *say, struct pd_error *error)
{
    char *body = document ? json_dumps(document, JSON_COMPACT) : NULL;
    int err = body ? pd_cli_deed(server, json,
                                 (struct pd_cli_request){.route = route, .body = body}, say, error)
                   : pd_fail(error, -ENOMEM, "no memory");

    json_decref(document);
    free(body);
    return err;
}

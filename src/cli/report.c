/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of applications for people. */
#include "cli/report.h"

#include <errno.h>
#include <string.h>

#include "cli/fleet.h"
#include "cli/json.h"
#include "query/rows/cells.h"

#define WORD_BYTES 1024

static void print_words(const char *title, const json_t *words, FILE *out)
{
    char word[WORD_BYTES];
    const json_t *member;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)words, i, member)
    {
        fprintf(out, "%-9s %s\n", i ? "" : title,
                pd_row_text_word(json_string_value(member), word, sizeof word));
    }
}

/* Links and switches: as many as there are, on one line. */
static void print_names(const char *title, const json_t *names, FILE *out)
{
    char word[64];
    const json_t *member;
    size_t i;

    if (!json_array_size(names)) {
        return;
    }
    fprintf(out, "%-9s ", title);
    json_array_foreach((json_t *)(uintptr_t)names, i, member)
    {
        fputs(i ? ", " : "", out);
        if (json_is_string(member)) {
            fputs(pd_row_text_word(json_string_value(member), word, sizeof word), out);
        } else {
            fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(member));
        }
    }
    fputc('\n', out);
}

/* A text of several lines: each of them as it can be shown. */
static void print_text(const char *text, FILE *out)
{
    char line[WORD_BYTES], word[WORD_BYTES];

    while (*text) {
        size_t len = strcspn(text, "\n");

        snprintf(line, sizeof line, "%.*s", (int)(len < WORD_BYTES ? len : WORD_BYTES - 1), text);
        fputs(pd_row_text_word(line, word, sizeof word), out);
        fputc('\n', out);
        text += len + (text[len] == '\n');
    }
}

static int print_results(const json_t *results, const struct pd_style *style, FILE *out,
                         struct pd_error *error)
{
    char word[64];
    const json_t *value;
    const char *name;
    int err = 0;

    json_object_foreach((json_t *)(uintptr_t)results, name, value)
    {
        fprintf(out, "\n%s:\n", pd_row_text_word(name, word, sizeof word));
        if (json_is_string(value)) {
            print_text(json_string_value(value), out);
        } else if (!err) {
            err = pd_cli_rows(value, style, out, error);
        }
    }
    return err;
}

/* "incast: 15 of …": applications that are called as what they find. */
static bool begins_with_name(const json_t *report)
{
    const char *app = json_string_value(json_object_get(report, "app"));
    const char *verdict = json_string_value(json_object_get(report, "verdict"));
    size_t bytes = app ? strlen(app) : 0;

    return bytes && verdict && !strncmp(verdict, app, bytes) && verdict[bytes] == ':';
}

static void print_head(const json_t *report, const struct pd_style *style, FILE *out)
{
    const char *bold = style->colour ? "\033[1m" : "", *plain = style->colour ? "\033[0m" : "";
    double confidence = json_number_value(json_object_get(report, "confidence"));

    fprintf(out, "%s", bold);
    if (!begins_with_name(report)) {
        pd_cli_print_word(json_string_value(json_object_get(report, "app")), out);
        fputs(": ", out);
    }
    pd_cli_print_word(json_string_value(json_object_get(report, "verdict")), out);
    fprintf(out, "%s\n%-9s %s, confidence %.0f %%\n", plain, "certain",
            json_is_true(json_object_get(report, "certain")) ? "yes" : "no", confidence * 100);
    print_names("links", json_object_get(report, "links"), out);
    print_names("switches", json_object_get(report, "switches"), out);
    print_words("evidence", json_object_get(report, "evidence"), out);
    print_words("lacks", json_object_get(report, "lacks"), out);
}

int pd_cli_report(const json_t *report, const struct pd_style *style, FILE *out,
                  struct pd_error *error)
{
    const json_t *flows = json_object_get(report, "flows");
    int err = 0;

    if (!json_is_string(json_object_get(report, "verdict")) ||
        !json_is_boolean(json_object_get(report, "certain"))) {
        return pd_fail(error, -PD_E_SYNTAX, "the answer is no report");
    }
    print_head(report, style, out);
    if (json_array_size(flows)) {
        fputs("\nflows:\n", out);
        err = pd_cli_rows(flows, style, out, error);
    }
    return err ? err : print_results(json_object_get(report, "results"), style, out, error);
}

/* Names of all its tables, for whoever asked for another one. */
static int no_table(const json_t *report, const char *table, struct pd_error *error)
{
    char names[400] = "";
    const json_t *value;
    const char *name;

    json_object_foreach(json_object_get(report, "results"), name, value)
    {
        size_t len = strlen(names);
        if (json_is_array(value)) {
            snprintf(names + len, sizeof names - len, ", %.60s", name);
        }
    }
    pd_printable(names);
    return table ? pd_fail(error, -PD_E_VALUE, "the report has no table \"%.60s\": flows%s", table,
                           names)
                 : pd_fail(error, -PD_E_VALUE, "the report has no table: --json");
}

int pd_cli_report_csv(const json_t *report, const char *table, FILE *out, struct pd_error *error)
{
    static const struct pd_style style = {.csv = true};
    const json_t *flows = json_object_get(report, "flows"), *rows = NULL, *value;
    const char *name;

    if (table ? !strcmp(table, "flows") : json_array_size(flows) > 0) {
        rows = flows;
    }
    json_object_foreach(json_object_get(report, "results"), name, value)
    {
        if (!rows && json_is_array(value) && (!table || !strcmp(name, table))) {
            rows = value;
        }
    }
    return rows ? pd_cli_rows(rows, &style, out, error) : no_table(report, table, error);
}

/* ---- getPoorTCPFlows ---- */

static void print_watch(const json_t *answer, const struct pd_style *style, FILE *out)
{
    const char *source = json_string_value(json_object_get(answer, "source"));
    json_int_t since_us = json_integer_value(json_object_get(answer, "since_us"));
    char number[PD_TEXT_NUMBER_BYTES], time[PD_TIME_TEXT_BYTES], word[40];
    size_t len = json_array_size(json_object_get(answer, "flows"));

    fprintf(out, "%s%s flow%s; watched by %s", len ? "\n" : "", pd_row_text_number(len, number),
            pd_row_text_plural(len), pd_row_text_word(source, word, sizeof word));
    if (since_us > 0 && (uint64_t)since_us <= PD_READ_MAX) {
        fprintf(out, " since %s", pd_row_text_time((uint64_t)since_us, style, time));
    }
    fputc('\n', out);
}

int pd_cli_view_poor(const struct pd_cli_reader *reader, const json_t *answer,
                     const struct pd_style *style, FILE *out)
{
    const json_t *flows;
    int err = pd_cli_read_array(reader, answer, "flows", &flows);

    if (!err) {
        err = pd_cli_rows(flows, style, out, reader->error);
    }
    if (!err && !style->csv) {
        print_watch(answer, style, out);
    }
    return err;
}

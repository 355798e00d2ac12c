/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as CSV. */
#include "query/rows/csv.h"

#include <ctype.h>
#include <string.h>

size_t pd_rows_csv_width(const struct pd_rows_table *rows)
{
    size_t width = rows->columns_len;
    for (size_t i = 0; i < rows->columns_len; i++) {
        for (const char *at = rows->columns[i].csv; at && (at = strchr(at, ',')); at++) {
            width++;
        }
    }
    return width;
}

static void print_value(const char *text, FILE *out)
{
    if (!text[strcspn(text, ",\"\r\n")] && *text != ' ') {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        fputs(*text == '"' ? "\"\"" : (const char[]){*text, '\0'}, out);
    }
    fputc('"', out);
}

static void print_name(const struct pd_rows_column *column, FILE *out)
{
    if (column->csv) {
        fputs(column->csv, out);
        return;
    }
    for (const char *at = column->title; *at; at++) {
        fputc(*at == ' ' ? '_' : tolower((unsigned char)*at), out);
    }
}

static void print_names(const struct pd_rows_table *rows, FILE *out)
{
    for (size_t i = 0; i < rows->columns_len; i++) {
        fputs(i ? "," : "", out);
        print_name(&rows->columns[i], out);
    }
    fputc('\n', out);
}

void pd_rows_csv_cell(const struct pd_rows_table *rows, size_t at, const char *text, FILE *out)
{
    print_value(strcmp(text, "-") ? text : "", out);
    fputc((at + 1) % rows->width ? ',' : '\n', out);
}

void pd_rows_stream(struct pd_rows_table *rows, FILE *out)
{
    rows->stream = rows->style->csv ? out : NULL;
    if (rows->stream) {
        print_names(rows, out);
    }
}

void pd_rows_csv_print(const struct pd_rows_table *rows, FILE *out)
{
    if (rows->stream) {
        return;
    }
    print_names(rows, out);
    for (size_t i = 0; i < rows->cells_len; i++) {
        pd_rows_csv_cell(rows, i, rows->cells[i], out);
    }
}

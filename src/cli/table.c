/* SPDX-License-Identifier: Apache-2.0 */
/* Tables, for people or as CSV. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "cli/text.h"

struct pd_cli_table {
    const struct pd_cli_column *columns;
    size_t columns_len;
    const struct pd_style *style;
    char **cells; /* row by row */
    size_t cells_len;
    size_t cells_max; /* allocated */
    bool failed;
};

struct pd_cli_table *pd_cli_table_new(const struct pd_cli_column *columns, size_t columns_len,
                                      const struct pd_style *style)
{
    struct pd_cli_table *table = calloc(1, sizeof *table);
    if (table) {
        table->columns = columns;
        table->columns_len = columns_len;
        table->style = style;
    }
    return table;
}

bool pd_cli_table_is_csv(const struct pd_cli_table *table)
{
    return table->style->csv;
}

void pd_cli_table_free(struct pd_cli_table *table)
{
    if (!table) {
        return;
    }
    for (size_t i = 0; i < table->cells_len; i++) {
        free(table->cells[i]);
    }
    free(table->cells);
    free(table);
}

void pd_cli_table_cell(struct pd_cli_table *table, const char *text)
{
    if (PD_GROW(table->cells, table->cells_max, table->cells_len + 1)) {
        table->failed = true;
        return;
    }
    char *copy = text ? strdup(text) : NULL;
    if (copy) {
        table->cells[table->cells_len++] = copy;
    } else {
        table->failed = true;
    }
}

/* Columns that a text takes on the screen: UTF-8 continuation bytes take none. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++) {
        width += (*text & 0xc0) != 0x80;
    }
    return width;
}

static size_t column_width(const struct pd_cli_table *table, size_t column)
{
    size_t widest = width_of(table->columns[column].title);
    for (size_t i = column; i < table->cells_len; i += table->columns_len) {
        size_t width = width_of(table->cells[i]);
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* The last column is not padded on its right: no blanks at the end of a line. */
static void print_cell(const struct pd_cli_table *table, size_t column, size_t width,
                       const char *text, FILE *out)
{
    size_t blanks = width - width_of(text);
    bool last = column + 1 == table->columns_len;
    fprintf(out, "%s%*s%s%*s", column ? "  " : "", table->columns[column].right ? (int)blanks : 0,
            "", text, table->columns[column].right || last ? 0 : (int)blanks, "");
}

/* ---- CSV ---- */

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

static void print_name(const struct pd_cli_column *column, FILE *out)
{
    if (column->csv) {
        fputs(column->csv, out);
        return;
    }
    for (const char *at = column->title; *at; at++) {
        fputc(*at == ' ' ? '_' : tolower((unsigned char)*at), out);
    }
}

static void print_csv(const struct pd_cli_table *table, FILE *out)
{
    for (size_t i = 0; i < table->columns_len; i++) {
        fputs(i ? "," : "", out);
        print_name(&table->columns[i], out);
    }
    fputc('\n', out);
    for (size_t i = 0; i < table->cells_len; i++) {
        const char *cell = table->cells[i];

        print_value(strcmp(cell, "-") ? cell : "", out);
        fputc((i + 1) % table->columns_len ? ',' : '\n', out);
    }
}

int pd_cli_table_print(const struct pd_cli_table *table, FILE *out)
{
    const struct pd_style *style = table->style;
    size_t *widths = calloc(table->columns_len, sizeof *widths);
    if (table->failed || !widths) {
        free(widths);
        return -ENOMEM;
    }
    if (style->csv || !table->cells_len) {
        free(widths);
        if (style->csv) {
            print_csv(table, out);
        }
        return 0;
    }
    fputs(style->colour ? "\033[1m" : "", out);
    for (size_t i = 0; i < table->columns_len; i++) {
        widths[i] = column_width(table, i);
        print_cell(table, i, widths[i], table->columns[i].title, out);
    }
    fputs(style->colour ? "\033[0m\n" : "\n", out);
    for (size_t i = 0; i + table->columns_len <= table->cells_len; i += table->columns_len) {
        for (size_t column = 0; column < table->columns_len; column++) {
            print_cell(table, column, widths[column], table->cells[i + column], out);
        }
        fputc('\n', out);
    }
    free(widths);
    return 0;
}

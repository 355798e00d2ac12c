/* SPDX-License-Identifier: Apache-2.0 */
/* Rows for people: cells that are kept, then aligned and printed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "query/rows/csv.h"

struct pd_rows_table *pd_rows_new(const struct pd_rows_column *columns, size_t columns_len,
                                  const struct pd_style *style)
{
    struct pd_rows_table *rows = calloc(1, sizeof *rows);
    if (rows) {
        rows->columns = columns;
        rows->columns_len = columns_len;
        rows->style = style;
        rows->width = style->csv ? pd_rows_csv_width(rows) : columns_len;
    }
    return rows;
}

bool pd_rows_is_csv(const struct pd_rows_table *rows)
{
    return rows->style->csv;
}

const struct pd_style *pd_rows_style(const struct pd_rows_table *rows)
{
    return rows->style;
}

void pd_rows_free(struct pd_rows_table *rows)
{
    if (!rows) {
        return;
    }
    for (size_t i = 0; i < rows->cells_len; i++) {
        free(rows->cells[i]);
    }
    free(rows->cells);
    free(rows);
}

void pd_rows_cell(struct pd_rows_table *rows, const char *text)
{
    if (rows->stream && text) {
        pd_rows_csv_cell(rows, rows->streamed++, text, rows->stream);
        return;
    }
    if (PD_GROW(rows->cells, rows->cells_max, rows->cells_len + 1)) {
        rows->failed = true;
        return;
    }
    char *copy = text ? strdup(text) : NULL;
    if (copy) {
        rows->cells[rows->cells_len++] = copy;
    } else {
        rows->failed = true;
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

static size_t column_width(const struct pd_rows_table *rows, size_t column)
{
    size_t widest = width_of(rows->columns[column].title);
    for (size_t i = column; i < rows->cells_len; i += rows->columns_len) {
        size_t width = width_of(rows->cells[i]);
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* ---- what a narrow terminal has room for ---- */

#define GAP      2
#define LEFT_OUT SIZE_MAX

static size_t line_width(const size_t *widths, size_t len)
{
    size_t sum = 0;
    for (size_t i = 0; i < len; i++) {
        sum += widths[i] == LEFT_OUT ? 0 : widths[i] + (i ? GAP : 0);
    }
    return sum;
}

/* The column that is needed least of those still there; 0 where only the first one is. */
static size_t least_needed(const struct pd_rows_table *rows, const size_t *widths)
{
    size_t found = 0;
    for (size_t i = 1; i < rows->columns_len; i++) {
        bool spare = !found || rows->columns[i].spare >= rows->columns[found].spare;
        found = widths[i] != LEFT_OUT && spare ? i : found;
    }
    return found;
}

static void fit(const struct pd_rows_table *rows, size_t *widths)
{
    for (size_t least; rows->style->width &&
                       line_width(widths, rows->columns_len) > rows->style->width &&
                       (least = least_needed(rows, widths));) {
        widths[least] = LEFT_OUT;
    }
}

/* On as many lines as it takes. */
static void say_left_out(const struct pd_rows_table *rows, const size_t *widths, FILE *out)
{
    static const char start[] = "(too narrow for ";
    size_t at = 0;
    for (size_t i = 0; i < rows->columns_len; i++) {
        size_t len = strlen(rows->columns[i].title) + GAP;
        bool breaks = at && at + len > rows->style->width;
        if (widths[i] == LEFT_OUT) {
            fprintf(out, "%s%s", !at ? start : breaks ? ",\n " : ", ", rows->columns[i].title);
            at = (!at ? sizeof start - 1 : breaks ? 1 : at) + len;
        }
    }
    fputs(at ? ")\n" : "", out);
}

/* ---- printing ---- */

/* Blanks on the left of a cell; those on the right wait for the next one, so that no line ends in
 * any. */
static void print_row(const struct pd_rows_table *rows, const size_t *widths, char *const *cells,
                      FILE *out)
{
    size_t blanks = 0;
    for (size_t i = 0; i < rows->columns_len; i++) {
        const char *text = cells ? cells[i] : rows->columns[i].title;
        if (widths[i] == LEFT_OUT) {
            continue;
        }
        size_t room = widths[i] - width_of(text);
        blanks += (i ? GAP : 0) + (rows->columns[i].right ? room : 0);
        fprintf(out, "%*s%s", (int)blanks, "", text);
        blanks = rows->columns[i].right ? 0 : room;
    }
}

static void print_table(const struct pd_rows_table *rows, size_t *widths, FILE *out)
{
    for (size_t i = 0; i < rows->columns_len; i++) {
        widths[i] = column_width(rows, i);
    }
    fit(rows, widths);
    fputs(rows->style->colour ? "\033[1m" : "", out);
    print_row(rows, widths, NULL, out);
    fputs(rows->style->colour ? "\033[0m\n" : "\n", out);
    for (size_t i = 0; i + rows->columns_len <= rows->cells_len; i += rows->columns_len) {
        print_row(rows, widths, rows->cells + i, out);
        fputc('\n', out);
    }
    say_left_out(rows, widths, out);
}

int pd_rows_print(const struct pd_rows_table *rows, FILE *out)
{
    if (rows->failed) {
        return -ENOMEM;
    }
    if (rows->style->csv) {
        pd_rows_csv_print(rows, out);
        return 0;
    }
    if (!rows->cells_len) {
        return 0;
    }
    size_t *widths = calloc(rows->columns_len, sizeof *widths);
    if (!widths) {
        return -ENOMEM;
    }
    print_table(rows, widths, out);
    free(widths);
    return 0;
}

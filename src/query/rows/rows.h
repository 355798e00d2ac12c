/* SPDX-License-Identifier: Apache-2.0 */
/* Rows for people or as CSV; out.h writes them as JSON, record.h the same rows in all forms. */
#ifndef PD_QUERY_ROWS_ROWS_H
#define PD_QUERY_ROWS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "query/rows/text.h"

/* For people: a table, columns as wide as their widest cell, two blanks apart. A terminal that is
 * too narrow gets less columns, not broken lines: those with the highest `spare` go first, of equal
 * ones the last; a line below says which. The first column always stays.
 *
 * As CSV (RFC 4180, but lines end in a line feed): names of the columns, then the rows; cells are
 * quoted where they have to be, "-" is empty.
 *
 * The cells are kept until they are printed, or given out row by row after pd_rows_stream.
 *
 * Thread safety: works on the caller's memory. */

struct pd_rows_column {
    const char *title;
    bool right; /* numbers are aligned to the right */
    /* name in CSV; NULL: the title in small letters, "first_packet". "a,b" is two columns of CSV
     * where people have one: whoever fills the row knows. */
    const char *csv;
    unsigned char spare; /* 0: needed most */
};

struct pd_rows_table;

/* `columns` and `style` outlive the rows. NULL without memory. */
struct pd_rows_table *pd_rows_new(const struct pd_rows_column *columns, size_t columns_len,
                                  const struct pd_style *style);
void pd_rows_free(struct pd_rows_table *rows);         /* NULL is fine */
bool pd_rows_is_csv(const struct pd_rows_table *rows); /* cells are values, not words */
const struct pd_style *pd_rows_style(const struct pd_rows_table *rows);

/* CSV from now on goes out as soon as a row is whole, names first: no row takes memory. */
void pd_rows_stream(struct pd_rows_table *rows, FILE *out);

/* The next cell, left to right, then the next row. Copied. A failure (NULL is one) is kept for
 * pd_rows_print. */
void pd_rows_cell(struct pd_rows_table *rows, const char *text);

/* Whole rows under their titles; for people nothing where there are none. 0 or -ENOMEM when a cell
 * could not be kept (nothing is printed then). */
int pd_rows_print(const struct pd_rows_table *rows, FILE *out);

#endif

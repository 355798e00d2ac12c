/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as CSV, and what rows are made of; for this folder alone. */
#ifndef PD_QUERY_ROWS_CSV_H
#define PD_QUERY_ROWS_CSV_H

#include <stdint.h>

#include "query/rows/rows.h"

struct pd_rows_table {
    const struct pd_rows_column *columns;
    size_t columns_len;
    const struct pd_style *style;
    size_t width; /* cells of a row: more than columns where CSV has several for one */
    char **cells; /* row by row */
    size_t cells_len;
    size_t cells_max; /* allocated */
    FILE *stream;     /* of CSV; NULL: cells are kept */
    size_t streamed;  /* cells that went there */
    bool failed;
};

size_t pd_rows_csv_width(const struct pd_rows_table *rows);
void pd_rows_csv_cell(const struct pd_rows_table *rows, size_t at, const char *text, FILE *out);
void pd_rows_csv_print(const struct pd_rows_table *rows,
                       FILE *out); /* names too, unless streamed */

#endif

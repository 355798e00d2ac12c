/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, times and paths as people read them, and tables of them. */
#ifndef PD_CLI_TEXT_H
#define PD_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/claim.h"

/* How a stream may be written on. Colour only on a terminal that is not "dumb", and not under
 * NO_COLOR (no-color.org). */
struct pd_style {
    bool utf8;
    bool colour;
    bool csv; /* rows for programs: tables as CSV, and nothing but tables */
};
struct pd_style pd_cli_style(FILE *stream);
struct pd_style pd_cli_style_as(FILE *stream, bool csv); /* plain words for CSV */

#define PD_CLI_NUMBER_BYTES 32 /* enough for each of the texts below */

/* These write into `text` and return it. */
const char *pd_cli_number(uint64_t number, char text[PD_CLI_NUMBER_BYTES]); /* "1,234,567" */
const char *pd_cli_bytes(uint64_t bytes, char text[PD_CLI_NUMBER_BYTES]);   /* "1.2 MiB" */
const char *pd_cli_span(uint64_t span_us, char text[PD_CLI_NUMBER_BYTES]);  /* "1.204 s" */

#define PD_CLI_PATH_BYTES (PD_PATH_MAX * 14)

/* Of a claim: "tags 9,14" where it has no path; "1→0→17 (partial, trace)" where it is no
 * exact one from tags. */
#define PD_CLI_WAY_BYTES (PD_CLI_PATH_BYTES + 192)
const char *pd_cli_way(const struct pd_claim *claim, const struct pd_style *style,
                       char text[PD_CLI_WAY_BYTES]);

/* "1→9→17", "1-9-17" where that cannot be shown. */
const char *pd_cli_path(const struct pd_path *path, const struct pd_style *style,
                        char text[PD_CLI_PATH_BYTES]);

/* What others wrote, for a terminal: whole characters of it as fit, control characters replaced.
 * NULL is "?". */
const char *pd_cli_word(const char *text, char *word, size_t size);

/* ---- tables ---- */

struct pd_cli_column {
    const char *title;
    bool right;      /* numbers are aligned to the right */
    const char *csv; /* name in CSV; NULL: the title in small letters, "first_packet" */
};

/* The one writer of tables. For people: columns as wide as their widest cell, two blanks apart. As
 * CSV (RFC 4180, but lines end in a line feed): names of the columns, then the rows; cells are
 * quoted where they have to be, "-" is empty. The cells are kept until they are printed. */
struct pd_cli_table;

/* `columns` and `style` outlive the table. NULL without memory. */
struct pd_cli_table *pd_cli_table_new(const struct pd_cli_column *columns, size_t columns_len,
                                      const struct pd_style *style);
void pd_cli_table_free(struct pd_cli_table *table);         /* NULL is fine */
bool pd_cli_table_is_csv(const struct pd_cli_table *table); /* cells are values, not words */

/* The next cell, left to right, then the next row. Copied. A failure (NULL is one) is kept for
 * pd_cli_table_print. */
void pd_cli_table_cell(struct pd_cli_table *table, const char *text);

/* Whole rows under their titles; for people nothing where there are none. 0 or -ENOMEM when a cell
 * could not be kept (nothing is printed then). */
int pd_cli_table_print(const struct pd_cli_table *table, FILE *out);

#endif

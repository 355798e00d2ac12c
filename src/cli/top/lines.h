/* SPDX-License-Identifier: Apache-2.0 */
/* What stands on the screen of `pathdump top`, line by line. */
#ifndef PD_CLI_TOP_LINES_H
#define PD_CLI_TOP_LINES_H

#include "cli/top/table.h"

/* Thread safety: works on the caller's memory. */

struct pd_top_lines {
    char *text; /* NULs between them */
    char **at;
    size_t len;
};

/* 0 or -ENOMEM. A table's titles, then its rows, then what it says below. */
int pd_top_lines_of_table(const struct pd_top_table *table, const json_t *rows,
                          const struct pd_style *style, struct pd_top_lines *ret);
/* "member  value", long values over several lines. */
int pd_top_lines_of_row(const json_t *row, unsigned width, struct pd_top_lines *ret);
int pd_top_lines_of_text(const char *text, struct pd_top_lines *ret);

const char *pd_top_line(const struct pd_top_lines *lines, size_t i); /* "" behind the last */
void pd_top_lines_done(struct pd_top_lines *lines);

#endif

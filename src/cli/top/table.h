/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of `pathdump top`: what they are made of, sorted and filtered. */
#ifndef PD_CLI_TOP_TABLE_H
#define PD_CLI_TOP_TABLE_H

#include <jansson.h>
#include <stdatomic.h>

#include "cli/listing.h"

/* Each table is a listing (cli/listing.h) over rows that are made of answers.
 *
 * Thread safety: works on the caller's memory. */

enum pd_top_name { PD_TOP_LINKS, PD_TOP_FLOWS, PD_TOP_HOSTS, PD_TOP_ALARMS, PD_TOP_VERDICTS };
#define PD_TOP_TABLES 5

struct pd_top_table {
    const char *name; /* "links" */
    struct pd_cli_listing listing;
    const char *sort; /* by this member at first */
};
extern const struct pd_top_table pd_top_tables[PD_TOP_TABLES];

/* By its name; NULL: there is none. */
const struct pd_top_table *pd_top_table_find(const char *name);

/* A column by its title or its member, in any case of letters; NULL: there is none. */
const struct pd_cli_field *pd_top_column(const struct pd_top_table *table, const char *name);
const struct pd_cli_field *pd_top_next_column(const struct pd_top_table *table,
                                              const struct pd_cli_field *after);

/* The rows with this text in them, in any case of letters (NULL: all), sorted by the column:
 * numbers from the largest on, texts from the first, what is missing last. The caller's; NULL
 * without memory. */
json_t *pd_top_arrange(const json_t *rows, const char *filter, const struct pd_cli_field *by);

#endif

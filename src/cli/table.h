/* SPDX-License-Identifier: Apache-2.0 */
/* What commands with tables share: their options, and how their tables go out. */
#ifndef PD_CLI_TABLE_H
#define PD_CLI_TABLE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/options.h"
#include "query/rows/text.h"

/* Thread safety: one thread. */

struct pd_cli_table {
    bool csv;
    bool utc, local; /* times */
    bool names;      /* of switches, not IDs; of commands that have the option */
    const char *of;  /* which one of several, of reports; NULL: the first */
};

// clang-format off
#define PD_CLI_TABLE_OPTIONS(target, member)                                                        \
    {.name = "csv",                                                                               \
     .type = PD_OPTION_FLAG,                                                                      \
     .offset = offsetof(target, member.csv),                                                        \
     .help = "print the table as CSV, values as they are"},                                       \
    {.name = "utc",                                                                               \
     .type = PD_OPTION_FLAG,                                                                      \
     .offset = offsetof(target, member.utc),                                                        \
     .help = "times in UTC, as when nothing is said"},                                            \
    {.name = "local",                                                                             \
     .type = PD_OPTION_FLAG,                                                                      \
     .offset = offsetof(target, member.local),                                                      \
     .help = "times of this machine's zone; never in CSV"}
#define PD_CLI_NAMES_OPTION(target, member)                                                         \
    {.name = "names",                                                                             \
     .type = PD_OPTION_FLAG,                                                                      \
     .offset = offsetof(target, member.names),                                                      \
     .help = "switches by their names, not their IDs"}
// clang-format on

/* A failure is one of usage. */
int pd_cli_table_check(const struct pd_cli_table *table, bool json, struct pd_error *error);

/* How standard output may be written on. What is more than a screen goes to the pager from now on:
 * pager.h. */
struct pd_style pd_cli_table_style(const struct pd_cli_table *table);

#endif

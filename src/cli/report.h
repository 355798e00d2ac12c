/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of applications, and lists of any flat objects, for people. */
#ifndef PD_CLI_REPORT_H
#define PD_CLI_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "base/error.h"
#include "cli/json.h"
#include "query/rows/text.h"

/* What is shown comes from others and may be anything: members that are not what they should be are
 * shown as what they are.
 *
 * Thread safety: works on the caller's memory. */

/* A column for each member that the rows have, in the order in which they come: flow IDs as both
 * ends, lists of switches as paths, "…_us" as times. Nothing for no rows. 0 or -ENOMEM. */
int pd_cli_rows(const json_t *rows, const struct pd_style *style, FILE *out,
                struct pd_error *error);

/* The sentence, how sure it is, what it names, why, what it lacks, and its figures. 0, -PD_E_SYNTAX
 * when it is no report, or -ENOMEM. */
int pd_cli_report(const json_t *report, const struct pd_style *style, FILE *out,
                  struct pd_error *error);

/* The answer of getPoorTCPFlows: a row for each flow, then who watched and since when. */
int pd_cli_view_poor(const struct pd_cli_reader *reader, const json_t *answer,
                     const struct pd_style *style, FILE *out);

/* One of its tables as CSV: "flows", or one of its results by name; NULL: flows where there are
 * any, else its first result that is a table. */
int pd_cli_report_csv(const json_t *report, const char *table, FILE *out, struct pd_error *error);

#endif

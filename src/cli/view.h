/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of queries as tables for people. */
#ifndef PD_CLI_VIEW_H
#define PD_CLI_VIEW_H

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "cli/answer.h"
#include "cli/text.h"
#include "query/query.h"

/* Prints the JSON of an answer as a table and a line that sums it up. The JSON may come from
 * anywhere: whatever is not as docs/api/openapi.json says is -PD_E_SYNTAX with its place in
 * `error`, and nothing is printed. `ret_outcome` is the answer's "complete" and "hosts". 0,
 * -PD_E_SYNTAX or -ENOMEM. */
int pd_cli_view(enum pd_query_name name, const char *json, size_t len, const struct pd_style *style,
                FILE *out, struct pd_cli_outcome *ret_outcome, struct pd_error *error);

/* The same of a program's answer: its "result", indented. */
int pd_cli_view_result(const char *json, size_t len, FILE *out, struct pd_cli_outcome *ret_outcome,
                       struct pd_error *error);

#endif

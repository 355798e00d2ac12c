/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of queries as tables for people. */
#ifndef PD_CLI_VIEW_H
#define PD_CLI_VIEW_H

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "cli/answer.h"
#include "query/question.h"
#include "query/rows/text.h"

/* Prints the JSON of an answer to this question as a table and a line that sums it up; an object of
 * which no table is known, a program's "result" too, as indented JSON. The JSON may come from
 * anywhere: whatever is not as docs/api/openapi.json says is -PD_E_SYNTAX with its place in
 * `error`, and nothing is printed. `ret_outcome` is the answer's "complete" and "hosts". 0,
 * -PD_E_SYNTAX or -ENOMEM. */
int pd_cli_view(const struct pd_question *question, const char *json, size_t len,
                const struct pd_style *style, FILE *out, struct pd_cli_outcome *ret_outcome,
                struct pd_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Which hosts are asked, and what an answer says about them. */
#ifndef PD_CLI_FLEET_H
#define PD_CLI_FLEET_H

#include <jansson.h>
#include <stdio.h>

#include "base/error.h"
#include "cli/answer.h"
#include "cli/json.h"

/* Thread safety: works on the caller's memory. */

/* "all" and "rack:3" are themselves in JSON, "21,22" is [21,22]. -PD_E_VALUE. */
int pd_cli_hosts_json(const char *text, json_t **ret_hosts, struct pd_error *error);

/* --hosts, as an option's `set`. */
int pd_cli_hosts_check(void *target, const char *name, const char *value, struct pd_error *error);

/* "complete" and "hosts" of an answer. An answer without hosts has outcome.asked 0; without
 * "complete" it is an error unless `may_lack` says that this is fine, and complete then. */
int pd_cli_outcome_read(const struct pd_cli_reader *reader, const json_t *answer, bool may_lack,
                        struct pd_cli_outcome *ret_outcome);

/* Lines below a table: how many hosts, asked how and why so, which are missing and why. Nothing
 * where no hosts were asked. */
void pd_cli_outcome_view(const json_t *answer, const struct pd_cli_outcome *outcome, FILE *out);

/* PD_CLI_OK; or PD_CLI_PARTIAL and a line on stderr. */
int pd_cli_outcome_report(const char *command, const struct pd_cli_outcome *outcome);

/* A text of others on a terminal: control characters are replaced, length cut. */
void pd_cli_print_word(const char *text, FILE *out);

#endif

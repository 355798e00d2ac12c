/* SPDX-License-Identifier: Apache-2.0 */
/* Alarms summed up by reason, host or link: the table of `pathdump alarms --by`. */
#ifndef PD_CLI_ALARM_SUMS_H
#define PD_CLI_ALARM_SUMS_H

#include <jansson.h>

#include <stdbool.h>

#include "base/error.h"
#include "cli/table.h"

/* An alarm counts once for its reason and its host, and once for each link of its paths; its
 * "count" says how many it stands for. Rows are bounded: a controller knows so many hosts, links
 * and reasons, and what an alarm says of itself is not believed beyond PD_ALARM_SUMS_MAX.
 *
 * Thread safety: one thread. */

#define PD_ALARM_SUMS_MAX  65536u
#define PD_ALARM_SUMS_SHOW 20u /* rows of the table */

enum pd_alarm_sums_by { PD_ALARM_SUMS_REASON, PD_ALARM_SUMS_HOST, PD_ALARM_SUMS_LINK };

/* "reason", "host", "link". 0 or -PD_E_VALUE. */
int pd_cli_alarm_sums_by(const char *text, enum pd_alarm_sums_by *ret_by);

struct pd_alarm_sums;

int pd_cli_alarm_sums_new(enum pd_alarm_sums_by by,
                          struct pd_alarm_sums **ret_sums); /* 0, -ENOMEM */
void pd_cli_alarm_sums_free(struct pd_alarm_sums *sums);    /* NULL is fine */

/* Adds an answer of GET /v1/alarms. 0, -PD_E_SYNTAX or -ENOMEM. */
int pd_cli_alarm_sums_add(struct pd_alarm_sums *sums, const json_t *answer, struct pd_error *error);

/* The most frequent first, on standard output. 0 or a negative error. */
int pd_cli_alarm_sums_print(struct pd_alarm_sums *sums, const struct pd_cli_table *shape,
                            struct pd_error *error);

#endif

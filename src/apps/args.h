/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of applications: from JSON or the texts of a command line to values that need no
 * further check. */
#ifndef PD_APPS_ARGS_H
#define PD_APPS_ARGS_H

#include <jansson.h>

#include "apps/apps.h"

/* A value is given as text, as on the command line, or as the JSON value nearest to it: a number, a
 * boolean, a list. What comes out is of the one form that apps.h says for each kind. Errors name
 * the argument and what is expected: "max_hops: expects a number, not "many"".
 *
 * Thread safety: pure functions. */

#define PD_APP_NUMBER_MAX  9007199254740991.0 /* 2^53 - 1 */
#define PD_APP_SECONDS_MAX 1e9
#define PD_APP_LIST_MAX    1024 /* IDs, and pairs of prefixes */

/* `given`: an object, or NULL for none. Fills in the fallbacks. With a topology (may be NULL)
 * switches of links have to be adjacent, and IDs of lists have to be switches or hosts.
 * -PD_E_UNKNOWN_KEY, -PD_E_VALUE, -ENOMEM. */
int pd_app_args_read(const struct pd_app_ops *ops, const struct pd_topology *topology,
                     const json_t *given, json_t **ret_args, struct pd_error *error);

/* The table as JSON: [{"name","kind":"a number","value","fallback"|null,"required","help"}]. NULL
 * without memory. */
json_t *pd_app_params_json(const struct pd_app_ops *ops);

/* ---- values of arguments that were read; `fallback` where the argument is missing ---- */

uint64_t pd_app_arg_u64(const json_t *args, const char *name, uint64_t fallback);
double pd_app_arg_number(const json_t *args, const char *name, double fallback);
const char *pd_app_arg_text(const json_t *args, const char *name);          /* NULL: missing */
struct pd_link_match pd_app_arg_link(const json_t *args, const char *name); /* {0, 0}: missing */

#endif

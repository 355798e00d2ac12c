/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of applications on the command line: flags that no table of options knows. */
#ifndef PD_CLI_ARGUMENTS_H
#define PD_CLI_ARGUMENTS_H

#include <jansson.h>

#include "cli/cli.h"

/* Which arguments an application takes stands in its own table (apps/apps.h), so that the command
 * line only gathers them: --max-hops 4 or --max-hops=4. One thread. */

/* Takes the flags that `options` does not have out of argv[1..*argc] with their values, up to "--".
 * ret_words->arguments is the caller's to free, also after an error; what it points to lies in
 * argv. */
int pd_cli_arguments_take(const struct pd_option *options, int *argc, char **argv,
                          struct pd_cli_words *ret_words, struct pd_error *error);

/* {"max_hops":"4"}, as pd_app_args_read and POST /v1/apps/NAME take them; the caller's. */
int pd_cli_arguments_json(const struct pd_cli_words *words, json_t **ret_given,
                          struct pd_error *error);

#endif

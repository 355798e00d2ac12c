/* SPDX-License-Identifier: Apache-2.0 */
/* Help, man page and completions of the command. */
#ifndef PD_CLI_DOC_H
#define PD_CLI_DOC_H

#include <stdio.h>

#include "cli/cli.h"

/* Details of a command with those of its table; the caller frees them. NULL: no memory. */
char *pd_cli_details(const struct pd_cli_command *command);

/* Usage, details and options of a command. */
void pd_cli_help_command(const struct pd_cli_command *command, FILE *out);

/* The commands of a group, one line each; all of them when `group` is NULL. */
void pd_cli_help_group(const char *group, FILE *out);

/* The page docs/man/pathdump.1, as man macros. */
void pd_cli_man(FILE *out);

/* The scripts in completion/, for "bash", "zsh" or "fish". False: none for that shell. */
bool pd_cli_completion(const char *shell, FILE *out);

#endif

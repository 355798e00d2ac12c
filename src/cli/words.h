/* SPDX-License-Identifier: Apache-2.0 */
/* What people type, before the options read it: times as "-5m", switches and hosts by name. */
#ifndef PD_CLI_WORDS_H
#define PD_CLI_WORDS_H

#include "cli/cli.h"
#include "cli/server.h"

/* Each value of a flag that takes a time, a link or switches is put into the words of the API:
 * "-5m" into seconds since the epoch, "tor-1-1:agg-1-1" into "1-9". Names are read from --topology
 * where the command line has it, else asked of its controller; only where there is a name at all.
 * Values that are right already, or of other flags, stay.
 *
 * One thread. */

struct pd_cli_spelled; /* the texts that argv then points into */

/* argv[0] is the last word of the command's name. What was spelled out lives as long as
 * `ret_spelled`, which is freed also after an error. */
int pd_cli_words_spell(const struct pd_cli_command *command, int argc, char **argv,
                       struct pd_cli_spelled **ret_spelled, struct pd_error *error);
void pd_cli_spelled_free(struct pd_cli_spelled *spelled); /* NULL is fine */

/* The value of --NAME, or NULL. */
char *pd_cli_words_value(int argc, char **argv, const char *name);

/* URL, TLS files and the like of the controller that this command line names. False: none. */
bool pd_cli_words_server(int argc, char **argv, struct pd_cli_server *ret_server);

#endif

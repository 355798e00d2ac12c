/* SPDX-License-Identifier: Apache-2.0 */
/* Names of switches and hosts: from a topology file, or as a controller has them. */
#ifndef PD_CLI_NAMES_H
#define PD_CLI_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/server.h"
#include "query/rows/text.h"

/* Of several with one name the one with the lowest ID is meant, switches before hosts.
 *
 * Thread safety: works on the caller's memory. */

struct pd_cli_names;

/* Reads them from the file, or asks the controller where `topology` is NULL. */
int pd_cli_names_read(const char *topology, const struct pd_cli_server *server,
                      struct pd_cli_names **ret_names, struct pd_error *error);
void pd_cli_names_free(struct pd_cli_names *names); /* NULL is fine */

/* Where `wanted`, reads names and makes the style show them; the namer lives as long as
 * the style. */
struct pd_cli_namer {
    struct pd_cli_names *names; /* NULL: none are wanted */
    struct pd_style_names style;
};
int pd_cli_namer_begin(struct pd_cli_namer *namer, bool wanted, const char *topology,
                       const struct pd_cli_server *server, struct pd_style *style,
                       struct pd_error *error);
void pd_cli_namer_end(struct pd_cli_namer *namer);

/* For struct pd_style_names; NULL: nobody has this ID. */
const char *pd_cli_names_of(void *names, uint32_t id);

/* "tor-1-1:agg-1-1", "tor-1-1:*" as "9-17"; "tor-1-1,9" as "1,9"; "tor-1-1" as "1". Words of an
 * error begin with `flag`, and end with what may have been meant. The text is the caller's. */
int pd_cli_names_link(const struct pd_cli_names *names, const char *flag, const char *text,
                      char **ret_text, struct pd_error *error);
int pd_cli_names_list(const struct pd_cli_names *names, const char *flag, const char *text,
                      char **ret_text, struct pd_error *error);

#endif

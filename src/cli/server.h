/* SPDX-License-Identifier: Apache-2.0 */
/* The controller that a command asks: its options, its default, and answers that fit into memory.
 */
#ifndef PD_CLI_SERVER_H
#define PD_CLI_SERVER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/options.h"
#include "cli/access.h"
#include "cli/answer.h"
#include "cli/http.h"

/* Each command that asks a controller has a struct pd_cli_server in its settings and
 * PD_CLI_SERVER_OPTIONS in its table.
 *
 * Thread safety: works on the caller's memory. */

struct pd_cli_server {
    const char *url;
    uint64_t timeout_s;
    struct pd_cli_access access;
};

// clang-format off
#define PD_CLI_SERVER_OPTIONS(target, member)                                                      \
    {.name = "controller",                                                                        \
     .type = PD_OPTION_STRING,                                                                    \
     .offset = offsetof(target, member.url),                                                        \
     .value = "URL",                                                                              \
     .help = "http://HOST:PORT; else that of PATHDUMP_CONTROLLER"},                               \
    {.name = "timeout",                                                                           \
     .type = PD_OPTION_SECONDS,                                                                   \
     .offset = offsetof(target, member.timeout_s),                                                  \
     .min = 1,                                                                                    \
     .max = 86400,                                                                                \
     .value = "TIME",                                                                             \
     .fallback = "60s",                                                                           \
     .help = "longest silence of the other end"},                                                 \
    PD_CLI_ACCESS_OPTIONS(target, member.access)
#define PD_CLI_JSON_OPTION(target, member)                                                          \
    {.name = "json",                                                                              \
     .type = PD_OPTION_FLAG,                                                                      \
     .offset = offsetof(target, member),                                                            \
     .help = "print JSON, as the other end gives it"}
// clang-format on

/* Takes the URL of the environment where none was given. A failure is one of usage. */
int pd_cli_server_check(struct pd_cli_server *server, struct pd_error *error);

/* --agent and --controller. 0 or a failure that names the flag. */
int pd_cli_url_check(const char *flag, const char *url, struct pd_error *error);

/* A sink that stopped an answer has no words: these are they. */
int pd_cli_sink_fail(int err, struct pd_error *error);

/* Asks and reads the whole answer: an object; a list is made the member "items" of one. base,
 * timeout_s and access of `request` are filled in. ret_text gets the answer as it came, the caller
 * frees both; may be NULL. */
int pd_cli_server_ask(const struct pd_cli_server *server, struct pd_cli_request request,
                      struct pd_cli_memory *ret_text, json_t **ret_json, struct pd_error *error);

/* The answer as it came, on stdout. 0 or -EIO with words. */
int pd_cli_print_text(const struct pd_cli_memory *text, struct pd_error *error);

#endif

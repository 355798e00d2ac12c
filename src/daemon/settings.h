/* SPDX-License-Identifier: Apache-2.0 */
/* The settings that every daemon has, and how all of a daemon's are loaded and compared. */
#ifndef PD_DAEMON_SETTINGS_H
#define PD_DAEMON_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/log.h"
#include "base/options.h"
#include "http/credentials.h"
#include "http/listen.h"

/* A daemon's settings are a struct whose first member is a struct pd_daemon_settings, and a table
 * that begins with PD_DAEMON_OPTIONS_FIRST and ends with PD_DAEMON_OPTIONS_LAST and an empty row.
 *
 * Thread safety: works on the caller's memory only. */

struct pd_daemon_settings {
    const char *config; /* file, or NULL */
    bool check_config;
    bool version;
    bool help;
    enum pd_log_level log_level;
    struct pd_credentials_files credentials; /* may change while the daemon runs */
    const char *allowed_host;                /* "NAME[,…]", or NULL */
    uint64_t answer_budget_bytes;
    struct pd_options_memory *memory; /* of the strings that came from the file */
};

/* `checks`: what --check-config does, "check the settings and the topology". */
// clang-format off
#define PD_DAEMON_OPTIONS_FIRST(checks)                                                                              \
    {NULL, "config", PD_OPTION_STRING, offsetof(struct pd_daemon_settings, config), 0, 0, "FILE", NULL,               \
     "read settings from this file; flags win over it", NULL},                                                        \
    {NULL, "check-config", PD_OPTION_FLAG, offsetof(struct pd_daemon_settings, check_config), 0, 0, NULL, NULL,       \
     checks ", start nothing, and exit with 0 or 1", NULL}

#define PD_DAEMON_CREDENTIALS(member) offsetof(struct pd_daemon_settings, credentials.member)

#define PD_DAEMON_OPTIONS_LAST                                                                                        \
    PD_CREDENTIALS_OPTIONS("security", PD_DAEMON_CREDENTIALS),                                                        \
    {"security", "allowed-host", PD_OPTION_STRING, offsetof(struct pd_daemon_settings, allowed_host), 0, 0, "NAME[,…]",   \
     NULL,                                                                                                            \
     "further names that clients may ask this server by, where no credentials are set up; else loopback addresses "   \
     "and localhost only",                                                                                            \
     pd_daemon_accept_hosts},                                                                                         \
    {"security", "answer-budget-bytes", PD_OPTION_BYTES, offsetof(struct pd_daemon_settings, answer_budget_bytes),        \
     1 << 20, 0, "N", "256M",                                                                                         \
     "most that all answers together take that wait for their readers; never more than 5 % of the free disk", NULL},  \
    {"log", "log-level", PD_OPTION_CALLBACK, 0, 0, 0, "LEVEL", "info", "error, warn, info or debug",                  \
     pd_daemon_set_log_level},                                                                                        \
    {NULL, "version", PD_OPTION_FLAG, offsetof(struct pd_daemon_settings, version), 0, 0, NULL, NULL,                 \
     "print the version and exit", NULL},                                                                             \
    {NULL, "help", PD_OPTION_FLAG, offsetof(struct pd_daemon_settings, help), 0, 0, NULL, NULL,                       \
     "print this and exit", NULL}
// clang-format on

#define PD_DAEMON_OPTIONS_MAX 128 /* rows of a table */

/* Defaults, then flags, then what the file says and the flags do not, into `settings` (zeroed by
 * the caller). `argv` must outlive them. `ret_usage` tells whether it was the command line (exit 2)
 * and not a file (exit 1) that was wrong; then nothing is left to free. */
int pd_daemon_settings_load(const struct pd_option *table, struct pd_daemon_settings *settings,
                            int argc, char **argv, bool *ret_usage, struct pd_error *error);

void pd_daemon_settings_done(struct pd_daemon_settings *settings);

/* Calls `report` with the name of each option whose value differs, but for those that `at_once`
 * says take effect without a restart. */
void pd_daemon_settings_compare(const struct pd_option *table, const void *now, const void *wanted,
                                bool (*at_once)(const struct pd_option *option),
                                void (*report)(const char *name));

/* Each of these has to be given, by flag or file. -PD_E_VALUE. */
struct pd_daemon_needed {
    const char *name, *value;
};
int pd_daemon_check_needed(const struct pd_daemon_needed *needed, size_t len,
                           struct pd_error *error);

/* Opens where to serve: beyond loopback only with TLS. The check alone belongs with the daemon's
 * other checks. */
int pd_daemon_check_listen(const struct pd_daemon_settings *settings, const char *listen,
                           struct pd_error *error);
int pd_daemon_open_listen(const struct pd_daemon_settings *settings, const char *listen,
                          struct pd_listener *ret_listener, struct pd_error *error);

/* For tables: an option of type CALLBACK, and the checks of an address to listen on and of names.
 */
int pd_daemon_set_log_level(void *target, const char *name, const char *value,
                            struct pd_error *error);
int pd_daemon_accept_listen(void *target, const char *name, const char *value,
                            struct pd_error *error);
int pd_daemon_accept_hosts(void *target, const char *name, const char *value,
                           struct pd_error *error);

#endif

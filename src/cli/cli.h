/* SPDX-License-Identifier: Apache-2.0 */
/* The command `pathdump`: what its commands look like as a table, and what they share. */
#ifndef PD_CLI_CLI_H
#define PD_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "base/options.h"

/* Each command is one struct pd_cli_command, listed in commands.c. Parsing, `--help`, `pathdump
 * help`, the man page and the bash completion are made from these structs and their option tables;
 * tests compare the files in docs/man/ and completion/ with what is made, and fail when they
 * differ.
 *
 * A command writes its answer to stdout and nothing else there. What went wrong is one line on
 * stderr.
 *
 * One thread. */

enum pd_cli_exit { PD_CLI_OK = 0, PD_CLI_FAILED = 1, PD_CLI_USAGE = 2, PD_CLI_PARTIAL = 3 };

struct pd_cli_words {
    char **words; /* of the command line that are not flags, behind the command's name */
    int len;
    /* name, value, name, value …: flags that the options do not have, of commands that take such */
    char **arguments;
    int arguments_len; /* names and values */
};

struct pd_cli_command {
    const char *name;     /* "topology fat-tree" */
    const char *synopsis; /* what follows the name */
    const char *help;     /* one line, no full stop */
    /* paragraphs for help and man page, separated by \n; "\tWORD\tTEXT" is an item of a list */
    const char *details;
    /* further paragraphs, from a table, behind \n each. May be NULL. */
    void (*more_details)(FILE *out);
    const struct pd_option *options;
    const char *required; /* names of options that have to be given, separated by blanks */
    /* completion of the words: "FILE", "a|b|c", "GENERATOR"; "" when none are taken */
    const char *words;
    int words_min, words_max;
    /* flags that `options` does not have are taken, each with its value: arguments.h */
    bool arguments;
    size_t settings_bytes; /* zeroed memory that the options are read into */
    /* Prints what --help has to say of the words given, below the rest. May be NULL. */
    void (*more_help)(int argc, char **argv, FILE *out);
    /* What concerns several options; a failure is one of usage. May be NULL. */
    int (*check)(void *settings, const struct pd_cli_words *words, struct pd_error *error);
    /* Does it. An exit code, or a negative error with its words in `error`, which is printed and
     * makes exit code 1. */
    int (*run)(const void *settings, const struct pd_cli_words *words, struct pd_error *error);
};

extern const struct pd_cli_command *const pd_cli_commands[]; /* NULL-terminated */

extern const struct pd_cli_command pd_cli_topology_generate, pd_cli_topology_fat_tree,
    pd_cli_topology_vl2, pd_cli_topology_leaf_spine, pd_cli_topology_check;
extern const struct pd_cli_command pd_cli_codec_verify, pd_cli_codec_encode, pd_cli_codec_decode,
    pd_cli_codec_rules, pd_cli_codec_assign;
extern const struct pd_cli_command pd_cli_meters_count, pd_cli_meters_compare;
extern const struct pd_cli_command pd_cli_monitors_start, pd_cli_monitors_status,
    pd_cli_monitors_stop, pd_cli_segments;
extern const struct pd_cli_command pd_cli_pint_decode, pd_cli_pint_encode, pd_cli_pint_plan,
    pd_cli_pint_tables, pd_cli_pint_trials;
extern const struct pd_cli_command pd_cli_p4_programs, pd_cli_p4_tables;
extern const struct pd_cli_command pd_cli_probes_plan, pd_cli_probes_encode, pd_cli_probes_rules,
    pd_cli_probes_start, pd_cli_probes_stop, pd_cli_probes_status, pd_cli_telemetry_decode,
    pd_cli_telemetry_plan, pd_cli_telemetry_status, pd_cli_trace_budget, pd_cli_trace;
extern const struct pd_cli_command pd_cli_query;
extern const struct pd_cli_command pd_cli_install, pd_cli_uninstall, pd_cli_installed;
extern const struct pd_cli_command pd_cli_alarms, pd_cli_audit, pd_cli_hosts, pd_cli_switches,
    pd_cli_status, pd_cli_top, pd_cli_complete;
extern const struct pd_cli_command pd_cli_links;
extern const struct pd_cli_command pd_cli_apps, pd_cli_app, pd_cli_watch, pd_cli_watches,
    pd_cli_unwatch;
extern const struct pd_cli_command pd_cli_tib_stat, pd_cli_tib_check, pd_cli_tib_export,
    pd_cli_tib_import, pd_cli_tib_compact;
extern const struct pd_cli_command pd_cli_simulate, pd_cli_localise;
extern const struct pd_cli_command pd_cli_ca, pd_cli_ca_revoke, pd_cli_ca_renew;
extern const struct pd_cli_command pd_cli_help;

/* The command that argv[1..] begins with, and how many words its name has; NULL when there is none.
 */
const struct pd_cli_command *pd_cli_find(int argc, char **argv, int *ret_words);

/* Is `name` the first word of a command of two words? */
bool pd_cli_is_group(const char *name);

/* Prints what is wrong and where help is. PD_CLI_USAGE. */
int pd_cli_usage_error(const char *command, const struct pd_error *error);

/* The whole program: parses, runs, prints errors. Returns the exit code. */
int pd_cli_main(int argc, char **argv);

#endif

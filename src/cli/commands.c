/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands, and the way from a command line to one of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/arguments.h"
#include "cli/cli.h"
#include "cli/doc.h"
#include "cli/pager.h"
#include "cli/words.h"
#include "pd_version.h"

const struct pd_cli_command *const pd_cli_commands[] = {
    &pd_cli_topology_generate,
    &pd_cli_topology_fat_tree,
    &pd_cli_topology_vl2,
    &pd_cli_topology_leaf_spine,
    &pd_cli_topology_check,
    &pd_cli_codec_verify,
    &pd_cli_codec_encode,
    &pd_cli_codec_decode,
    &pd_cli_codec_rules,
    &pd_cli_codec_assign,
    &pd_cli_meters_count,
    &pd_cli_meters_compare,
    &pd_cli_monitors_start,
    &pd_cli_monitors_status,
    &pd_cli_monitors_stop,
    &pd_cli_segments,
    &pd_cli_pint_plan,
    &pd_cli_pint_encode,
    &pd_cli_pint_decode,
    &pd_cli_pint_tables,
    &pd_cli_pint_trials,
    &pd_cli_p4_programs,
    &pd_cli_p4_tables,
    &pd_cli_probes_plan,
    &pd_cli_probes_encode,
    &pd_cli_probes_rules,
    &pd_cli_probes_start,
    &pd_cli_probes_stop,
    &pd_cli_probes_status,
    &pd_cli_telemetry_decode,
    &pd_cli_telemetry_plan,
    &pd_cli_telemetry_status,
    &pd_cli_trace_budget,
    &pd_cli_trace,
    &pd_cli_query,
    &pd_cli_install,
    &pd_cli_uninstall,
    &pd_cli_installed,
    &pd_cli_alarms,
    &pd_cli_status,
    &pd_cli_top,
    &pd_cli_hosts,
    &pd_cli_switches,
    &pd_cli_links,
    &pd_cli_audit,
    &pd_cli_apps,
    &pd_cli_app,
    &pd_cli_watch,
    &pd_cli_watches,
    &pd_cli_unwatch,
    &pd_cli_tib_stat,
    &pd_cli_tib_check,
    &pd_cli_tib_export,
    &pd_cli_tib_import,
    &pd_cli_tib_compact,
    &pd_cli_simulate,
    &pd_cli_localise,
    &pd_cli_ca_revoke,
    &pd_cli_ca_renew,
    &pd_cli_ca,
    &pd_cli_complete,
    &pd_cli_help,
    NULL,
};

bool pd_cli_is_group(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; pd_cli_commands[i]; i++) {
        if (!strncmp(pd_cli_commands[i]->name, name, len) && pd_cli_commands[i]->name[len] == ' ') {
            return true;
        }
    }
    return false;
}

const struct pd_cli_command *pd_cli_find(int argc, char **argv, int *ret_words)
{
    for (size_t i = 0; argc > 1 && pd_cli_commands[i]; i++) {
        const char *name = pd_cli_commands[i]->name, *blank = strchr(name, ' ');
        if (!blank && !strcmp(argv[1], name)) {
            *ret_words = 1;
            return pd_cli_commands[i];
        }
        if (blank && argc > 2 && strlen(argv[1]) == (size_t)(blank - name) &&
            !strncmp(argv[1], name, (size_t)(blank - name)) && !strcmp(argv[2], blank + 1)) {
            *ret_words = 2;
            return pd_cli_commands[i];
        }
    }
    return NULL;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            return true;
        }
    }
    return false;
}

int pd_cli_usage_error(const char *command, const struct pd_error *error)
{
    fprintf(stderr, "pathdump%s%s: %s\n", *command ? " " : "", command, error->text);
    fprintf(stderr, "Try: pathdump help%s%s\n", *command ? " " : "", command);
    return PD_CLI_USAGE;
}

/* Is `name` one of the words of `list`, which blanks separate? */
static bool is_listed(const char *list, const char *name)
{
    size_t len = strlen(name);
    while (list && *list) {
        size_t word = strcspn(list, " ");
        if (word == len && !strncmp(list, name, len)) {
            return true;
        }
        list += word + strspn(list + word, " ");
    }
    return false;
}

static int check_required(const struct pd_cli_command *command, const bool *given,
                          struct pd_error *error)
{
    for (size_t i = 0; command->options[i].name; i++) {
        const struct pd_option *option = &command->options[i];
        if (is_listed(command->required, option->name) && !given[i]) {
            return pd_fail(error, -PD_E_VALUE, "--%s %s is missing", option->name, option->value);
        }
    }
    return 0;
}

static int check_words(const struct pd_cli_command *command, const struct pd_cli_words *words,
                       struct pd_error *error)
{
    if (words->len < command->words_min) {
        return pd_fail(error, -PD_E_VALUE, "%s is missing", command->words);
    }
    if (words->len > command->words_max) {
        return pd_fail(error, -PD_E_VALUE, "\"%.100s\" is one word too many",
                       words->words[command->words_max]);
    }
    return 0;
}

#define OPTIONS_MAX 48 /* of one command; a test looks after it */

/* argv[0] is the last word of the command's name. */
static int parse(const struct pd_cli_command *command, int argc, char **argv, void *settings,
                 struct pd_cli_words *ret_words, struct pd_error *error)
{
    bool given[OPTIONS_MAX] = {false};
    int err = pd_options_defaults(command->options, settings, error);
    if (!err && command->arguments) {
        err = pd_cli_arguments_take(command->options, &argc, argv, ret_words, error);
    }
    ret_words->words = argv + 1;
    if (!err) {
        err =
            pd_options_flags(command->options, settings, argc, argv, &ret_words->len, given, error);
    }
    if (!err) {
        err = check_required(command, given, error);
    }
    if (!err) {
        err = check_words(command, ret_words, error);
    }
    if (!err && command->check) {
        err = command->check(settings, ret_words, error);
    }
    return err;
}

/* An answer that did not reach its reader is no success. */
static int finish(const struct pd_cli_command *command, int err, const struct pd_error *error)
{
    pd_cli_pager_end();
    int flushed = fflush(stdout);
    if (err < 0) {
        fprintf(stderr, "pathdump %s: %s\n", command->name, error->text);
        return PD_CLI_FAILED;
    }
    if (flushed || ferror(stdout)) {
        fprintf(stderr, "pathdump %s: standard output: %s\n", command->name, strerror(errno));
        return PD_CLI_FAILED;
    }
    return err;
}

static int run(const struct pd_cli_command *command, int argc, char **argv)
{
    struct pd_error error = {0};
    struct pd_cli_words words = {0};
    struct pd_cli_spelled *spelled = NULL;
    void *settings = calloc(1, command->settings_bytes + 1);
    int err;
    if (!settings) {
        fprintf(stderr, "pathdump: no memory\n");
        return PD_CLI_FAILED;
    }
    err = pd_cli_words_spell(command, argc, argv, &spelled, &error);
    if (err && err != -PD_E_VALUE) { /* whoever knows the names cannot be asked */
        err = finish(command, err, &error);
    } else if (err || parse(command, argc, argv, settings, &words, &error) < 0) {
        err = pd_cli_usage_error(command->name, &error);
    } else {
        err = finish(command, command->run(settings, &words, &error), &error);
    }
    free(settings);
    free(words.arguments);
    pd_cli_spelled_free(spelled);
    return err;
}

/* The command that may be meant; of a group, where the first word is one. */
static const char *hint_of(int argc, char **argv, char hint[PD_NEAREST_HINT_BYTES])
{
    char text[PD_NEAREST_MAX + 1], two[PD_NEAREST_MAX + 1];
    struct pd_nearest nearest = {.text = text}, nearest_two = {.text = two};

    snprintf(text, sizeof text, "%s", argv[1]);
    snprintf(two, sizeof two, "%s %s", argv[1], argc > 2 ? argv[2] : "");
    for (size_t i = 0; pd_cli_commands[i]; i++) {
        bool is_two = strchr(pd_cli_commands[i]->name, ' ');
        pd_nearest_offer(is_two ? &nearest_two : &nearest, pd_cli_commands[i]->name);
    }
    bool second = pd_nearest_is_meant(&nearest_two) &&
                  (!pd_nearest_is_meant(&nearest) || nearest_two.distance < nearest.distance);
    return pd_nearest_hint(second ? &nearest_two : &nearest, "pathdump ", hint);
}

/* No command: a group, a flag of the program itself, or a slip. */
static int run_bare(int argc, char **argv)
{
    struct pd_error error = {0};
    char hint[PD_NEAREST_HINT_BYTES];
    const char *first = argc > 1 ? argv[1] : "";
    if (argc == 2 && !strcmp(first, "--version")) {
        puts("pathdump " PD_VERSION);
        return PD_CLI_OK;
    }
    if (asks_for_help(argc, argv) && (*first == '-' || pd_cli_is_group(first))) {
        pd_cli_help_group(*first == '-' ? NULL : first, stdout);
        return PD_CLI_OK;
    }
    if (!*first) {
        pd_cli_help_group(NULL, stderr);
        return PD_CLI_USAGE;
    }
    if (pd_cli_is_group(first) && argc == 2) {
        pd_cli_help_group(first, stderr);
        return PD_CLI_USAGE;
    }
    if (pd_cli_is_group(first)) {
        pd_fail(&error, -PD_E_VALUE, "%s: there is no command \"%.100s\"%s", first, argv[2],
                hint_of(argc, argv, hint));
        return pd_cli_usage_error("", &error);
    }
    pd_fail(&error, -PD_E_VALUE,
            *first == '-' ? "%.100s: unknown flag%s" : "there is no command \"%.100s\"%s", first,
            hint_of(argc, argv, hint));
    return pd_cli_usage_error("", &error);
}

int pd_cli_main(int argc, char **argv)
{
    int words;
    const struct pd_cli_command *command = pd_cli_find(argc, argv, &words);
    if (!command) {
        return run_bare(argc, argv);
    }
    if (asks_for_help(argc - words, argv + words)) {
        pd_cli_help_command(command, stdout);
        if (command->more_help) {
            command->more_help(argc - words, argv + words, stdout);
        }
        return PD_CLI_OK;
    }
    return run(command, argc - words, argv + words);
}

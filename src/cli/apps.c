/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump apps`, `app`, `watch`, `watches`, `unwatch`: applications of a controller. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/args.h"
#include "base/nearest.h"
#include "cli/arguments.h"
#include "cli/cli.h"
#include "cli/fleet.h"
#include "cli/listing.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/server.h"

struct settings {
    struct pd_cli_server server;
    bool json;
    const char *period;   /* of watch */
    const char *evidence; /* of app: file to write what was judged to */
    struct pd_cli_table table;
    bool on_alarm;
};

/* ---- what all of them share ---- */

static int find_app(const char *name, const struct pd_app_ops **ret_ops, struct pd_error *error)
{
    const struct pd_app_ops *ops = pd_app_find(name);

    if (!ops) {
        struct pd_nearest nearest = {.text = name};
        char hint[PD_NEAREST_HINT_BYTES];

        for (size_t i = 0; pd_apps[i]; i++) {
            pd_nearest_offer(&nearest, pd_apps[i]->name);
        }
        return pd_fail(error, -PD_E_VALUE, "there is no application \"%.60s\"%s", name,
                       pd_nearest_is_meant(&nearest) ? pd_nearest_hint(&nearest, "", hint)
                                                     : ": see pathdump apps");
    }
    *ret_ops = ops;
    return 0;
}

/* Names of arguments are those of JSON; people gave flags. */
static int name_the_flag(int err, const struct pd_error *inner, struct pd_error *error)
{
    char text[sizeof inner->text];
    char *at = text;

    snprintf(text, sizeof text, "%s", inner->text);
    for (; *at && *at != ':'; at++) {
        *at = *at == '_' ? '-' : *at;
    }
    return pd_fail(error, err, "--%s", text);
}

/* Held against the table here, so that a slip is told at once; against the topology over there. */
static int check_args(const struct pd_cli_words *words, struct pd_error *error)
{
    const struct pd_app_ops *ops = NULL;
    struct pd_error inner = {0};
    json_t *given = NULL, *args = NULL;
    int err = find_app(words->words[0], &ops, error);

    if (!err) {
        err = pd_cli_arguments_json(words, &given, error);
    }
    if (err) {
        return err;
    }
    err = pd_app_args_read(ops, NULL, given, &args, &inner);
    json_decref(given);
    if (err) {
        return name_the_flag(err, &inner, error);
    }
    json_decref(args);
    return 0;
}

static int check_app(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    int err = pd_cli_server_check(&((struct settings *)settings)->server, error);

    return err ? err : check_args(words, error);
}

/* Posts the document, which is let go. */
static int post(const struct settings *set, const char *route, json_t *document,
                struct pd_cli_memory *ret_text, json_t **ret_answer, struct pd_error *error)
{
    char *body = document ? json_dumps(document, JSON_COMPACT) : NULL;
    struct pd_progress progress;
    int err;

    json_decref(document);
    if (!body) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    pd_cli_progress_begin(&progress, "waiting for the controller");
    err = pd_cli_server_ask(&set->server,
                            (struct pd_cli_request){.route = route,
                                                    .body = body,
                                                    .waiting = pd_cli_progress_wait,
                                                    .waiting_context = &progress},
                            ret_text, ret_answer, error);
    pd_cli_progress_end(&progress);
    free(body);
    return err;
}

typedef int show_answer(json_t *answer, const struct pd_cli_table *table, struct pd_error *error);

/* Prints an answer, as it came or as `show` (may be NULL) words it, and frees both. */
static int print_answer(bool json, struct pd_cli_memory *text, json_t *answer, show_answer *show,
                        const struct pd_cli_table *table, struct pd_error *error)
{
    int err = 0;

    if (json) {
        err = pd_cli_print_text(text, error);
    } else if (show) {
        err = show(answer, table, error);
    }
    json_decref(answer);
    free(text->bytes);
    return err;
}

/* ---- apps ---- */

static const struct pd_cli_field app_fields[] = {
    {.title = "NAME", .member = "name", .kind = PD_CLI_WORD},
    {.title = "PAPER", .member = "section", .kind = PD_CLI_WORD, .spare = 1},
    {.title = "QUESTION", .member = "help", .kind = PD_CLI_WORD},
};

static const struct pd_cli_listing app_listing = {"apps", "application", "applications", app_fields,
                                                  sizeof app_fields / sizeof *app_fields};

/* Without a controller those that this program knows: they are the same ones. */
static json_t *own_apps(void)
{
    json_t *list = json_array();

    for (size_t i = 0; pd_apps[i]; i++) {
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:o}", "name", pd_apps[i]->name, "section",
                                        pd_apps[i]->section, "help", pd_apps[i]->help, "params",
                                        pd_app_params_json(pd_apps[i])));
    }
    return json_pack("{s:o}", "apps", list);
}

static int check_apps(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct pd_cli_list_settings *set = settings;

    if (!set->server.url && !getenv("PATHDUMP_CONTROLLER")) {
        return 0;
    }
    return pd_cli_list_check(settings, words, error);
}

static int run_apps(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct pd_cli_list_settings *set = settings;
    json_t *apps;
    int err;

    (void)words;
    if (set->server.url) {
        return pd_cli_list_ask(set, "/v1/apps", &app_listing, error);
    }
    apps = own_apps();
    if (set->json) {
        return pd_cli_json_print(apps, error);
    }
    const struct pd_style style = pd_cli_table_style(&set->table);
    err = pd_cli_list(&app_listing, apps, &style, stdout, error);
    json_decref(apps);
    return err;
}

const struct pd_cli_command pd_cli_apps = {
    .name = "apps",
    .synopsis = "[--controller URL] [--json | --csv]",
    .help = "the applications: which questions about a network they answer",
    .details = "Without a controller those that this program knows. `pathdump app NAME --help` has "
               "the arguments of one.",
    .options = pd_cli_list_options,
    .words = "",
    .settings_bytes = sizeof(struct pd_cli_list_settings),
    .check = check_apps,
    .run = run_apps,
};

/* ---- app ---- */

static const struct pd_option app_options[] = {
    PD_CLI_SERVER_OPTIONS(struct settings, server),
    {.name = "evidence",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, evidence),
     .value = "FILE",
     .help = "write the evidence that was judged, for localise"},
    PD_CLI_JSON_OPTION(struct settings, json),
    PD_CLI_TABLE_OPTIONS(struct settings, table),
    {.name = "table",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, table.of),
     .value = "NAME",
     .help = "with --csv: which table of the report, else flows"},
    {0},
};

static int show_report(json_t *report, const struct pd_cli_table *table, struct pd_error *error)
{
    if (table->csv) {
        return pd_cli_report_csv(report, table->of, stdout, error);
    }
    struct pd_style style = pd_cli_table_style(table);

    return pd_cli_report(report, &style, stdout, error);
}

/* The evidence of the report goes to its file. */
static int write_evidence(const char *name, json_t *report, struct pd_error *error)
{
    json_t *rows = json_object_get(report, "evidence_rows");
    FILE *file = fopen(name, "w");
    size_t bytes = json_string_length(rows);

    if (!file || (bytes && fwrite(json_string_value(rows), 1, bytes, file) != bytes)) {
        int err = pd_fail(error, -errno, "%.300s: %s", name, strerror(errno));
        if (file) {
            fclose(file);
        }
        return err;
    }
    if (fclose(file)) {
        return pd_fail(error, -errno, "%.300s: %s", name, strerror(errno));
    }
    json_object_del(report, "evidence_rows");
    return 0;
}

static int print_judged(const struct settings *set, struct pd_cli_memory *text, json_t *report,
                        struct pd_error *error)
{
    int err = write_evidence(set->evidence, report, error);

    free(text->bytes);
    if (!err && set->json) {
        return pd_cli_json_print(report, error);
    }
    if (!err) {
        err = show_report(report, &set->table, error);
    }
    json_decref(report);
    return err;
}

static int run_app(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    struct pd_cli_memory text;
    json_t *given, *report;
    char route[80];
    int err = pd_cli_arguments_json(words, &given, error);

    snprintf(route, sizeof route, "/v1/apps/%.60s", words->words[0]);
    if (!err && set->evidence) {
        json_object_set_new(given, "evidence", json_true());
    }
    if (!err) {
        err = post(set, route, given, &text, &report, error);
    }
    if (err) {
        return err;
    }
    bool partial = json_array_size(json_object_get(report, "missing")) > 0;

    err = set->evidence ? print_judged(set, &text, report, error)
                        : print_answer(set->json, &text, report, show_report, &set->table, error);
    return !err && partial ? PD_CLI_PARTIAL : err;
}

/* The application's own table below that of the command. */
static void help_app(int argc, char **argv, FILE *out)
{
    const struct pd_app_ops *ops = NULL;

    for (int i = 1; i < argc && !ops; i++) {
        ops = pd_app_find(argv[i]);
    }
    if (!ops) {
        return;
    }
    fprintf(out, "\n%s: %s (paper, %s)\n", ops->name, ops->help, ops->section);
    for (const struct pd_app_param *param = ops->params; param && param->name; param++) {
        char flag[64];
        int len = snprintf(flag, sizeof flag, "--%s %s", param->name, param->value);

        for (char *at = flag; *at && *at != ' '; at++) {
            *at = *at == '_' ? '-' : *at;
        }
        fprintf(out, "  %s%*s %s%s%s%s%s\n", flag, len < 25 ? 25 - len : 0, "", param->help,
                param->required ? " (needed)" : "", param->fallback ? " [" : "",
                param->fallback ? param->fallback : "", param->fallback ? "]" : "");
    }
}

const struct pd_cli_command pd_cli_app = {
    .name = "app",
    .synopsis = "NAME --controller URL [--json] [--evidence FILE] [arguments]",
    .help = "run an application once and print what it finds",
    .details = "NAME is one of `pathdump apps`; each takes arguments of its own, as flags: see "
               "`pathdump app NAME --help`.\n"
               "Printed are the verdict, whether it is certain, the links (directed), switches and "
               "flows that it names, why, what it could not see, and its figures.",
    .options = app_options,
    .words = "NAME",
    .words_min = 1,
    .words_max = 1,
    .arguments = true,
    .settings_bytes = sizeof(struct settings),
    .more_help = help_app,
    .check = check_app,
    .run = run_app,
};

/* ---- watch ---- */

static int check_period(void *target, const char *name, const char *value, struct pd_error *error)
{
    char *end;
    double seconds = strtod(value, &end);

    (void)target;
    return end != value && (!*end || !strcmp(end, "s")) && seconds >= 0.1 && seconds <= 86400
               ? 0
               : pd_fail(error, -PD_E_VALUE,
                         "%s: expected seconds from 0.1 to 86400, not \"%.40s\"", name, value);
}

static const struct pd_option watch_options[] = {
    PD_CLI_SERVER_OPTIONS(struct settings, server),
    {.name = "every",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, period),
     .value = "SECONDS",
     .help = "run it each so many seconds",
     .set = check_period},
    {.name = "on-alarm",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, on_alarm),
     .help = "run it at each alarm that it is interested in"},
    PD_CLI_JSON_OPTION(struct settings, json),
    {0},
};

static int check_watch(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;

    if (set->period && set->on_alarm) {
        return pd_fail(error, -PD_E_VALUE, "either --every SECONDS or --on-alarm");
    }
    return check_app(settings, words, error);
}

static int show_watch(json_t *answer, const struct pd_cli_table *table, struct pd_error *error)
{
    (void)table;
    (void)error;
    printf("watch %" JSON_INTEGER_FORMAT "\n", json_integer_value(json_object_get(answer, "id")));
    return 0;
}

static int run_watch(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    struct pd_cli_memory text;
    json_t *given, *answer, *document;
    int err = pd_cli_arguments_json(words, &given, error), bad = 0;

    if (err) {
        return err;
    }
    document = json_pack("{s:s, s:o}", "app", words->words[0], "args", given);
    if (document && set->period) {
        bad = json_object_set_new(document, "period_s", json_real(strtod(set->period, NULL)));
    }
    if (document && set->on_alarm) {
        bad = json_object_set_new(document, "on", json_string("alarm"));
    }
    if (bad) {
        json_decref(document);
        return pd_fail(error, -ENOMEM, "no memory");
    }
    err = post(set, "/v1/watches", document, &text, &answer, error);
    return err ? err : print_answer(set->json, &text, answer, show_watch, NULL, error);
}

const struct pd_cli_command pd_cli_watch = {
    .name = "watch",
    .synopsis = "NAME --controller URL [--every SECONDS | --on-alarm] [arguments]",
    .help = "run an application again and again",
    .details = "The controller goes on with it, also after a restart; when neither --every nor "
               "--on-alarm is given, as the application is meant. When what it finds has changed, "
               "that is an alarm of the controller, APP_NAME: see `pathdump alarms --follow`. The "
               "number that is printed ends it: `pathdump unwatch`.",
    .options = watch_options,
    .words = "NAME",
    .words_min = 1,
    .words_max = 1,
    .arguments = true,
    .settings_bytes = sizeof(struct settings),
    .more_help = help_app,
    .check = check_watch,
    .run = run_watch,
};

/* ---- watches ---- */

static const struct pd_cli_field watch_fields[] = {
    {.title = "ID", .member = "id", .kind = PD_CLI_WORD},
    {.title = "APPLICATION", .member = "app", .kind = PD_CLI_WORD},
    {.title = "ARGUMENTS", .member = "args", .kind = PD_CLI_WORD, .spare = 4},
    {.title = "WHEN", .member = "when", .kind = PD_CLI_WORD, .spare = 3},
    {.title = "RUNS", .member = "runs", .kind = PD_CLI_NUMBER, .spare = 5},
    {.title = "FAILURES", .member = "failures", .kind = PD_CLI_NUMBER, .spare = 2},
    {.title = "LAST", .member = "last_us", .kind = PD_CLI_TIME_US, .spare = 6},
    {.title = "VERDICT", .member = "verdict", .kind = PD_CLI_WORD},
};

static const struct pd_cli_listing watch_listing = {"watches", "watch", "watches", watch_fields,
                                                    sizeof watch_fields / sizeof *watch_fields};

/* The two columns that are made of several members. */
static void add_columns(json_t *answer)
{
    json_t *watch;
    size_t i;

    json_array_foreach(json_object_get(answer, "watches"), i, watch)
    {
        const json_t *period = json_object_get(watch, "period_s");
        const char *error = json_string_value(json_object_get(watch, "error"));
        const char *verdict =
            json_string_value(json_object_get(json_object_get(watch, "report"), "verdict"));
        char when[40] = "on alarm";

        if (json_is_number(period)) {
            snprintf(when, sizeof when, "every %g s", json_number_value(period));
        }
        json_object_set_new(watch, "when", json_string(when));
        json_object_set_new(watch, "verdict",
                            error     ? json_sprintf("failed: %s", error)
                            : verdict ? json_string(verdict)
                                      : json_null());
    }
}

static int show_watches(json_t *answer, const struct pd_cli_table *table, struct pd_error *error)
{
    struct pd_style style = pd_cli_table_style(table);

    add_columns(answer);
    return pd_cli_list(&watch_listing, answer, &style, stdout, error);
}

static int run_watches(const void *settings, const struct pd_cli_words *words,
                       struct pd_error *error)
{
    const struct pd_cli_list_settings *set = settings;
    struct pd_cli_memory text;
    json_t *answer;
    int err = pd_cli_server_ask(&set->server, (struct pd_cli_request){.route = "/v1/watches"},
                                &text, &answer, error);

    (void)words;
    return err ? err : print_answer(set->json, &text, answer, show_watches, &set->table, error);
}

const struct pd_cli_command pd_cli_watches = {
    .name = "watches",
    .synopsis = "--controller URL [--json | --csv]",
    .help = "the watched applications and their last verdicts",
    .details = "With --json the whole last report of each.",
    .options = pd_cli_list_options,
    .words = "",
    .settings_bytes = sizeof(struct pd_cli_list_settings),
    .check = pd_cli_list_check,
    .run = run_watches,
};

/* ---- unwatch ---- */

static int check_unwatch(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const char *id = words->words[0];

    if (!*id || strlen(id) > 16 || strspn(id, "0123456789") != strlen(id)) {
        return pd_fail(error, -PD_E_VALUE, "ID: expected the number of a watch, not \"%.40s\"", id);
    }
    return pd_cli_list_check(settings, words, error);
}

static int run_unwatch(const void *settings, const struct pd_cli_words *words,
                       struct pd_error *error)
{
    const struct pd_cli_list_settings *set = settings;
    struct pd_cli_memory text;
    json_t *answer;
    char route[64];
    int err;

    snprintf(route, sizeof route, "/v1/watches/%.16s", words->words[0]);
    err =
        pd_cli_server_ask(&set->server, (struct pd_cli_request){.method = "DELETE", .route = route},
                          &text, &answer, error);
    return err ? err : print_answer(set->json, &text, answer, NULL, NULL, error);
}

const struct pd_cli_command pd_cli_unwatch = {
    .name = "unwatch",
    .synopsis = "--controller URL ID",
    .help = "end a watch",
    .details = "ID is the number that watch printed, and that watches lists.",
    .options = pd_cli_deed_options,
    .words = "ID",
    .words_min = 1,
    .words_max = 1,
    .settings_bytes = sizeof(struct pd_cli_list_settings),
    .check = check_unwatch,
    .run = run_unwatch,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump install`, `uninstall` and `installed`: queries that run by themselves. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/fleet.h"
#include "cli/listing.h"
#include "cli/question.h"
#include "cli/server.h"

#define PERIOD_MIN_MS 10
#define PERIOD_MAX_MS UINT64_C(86400000)

/* ---- install ---- */

struct install {
    struct pd_cli_question question; /* first: its options need it */
    struct pd_cli_server server;
    const char *hosts;
    uint64_t period_ms;
    const char *on;
    bool json;
};

/* "10ms", "5s", "2m", "1h" */
static int set_period(void *target, const char *name, const char *value, struct pd_error *error)
{
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    size_t digits = strspn(value, "0123456789");
    uint64_t number = digits && digits < 9 ? strtoull(value, NULL, 10) : 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(value + digits, units[i].unit) != 0) {
            continue;
        }
        uint64_t ms = number * units[i].ms;
        if (ms < PERIOD_MIN_MS || ms > PERIOD_MAX_MS) {
            break;
        }
        ((struct install *)target)->period_ms = ms;
        return 0;
    }
    return pd_fail(error, -PD_E_VALUE,
                   "%s: expected a number with ms, s, m or h, from 10ms to 24h, not \"%.100s\"",
                   name, value);
}

static int check_event(void *target, const char *name, const char *value, struct pd_error *error)
{
    (void)target;
    if (strcmp(value, "new_flow") && strcmp(value, "evicted") && strcmp(value, "alarm")) {
        return pd_fail(error, -PD_E_VALUE,
                       "%s: expected new_flow, evicted or alarm, not \"%.100s\"", name, value);
    }
    return 0;
}

static const struct pd_option install_options[] = {
    PD_CLI_SERVER_OPTIONS(struct install, server),
    {.name = "hosts",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct install, hosts),
     .value = "HOSTS",
     .fallback = "all",
     .help = "where: all, rack:SWITCH, or IDs or names as in 21,22",
     .set = pd_cli_hosts_check},
    {.name = "period",
     .type = PD_OPTION_CALLBACK,
     .value = "TIME",
     .help = "run it this often: 10ms, 5s, 1h",
     .set = set_period},
    {.name = "on",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct install, on),
     .value = "new_flow|evicted|alarm",
     .help = "run it when this happens",
     .set = check_event},
    PD_CLI_QUESTION_OPTIONS,
    PD_CLI_JSON_OPTION(struct install, json),
    {0},
};

static int check_install(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    struct install *set = settings;
    int err = pd_cli_question_check(&set->question, words, error);
    if (!err && !set->period_ms == !set->on) {
        err = pd_fail(error, -PD_E_VALUE, "either --period TIME or --on EVENT has to be given");
    }
    return err ? err : pd_cli_server_check(&set->server, error);
}

static int install_body(const struct install *set, char **ret_body, struct pd_error *error)
{
    json_t *document = NULL, *hosts = NULL, *when;
    int err = pd_cli_question_document(&set->question, &document, error);
    if (!err) {
        err = pd_cli_hosts_json(set->hosts, &hosts, error);
    }
    if (!err) {
        when = set->on ? json_string(set->on) : json_integer((json_int_t)set->period_ms);
        if (json_object_set_new(document, "hosts", hosts) ||
            json_object_set_new(document, set->on ? "on" : "period_ms", when) ||
            !(*ret_body = json_dumps(document, JSON_COMPACT))) {
            err = pd_fail(error, -ENOMEM, "no memory");
        }
    }
    json_decref(document);
    return err;
}

/* The ID alone on stdout, for scripts; who did not take it on stderr. */
static int show_id(const struct install *set, const json_t *answer, struct pd_error *error)
{
    const struct pd_cli_reader reader = {"the answer", error};
    struct pd_cli_outcome outcome;
    uint64_t id;
    int err = pd_cli_read_number(&reader, answer, "id", PD_READ_MAX, &id);
    if (!err) {
        err = pd_cli_outcome_read(&reader, answer, true, &outcome);
    }
    if (err) {
        return pd_fail_within(error, set->server.url);
    }
    if (!set->json) {
        printf("%" PRIu64 "\n", id);
    }
    if (outcome.answered < outcome.asked) {
        fflush(stdout);
        pd_cli_outcome_view(answer, &outcome, stderr);
    }
    return pd_cli_outcome_report("install", &outcome);
}

static int run_install(const void *settings, const struct pd_cli_words *words,
                       struct pd_error *error)
{
    const struct install *set = settings;
    struct pd_cli_memory text = {0};
    json_t *answer = NULL;
    char *body = NULL;
    (void)words;
    int err = install_body(set, &body, error);
    if (!err) {
        err = pd_cli_server_ask(&set->server,
                                (struct pd_cli_request){.route = "/v1/install", .body = body},
                                &text, &answer, error);
    }
    if (!err && set->json) {
        err = pd_cli_print_text(&text, error);
    }
    if (!err) {
        err = show_id(set, answer, error);
    }
    json_decref(answer);
    free(text.bytes);
    free(body);
    return err;
}

const struct pd_cli_command pd_cli_install = {
    .name = "install",
    .synopsis = "--controller URL [--hosts HOSTS] --period TIME | --on new_flow|evicted|alarm  "
                "QUERY | --program "
                "FILE  [options]",
    .help = "have servers run a query by themselves, again and again",
    .details =
        "Prints the ID under which it is installed. The servers keep it over a restart, and raise "
        "an "
        "alarm for what it finds: conformance one with reason PC_FAIL for each new violation, a "
        "program what it says by alarm{}. It runs on a period, or on an event:\n"
        "\tnew_flow\tthe first packet of a flow on a path\n"
        "\tevicted\ta record has ended and is stored\n"
        "\talarm\tan alarm was raised\n"
        "One that fails again and again is stopped, and an alarm says so.",
    .options = install_options,
    .words = PD_CLI_QUESTION_WORD,
    .words_max = 1,
    .settings_bytes = sizeof(struct install),
    .check = check_install,
    .run = run_install,
};

/* ---- uninstall, installed ---- */

static int check_id(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const char *id = words->words[0];
    size_t len = strlen(id);
    if (!len || len > 16 || strspn(id, "0123456789") != len) {
        return pd_fail(error, -PD_E_VALUE,
                       "ID: expected a number as install printed it, not \"%.100s\"", id);
    }
    return pd_cli_list_check(settings, words, error);
}

/* The answer may be empty, or tell which hosts could not be reached. */
static int show_removed(const struct pd_cli_list_settings *set, const struct pd_cli_memory *text,
                        struct pd_error *error)
{
    const struct pd_cli_reader reader = {"the answer", error};
    struct pd_cli_outcome outcome = {.complete = true};
    json_t *answer = NULL;
    int err = text->len ? pd_cli_memory_json(text, &answer, error) : 0;
    if (!err && answer) {
        err = pd_cli_outcome_read(&reader, answer, true, &outcome);
    }
    if (err) {
        pd_fail_within(error, set->server.url);
    } else if (outcome.answered < outcome.asked) {
        pd_cli_outcome_view(answer, &outcome, stderr);
        err = pd_cli_outcome_report("uninstall", &outcome);
    }
    json_decref(answer);
    return err;
}

static int run_uninstall(const void *settings, const struct pd_cli_words *words,
                         struct pd_error *error)
{
    const struct pd_cli_list_settings *set = settings;
    struct pd_cli_memory text = {0};
    const struct pd_query_sink sink = pd_cli_memory_sink(&text);
    char route[64];
    snprintf(route, sizeof route, "/v1/installed/%.16s", words->words[0]);
    int err = pd_cli_ask(&(struct pd_cli_request){.base = set->server.url,
                                                  .method = "DELETE",
                                                  .access = &set->server.access,
                                                  .route = route,
                                                  .timeout_s = set->server.timeout_s},
                         &sink, error);
    if (!err && set->json && text.len) {
        err = pd_cli_print_text(&text, error);
    }
    if (!err) {
        err = show_removed(set, &text, error);
    }
    free(text.bytes);
    return err;
}

static const struct pd_cli_field fields[] = {
    {.title = "ID", .member = "id", .kind = PD_CLI_WORD},
    {.title = "WHAT", .kind = PD_CLI_QUESTION},
    {.title = "WHEN", .kind = PD_CLI_WHEN},
    {.title = "HOSTS", .member = "hosts", .kind = PD_CLI_WORD},
    {.title = "STATE", .member = "state", .kind = PD_CLI_WORD},
    {.title = "RUNS", .member = "runs", .kind = PD_CLI_NUMBER},
    {.title = "BUSY", .member = "busy_us", .kind = PD_CLI_SPAN_US},
    {.title = "ALARMS", .member = "alarms", .kind = PD_CLI_NUMBER},
    {.title = "SKIPPED", .member = "skipped", .kind = PD_CLI_NUMBER},
    {.title = "FAILURES", .member = "failures", .kind = PD_CLI_NUMBER},
};

static const struct pd_cli_listing listing = {"installed", "installed query", "installed queries",
                                              fields, sizeof fields / sizeof *fields};

static int run_installed(const void *settings, const struct pd_cli_words *words,
                         struct pd_error *error)
{
    (void)words;
    return pd_cli_list_ask(settings, "/v1/installed", &listing, error);
}

const struct pd_cli_command pd_cli_uninstall = {
    .name = "uninstall",
    .synopsis = "--controller URL ID",
    .help = "take an installed query off its servers",
    .details = "ID is the number that install printed, and that installed lists.",
    .options = pd_cli_deed_options,
    .words = "ID",
    .words_min = 1,
    .words_max = 1,
    .settings_bytes = sizeof(struct pd_cli_list_settings),
    .check = check_id,
    .run = run_uninstall,
};

const struct pd_cli_command pd_cli_installed = {
    .name = "installed",
    .synopsis = "--controller URL [--json | --csv]",
    .help = "the installed queries: what they do, how often they ran",
    .details =
        "Counts are those of all hosts together. BUSY is the time that the runs took, SKIPPED "
        "how often one was due while another was under way.",
    .options = pd_cli_list_options,
    .words = "",
    .settings_bytes = sizeof(struct pd_cli_list_settings),
    .check = pd_cli_list_check,
    .run = run_installed,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump status`: a controller or an agent on one screen, and what is wrong with it. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/server.h"
#include "query/rows/text.h"

#define LABEL_WIDTH 11
#define WORDS_BYTES 240
#define NAMES_MAX   5 /* that a line has room for */
#define MINUTE_US   (60 * PD_US_PER_S)

struct settings {
    struct pd_cli_server server;
    const char *agent;
    bool json;
};

static const struct pd_option options[] = {
    PD_CLI_SERVER_OPTIONS(struct settings, server),
    {.name = "agent",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, agent),
     .value = "URL",
     .help = "ask this agent instead: http://HOST:PORT or unix:/SOCKET"},
    {.name = "json",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "print one JSON object, for programs"},
    {0},
};

static int check(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    struct settings *set = settings;

    (void)words;
    if (!set->agent) {
        return pd_cli_server_check(&set->server, error);
    }
    if (set->server.url) {
        return pd_fail(error, -PD_E_VALUE, "either --controller or --agent");
    }
    set->server.url = set->agent;
    return pd_cli_url_check("--agent", set->agent, error);
}

/* ---- what is found ---- */

struct finding {
    const struct settings *set;
    json_t *lines; /* [[label, words], …] */
    json_t *wrong; /* texts */
    json_t *status, *parts;
};

__attribute__((format(printf, 3, 4))) static void say(struct finding *found, const char *label,
                                                      const char *format, ...)
{
    char words[WORDS_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    pd_printable(words);
    json_array_append_new(found->lines, json_pack("[s, s]", label, words));
}

__attribute__((format(printf, 2, 3))) static void blame(struct finding *found, const char *format,
                                                        ...)
{
    char words[WORDS_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    pd_printable(words);
    json_array_append_new(found->wrong, json_string(words));
}

static json_int_t number_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "?";
}

static const char *plural(json_int_t n)
{
    return pd_row_text_plural((uint64_t)n);
}

static void say_who(struct finding *found, const char *what)
{
    const json_t *topology = json_object_get(found->status, "topology");
    char span[PD_TEXT_NUMBER_BYTES];

    pd_row_text_span((uint64_t)number_of(found->status, "uptime_s") * PD_US_PER_S, span);
    say(found, what, "%s, version %s, up %s", found->set->server.url,
        text_of(found->status, "version"), span);
    say(found, "topology",
        "%s, %" JSON_INTEGER_FORMAT " switches, %" JSON_INTEGER_FORMAT " hosts, codec %s",
        text_of(topology, "name"), number_of(topology, "switches"), number_of(topology, "hosts"),
        text_of(topology, "codec"));
}

/* ---- a controller ---- */

static int ask(struct finding *found, const char *route, json_t **ret_answer,
               struct pd_error *error)
{
    return pd_cli_server_ask(&found->set->server, (struct pd_cli_request){.route = route}, NULL,
                             ret_answer, error);
}

static int look_at_hosts(struct finding *found, struct pd_error *error)
{
    json_t *answer, *host;
    size_t i, up = 0, named = 0;
    int err = ask(found, "/v1/hosts", &answer, error);

    if (err) {
        return err;
    }
    const json_t *hosts = json_object_get(answer, "hosts");
    json_array_foreach(hosts, i, host)
    {
        bool fine = !strcmp(text_of(host, "state"), "up");
        up += fine;
        if (!fine && named++ < NAMES_MAX) {
            blame(found, "host %" JSON_INTEGER_FORMAT " (%s) is %s: %s", number_of(host, "id"),
                  text_of(host, "name"), text_of(host, "state"), text_of(host, "error"));
        }
    }
    if (named > NAMES_MAX) {
        blame(found, "%zu more hosts are missing: see pathdump hosts", named - NAMES_MAX);
    }
    say(found, "hosts", "%zu of %zu up", up, json_array_size(hosts));
    json_object_set_new(
        found->parts, "hosts",
        json_pack("{s:I, s:I}", "all", (json_int_t)json_array_size(hosts), "up", (json_int_t)up));
    json_decref(answer);
    return 0;
}

/* Where no switch is connected none is meant to be. */
static int look_at_switches(struct finding *found, struct pd_error *error)
{
    json_t *answer, *sw;
    size_t i, away = 0, good = 0, open = 0, bad = 0;
    int err = ask(found, "/v1/switches", &answer, error);

    if (err) {
        return err;
    }
    size_t all = json_array_size(json_object_get(answer, "switches"));
    json_array_foreach(json_object_get(answer, "switches"), i, sw)
    {
        const char *state = text_of(sw, "state");
        away += !strcmp(state, "away");
        good += !strcmp(state, "installed");
        bad += !strcmp(state, "differing");
        open += !strcmp(text_of(sw, "edge"), "open");
    }
    if (bad) {
        blame(found, "%zu switch%s from their rules: see pathdump switches", bad,
              bad == 1 ? " differs" : "es differ");
    }
    if (away && away < all) {
        blame(found, "%zu of %zu switches are not connected", away, all);
    }
    if (away == all) {
        say(found, "switches", "%zu, none connected", all);
    } else {
        say(found, "switches", "%zu of %zu with all rules%s", good, all,
            open ? ", edges open" : "");
    }
    json_object_set_new(found->parts, "switches",
                        json_pack("{s:I, s:I, s:I, s:I, s:I}", "all", (json_int_t)all, "installed",
                                  (json_int_t)good, "differing", (json_int_t)bad, "away",
                                  (json_int_t)away, "edge_open", (json_int_t)open));
    json_decref(answer);
    return 0;
}

static int look_at_watches(struct finding *found, struct pd_error *error)
{
    json_t *answer, *watch;
    size_t i, failed = 0, certain = 0;
    int err = ask(found, "/v1/watches", &answer, error);

    if (err) {
        return err;
    }
    size_t all = json_array_size(json_object_get(answer, "watches"));
    json_array_foreach(json_object_get(answer, "watches"), i, watch)
    {
        const json_t *report = json_object_get(watch, "report");
        if (json_is_string(json_object_get(watch, "error"))) {
            failed++;
            blame(found, "watch %" JSON_INTEGER_FORMAT " (%s) failed: %s", number_of(watch, "id"),
                  text_of(watch, "app"), text_of(watch, "error"));
        }
        if (json_is_true(json_object_get(report, "certain")) &&
            json_array_size(json_object_get(report, "links"))) {
            certain++;
            blame(found, "%s: %s", text_of(watch, "app"), text_of(report, "verdict"));
        }
    }
    say(found, "watches", "%zu, %zu failed, %zu certain of a link", all, failed, certain);
    json_object_set_new(found->parts, "watches",
                        json_pack("{s:I, s:I, s:I}", "all", (json_int_t)all, "failed",
                                  (json_int_t)failed, "certain", (json_int_t)certain));
    json_decref(answer);
    return 0;
}

/* Of the newest thousand. */
static int count_alarms(struct finding *found, struct pd_error *error)
{
    static const char *const names[] = {"newest", NULL}, *const values[] = {"1000"};
    struct pd_cli_request request = {.route = "/v1/alarms", .names = names, .values = values};
    uint64_t now_us = pd_clock_wall_us();
    char number[PD_TEXT_NUMBER_BYTES];
    size_t i, fresh = 0;
    json_t *answer, *alarm;
    int err = pd_cli_server_ask(&found->set->server, request, NULL, &answer, error);

    if (err) {
        return err;
    }
    json_array_foreach(json_object_get(answer, "alarms"), i, alarm)
    {
        fresh += (uint64_t)number_of(alarm, "time_us") + MINUTE_US > now_us;
    }
    json_decref(answer);
    const json_t *stored = json_object_get(found->status, "alarms");
    say(found, "alarms", "%zu in the last minute, %s kept", fresh,
        pd_row_text_number((uint64_t)number_of(stored, "kept"), number));
    json_object_set_new(found->parts, "alarms",
                        json_pack("{s:I, s:I}", "last_minute", (json_int_t)fresh, "kept",
                                  number_of(stored, "kept")));
    return 0;
}

static int look_at_controller(struct finding *found, struct pd_error *error)
{
    const json_t *queries = json_object_get(found->status, "queries");
    int err;

    say_who(found, "controller");
    err = look_at_hosts(found, error);
    err = err ? err : look_at_switches(found, error);
    err = err ? err : count_alarms(found, error);
    err = err ? err : look_at_watches(found, error);
    say(found, "queries", "%" JSON_INTEGER_FORMAT " at work, %" JSON_INTEGER_FORMAT " waiting",
        number_of(queries, "working"), number_of(queries, "waiting"));
    return err;
}

/* ---- an agent ---- */

static void look_at_intakes(struct finding *found)
{
    const json_t *intakes = json_object_get(found->status, "intakes");
    json_t *intake;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)intakes, i, intake)
    {
        const char *state = text_of(intake, "state"), *detail = text_of(intake, "detail");
        say(found, "intake", "%s: %s%s%s", text_of(intake, "spec"), state, *detail ? ", " : "",
            detail);
        if (!strcmp(state, "failed") || !strcmp(state, "waiting")) {
            blame(found, "intake %s is %s: %s", text_of(intake, "spec"), state, detail);
        }
    }
    if (!json_array_size(intakes)) {
        say(found, "intake", "none");
    }
}

static void look_at_store(struct finding *found)
{
    const json_t *tib = json_object_get(found->status, "tib");
    char records[PD_TEXT_NUMBER_BYTES], bytes[PD_TEXT_NUMBER_BYTES];

    say(found, "store", "%s records, %s",
        pd_row_text_number((uint64_t)number_of(tib, "records"), records),
        pd_row_text_bytes((uint64_t)number_of(tib, "bytes_file"), bytes));
    if (strcmp(text_of(tib, "state"), "ok") != 0) {
        blame(found, "the store: %s", text_of(tib, "state"));
    }
}

static int look_at_agent(struct finding *found)
{
    const json_t *alarms = json_object_get(found->status, "alarms");
    const json_t *delivery = json_object_get(alarms, "delivery");
    const json_t *installed = json_object_get(found->status, "installed");
    const json_t *live = json_object_get(found->status, "trajectory");

    say_who(found, "agent");
    look_at_intakes(found);
    say(found, "live", "%" JSON_INTEGER_FORMAT " record%s in memory",
        number_of(live, "live_records"), plural(number_of(live, "live_records")));
    look_at_store(found);
    say(found, "alarms",
        "%" JSON_INTEGER_FORMAT " kept; controller: %s, %" JSON_INTEGER_FORMAT " waiting",
        number_of(alarms, "kept"), text_of(delivery, "state"), number_of(delivery, "waiting"));
    if (!strcmp(text_of(delivery, "state"), "waiting")) {
        blame(found, "the controller does not take this agent's alarms");
    }
    say(found, "installed", "%" JSON_INTEGER_FORMAT " active, %" JSON_INTEGER_FORMAT " stopped",
        number_of(installed, "active"), number_of(installed, "stopped"));
    if (number_of(installed, "stopped")) {
        blame(found, "%" JSON_INTEGER_FORMAT " installed quer%s stopped",
              number_of(installed, "stopped"),
              number_of(installed, "stopped") == 1 ? "y has" : "ies have");
    }
    return 0;
}

/* ---- the command ---- */

static void print_screen(const struct finding *found)
{
    const struct pd_style style = pd_row_style_of(stdout);
    const char *bold = style.colour ? "\033[1m" : "", *plain = style.colour ? "\033[0m" : "";
    json_t *line;
    size_t i;

    json_array_foreach(found->lines, i, line)
    {
        printf("%-*s %s\n", LABEL_WIDTH, json_string_value(json_array_get(line, 0)),
               json_string_value(json_array_get(line, 1)));
    }
    json_array_foreach(found->wrong, i, line)
    {
        printf("%s%-*s%s %s\n", bold, LABEL_WIDTH, i ? "" : "wrong", plain,
               json_string_value(line));
    }
    if (!json_array_size(found->wrong)) {
        puts("\nnothing is wrong");
    }
}

static int print_object(struct finding *found, struct pd_error *error)
{
    json_t *document = json_pack(
        "{s:s, s:s, s:b, s:O}", "of", found->set->agent ? "agent" : "controller", "url",
        found->set->server.url, "ok", !json_array_size(found->wrong), "wrong", found->wrong);

    json_object_update(document, found->parts);
    json_object_set(document, "status", found->status);
    return pd_cli_json_print(document, error);
}

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    struct finding found = {
        .set = set, .lines = json_array(), .wrong = json_array(), .parts = json_object()};
    int err = ask(&found, "/v1/status", &found.status, error);

    (void)words;
    if (!err) {
        err = set->agent ? look_at_agent(&found) : look_at_controller(&found, error);
    }
    if (!err && set->json) {
        err = print_object(&found, error);
    } else if (!err) {
        print_screen(&found);
    }
    if (!err && json_array_size(found.wrong)) {
        err = PD_CLI_FAILED;
    }
    json_decref(found.lines);
    json_decref(found.wrong);
    json_decref(found.parts);
    json_decref(found.status);
    return err;
}

const struct pd_cli_command pd_cli_status = {
    .name = "status",
    .synopsis = "[--controller URL | --agent URL] [--json]",
    .help = "how a controller or an agent is, on one screen",
    .details =
        "Of a controller: hosts that do not answer, switches whose rules are not in place, watches "
        "that failed or are certain of a link, alarms of the last minute. Of an agent: its "
        "intakes, its store, installed queries that were stopped, whether its alarms are taken.\n"
        "Exits with 1 when something is wrong; each such thing is a line, and with --json a text "
        "of \"wrong\".",
    .options = options,
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .check = check,
    .run = run,
};

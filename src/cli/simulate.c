/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump simulate`: a network with faults, simulated, and an application that looks for them. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "apps/args.h"
#include "cli/arguments.h"
#include "cli/cli.h"
#include "cli/serve.h"
#include "query/rows/text.h"
#include "sim/watch.h"

struct settings {
    uint64_t seed;
    const char *app;
    const char *evidence;
    const char *flows;
    bool json;
    bool every_run;
    const char *serve;
    uint64_t speed;
};

/* Short for an application with an argument. */
static const struct {
    const char *name, *app, *argument, *value;
} shorts[] = {{"max-coverage", "silent-drops", "method", "max-coverage"}};

/* Its place among the short names, or -1. */
static int find_short(const char *name)
{
    for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++) {
        if (!strcmp(shorts[i].name, name)) {
            return (int)i;
        }
    }
    return -1;
}

/* NULL: "none". */
static const struct pd_app_ops *find_app(const char *name)
{
    int at = find_short(name);

    return pd_app_find(at < 0 ? name : shorts[at].app);
}

static int set_app(void *target, const char *name, const char *value, struct pd_error *error)
{
    (void)target;
    if (strcmp(value, "none") != 0 && !find_app(value)) {
        return pd_fail(error, -PD_E_VALUE,
                       "%s: expects an application, max-coverage or none, not \"%.100s\"", name,
                       value);
    }
    return 0;
}

static const struct pd_option options[] = {
    {.name = "seed",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, seed),
     .value = "N",
     .fallback = "1",
     .help = "of all random numbers: the same seed gives the same run"},
    {.name = "app",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, app),
     .value = "NAME",
     .fallback = "silent-drops",
     .set = set_app,
     .help = "application that watches the network, or none"},
    {.name = "evidence",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, evidence),
     .value = "FILE",
     .help = "write the evidence judged; with --app none, all there is"},
    {.name = "flows",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, flows),
     .value = "FILE",
     .help = "write the flows that end, a line each (level of packets)"},
    {.name = "every-run",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, every_run),
     .help = "print each report, not only those that changed"},
    {.name = "serve",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, serve),
     .value = "ADDRESS",
     .help = "serve the map and the controller's routes at HOST:PORT"},
    {.name = "speed",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, speed),
     .min = 1,
     .max = 1000,
     .value = "N",
     .fallback = "1",
     .help = "with --serve: simulated seconds a second"},
    {.name = "json",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "print one JSON object a line, for programs"},
    {0},
};

/* ---- printing */

static int print_object(json_t *object)
{
    int err = !object || json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15))
                  ? -PD_E_FULL
                  : 0;
    if (!err) {
        putchar('\n');
    }
    json_decref(object);
    return err;
}

static json_t *round_to(double number, double steps)
{
    return json_real((double)(int64_t)(number * steps + 0.5) / steps);
}

static int report_json(void *context, double now_s, const json_t *report)
{
    json_t *event = json_pack("{s:s, s:o}", "event", "verdict", "t_s", round_to(now_s, 1e3));
    const char *member;
    json_t *value;

    (void)context;
    json_object_foreach((json_t *)report, member, value)
    {
        if (!strcmp(member, "confidence")) {
            json_object_set_new(event, member, round_to(json_number_value(value), 1e4));
        } else if (strcmp(member, "app") != 0) {
            json_object_set(event, member, value);
        }
    }
    return print_object(event);
}

static int report_text(void *context, double now_s, const json_t *report)
{
    const json_t *links = json_object_get(report, "links"), *link;
    size_t i;

    (void)context;
    printf("%8.1f s  %-9s %4.0f %%  %s", now_s,
           json_is_true(json_object_get(report, "certain")) ? "certain" : "suspected",
           json_number_value(json_object_get(report, "confidence")) * 100,
           json_string_value(json_object_get(report, "verdict")));
    json_array_foreach(links, i, link)
    {
        printf("%s %s", i ? "" : ":", json_string_value(link));
    }
    putchar('\n');
    return 0;
}

static int print_end(const struct pd_sim_watch_end *end, uint64_t seed, bool json)
{
    const struct pd_sim_totals *totals = &end->totals;
    char hops[PD_TEXT_NUMBER_BYTES], flows[PD_TEXT_NUMBER_BYTES], alarms[PD_TEXT_NUMBER_BYTES];

    if (json) {
        return print_object(json_pack(
            "{s:s,s:o,s:I,s:I,s:I,s:o,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "event", "end", "t_s",
            round_to(totals->now_s, 1e3), "flows", (json_int_t)totals->flows, "packet_hops",
            (json_int_t)totals->packet_hops, "alarms", (json_int_t)totals->alarms, "wall_s",
            round_to(end->wall_s, 1e3), "lost_fault", (json_int_t)totals->lost_fault, "lost_queue",
            (json_int_t)totals->lost_queue, "refused", (json_int_t)totals->refused, "seed",
            (json_int_t)seed, "runs", (json_int_t)end->runs, "alarms_left",
            (json_int_t)end->alarms_left, "values_lost", (json_int_t)totals->values_lost));
    }
    printf("%8.1f s  end: %s flows, %s packet-hops, %s alarms, in %.1f s; seed %" PRIu64 "\n",
           totals->now_s, pd_row_text_number(totals->flows, flows),
           pd_row_text_number(totals->packet_hops, hops),
           pd_row_text_number(totals->alarms, alarms), end->wall_s, seed);
    return 0;
}

/* ---- the command */

/* Arguments as they were given, with what a short name stands for; NULL for none. */
static int read_arguments(const struct settings *set, const struct pd_cli_words *words,
                          json_t **ret_given, struct pd_error *error)
{
    int at = find_short(set->app);
    int err = pd_cli_arguments_json(words, ret_given, error);

    if (!err && at >= 0) {
        json_object_set_new(*ret_given, shorts[at].argument, json_string(shorts[at].value));
    }
    return err;
}

static int check(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    const struct pd_app_ops *app = find_app(set->app);
    json_t *given = NULL, *args = NULL;

    if (!app && words->arguments_len) {
        return pd_fail(error, -PD_E_UNKNOWN_KEY, "--%.60s: unknown flag", words->arguments[0]);
    }
    int err = read_arguments(set, words, &given, error);
    if (!err && app) {
        err = pd_app_args_read(app, NULL, given, &args, error);
    }
    json_decref(given);
    json_decref(args);
    return err;
}

/* *ret_file stays NULL without a name. */
static int open_file(const char *name, FILE **ret_file, struct pd_error *error)
{
    *ret_file = name ? fopen(name, "we") : NULL;
    return name && !*ret_file ? pd_fail(error, -errno, "%.300s: %s", name, strerror(errno)) : 0;
}

static int close_file(const char *name, FILE *file, int err, struct pd_error *error)
{
    if (file && fclose(file) && !err) {
        err = pd_fail(error, -errno, "%.300s: %s", name, strerror(errno));
    }
    return err;
}

static int simulate(const struct settings *set, const struct pd_sim_scenario *scenario,
                    const json_t *given, struct pd_sim_watch_end *ret_end, struct pd_error *error)
{
    struct pd_sim_watch watch = {.scenario = scenario,
                                 .seed = set->seed,
                                 .app = find_app(set->app),
                                 .args = given,
                                 .every_run = set->every_run,
                                 .report = set->json ? report_json : report_text};
    int err = open_file(set->evidence, &watch.evidence, error);

    err = err ? err : open_file(set->flows, &watch.flows, error);
    err = err ? err : pd_sim_watch(&watch, ret_end, error);
    err = close_file(set->evidence, watch.evidence, err, error);
    return close_file(set->flows, watch.flows, err, error);
}

static int serve(const struct settings *set, const struct pd_sim_scenario *scenario,
                 const json_t *given, struct pd_error *error)
{
    const struct pd_cli_serve served = {.scenario = scenario,
                                        .seed = set->seed,
                                        .speed = set->speed,
                                        .address = set->serve,
                                        .app = find_app(set->app),
                                        .args = given};

    return pd_cli_serve(&served, error);
}

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    struct pd_sim_scenario scenario;
    struct pd_sim_watch_end end;
    json_t *given = NULL;
    int err = read_arguments(set, words, &given, error);

    if (!err) {
        err = pd_sim_scenario_read(words->words[0], &scenario, error);
    }
    if (!err) {
        err = set->serve ? serve(set, &scenario, given, error)
                         : simulate(set, &scenario, given, &end, error);
        pd_sim_scenario_done(&scenario);
    }
    json_decref(given);
    if (!err && !set->serve) {
        err = print_end(&end, set->seed, set->json);
    }
    return err ? err : PD_CLI_OK;
}

const struct pd_cli_command pd_cli_simulate = {
    .name = "simulate",
    .synopsis = "SCENARIO.json [--seed N] [--app NAME [arguments]] [--evidence FILE] "
                "[--flows FILE] [--serve ADDRESS [--speed N]]",
    .help = "simulate a network with faults and look for them",
    .details =
        "Simulates the network and traffic of the scenario, gives what agents would tell (records, "
        "retransmissions, alarms) to the application, and prints its verdict whenever that "
        "changes.\n"
        "Any application will do (see pathdump apps), with its arguments as further flags; "
        "max-coverage is short for --app silent-drops --method max-coverage, the paper's baseline; "
        "none only simulates.\n"
        "--serve ADDRESS: a controller whose network is the simulated one, by the clock (--speed N "
        "times as fast) until it is ended: its routes that read, its events, its map at /map; the "
        "application is watched. Nothing needs root.\n"
        "Members of the scenario: topology (file, {\"fat_tree\":K} or another generator), "
        "link_mbps, "
        "load, duration_s, flow_sizes (\"web-search\", \"hadoop\" or a CSV file), flows "
        "([{\"src\":21,\"dst\":24,\"bytes\":100000}]), spray, faults "
        "([{\"link\":\"9-17\",\"loss\":0.01}, {\"switch\":17,\"loss\":0.01}, "
        "{\"link\":\"9-17\",\"blackhole\":true,\"prefix\":\"10.2.1.0/24\"}, "
        "{\"switch\":9,\"split_bytes\":1000000}, {\"switch\":9,\"weights\":{\"17\":3}}], with "
        "card, hash, burst, start_s, end_s: docs/simulator.md), level "
        "(\"flow\", \"packet\" or \"epoch\"), period_ms, alarm_retransmissions, buffer_pkts; at "
        "the level of "
        "packets: transport (\"tcp\", \"hpcc-int\", \"hpcc-pint\"), overhead_bytes, hop_ns, "
        "telemetry (a plan, or a file that has one: see pathdump pint plan).",
    .options = options,
    .required = "",
    .words = "FILE",
    .words_min = 1,
    .words_max = 1,
    .arguments = true,
    .settings_bytes = sizeof(struct settings),
    .check = check,
    .run = run,
};

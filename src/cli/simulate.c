/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump simulate`: a network with faults, simulated, and a localiser that looks for them. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "sim/hunt.h"

struct settings {
    uint64_t seed;
    const char *app;
    bool json;
};

/* The application's name is what operators know; the localiser's name is how it is done. */
static const struct {
    const char *app;
    const struct pd_localiser_ops *localiser;
} apps[] = {
    {"silent-drops", &pd_localiser_evidence},
    {"max-coverage", &pd_localiser_max_coverage},
    {"none", NULL},
};

static int set_app(void *target, const char *name, const char *value, struct pd_error *error)
{
    (void)target;
    for (size_t i = 0; i < sizeof apps / sizeof *apps; i++)
        if (!strcmp(apps[i].app, value))
            return 0;
    return pd_fail(error, -PD_E_VALUE,
                   "%s: expects silent-drops, max-coverage or none, not \"%.100s\"", name, value);
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
     .help = "who looks for faults: silent-drops, max-coverage or none"},
    {.name = "json",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "print one JSON object a line, for programs"},
    {0},
};

/* ---- printing */

static int print_object(json_t *object)
{
    int code = !object || json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15))
                   ? -PD_E_FULL
                   : 0;
    if (!code)
        putchar('\n');
    json_decref(object);
    return code;
}

static json_t *round_to(double number, double steps)
{
    return json_real((double)(int64_t)(number * steps + 0.5) / steps);
}

static int report_json(void *context, double now_s, const struct pd_verdict *verdict)
{
    json_t *links = json_array(), *losses = json_array();
    char text[32];
    (void)context;
    for (size_t i = 0; i < verdict->links_len; i++) {
        snprintf(text, sizeof text, "%u-%u", verdict->links[i].from, verdict->links[i].to);
        json_array_append_new(links, json_string(text));
        json_array_append_new(losses, round_to(verdict->links[i].loss, 1e5));
    }
    return print_object(json_pack("{s:s,s:o,s:o,s:b,s:o,s:o}", "event", "verdict", "t_s",
                                  round_to(now_s, 1e3), "links", links, "certain", verdict->certain,
                                  "confidence", round_to(verdict->confidence, 1e4), "loss",
                                  losses));
}

static int report_text(void *context, double now_s, const struct pd_verdict *verdict)
{
    (void)context;
    printf("%8.1f s  %-9s %4.0f %% ", now_s, verdict->certain ? "certain" : "suspected",
           verdict->confidence * 100);
    for (size_t i = 0; i < verdict->links_len; i++)
        printf(" %u-%u", verdict->links[i].from, verdict->links[i].to);
    puts(verdict->links_len ? "" : " nothing");
    return 0;
}

static json_t *counters_json(const struct pd_localiser_counters *counters)
{
    json_t *object = json_object();
#define X(name, text) json_object_set_new(object, #name, json_integer((json_int_t)counters->name));
    PD_LOCALISE_COUNTERS(X)
#undef X
    return object;
}

static int print_end(const struct pd_hunt_end *end, uint64_t seed, bool json)
{
    const struct pd_sim_totals *totals = &end->totals;
    if (json)
        return print_object(json_pack(
            "{s:s,s:o,s:I,s:I,s:I,s:o,s:I,s:I,s:I,s:I,s:o}", "event", "end", "t_s",
            round_to(totals->now_s, 1e3), "flows", (json_int_t)totals->flows, "packet_hops",
            (json_int_t)totals->packet_hops, "alarms", (json_int_t)totals->alarms, "wall_s",
            round_to(end->wall_s, 1e3), "lost_fault", (json_int_t)totals->lost_fault, "lost_queue",
            (json_int_t)totals->lost_queue, "refused", (json_int_t)totals->refused, "seed",
            (json_int_t)seed, "observations", counters_json(&end->counters)));
    char hops[PD_CLI_NUMBER_BYTES], flows[PD_CLI_NUMBER_BYTES], alarms[PD_CLI_NUMBER_BYTES];
    printf("%8.1f s  end: %s flows, %s packet-hops, %s alarms, in %.1f s; seed %" PRIu64 "\n",
           totals->now_s, pd_cli_number(totals->flows, flows),
           pd_cli_number(totals->packet_hops, hops), pd_cli_number(totals->alarms, alarms),
           end->wall_s, seed);
    return 0;
}

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    struct pd_scenario scenario;
    struct pd_hunt_end end;
    size_t app = 0;
    while (strcmp(apps[app].app, set->app) != 0)
        app++;
    int code = pd_scenario_read(words->words[0], &scenario, error);
    if (code)
        return code;
    code = pd_hunt(&scenario, set->seed, apps[app].localiser, set->json ? report_json : report_text,
                   NULL, &end, error);
    pd_scenario_done(&scenario);
    if (!code)
        code = print_end(&end, set->seed, set->json);
    return code ? code : PD_CLI_OK;
}

const struct pd_cli_command pd_cli_simulate = {
    .name = "simulate",
    .synopsis = "SCENARIO.json [--seed N] [--app NAME]",
    .help = "simulate a network with faults and look for them",
    .details =
        "Simulates the network and traffic of the scenario, gives what agents would tell (records, "
        "retransmissions, alarms) to the application, and prints its verdict whenever that "
        "changes.\n"
        "Applications:\n"
        "\tsilent-drops\tlinks that drop packets at random, by the likelihood of what flows with "
        "and "
        "without retransmissions show\n"
        "\tmax-coverage\tthe same question, answered by MAX-COVERAGE over failure signatures: the "
        "baseline\n"
        "\tnone\tonly simulate\n"
        "Members of the scenario: topology (file, {\"fat_tree\":K} or {\"vl2\":K}), link_mbps, "
        "load, "
        "duration_s, flow_sizes (\"web-search\", \"hadoop\" or a CSV file), spray, faults "
        "([{\"link\":\"9-17\",\"loss\":0.01}, {\"link\":\"9-17\",\"blackhole\":true}]), level "
        "(\"flow\" or \"packet\"), period_ms, alarm_retransmissions, buffer_pkts.",
    .options = options,
    .required = "",
    .words = "FILE",
    .words_min = 1,
    .words_max = 1,
    .settings_bytes = sizeof(struct settings),
    .run = run,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump probes start`, `probes stop`, `probes status`: probes of a controller's hosts. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/listing.h"
#include "probe/order.h"

#define ROUTE "/v1/probes"

static const struct pd_cli_field fields[] = {
    {.title = "NUMBER", .member = "number", .kind = PD_CLI_WORD},
    {.title = "FROM", .member = "from_host", .kind = PD_CLI_WORD},
    {.title = "TO", .member = "to_host", .kind = PD_CLI_WORD},
    {.title = "SENT", .member = "sent", .kind = PD_CLI_NUMBER},
    {.title = "RECEIVED", .member = "received", .kind = PD_CLI_NUMBER},
    {.title = "LOST", .member = "lost", .kind = PD_CLI_NUMBER},
    {.title = "STATE", .member = "state", .kind = PD_CLI_WORD},
    {.title = "PATH", .member = "path", .kind = PD_CLI_WORD, .spare = 1},
};

static const struct pd_cli_listing paths = {"paths", "path", "paths", fields,
                                            sizeof fields / sizeof *fields};

static int run_status(const void *settings, const struct pd_cli_words *words,
                      struct pd_error *error)
{
    (void)words;
    return pd_cli_list_ask(settings, ROUTE, &paths, error);
}

/* ---- start and stop ---- */

struct settings {
    struct pd_cli_list_settings list;
    const char *carrier;
    uint64_t rate_hz, max_hops;
};

static const struct pd_option start_options[] = {
    {.name = "carrier",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, carrier),
     .value = "sr-int|srv6-ioam",
     .fallback = "sr-int",
     .help = "what carries probes through the switches"},
    {.name = "rate",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, rate_hz),
     .min = 1,
     .max = PD_PROBE_ORDER_RATE_MAX,
     .value = "HZ",
     .fallback = "100",
     .help = "probes a second on each path; less where links are slow"},
    {.name = "max-hops",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, max_hops),
     .max = PD_TELEMETRY_HOPS_MAX,
     .value = "N",
     .fallback = "0",
     .help = "hops of a path at most; 0: as many as the carrier can"},
    PD_CLI_SERVER_OPTIONS(struct settings, list.server),
    PD_CLI_JSON_OPTION(struct settings, list.json),
    {0},
};

static int say_begin(const json_t *answer, struct pd_error *error)
{
    (void)answer;
    (void)error;
    puts("probes begin; pathdump probes status tells how they go");
    return 0;
}

static int say_end(const json_t *answer, struct pd_error *error)
{
    (void)answer;
    (void)error;
    puts("probes have ended");
    return 0;
}

static int check_start(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    return pd_cli_list_check(&((struct settings *)settings)->list, words, error);
}

static int run_start(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    json_t *document =
        json_pack("{s:s, s:I}", "carrier", set->carrier, "rate_hz", (json_int_t)set->rate_hz);

    (void)words;
    if (document && set->max_hops) {
        json_object_set_new(document, "max_hops", json_integer((json_int_t)set->max_hops));
    }
    return pd_cli_deed_post(&set->list.server, set->list.json, ROUTE, document, say_begin, error);
}

static int run_stop(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct pd_cli_list_settings *set = settings;

    (void)words;
    return pd_cli_deed(&set->server, set->json,
                       (struct pd_cli_request){.method = "DELETE", .route = ROUTE}, say_end, error);
}

const struct pd_cli_command pd_cli_probes_start = {
    .name = "probes start",
    .synopsis = "--controller URL [--carrier sr-int|srv6-ioam] [--rate HZ] [--max-hops N] [--json]",
    .help = "hosts send probes over every direction of every link",
    .details = "The controller plans the paths, and hosts that have an agent send and collect. "
               "Paths that lose probes are looked into at once: pathdump links and the application "
               "probe-faults say which direction it is. Given again, it begins anew. Probes go on "
               "when the controller starts again.",
    .options = start_options,
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .check = check_start,
    .run = run_start,
};

const struct pd_cli_command pd_cli_probes_stop = {
    .name = "probes stop",
    .synopsis = "--controller URL [--json]",
    .help = "no probes any more",
    .details = "Hosts that cannot be reached end when the controller has been silent to them for "
               "half a minute.",
    .options = pd_cli_deed_options,
    .words = "",
    .settings_bytes = sizeof(struct pd_cli_list_settings),
    .check = pd_cli_list_check,
    .run = run_stop,
};

const struct pd_cli_command pd_cli_probes_status = {
    .name = "probes status",
    .synopsis = "--controller URL [--json | --csv]",
    .help = "paths of probes, and what came of them",
    .details = "Lists the paths of the plan in force:\n"
               "\tok\tprobes arrive\n"
               "\tsilent\tthe last three are missing\n"
               "\tlossy\tthree or more of the last second are missing\n"
               "Answers with JSON say also which hosts were left out, and why.",
    .options = pd_cli_list_options,
    .words = "",
    .settings_bytes = sizeof(struct pd_cli_list_settings),
    .check = pd_cli_list_check,
    .run = run_status,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump monitors start|status|stop` and `segments`: meters of a controller's switches. */
#include <stddef.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/listing.h"

#define ROUTE "/v1/monitors"

static const struct pd_cli_field monitor_fields[] = {
    {.title = "SWITCH", .member = "id", .kind = PD_CLI_WORD},
    {.title = "STATE", .member = "state", .kind = PD_CLI_WORD},
    {.title = "EPOCH", .member = "epoch", .kind = PD_CLI_WORD},
    {.title = "LATE", .member = "late", .kind = PD_CLI_NUMBER},
    {.title = "STRAYS", .member = "strays", .kind = PD_CLI_NUMBER},
    {.title = "DISAGREE", .member = "disagree", .kind = PD_CLI_NUMBER},
    {.title = "FULL", .member = "full", .kind = PD_CLI_NUMBER},
    {.title = "REASON", .member = "reason", .kind = PD_CLI_WORD},
};
static const struct pd_cli_listing monitors = {"monitors", "monitor", "monitors", monitor_fields,
                                               sizeof monitor_fields / sizeof *monitor_fields};

static const struct pd_cli_field segment_fields[] = {
    {.title = "PATH", .member = "path", .kind = PD_CLI_WORD},
    {.title = "FLOWS", .member = "flows", .kind = PD_CLI_NUMBER},
    {.title = "SENT", .member = "sent", .kind = PD_CLI_NUMBER},
    {.title = "LOST", .member = "lost", .kind = PD_CLI_NUMBER},
    {.title = "EPOCHS", .member = "epochs", .kind = PD_CLI_NUMBER},
    {.title = "STATE", .member = "state", .kind = PD_CLI_WORD},
    {.title = "WHY", .member = "why", .kind = PD_CLI_WORD},
};
static const struct pd_cli_listing segments = {"items", "segment", "segments", segment_fields,
                                               sizeof segment_fields / sizeof *segment_fields};

/* ---- start ---- */

struct start {
    struct pd_cli_server server;
    uint64_t alpha, beta, delta, eta, epoch_ms, epochs, epochs_min;
    bool json;
};

// clang-format off
#define COUNT(member_, name_, least_, most_, fallback_, help_) \
    {.name = name_,                                            \
     .type = PD_OPTION_U64,                                    \
     .offset = offsetof(struct start, member_),                \
     .min = least_,                                            \
     .max = most_,                                             \
     .value = "N",                                             \
     .fallback = fallback_,                                    \
     .help = help_}
// clang-format on

static const struct pd_option start_options[] = {
    PD_CLI_SERVER_OPTIONS(struct start, server),
    COUNT(alpha, "alpha", 0, 1000000000, "1000",
          "packets of a segment in an epoch that are enough"),
    COUNT(beta, "beta", 0, 65536, "20", "flows of a segment that are enough"),
    COUNT(delta, "delta", 1, 65536, "20", "flows more, where there are not enough"),
    COUNT(eta, "eta", 0, 1000000000, "16", "chosen are flows with more packets in an epoch"),
    COUNT(epoch_ms, "epoch-ms", 20, 60000, "100", "length of an epoch"),
    COUNT(epochs, "epochs", 1, 64, "10", "epochs that are looked at together"),
    COUNT(epochs_min, "epochs-min", 1, 64, "3", "of them with losses, from which losses count"),
    PD_CLI_JSON_OPTION(struct start, json),
    {0},
};

static int check_start(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    (void)words;
    return pd_cli_server_check(&((struct start *)settings)->server, error);
}

static int say_state(const json_t *answer, struct pd_error *error)
{
    const size_t len = json_array_size(json_object_get(answer, "monitors"));

    (void)error;
    printf("%zu monitor%s, %s\n", len, len == 1 ? "" : "s",
           json_is_true(json_object_get(answer, "running")) ? "counting" : "stopped");
    return 0;
}

static int run_start(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct start *set = settings;
    json_t *document = json_pack(
        "{s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "alpha", (json_int_t)set->alpha, "beta",
        (json_int_t)set->beta, "delta", (json_int_t)set->delta, "eta", (json_int_t)set->eta,
        "epoch_ms", (json_int_t)set->epoch_ms, "epochs", (json_int_t)set->epochs, "epochs_min",
        (json_int_t)(set->epochs_min < set->epochs ? set->epochs_min : set->epochs));

    (void)words;
    return pd_cli_deed_post(&set->server, set->json, ROUTE, document, say_state, error);
}

/* ---- stop, status, segments ---- */

static int run_stop(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct pd_cli_list_settings *set = settings;

    (void)words;
    return pd_cli_deed(&set->server, set->json,
                       (struct pd_cli_request){.method = "DELETE", .route = ROUTE}, say_state,
                       error);
}

static int run_status(const void *settings, const struct pd_cli_words *words,
                      struct pd_error *error)
{
    (void)words;
    return pd_cli_list_ask(settings, ROUTE, &monitors, error);
}

static int run_segments(const void *settings, const struct pd_cli_words *words,
                        struct pd_error *error)
{
    (void)words;
    return pd_cli_list_ask(settings, "/v1/segments", &segments, error);
}

const struct pd_cli_command pd_cli_monitors_start = {
    .name = "monitors start",
    .synopsis = "--controller URL [--alpha N] [--beta N] [--epoch-ms N] […] [--json]",
    .help = "count what segments of paths lose",
    .details =
        "Switches with meters count packets of chosen flows, epoch by epoch, where a segment "
        "begins and where it ends. The controller chooses the flows: more for a segment "
        "whose flows sent fewer than alpha packets, or were fewer than beta. When it runs "
        "already it begins anew.",
    .options = start_options,
    .words = "",
    .settings_bytes = sizeof(struct start),
    .check = check_start,
    .run = run_start,
};

const struct pd_cli_command pd_cli_monitors_status = {
    .name = "monitors status",
    .synopsis = "--controller URL [--json | --csv]",
    .help = "switches with meters, and how they are",
    .details = "Lists the monitors of the controller:\n"
               "\tcounting\tit answered for the newest epoch\n"
               "\twaiting\tit has not been asked yet\n"
               "\tsilent\tit did not answer for the newest epoch: its segments are unknown\n"
               "\tstopped\tnothing is counted",
    .options = pd_cli_list_options,
    .words = "",
    .settings_bytes = sizeof(struct pd_cli_list_settings),
    .check = pd_cli_list_check,
    .run = run_status,
};

const struct pd_cli_command pd_cli_monitors_stop = {
    .name = "monitors stop",
    .synopsis = "--controller URL [--json]",
    .help = "count no more",
    .details = "Takes back the rules of all monitors.",
    .options = pd_cli_deed_options,
    .words = "",
    .settings_bytes = sizeof(struct pd_cli_list_settings),
    .check = pd_cli_list_check,
    .run = run_stop,
};

const struct pd_cli_command pd_cli_segments = {
    .name = "segments",
    .synopsis = "--controller URL [--json | --csv]",
    .help = "what segments of paths lost lately",
    .details = "Lists each segment with what its flows sent and lost in the last epochs:\n"
               "\tmeasured\tenough was counted\n"
               "\tstarved\ttoo little was counted in each epoch, and why\n"
               "\tunknown\tnothing is known: a monitor did not answer, or nothing was counted",
    .options = pd_cli_list_options,
    .words = "",
    .settings_bytes = sizeof(struct pd_cli_list_settings),
    .check = pd_cli_list_check,
    .run = run_segments,
};

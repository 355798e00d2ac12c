/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump hosts` and `pathdump switches`: what a controller knows of its fleet. */
#include "cli/cli.h"
#include "cli/listing.h"

static const struct pd_cli_field host_fields[] = {
    {.title = "ID", .member = "id", .kind = PD_CLI_WORD},
    {.title = "NAME", .member = "name", .kind = PD_CLI_WORD},
    {.title = "RACK", .member = "rack", .kind = PD_CLI_WORD, .spare = 3},
    {.title = "URL", .member = "url", .kind = PD_CLI_WORD, .spare = 2},
    {.title = "STATE", .member = "state", .kind = PD_CLI_WORD},
    {.title = "LAST ANSWER", .member = "last_seen_us", .kind = PD_CLI_TIME_US, .spare = 4},
    {.title = "LAST ERROR", .member = "error", .kind = PD_CLI_WORD, .spare = 1},
};

static const struct pd_cli_field switch_fields[] = {
    {.title = "ID", .member = "id", .kind = PD_CLI_WORD},
    {.title = "NAME", .member = "name", .kind = PD_CLI_WORD},
    {.title = "ROLE", .member = "role", .kind = PD_CLI_WORD, .spare = 7},
    {.title = "STATE", .member = "state", .kind = PD_CLI_WORD},
    {.title = "EDGE", .member = "edge", .kind = PD_CLI_WORD, .spare = 3},
    {.title = "RULES", .member = "rules", .kind = PD_CLI_NUMBER, .spare = 4},
    {.title = "MISSING", .member = "missing", .kind = PD_CLI_NUMBER, .spare = 2},
    {.title = "DIFFERING", .member = "differing", .kind = PD_CLI_NUMBER, .spare = 2},
    {.title = "SURPLUS", .member = "surplus", .kind = PD_CLI_NUMBER, .spare = 5},
    {.title = "PACKET-INS", .member = "packet_ins", .kind = PD_CLI_NUMBER, .spare = 6},
    {.title = "SINCE", .member = "last_change_us", .kind = PD_CLI_TIME_US, .spare = 8},
    {.title = "LAST ERROR", .member = "last_error", .kind = PD_CLI_WORD, .spare = 1},
};

#define FIELDS(fields) fields, sizeof(fields) / sizeof(fields)[0]

static const struct pd_cli_listing hosts = {"hosts", "host", "hosts", FIELDS(host_fields)};
static const struct pd_cli_listing switches = {"switches", "switch", "switches",
                                               FIELDS(switch_fields)};

static int run_hosts(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    (void)words;
    return pd_cli_list_ask(settings, "/v1/hosts", &hosts, error);
}

static int run_switches(const void *settings, const struct pd_cli_words *words,
                        struct pd_error *error)
{
    (void)words;
    return pd_cli_list_ask(settings, "/v1/switches", &switches, error);
}

const struct pd_cli_command pd_cli_hosts = {
    .name = "hosts",
    .synopsis = "--controller URL [--json | --csv]",
    .help = "the servers that a controller asks, and which of them answer",
    .details = "Lists the hosts of the controller's file: ID in the topology, name, rack, where "
               "their agent is asked, and how they are.",
    .options = pd_cli_list_options,
    .words = "",
    .settings_bytes = sizeof(struct pd_cli_list_settings),
    .check = pd_cli_list_check,
    .run = run_hosts,
};

const struct pd_cli_command pd_cli_switches = {
    .name = "switches",
    .synopsis = "--controller URL [--json | --csv]",
    .help = "the switches of a controller, and whether their rules are in place",
    .details = "Lists the switches of the topology and what the controller found on those that are "
               "connected:\n"
               "\taway\tnot connected\n"
               "\twaiting\tconnected, not asked yet\n"
               "\tchecking\tits rules are being compared\n"
               "\tinstalled\tevery rule is in place\n"
               "\tdiffering\tsome rules are missing, different or too many",
    .options = pd_cli_list_options,
    .words = "",
    .settings_bytes = sizeof(struct pd_cli_list_settings),
    .check = pd_cli_list_check,
    .run = run_switches,
};

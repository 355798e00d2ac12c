/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump codec rules`: a switch's table entries as OpenFlow text. */
#include <inttypes.h>

#include "cli/codec.h"
#include "codec/openflow.h"

static const struct pd_option rules_options[] = {
    PD_CLI_CODEC_TOPOLOGY,
    PD_CLI_CODEC_NAME,
    {.name = "switch",
     .type = PD_OPTION_U64,
     .offset = PD_CLI_CODEC_AT(sw),
     .min = 1,
     .max = UINT32_MAX,
     .value = "ID",
     .help = "ID of the switch"},
    {.name = "depth",
     .type = PD_OPTION_CALLBACK,
     .value = "pcp|plain",
     .fallback = "pcp",
     .set = pd_cli_codec_set_depth,
     .help = "tag depth in the outer PCP, or not (hardware)"},
    {0},
};

static int rules(const struct pd_cli_codec_settings *set, const struct pd_codec *codec,
                 struct pd_error *error)
{
    uint32_t sw = pd_topology_switch(codec->topology, (uint32_t)set->sw);
    if (sw == PD_NONE) {
        return pd_fail(error, -PD_E_NOT_FOUND, "--switch: %" PRIu64 " is no switch of %.300s",
                       set->sw, set->topology);
    }
    int err = pd_codec_openflow_write(codec, sw, set->depth, stdout);
    return err ? pd_fail(error, err, "switch %" PRIu64 ": %s", set->sw, pd_error_text(err)) : 0;
}

static int run_rules(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    (void)words;
    return pd_cli_codec_with(settings, error, rules);
}

const struct pd_cli_command pd_cli_codec_rules = {
    .name = "codec rules",
    .synopsis = "--topology FILE --switch ID [--depth pcp|plain] [--codec NAME]",
    .help = "tagging rules of a switch as OpenFlow 1.3",
    .details = "Prints the switch's tagging rules for table 0, one flow a line, for ovs-ofctl -O "
               "OpenFlow13 add-flows BRIDGE -. Forwarding is left to table 1. Ports are numbered "
               "as in the topology: neighbours in ascending order of ID, switches first.",
    .options = rules_options,
    .required = "topology switch",
    .words = "",
    .settings_bytes = sizeof(struct pd_cli_codec_settings),
    .run = run_rules,
};

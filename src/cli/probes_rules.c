/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump probes rules`: what a switch has to be told so that it takes probes along. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "probe/rules.h"

struct settings {
    const char *topology;
    bool openflow;
    uint64_t sw;
    uint64_t max_hops;
};

static int set_carrier(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct settings *set = target;
    set->openflow = !strcmp(value, "openflow");
    return set->openflow || !strcmp(value, "srv6-ioam")
               ? 0
               : pd_fail(error, -PD_E_VALUE, "%s: expects srv6-ioam or openflow, not \"%.100s\"",
                         name, value);
}

static const struct pd_option options[] = {
    {.name = "topology",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, topology),
     .value = "FILE",
     .help = "topology file"},
    {.name = "carrier",
     .type = PD_OPTION_CALLBACK,
     .value = "srv6-ioam|openflow",
     .set = set_carrier,
     .help = "what carries the probes"},
    {.name = "switch",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, sw),
     .min = 1,
     .max = UINT32_MAX,
     .value = "ID",
     .help = "ID of the switch"},
    {.name = "max-hops",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, max_hops),
     .min = 1,
     .max = PD_PLAN_HOPS_MAX,
     .value = "N",
     .fallback = "60",
     .help = "hops of a path at most, as in probes plan"},
    {0},
};

static int print_flows(const struct settings *set, const struct pd_topology *topology, uint32_t sw,
                       FILE *out, struct pd_error *error)
{
    const struct pd_plan_request request = {
        .topology = topology, .mode = PD_PLAN_DIRECTIONS, .max_hops = (uint32_t)set->max_hops};
    struct pd_plan plan;
    int err = pd_plan_make(&request, &plan);
    if (err) {
        return pd_fail(error, err, "%s", pd_error_text(err));
    }
    err = pd_probe_rules_openflow(topology, &plan, sw, out, error);
    pd_plan_done(&plan);
    return err;
}

/* Into memory first: nothing is printed when something is wrong. */
static int print_rules(const struct settings *set, const struct pd_topology *topology,
                       struct pd_error *error)
{
    uint32_t sw = pd_topology_switch(topology, (uint32_t)set->sw);
    char *text = NULL;
    size_t bytes = 0;
    if (sw == PD_NONE) {
        return pd_fail(error, -PD_E_NOT_FOUND, "--switch: %" PRIu64 " is no switch of %.300s",
                       set->sw, set->topology);
    }
    FILE *out = open_memstream(&text, &bytes);
    if (!out) {
        return pd_fail(error, -PD_E_LIMIT, "no memory");
    }
    int err = set->openflow ? print_flows(set, topology, sw, out, error)
                            : pd_probe_rules_srv6_ioam(topology, sw, out, error);
    fclose(out);
    if (!err && text) {
        fputs(text, stdout);
    }
    free(text);
    return err;
}

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    struct pd_topology *topology = NULL;
    (void)words;
    int err = pd_topology_read(set->topology, &topology, error);
    err = err ? err : print_rules(set, topology, error);
    pd_topology_free(topology);
    return err;
}

const struct pd_cli_command pd_cli_probes_rules = {
    .name = "probes rules",
    .synopsis = "--carrier srv6-ioam|openflow --topology FILE --switch ID [--max-hops N]",
    .help = "what a switch needs to take probes along",
    .details = "srv6-ioam: commands of ip and sysctl for a Linux router whose interface at port P "
               "is called ethP. openflow: the switch's part of the plan that probes plan prints "
               "with the same --max-hops, as flows for ovs-ofctl -O OpenFlow13 add-flows BRIDGE -. "
               "What arrives at the end of its path goes to the first host of the switch.",
    .options = options,
    .required = "carrier topology switch",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .run = run,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump pint trials`: after how many packets a path is decided and known. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "cli/pint.h"
#include "codec/pint/planner.h"
#include "codec/pint/trials.h"

struct settings {
    const char *topology;
    const char *plan;
    uint64_t trials, seed;
    uint64_t src, dst, links, links_down, known_bits;
    enum pd_pint_method method;
    bool no_topology;
    bool json;
};

static int set_solver(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct settings *set = target;

    if (strcmp(value, "joint") != 0 && strcmp(value, "peel") != 0) {
        return pd_fail(error, -PD_E_VALUE, "%s: expects joint or peel, not \"%.100s\"", name,
                       value);
    }
    set->method = strcmp(value, "peel") ? PD_PINT_JOINT : PD_PINT_PEEL;
    return 0;
}

#define NUMBER(id, member, least, most, text, ...)                                      \
    {                                                                                   \
        .name = id, .type = PD_OPTION_U64, .offset = offsetof(struct settings, member), \
        .min = least, .max = most, .value = text, __VA_ARGS__                           \
    }

static const struct pd_option options[] = {
    {.name = "topology",
     .type = PD_OPTION_STRING,
     .value = "FILE",
     .offset = offsetof(struct settings, topology),
     .help = "the topology file"},
    {.name = "plan",
     .type = PD_OPTION_STRING,
     .value = "FILE",
     .offset = offsetof(struct settings, plan),
     .help = "the telemetry plan"},
    NUMBER("trials", trials, 1, 10000000, "N", .fallback = "1000", .help = "how many"),
    NUMBER("seed", seed, 0, UINT64_MAX, "N", .fallback = "1", .help = "same seed, same result"),
    NUMBER("src", src, 1, UINT32_MAX, "ID", .help = "first switch; drawn without it"),
    NUMBER("dst", dst, 1, UINT32_MAX, "ID", .help = "last switch; drawn without it"),
    NUMBER("hops", links, 1, PD_PINT_HOPS_MAX - 1, "N",
           .help = "links of the path; any without it"),
    NUMBER("links-down", links_down, 0, UINT32_MAX, "N",
           .help = "links that are down, which the decoder does not know"),
    NUMBER("known-bits", known_bits, 1, 1000, "N", .fallback = "20",
           .help = "bits of digests of each hop that make a decided path known"),
    {.name = "no-topology",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, no_topology),
     .help = "each hop may be any switch, as in the paper"},
    {.name = "solver",
     .type = PD_OPTION_CALLBACK,
     .value = "joint|peel",
     .fallback = "joint",
     .set = set_solver,
     .help = "all that is known together, or hop by hop as in the paper"},
    {.name = "json",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "print one JSON object, for programs"},
    {0},
};

static int find(const struct pd_topology *topology, const char *flag, uint64_t id,
                uint32_t *ret_switch, struct pd_error *error)
{
    *ret_switch = id ? pd_topology_switch(topology, (uint32_t)id) : PD_NONE;
    return id && *ret_switch == PD_NONE
               ? pd_fail(error, -PD_E_NOT_FOUND, "--%s: %" PRIu64 " is no switch of the topology",
                         flag, id)
               : 0;
}

static json_t *json_quantiles(const struct pd_pint_quantiles *quantiles)
{
    return json_pack("{s:f,s:I,s:I}", "mean", quantiles->mean, "p50", (json_int_t)quantiles->p50,
                     "p99", (json_int_t)quantiles->p99);
}

static int print(const struct settings *set, const struct pd_pint_outcome *outcome,
                 struct pd_error *error)
{
    if (set->json) {
        return pd_cli_json_print(
            json_pack("{s:I,s:o,s:o,s:I,s:I}", "trials", (json_int_t)outcome->trials, "decided",
                      json_quantiles(&outcome->decided), "known", json_quantiles(&outcome->known),
                      "undecided", (json_int_t)outcome->undecided, "wrong",
                      (json_int_t)outcome->wrong),
            error);
    }
    printf("packets until     mean    p50    p99\n");
    printf("  decided     %8.2f %6" PRIu32 " %6" PRIu32 "\n", outcome->decided.mean,
           outcome->decided.p50, outcome->decided.p99);
    printf("  known       %8.2f %6" PRIu32 " %6" PRIu32 "\n", outcome->known.mean,
           outcome->known.p50, outcome->known.p99);
    printf("undecided %" PRIu64 ", wrong %" PRIu64 " of %" PRIu64 " trials\n", outcome->undecided,
           outcome->wrong, outcome->trials);
    return 0;
}

int pd_cli_pint_verify(const struct pd_topology *topology, bool json, struct pd_error *error)
{
    const struct settings set = {.json = json};
    const struct pd_pint_order order = {.topology = topology, .bits = 8, .seed = 1};
    const struct pd_pint_trials trials = {.trials = 1000,
                                          .seed = 1,
                                          .src = PD_NONE,
                                          .dst = PD_NONE,
                                          .known_bits = PD_PINT_KNOWN_BITS};
    json_t *queries = json_pack("[{s:s,s:s,s:s,s:i}]", "name", "path", "aggregation", "static",
                                "value", "switch-id", "bits", 8);
    struct pd_pint_plan *plan = NULL;
    struct pd_pint_outcome outcome = {0};
    int err = pd_pint_plan_make(queries, "verify", &order, &plan, error);

    if (!err) {
        err = pd_pint_trials_run(topology, plan, &trials, &outcome, error);
    }
    if (!err) {
        err = print(&set, &outcome, error);
    }
    if (!err && (outcome.wrong || outcome.undecided)) {
        err = pd_fail(error, -PD_E_TOPOLOGY, "paths cannot be told: do not deploy this codec here");
    }
    pd_pint_plan_free(plan);
    json_decref(queries);
    return err;
}

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    struct pd_cli_pint pint = {0};
    struct pd_pint_outcome outcome;
    struct pd_pint_trials trials = {.trials = set->trials,
                                    .seed = set->seed,
                                    .links = (uint32_t)set->links,
                                    .links_down = (uint32_t)set->links_down,
                                    .no_topology = set->no_topology,
                                    .method = set->method,
                                    .known_bits = (unsigned)set->known_bits};
    int err = pd_cli_pint_open(set->topology, set->plan, &pint, error);

    (void)words;
    if (!err) {
        err = find(pint.topology, "src", set->src, &trials.src, error);
    }
    if (!err) {
        err = find(pint.topology, "dst", set->dst, &trials.dst, error);
    }
    if (!err) {
        err = pd_pint_trials_run(pint.topology, pint.plan, &trials, &outcome, error);
    }
    if (!err) {
        err = print(set, &outcome, error);
    }
    pd_cli_pint_close(&pint);
    return err;
}

const struct pd_cli_command pd_cli_pint_trials = {
    .name = "pint trials",
    .synopsis = "--topology FILE --plan FILE [--trials N] [--seed N] [--src ID] [--dst ID] "
                "[--hops N] [--links-down N] [--no-topology] [--solver joint|peel] [--json]",
    .help = "after how many packets a path is decided and known",
    .details =
        "Draws shortest paths between racks and packets that cross them, and counts the packets "
        "until one path alone fits all digests (decided), and until besides each of its hops has "
        "been covered by enough bits of digests (known): a walk that is not in the file then "
        "passes once in a million.\n"
        "Prints mean, median and 99th percentile, how many paths were not decided, and how many "
        "were decided for a wrong path, which is to be none.",
    .options = options,
    .required = "topology plan",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .run = run,
};

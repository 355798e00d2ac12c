/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump pint plan`: queries become a telemetry plan. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "cli/pint.h"
#include "codec/pint/planner.h"

struct settings {
    const char *topology;
    uint64_t bits, seed;
    unsigned carrier, parameters;
    bool json;
};

static int choose(const char *const *names, const char *name, const char *value,
                  unsigned *ret_index, struct pd_error *error)
{
    for (unsigned i = 0; names[i]; i++) {
        if (!strcmp(names[i], value)) {
            *ret_index = i;
            return 0;
        }
    }
    return pd_fail(error, -PD_E_VALUE, "%s: there is no \"%.100s\"", name, value);
}

static int set_carrier(void *target, const char *name, const char *value, struct pd_error *error)
{
    return choose(pd_pint_carrier_names, name, value, &((struct settings *)target)->carrier, error);
}

static int set_parameters(void *target, const char *name, const char *value, struct pd_error *error)
{
    return choose(pd_pint_parameters_names, name, value, &((struct settings *)target)->parameters,
                  error);
}

static const struct pd_option options[] = {
    {.name = "topology",
     .type = PD_OPTION_STRING,
     .value = "FILE",
     .offset = offsetof(struct settings, topology),
     .help = "the topology file"},
    {.name = "bits",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, bits),
     .min = 1,
     .max = PD_PINT_BITS_MAX,
     .value = "N",
     .help = "bits of the digest; 16 in a tag, 6 in the DSCP"},
    {.name = "carrier",
     .type = PD_OPTION_CALLBACK,
     .value = "tag|dscp",
     .fallback = "tag",
     .set = set_carrier,
     .help = "where the digest is"},
    {.name = "parameters",
     .type = PD_OPTION_CALLBACK,
     .value = "search|text|algorithm1|revised",
     .fallback = "search",
     .set = set_parameters,
     .help = "numbers of static queries: by trials, or the paper's own"},
    {.name = "seed",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, seed),
     .max = UINT32_MAX,
     .value = "N",
     .fallback = "1",
     .help = "of all hashes"},
    {.name = "json",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "print one JSON object; there is no other form"},
    {0},
};

static int read_queries(const char *file, json_t **ret_queries, struct pd_error *error)
{
    json_error_t words;
    FILE *in = fopen(file, "re");

    if (!in) {
        return pd_fail(error, -errno, "%s: %s", file, strerror(errno));
    }
    *ret_queries = json_loadf(in, JSON_REJECT_DUPLICATES, &words);
    fclose(in);
    return *ret_queries ? 0
                        : pd_fail(error, -PD_E_SYNTAX, "%s:%d: %s", file, words.line, words.text);
}

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    const char *file = words->words[0];
    const unsigned most = set->carrier == PD_PINT_DSCP ? 6 : PD_PINT_BITS_MAX;
    struct pd_pint_order order = {.bits = set->bits ? (unsigned)set->bits : most,
                                  .carrier = set->carrier,
                                  .parameters = set->parameters,
                                  .seed = (uint32_t)set->seed};
    struct pd_cli_pint pint = {0};
    json_t *queries = NULL;
    int err = pd_cli_pint_open(set->topology, NULL, &pint, error);

    if (!err) {
        err = read_queries(file, &queries, error);
    }
    order.topology = pint.topology;
    if (!err) {
        err = pd_pint_plan_make(queries, file, &order, &pint.plan, error);
    }
    if (!err) {
        err = pd_cli_json_print(pd_pint_plan_json(pint.plan), error);
    }
    json_decref(queries);
    pd_cli_pint_close(&pint);
    return err;
}

const struct pd_cli_command pd_cli_pint_plan = {
    .name = "pint plan",
    .synopsis = "--topology FILE [--bits N] [--carrier tag|dscp] "
                "[--parameters search|text|algorithm1|revised] [--seed N] [--json] FILE",
    .help = "a telemetry plan for some queries",
    .details =
        "Reads a JSON list of queries, each with \"name\", \"aggregation\", \"value\" and "
        "\"bits\", and the share of packets that it wants as \"frequency\" (1 without it). "
        "Measured values have \"min\" and \"max\", and may have \"scale\" (log, linear) and "
        "\"rounding\".\n"
        "Finds sets of queries and their weights so that each query gets at least its frequency, "
        "and prints the plan. Exits with 1 and names the query that does not fit.",
    .options = options,
    .required = "topology",
    .words = "FILE",
    .words_min = 1,
    .words_max = 1,
    .settings_bytes = sizeof(struct settings),
    .run = run,
};

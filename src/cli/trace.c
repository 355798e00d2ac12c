/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump trace budget`: how often hosts may trace flows. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "trace/budget.h"

struct settings {
    const char *topology;
    const char *t_max, *loss, *packets; /* as given; NULL: not */
    uint64_t bad_links;
    struct pd_budget_ask ask;
    bool json;
};

/* A number above `above`, at most `most`. */
static int read_number(const char *flag, const char *text, double above, double most,
                       double *ret_number, struct pd_error *error)
{
    char *end;
    double number = strtod(text, &end);

    if (end == text || *end || !(number > above) || !(number <= most)) {
        return pd_fail(error, -PD_E_VALUE,
                       "%s: expects a number above %g, at most %g, not \"%.60s\"", flag, above,
                       most, text);
    }
    *ret_number = number;
    return 0;
}

static int read_packets(const char *text, struct pd_budget_ask *ask, struct pd_error *error)
{
    char *end = NULL;
    unsigned long long least = *text == '-' ? 0 : strtoull(text, &end, 10), most = 0;

    if (least && end && *end == ',' && end[1] >= '0' && end[1] <= '9') {
        most = strtoull(end + 1, &end, 10);
    }
    if (!most || *end || most < least || most > UINT32_MAX) {
        return pd_fail(error, -PD_E_VALUE,
                       "--packets: expects the least and the most of a flow, as in 10,90");
    }
    ask->pkts_min = (uint32_t)least;
    ask->pkts_max = (uint32_t)most;
    return 0;
}

static int check_budget(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    struct settings *set = settings;
    bool any = set->bad_links || set->loss || set->packets;
    int err = read_number("--tmax", set->t_max, 0, 1e9, &set->ask.t_max, error);

    (void)words;
    if (err || !any) {
        return err;
    }
    if (!set->bad_links || !set->loss || !set->packets) {
        return pd_fail(error, -PD_E_VALUE,
                       "--bad-links, --loss and --packets: either all of them or none");
    }
    set->ask.bad_links = (uint32_t)set->bad_links;
    err = read_number("--loss", set->loss, 0, 1, &set->ask.loss, error);
    return err ? err : read_packets(set->packets, &set->ask, error);
}

static json_t *busiest_json(const struct pd_topology *topology, const struct pd_budget *budget)
{
    if (budget->busiest == PD_NONE) {
        return json_null();
    }
    return json_pack("{s:I, s:f}", "switch", (json_int_t)topology->switches[budget->busiest].id,
                     "answers_per_s", budget->busiest_per_s);
}

static json_t *theorem_2_json(const struct pd_budget *budget)
{
    if (!budget->has_theorem_2) {
        return json_null();
    }
    return json_pack("{s:f, s:f, s:b}", "alpha", budget->alpha, "noise_max", budget->noise_max,
                     "holds", budget->holds);
}

static int print_json(const struct pd_topology *topology, const struct pd_budget *budget,
                      struct pd_error *error)
{
    json_t *theorem_1 = budget->is_clos ? json_real(budget->theorem_1) : json_null();

    return pd_cli_json_print(json_pack("{s:o, s:f, s:f, s:o, s:o}", "theorem_1", theorem_1, "rate",
                                       budget->rate, "held", budget->held, "busiest",
                                       busiest_json(topology, budget), "theorem_2",
                                       theorem_2_json(budget)),
                             error);
}

static void print_text(const struct pd_topology *topology, const struct pd_budget *budget,
                       const struct pd_budget_ask *ask)
{
    printf("%.4g traces a second from each host\n", budget->rate);
    if (budget->held < budget->rate) {
        printf("agents hold %.4g, since answers of all hosts at once spread around their mean\n",
               budget->held);
    }
    if (budget->is_clos) {
        printf("Theorem 1 allows %.4g", budget->theorem_1);
    } else {
        printf("Theorem 1 says nothing: this is no Clos network of equal pods");
    }
    if (budget->busiest != PD_NONE) {
        printf("; at %.4g switch %u answers %.4g times a second, and may %.4g times",
               budget->is_clos ? budget->theorem_1 : budget->rate,
               topology->switches[budget->busiest].id, budget->busiest_per_s, ask->t_max);
    }
    putchar('\n');
    if (budget->has_theorem_2) {
        printf("Theorem 2: %u bad links stand above all others while these lose at most %.3g "
               "(alpha %.4g); its conditions %s here\n",
               ask->bad_links, budget->noise_max, budget->alpha,
               budget->holds ? "hold" : "do not hold");
    } else if (ask->bad_links) {
        printf("Theorem 2 says nothing of %u bad links in this network\n", ask->bad_links);
    }
}

static int run_budget(const void *settings, const struct pd_cli_words *words,
                      struct pd_error *error)
{
    const struct settings *set = settings;
    struct pd_topology *topology;
    struct pd_budget budget;
    int err = pd_topology_read(set->topology, &topology, error);

    (void)words;
    if (err) {
        return err;
    }
    err = pd_trace_budget_work_out(topology, &set->ask, &budget, error);
    if (!err && set->json) {
        err = print_json(topology, &budget, error);
    } else if (!err) {
        print_text(topology, &budget, &set->ask);
    }
    pd_topology_free(topology);
    return err;
}

static const struct pd_option budget_options[] = {
    {.name = "topology",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, topology),
     .value = "FILE",
     .help = "topology file"},
    {.name = "tmax",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, t_max),
     .value = "N",
     .fallback = "100",
     .help = "ICMP answers a second that a switch may give"},
    {.name = "bad-links",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, bad_links),
     .min = 1,
     .max = 1000000,
     .value = "K",
     .help = "how many links are bad, for Theorem 2"},
    {.name = "loss",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, loss),
     .value = "SHARE",
     .help = "what each of them drops, as in 0.0005"},
    {.name = "packets",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, packets),
     .value = "MIN,MAX",
     .help = "packets of a flow"},
    {.name = "json",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "one JSON object"},
    {0},
};

const struct pd_cli_command pd_cli_trace_budget = {
    .name = "trace budget",
    .synopsis =
        "--topology FILE [--tmax N] [--bad-links K --loss SHARE --packets MIN,MAX] [--json]",
    .help = "how often hosts may trace",
    .details =
        "Prints how many flows a second each host may trace so that no switch has to answer more "
        "often than --tmax: the smaller of Theorem 1 of the 007 paper, which is for Clos networks "
        "and counts the way up only, and the exact bound of the busiest switch, when racks talk "
        "evenly and switches spread flows over all shortest paths.\n"
        "With --bad-links, --loss and --packets also what Theorem 2 says: how much healthy links "
        "may lose so that votes still rank the bad ones first.",
    .options = budget_options,
    .required = "topology",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .check = check_budget,
    .run = run_budget,
};

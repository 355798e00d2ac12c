/* SPDX-License-Identifier: Apache-2.0 */
/* Queries as asked become queries of a plan: codes, parameters, sets; the plan's reader checks. */
#include "codec/pint/planner.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/pint/shares.h"
#include "codec/pint/trials.h"

#define SEARCH_TRIALS 48   /* of each candidate */
#define SEARCH_BITS   1024 /* of digests that it may take */
#define LINKS_DOWN    33   /* one of so many, in a search: 30 of the 895 of Kentucky Datalink */
#define MIN_DEFAULT   1
#define LEN_DEFAULT   5

const char *const pd_pint_parameters_names[] = {
#define X(name, id, text) id,
    PD_PINT_PARAMETERS(X)
#undef X
        NULL,
};

static int wrong(struct pd_error *error, const char *name, size_t query, const char *words)
{
    return pd_fail(error, -PD_E_VALUE, "%s: queries[%zu].%s", name, query, words);
}

/* ---- the paper's parameters */

static unsigned log_star(double x)
{
    unsigned n = 0;

    for (; x > 1; n++) {
        x = log(x);
    }
    return n;
}

static uint32_t of_one(double share)
{
    return share >= 1 ? PD_PINT_ONE : share <= 0 ? 0 : (uint32_t)lround(share * PD_PINT_ONE);
}

void pd_pint_parameters(enum pd_pint_parameters parameters, double len, uint32_t *ret_tau,
                        uint32_t *ret_layers, unsigned *ret_layers_len)
{
    const double d = len < 3 ? 3 : len;
    const double loglog = log(log_star(d));
    double tower = 1;

    *ret_layers_len = 0;
    if (parameters == PD_PINT_TEXT) { /* footnote 8: up to 15 switches, log log d is below 1 */
        *ret_tau = of_one(.75);
        ret_layers[(*ret_layers_len)++] = of_one(d <= 15 ? 1 / log(d) : log(log(d)) / log(d));
        return;
    }
    *ret_tau =
        of_one(parameters == PD_PINT_REVISED ? (1 + loglog) / (2 + loglog) : loglog / (1 + loglog));
    while (tower < d && *ret_layers_len < PD_PINT_LAYERS_MAX) {
        ret_layers[(*ret_layers_len)++] = of_one(tower / d);
        tower = exp(tower);
    }
}

/* Shortest paths between racks: switches in the mean, links of the longest, over some racks. */
static void measure_paths(const struct pd_topology *topology, double *ret_mean,
                          uint32_t *ret_longest)
{
    const uint32_t n = topology->switches_len, step = n / 256 + 1;
    uint32_t *distance = malloc((n + 1) * sizeof *distance);
    uint32_t *queue = malloc((n + 1) * sizeof *queue);
    double sum = 0, pairs = 0;

    *ret_longest = 0;
    for (uint32_t from = 0; distance && queue && from < n; from += step) {
        uint32_t head = 0, tail = 0;
        memset(distance, 0xff, n * sizeof *distance);
        distance[from] = 0;
        for (queue[tail++] = from; head < tail; head++) {
            const uint32_t at = queue[head];
            const struct pd_switch *sw = &topology->switches[at];
            for (uint32_t k = 0; k < sw->switch_neighbours; k++) {
                const uint32_t to = sw->neighbours[k].node;
                if (distance[to] == PD_NONE) {
                    distance[to] = distance[at] + 1;
                    queue[tail++] = to;
                }
            }
            if (topology->switches[from].prefixes_len && sw->prefixes_len && at != from) {
                sum += distance[at] + 1;
                pairs++;
                *ret_longest = distance[at] > *ret_longest ? distance[at] : *ret_longest;
            }
        }
    }
    free(distance);
    free(queue);
    *ret_mean = pairs > 0 ? sum / pairs : LEN_DEFAULT;
}

static double typical_len(const struct pd_topology *topology)
{
    uint32_t longest;
    double mean;

    measure_paths(topology, &mean, &longest);
    return mean;
}

/* As long as a trial can follow. */
static uint32_t longest_links(const struct pd_topology *topology)
{
    uint32_t longest;
    double mean;

    measure_paths(topology, &mean, &longest);
    return longest < PD_PINT_HOPS_MAX ? longest : PD_PINT_HOPS_MAX - 1;
}

/* ---- the search */

static uint32_t count_links(const struct pd_topology *topology)
{
    uint32_t links = 0;

    for (uint32_t s = 0; s < topology->switches_len; s++) {
        links += topology->switches[s].switch_neighbours;
    }
    return links / 2;
}

static struct pd_pint_plan path_plan(const struct pd_pint_order *order, unsigned bits,
                                     unsigned instances)
{
    return (struct pd_pint_plan){
        .seed = order->seed,
        .bits = PD_PINT_BITS_MAX,
        .queries = {{.name = "path",
                     .bits = (uint8_t)bits,
                     .instances = (uint8_t)instances,
                     .fragments = 1,
                     .xor_len = 1}},
        .queries_len = 1,
        .sets = {{.weight = PD_PINT_ONE, .queries_len = 1}},
        .sets_len = 1,
    };
}

/* The least number of packets until known, and nothing undecided: on any paths, and on the longest
 * ones, which have the most walks beside them. On a topology without paths, the first. */
static int try_plan(const struct pd_pint_order *order, const struct pd_pint_plan *plan,
                    uint32_t longest, double *ret_mean)
{
    struct pd_pint_trials trials = {.trials = SEARCH_TRIALS,
                                    .seed = order->seed,
                                    .src = PD_NONE,
                                    .dst = PD_NONE,
                                    .links = longest,
                                    .links_down = count_links(order->topology) / LINKS_DOWN,
                                    .known_bits = PD_PINT_KNOWN_BITS,
                                    .packets_max =
                                        SEARCH_BITS / pd_pint_query_bits(&plan->queries[0])};
    struct pd_pint_outcome outcome;
    int err = pd_pint_trials_run(order->topology, plan, &trials, &outcome, NULL);

    if (!err && !outcome.undecided) {
        const double mean = outcome.known.mean;
        trials.links = 0;
        err = pd_pint_trials_run(order->topology, plan, &trials, &outcome, NULL);
        *ret_mean = outcome.undecided ? INFINITY : mean + outcome.known.mean;
    } else {
        *ret_mean = INFINITY;
    }
    return err;
}

static int search(const struct pd_pint_order *order, unsigned bits, unsigned instances,
                  uint32_t *ret_tau, uint32_t *ret_layer)
{
    static const struct {
        uint32_t tau, layer;
    } candidates[] = {{32768, 65536}, {49152, 65536}, {16384, 65536}, {32768, 32768},
                      {49152, 32768}, {49152, 16384}, {0, 65536}};
    const uint32_t longest = longest_links(order->topology);
    struct pd_pint_plan plan = path_plan(order, bits, instances);
    double best = INFINITY;

    *ret_tau = candidates[0].tau;
    *ret_layer = candidates[0].layer;
    int err = pd_pint_plan_lay_out(&plan, NULL);
    for (size_t i = 0; !err && i < sizeof candidates / sizeof *candidates; i++) {
        double mean = INFINITY;
        plan.queries[0].tau = candidates[i].tau;
        plan.queries[0].xor_layers[0] = candidates[i].layer;
        err = try_plan(order, &plan, longest, &mean);
        if (!err && mean < best) {
            best = mean;
            *ret_tau = plan.queries[0].tau;
            *ret_layer = plan.queries[0].xor_layers[0];
        }
    }
    return err == -PD_E_NOT_FOUND ? 0 : err;
}

/* ---- queries */

static int add_parameters(const struct pd_pint_order *order, json_t *query)
{
    uint32_t tau, layers[PD_PINT_LAYERS_MAX];
    unsigned layers_len = 1;
    const json_t *instances = json_object_get(query, "instances");
    const json_int_t bits = json_integer_value(json_object_get(query, "bits"));
    const json_int_t times = instances ? json_integer_value(instances) : 1;

    if (json_object_get(query, "tau") || bits < 1 || times < 1 || bits * times > PD_PINT_BITS_MAX) {
        return 0; /* given; or the plan's reader says what is wrong */
    }
    if (order->parameters == PD_PINT_SEARCH) {
        int err = search(order, (unsigned)bits, (unsigned)times, &tau, &layers[0]);
        if (err) {
            return err;
        }
    } else {
        pd_pint_parameters(order->parameters, typical_len(order->topology), &tau, layers,
                           &layers_len);
    }
    json_t *list = json_array();
    for (unsigned l = 0; l < layers_len; l++) {
        json_array_append_new(list, json_integer(layers[l]));
    }
    json_object_set_new(query, "tau", json_integer(tau));
    json_object_set_new(query, "xor", list);
    return 0;
}

static double number_of(const json_t *query, const char *key, double fallback)
{
    const json_t *value = json_object_get(query, key);
    return json_is_number(value) ? json_number_value(value) : value ? -1 : fallback;
}

/* 0 is a code of its own where the scale is logarithmic. */
static double value_at(bool is_log, double min, double max, unsigned code, unsigned codes)
{
    if (!is_log) {
        return min + (max - min) * code / (codes - 1);
    }
    if (codes == 2) {
        return code ? max : 0;
    }
    return code ? min * pow(max / min, (code - 1.) / (codes - 2)) : 0;
}

static double bound_at(bool is_log, double before, double value, double min)
{
    return is_log ? (before > 0 ? sqrt(before * value) : min / 2) : (before + value) / 2;
}

static void add_code_lists(json_t *query, bool is_log, double min, double max, unsigned codes)
{
    json_t *values = json_array(), *bounds = json_array();
    double before = 0;

    for (unsigned code = 0; code < codes; code++) {
        const double value = value_at(is_log, min, max, code, codes);
        const double bound = code ? bound_at(is_log, before, value, min) : 0;
        json_array_append_new(values, json_integer((json_int_t)llround(value)));
        json_array_append_new(bounds, json_integer((json_int_t)ceil(bound)));
        before = value;
    }
    json_object_set_new(query, "values", values);
    json_object_set_new(query, "bounds", bounds);
}

static int add_codes(json_t *query, bool is_packet, const char *name, size_t number,
                     struct pd_error *error)
{
    const char *scale = json_string_value(json_object_get(query, "scale"));
    const json_int_t bits = json_integer_value(json_object_get(query, "bits"));
    const bool is_log = !scale || !strcmp(scale, "log");
    const bool flag =
        !strcmp("high-latency", json_string_value(json_object_get(query, "value"))
                                    ? json_string_value(json_object_get(query, "value"))
                                    : "");
    const double min = number_of(query, "min", flag ? 0 : MIN_DEFAULT);
    const double max = number_of(query, "max", flag ? 1 : -1);

    if (json_object_get(query, "values") || bits < 1 || bits > 8) {
        return 0;
    }
    if (scale && !is_log && strcmp(scale, "linear") != 0) {
        return wrong(error, name, number, "scale: wrong, expected log or linear");
    }
    if (max < 1 || max > (double)PD_PINT_VALUE_MAX || min < (is_log && !flag ? 1 : 0) ||
        min >= max) {
        return wrong(error, name, number,
                     "min, max: wrong or missing, expected numbers, min below max; 1 or more on a "
                     "logarithmic scale");
    }
    if (!json_object_get(query, "rounding")) {
        json_object_set_new(query, "rounding", json_string(is_packet ? "random" : "nearest"));
    }
    add_code_lists(query, is_log && !flag, min, max, 1u << bits);
    return 0;
}

static int complete(const struct pd_pint_order *order, json_t *query, const char *name,
                    size_t number, struct pd_error *error)
{
    const char *aggregation = json_string_value(json_object_get(query, "aggregation"));
    int err = 0;

    if (!aggregation) {
        return wrong(error, name, number, "aggregation: missing");
    }
    if (!strcmp(aggregation, "static")) {
        err = add_parameters(order, query);
        err = err ? pd_fail(error, err, "%s: %s", name, pd_error_text(err)) : 0;
    } else if (!strcmp(aggregation, "dynamic") || !strcmp(aggregation, "packet")) {
        err = add_codes(query, !strcmp(aggregation, "packet"), name, number, error);
    }
    return err;
}

static int read_frequency(const json_t *query, const char *name, size_t number,
                          double *ret_frequency, struct pd_error *error)
{
    *ret_frequency = number_of(query, "frequency", 1);
    return *ret_frequency >= 0 && *ret_frequency <= 1
               ? 0
               : wrong(error, name, number, "frequency: wrong, expected a number from 0 to 1");
}

/* ---- the plan */

static int add_sets(struct pd_pint_plan *plan, const double *frequencies, const char *name,
                    struct pd_error *error)
{
    struct pd_pint_request requests[PD_PINT_QUERIES_MAX];
    unsigned sets_len = 0, misfit = 0;
    double needed;

    for (unsigned q = 0; q < plan->queries_len; q++) {
        requests[q] =
            (struct pd_pint_request){pd_pint_query_bits(&plan->queries[q]), frequencies[q]};
    }
    int err = pd_pint_shares(requests, plan->queries_len, plan->bits, plan->sets, &sets_len,
                             &misfit, &needed);
    if (!err) {
        plan->sets_len = (uint8_t)sets_len;
        return pd_pint_plan_lay_out(plan, error);
    }
    if (isinf(needed)) {
        return pd_fail(error, err, "%s: \"%s\" does not fit: it has %u bits, a digest has %u", name,
                       plan->queries[misfit].name, requests[misfit].bits, plan->bits);
    }
    return pd_fail(error, err,
                   "%s: \"%s\" does not fit beside the others: all together they need %.4f packets "
                   "for each packet",
                   name, plan->queries[misfit].name, needed);
}

/* Through the reader, so that every number is checked as those of a file are. */
static int read_back(const json_t *queries, const struct pd_pint_order *order, const char *name,
                     struct pd_pint_plan **ret_plan, struct pd_error *error)
{
    json_t *root =
        json_pack("{s:i,s:I,s:s,s:i,s:O,s:[{s:i,s:[]}]}", "version", 1, "seed",
                  (json_int_t)order->seed, "carrier", pd_pint_carrier_names[order->carrier], "bits",
                  (int)order->bits, "queries", queries, "sets", "weight", 0, "queries");
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    int err = text ? pd_pint_plan_parse(text, strlen(text), name, ret_plan, error)
                   : pd_fail(error, -ENOMEM, "%s: %s", name, pd_error_text(-ENOMEM));

    free(text);
    json_decref(root);
    return err;
}

int pd_pint_plan_make(const json_t *queries, const char *name, const struct pd_pint_order *order,
                      struct pd_pint_plan **ret_plan, struct pd_error *error)
{
    double frequencies[PD_PINT_QUERIES_MAX] = {0};
    struct pd_pint_plan *plan = NULL;
    json_t *own;
    int err = 0;

    if (!json_is_array(queries) || json_array_size(queries) == 0 ||
        json_array_size(queries) > PD_PINT_QUERIES_MAX) {
        return pd_fail(error, -PD_E_VALUE, "%s: expected a list of 1 to %d queries", name,
                       PD_PINT_QUERIES_MAX);
    }
    own = json_deep_copy(queries);
    for (size_t q = 0; !err && q < json_array_size(own); q++) {
        json_t *query = json_array_get(own, q);
        err = read_frequency(query, name, q, &frequencies[q], error);
        if (!err) {
            err = complete(order, query, name, q, error);
        }
    }
    if (!err) {
        err = read_back(own, order, name, &plan, error);
    }
    if (!err) {
        err = add_sets(plan, frequencies, name, error);
    }
    json_decref(own);
    if (err) {
        pd_pint_plan_free(plan);
        return err;
    }
    *ret_plan = plan;
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios: the JSON reader, which checks every member and names the one that is wrong. */
#include "sim/scenario.h"

#include "sim/epoch.h"
#include "sim/meters.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "codec/pint/plan.h"
#include "probe/plan/plan.h"
#include "topology/generators.h"
#include "topology/links.h"
#include "json/cursor.h"

enum { FILE_BYTES_MAX = 4 << 20 };

struct reader {
    const json_t *root;
    const char *name; /* of the file */
    bool files;
    struct pd_sim_scenario scenario;
    struct pd_error *error;
};

#define FAIL(reader, ...) pd_fail((reader)->error, -PD_E_VALUE, __VA_ARGS__)

/* ---- plain members */

static struct pd_json_cursor at(const struct reader *reader, const json_t *object)
{
    return (struct pd_json_cursor){.object = object, .err = -PD_E_VALUE, .error = reader->error};
}

static int known_only(const struct reader *reader, const json_t *object, const char *const *names)
{
    const struct pd_json_cursor cursor = at(reader, object);

    return pd_json_only(&cursor, names);
}

static int read_real(const struct reader *reader, const json_t *object, const char *key,
                     double least, double most, double *value)
{
    const struct pd_json_cursor cursor = at(reader, object);

    return pd_json_real_or(&cursor, key, least, most, value);
}

static int read_count(const struct reader *reader, const char *key, uint32_t least, uint32_t most,
                      uint32_t *value)
{
    const struct pd_json_cursor cursor = at(reader, reader->root);
    uint64_t count = *value;
    int err = pd_json_number_or(&cursor, key, least, most, &count);
    *value = (uint32_t)count;
    return err;
}

static int read_epochs(struct reader *reader)
{
    struct pd_sim_scenario *s = &reader->scenario;
    int err = pd_sim_epochs_read(reader->root, &s->epochs, reader->error);
    s->duration_s = s->epochs.epochs * s->epochs.epoch_s;
    s->period_ms = (uint32_t)(s->epochs.epoch_s * 1000);
    return err;
}

static int read_level(struct reader *reader)
{
    static const char *const names[] = {
        [PD_SIM_FLOWS] = "flow", [PD_SIM_PACKETS] = "packet", [PD_SIM_EPOCHS] = "epoch"};
    const struct pd_json_cursor cursor = at(reader, reader->root);
    unsigned level = PD_SIM_FLOWS;
    int err = pd_json_word_or(&cursor, "level", names, sizeof names / sizeof *names, &level);

    reader->scenario.level = (enum pd_sim_level)level;
    return !err && level == PD_SIM_EPOCHS ? read_epochs(reader) : err;
}

static int read_spray(struct reader *reader)
{
    const struct pd_json_cursor cursor = at(reader, reader->root);

    return pd_json_flag_or(&cursor, "spray", &reader->scenario.spray);
}

static int read_probes(struct reader *reader)
{
    static const char *const names[] = {"rate_hz", "max_hops", NULL};
    const json_t *given = json_object_get(reader->root, "probes");
    const struct pd_json_cursor cursor = {
        .object = given, .place = "probes", .err = -PD_E_VALUE, .error = reader->error};
    uint64_t hops = PD_PLAN_HOPS_DEFAULT;
    struct pd_sim_scenario *s = &reader->scenario;

    if (!given) {
        return 0;
    }
    if (!json_is_object(given) || s->level == PD_SIM_EPOCHS) {
        return FAIL(reader, "probes: expected an object, at the level of flows or of packets");
    }
    s->probe_rate_hz = 100;
    int err = pd_json_only(&cursor, names);
    err = err ? err : pd_json_number_or(&cursor, "max_hops", 1, PD_PLAN_HOPS_DEFAULT, &hops);
    s->probe_max_hops = (uint32_t)hops;
    return err ? err : pd_json_real_or(&cursor, "rate_hz", 0.1, 10000, &s->probe_rate_hz);
}

/* Where something else than hosts' own traffic is to be seen, there may be none of it. */
static double least_load(const struct reader *reader)
{
    return json_array_size(json_object_get(reader->root, "flows")) ||
                   json_object_get(reader->root, "probes") ||
                   json_object_get(reader->root, "meters")
               ? 0
               : 0.001;
}

static int read_numbers(struct reader *reader)
{
    struct pd_sim_scenario *s = &reader->scenario;
    double least = least_load(reader);
    int err = read_count(reader, "link_mbps", 1, 400000, &s->link_mbps);
    if (!err) {
        err = read_count(reader, "period_ms", 10, 60000, &s->period_ms);
    }
    if (!err) {
        err = read_count(reader, "alarm_retransmissions", 1, 1000000, &s->alarm_retransmissions);
    }
    if (!err) {
        err = read_count(reader, "buffer_pkts", 8, 65536, &s->buffer_pkts);
    }
    if (!err) {
        err = read_real(reader, reader->root, "load", least, 1, &s->load);
    }
    if (!err) {
        err = read_real(reader, reader->root, "duration_s", 0.01, 86400, &s->duration_s);
    }
    if (!err) {
        err = read_spray(reader);
    }
    err = err ? err : read_level(reader);
    err = err ? err
              : pd_sim_transport_read(reader->root, s->level == PD_SIM_PACKETS, &s->transport,
                                      reader->error);
    err = err ? err : read_probes(reader);
    return err ? err : pd_sim_meters_read(reader->root, s, reader->error);
}

/* ---- topology and sizes */

/* A file that the scenario names lies beside the scenario. */
static int beside(const struct reader *reader, const char *file, char ret_path[PATH_MAX])
{
    const char *slash = strrchr(reader->name, '/');
    int folder = slash && *file != '/' ? (int)(slash - reader->name) + 1 : 0;
    if (snprintf(ret_path, PATH_MAX, "%.*s%s", folder, reader->name, file) >= PATH_MAX) {
        return FAIL(reader, "a name of a file that is too long");
    }
    return 0;
}

static int read_topology_file(struct reader *reader, const char *file)
{
    char path[PATH_MAX];
    if (!reader->files) {
        return FAIL(reader, "topology: files are not read here");
    }
    int err = beside(reader, file, path);
    return err ? err : pd_topology_read(path, &reader->scenario.topology, reader->error);
}

/* {"clos":{"pods":2,…}}, or the one number of a generator that takes no other: {"fat_tree":8}. */
static int read_values(struct reader *reader, const struct pd_generator *generator,
                       const json_t *given, uint32_t values[PD_GENERATOR_OPTIONS_MAX])
{
    const char *key;
    json_t *member;
    size_t len = 0;
    while (generator->options[len].name) {
        len++;
    }
    json_t *one = json_is_integer(given) && len == 1
                      ? json_pack("{sO}", generator->options[0].name, given)
                      : json_incref((json_t *)(uintptr_t)given);
    bool good = json_is_object(one) && json_object_size(one) == len;
    json_object_foreach(one, key, member)
    {
        uint32_t place = pd_topology_generator_option(generator, key);
        json_int_t value = json_is_integer(member) ? json_integer_value(member) : -1;
        good &= place != PD_NONE && value >= 0 && value <= UINT32_MAX;
        if (good) {
            values[place] = (uint32_t)value;
        }
    }
    json_decref(one);
    return good ? 0
                : FAIL(reader, "topology: %s: expected a number for each of its options",
                       generator->name);
}

static int read_generated(struct reader *reader, const json_t *given)
{
    uint32_t values[PD_GENERATOR_OPTIONS_MAX] = {0};
    void *first = json_object_iter((json_t *)(uintptr_t)given);
    const struct pd_generator *generator =
        first ? pd_topology_generator_find(json_object_iter_key(first)) : NULL;
    if (json_object_size(given) != 1 || !generator) {
        return FAIL(reader, "topology: expected a file name or a generator, as {\"fat_tree\":K}");
    }
    int err = read_values(reader, generator, json_object_iter_value(first), values);
    if (err) {
        return err;
    }
    err = pd_topology_generate(generator, values, false, &reader->scenario.topology, reader->error);
    return err ? pd_fail_within(reader->error, "topology") : 0;
}

static int read_topology(struct reader *reader)
{
    const json_t *given = json_object_get(reader->root, "topology");
    int err = json_is_string(given) ? read_topology_file(reader, json_string_value(given))
                                    : read_generated(reader, given);
    if (err) {
        return err;
    }
    const struct pd_topology *topology = reader->scenario.topology;
    if (!topology || topology->hosts_len < 2) {
        return FAIL(reader, "topology: expected at least two hosts");
    }
    for (uint32_t i = 0; i < topology->hosts_len; i++) {
        if (!topology->hosts[i].addrs_len) {
            return FAIL(reader, "topology: host %u has no address", topology->hosts[i].id);
        }
    }
    return 0;
}

static int read_sizes(struct reader *reader)
{
    const json_t *given = json_object_get(reader->root, "flow_sizes");
    const char *name = given ? json_string_value(given) : "web-search";
    char path[PATH_MAX];
    if (!name) {
        return FAIL(reader, "flow_sizes: expected \"web-search\", \"hadoop\" or a CSV file");
    }
    if (!strcmp(name, "web-search") || !strcmp(name, "hadoop")) {
        return pd_sim_sizes_read(name, &reader->scenario.sizes, reader->error);
    }
    if (!reader->files) {
        return FAIL(reader, "flow_sizes: files are not read here");
    }
    int err = beside(reader, name, path);
    if (!err) {
        err = pd_sim_sizes_read(path, &reader->scenario.sizes, reader->error);
    }
    return err ? pd_fail_within(reader->error, "flow_sizes") : 0;
}

/* ---- telemetry */

static int read_plan_text(struct reader *reader, const json_t *given)
{
    char *text = json_dumps(given, JSON_COMPACT);
    int err = text ? pd_pint_plan_parse(text, strlen(text), "telemetry", &reader->scenario.plan,
                                        reader->error)
                   : pd_fail(reader->error, -ENOMEM, "no memory");

    free(text);
    return err;
}

static bool tells_utilisation(const struct pd_pint_plan *plan)
{
    for (unsigned q = 0; q < plan->queries_len; q++) {
        const struct pd_pint_query *query = &plan->queries[q];
        if (query->aggregation == PD_PINT_PACKET && query->function == PD_PINT_MAX &&
            query->value == PD_PINT_UTILISATION) {
            return true;
        }
    }
    return false;
}

/* A plan, or a file that has one. */
static int read_telemetry(struct reader *reader)
{
    struct pd_sim_scenario *s = &reader->scenario;
    const json_t *given = json_object_get(reader->root, "telemetry");
    char path[PATH_MAX];
    int err;

    if (!given) {
        return 0;
    }
    if (!json_is_string(given)) {
        err = read_plan_text(reader, given);
    } else if (!reader->files) {
        return FAIL(reader, "telemetry: files are not read here");
    } else {
        err = beside(reader, json_string_value(given), path);
        err = err ? err : pd_pint_plan_read(path, &s->plan, reader->error);
        err = err ? pd_fail_within(reader->error, "telemetry") : 0;
    }
    if (!err && s->transport.kind == PD_SIM_HPCC_PINT && !tells_utilisation(s->plan)) {
        err = FAIL(reader, "telemetry: hpcc-pint needs the maximum of utilisation-ppm by packet");
    }
    if (!err && !s->transport.overhead_given && s->transport.kind != PD_SIM_HPCC_INT &&
        s->plan->carrier == PD_PINT_TAG) {
        s->transport.overhead_bytes = PD_SIM_TAG_BYTES;
    }
    return err;
}

/* ---- faults */

/* The list `key`, each member by `read`, whose errors get the place in front. */
static int read_list(struct reader *reader, const char *key, size_t most,
                     int (*read)(struct reader *reader, const json_t *object))
{
    const struct pd_json_cursor cursor = at(reader, reader->root);
    const json_t *list = NULL;
    char place[40];
    int err = pd_json_list_or(&cursor, key, 0, most, &list);
    for (size_t i = 0; i < json_array_size(list); i++) {
        err = read(reader, json_array_get(list, i));
        snprintf(place, sizeof place, "%s[%zu]", key, i);
        if (err) {
            pd_fail_within(reader->error, place);
            return err;
        }
    }
    return err;
}

/* Counted before it is read: what is half read is freed, too. */
static int add_fault(struct reader *reader, const json_t *object)
{
    struct pd_sim_scenario *s = &reader->scenario;
    struct pd_sim_fault *fault = &s->faults[s->faults_len++];
    int err = pd_sim_fault_read(s->topology, object, fault, reader->error);
    if (!err && s->level == PD_SIM_EPOCHS && pd_sim_fault_chooses(fault)) {
        return FAIL(reader, "\"prefix\" and \"hash\" are not for the level of epochs");
    }
    return err;
}

static int read_faults(struct reader *reader)
{
    struct pd_sim_scenario *s = &reader->scenario;
    s->faults = calloc(PD_SCENARIO_FAULTS_MAX, sizeof *s->faults);
    return s->faults ? read_list(reader, "faults", PD_SCENARIO_FAULTS_MAX, add_fault)
                     : pd_fail(reader->error, -ENOMEM, "no memory");
}

/* ---- flows of the plan */

static int read_host(const struct reader *reader, const json_t *object, const char *key,
                     uint32_t *ret_host)
{
    const struct pd_json_cursor cursor = at(reader, object);
    uint64_t id = 0;
    int err = pd_json_number(&cursor, key, 1, UINT32_MAX, &id);
    *ret_host = err ? PD_NONE : pd_topology_host(reader->scenario.topology, (uint32_t)id);
    return err || *ret_host != PD_NONE ? err : pd_json_wrong(&cursor, key, "the ID of a host");
}

static int read_port(const struct reader *reader, const json_t *object, const char *key,
                     uint16_t *port)
{
    const struct pd_json_cursor cursor = at(reader, object);
    uint64_t number = *port;
    int err = pd_json_number_or(&cursor, key, 0, UINT16_MAX, &number);
    *port = (uint16_t)number;
    return err;
}

static int add_planned(struct reader *reader, const json_t *object)
{
    static const char *const names[] = {"src",   "dst",     "src_port", "dst_port",
                                        "bytes", "start_s", NULL};
    struct pd_sim_scenario *s = &reader->scenario;
    struct pd_sim_planned flow = {.src_port = 1024, .dst_port = 80};
    if (!json_is_object(object)) {
        return FAIL(reader, "expected an object");
    }
    int err = known_only(reader, object, names);
    if (!err) {
        err = read_host(reader, object, "src", &flow.src);
    }
    if (!err) {
        err = read_host(reader, object, "dst", &flow.dst);
    }
    if (!err && flow.src == flow.dst) {
        return FAIL(reader, "dst: expected another host than src");
    }
    if (!err) {
        err = read_port(reader, object, "src_port", &flow.src_port);
    }
    if (!err) {
        err = read_port(reader, object, "dst_port", &flow.dst_port);
    }
    if (!err && !json_object_get(object, "bytes")) {
        return FAIL(reader, "bytes: is missing");
    }
    if (!err) {
        err = read_real(reader, object, "bytes", 1, PD_SIZES_BYTES_MAX, &flow.bytes);
    }
    if (!err) {
        err = read_real(reader, object, "start_s", 0, 86400, &flow.start_s);
    }
    if (!err) {
        s->planned[s->planned_len++] = flow;
    }
    return err;
}

static int by_start(const void *a, const void *b)
{
    const struct pd_sim_planned *x = a, *y = b;
    int order = (x->start_s > y->start_s) - (x->start_s < y->start_s);
    if (!order) {
        order = (x->src > y->src) - (x->src < y->src);
    }
    if (!order) {
        order = (x->dst > y->dst) - (x->dst < y->dst);
    }
    return order ? order : (x->src_port > y->src_port) - (x->src_port < y->src_port);
}

static int read_flows(struct reader *reader)
{
    struct pd_sim_scenario *s = &reader->scenario;
    size_t len = json_array_size(json_object_get(reader->root, "flows"));
    if (len > PD_SCENARIO_FLOWS_MAX) {
        len = 0; /* it is refused */
    }
    s->planned = calloc(len + 1, sizeof *s->planned);
    if (!s->planned) {
        return pd_fail(reader->error, -ENOMEM, "no memory");
    }
    int err = read_list(reader, "flows", PD_SCENARIO_FLOWS_MAX, add_planned);
    if (s->planned_len) {
        qsort(s->planned, s->planned_len, sizeof *s->planned, by_start);
    }
    return err;
}

/* ---- the whole */

void pd_sim_scenario_done(struct pd_sim_scenario *scenario)
{
    pd_topology_free(scenario->topology);
    pd_sim_sizes_done(&scenario->sizes);
    for (size_t i = 0; i < scenario->faults_len; i++) {
        pd_sim_fault_done(&scenario->faults[i]);
    }
    free(scenario->faults);
    free(scenario->planned);
    pd_pint_plan_free(scenario->plan);
    *scenario = (struct pd_sim_scenario){0};
}

static int read_all(struct reader *reader)
{
    static const char *const names[] = {"topology",       "link_mbps",
                                        "load",           "duration_s",
                                        "flow_sizes",     "spray",
                                        "faults",         "level",
                                        "period_ms",      "alarm_retransmissions",
                                        "buffer_pkts",    "flows",
                                        "epochs",         "epoch_s",
                                        "flows_per_host", "pkts_per_flow",
                                        "noise",          "random_faults",
                                        "traffic",        "probes",
                                        "meters",         "transport",
                                        "overhead_bytes", "hop_ns",
                                        "telemetry",      NULL};
    if (!json_is_object(reader->root)) {
        return pd_fail(reader->error, -PD_E_SYNTAX, "expected an object");
    }
    int err = known_only(reader, reader->root, names);
    if (!err) {
        err = read_numbers(reader);
    }
    if (!err) {
        err = read_topology(reader);
    }
    if (!err) {
        err = read_sizes(reader);
    }
    err = err ? err : read_telemetry(reader);
    if (!err) {
        err = read_faults(reader);
    }
    return err ? err : read_flows(reader);
}

int pd_sim_scenario_parse(const char *json, size_t bytes, const char *name, bool files,
                          struct pd_sim_scenario *ret_scenario, struct pd_error *error)
{
    json_error_t at;
    json_t *root = json_loadb(json, bytes, JSON_REJECT_DUPLICATES, &at);
    struct reader reader = {.root = root, .name = name, .files = files, .error = error};
    reader.scenario = (struct pd_sim_scenario){.link_mbps = 1000,
                                               .load = 0.7,
                                               .duration_s = 60,
                                               .period_ms = 200,
                                               .alarm_retransmissions = 1,
                                               .buffer_pkts = 512};
    if (!root) {
        return pd_fail(error, -PD_E_SYNTAX, "%.200s:%d:%d: %s", name, at.line, at.column, at.text);
    }
    int err = read_all(&reader);
    json_decref(root);
    if (err) {
        pd_sim_scenario_done(&reader.scenario);
        pd_fail_within(error, name);
        return err;
    }
    *ret_scenario = reader.scenario;
    return 0;
}

int pd_sim_scenario_read(const char *file, struct pd_sim_scenario *ret_scenario,
                         struct pd_error *error)
{
    FILE *in = fopen(file, "re");
    if (!in) {
        return pd_fail(error, -errno, "%.200s: %s", file, strerror(errno));
    }
    char *text = malloc(FILE_BYTES_MAX + 1);
    size_t bytes = text ? fread(text, 1, FILE_BYTES_MAX + 1, in) : 0;
    int err = 0;
    if (!text) {
        err = pd_fail(error, -ENOMEM, "no memory");
    } else if (ferror(in)) {
        err = pd_fail(error, -EIO, "%.200s: cannot be read", file);
    } else if (bytes > FILE_BYTES_MAX) {
        err = pd_fail(error, -PD_E_TOO_LARGE, "%.200s: more than 4 MiB", file);
    } else {
        err = pd_sim_scenario_parse(text, bytes, file, true, ret_scenario, error);
    }
    free(text);
    fclose(in);
    return err;
}

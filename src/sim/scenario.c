/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios: the JSON reader, which checks every member and names the one that is wrong. */
#include "sim/scenario.h"

#include "sim/epoch.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "topology/generators.h"
#include "topology/links.h"

enum { FILE_BYTES_MAX = 4 << 20, WEIGHT_MAX = 1000000 };

struct reader {
    const json_t *root;
    const char *name; /* of the file */
    bool files;
    struct pd_scenario scenario;
    struct pd_error *error;
};

#define FAIL(reader, ...) pd_fail((reader)->error, -PD_E_VALUE, __VA_ARGS__)

/* ---- plain members */

static int read_real(const struct reader *reader, const json_t *object, const char *key,
                     double least, double most, double *value)
{
    const json_t *given = json_object_get(object, key);
    if (!given) {
        return 0;
    }
    double real = json_number_value(given);
    if (!json_is_number(given) || !(real >= least && real <= most)) {
        return FAIL(reader, "%s: expected a number from %g to %g", key, least, most);
    }
    *value = real;
    return 0;
}

static int read_count(const struct reader *reader, const char *key, uint32_t least, uint32_t most,
                      uint32_t *value)
{
    const json_t *given = json_object_get(reader->root, key);
    if (!given) {
        return 0;
    }
    json_int_t count = json_integer_value(given);
    if (!json_is_integer(given) || count < least || count > most) {
        return FAIL(reader, "%s: expected an integer from %u to %u", key, least, most);
    }
    *value = (uint32_t)count;
    return 0;
}

static int read_epochs(struct reader *reader)
{
    struct pd_scenario *s = &reader->scenario;
    int code = pd_sim_epochs_read(reader->root, &s->epochs, reader->error);
    s->duration_s = s->epochs.epochs * s->epochs.epoch_s;
    s->period_ms = (uint32_t)(s->epochs.epoch_s * 1000);
    return code;
}

static int read_level(struct reader *reader)
{
    const json_t *given = json_object_get(reader->root, "level");
    const char *text = given ? json_string_value(given) : "flow";
    static const char *const names[] = {
        [PD_SIM_FLOWS] = "flow", [PD_SIM_PACKETS] = "packet", [PD_SIM_EPOCHS] = "epoch"};
    for (unsigned i = 0; text && i < sizeof names / sizeof *names; i++) {
        if (!strcmp(text, names[i])) {
            reader->scenario.level = (enum pd_sim_level)i;
            return i == PD_SIM_EPOCHS ? read_epochs(reader) : 0;
        }
    }
    return FAIL(reader, "level: expected \"flow\", \"packet\" or \"epoch\"");
}

static int read_spray(struct reader *reader)
{
    const json_t *given = json_object_get(reader->root, "spray");
    if (given && !json_is_boolean(given)) {
        return FAIL(reader, "spray: expected true or false");
    }
    reader->scenario.spray = json_is_true(given);
    return 0;
}

static int read_numbers(struct reader *reader)
{
    struct pd_scenario *s = &reader->scenario;
    double least = json_array_size(json_object_get(reader->root, "flows")) ? 0 : 0.001;
    int code = read_count(reader, "link_mbps", 1, 400000, &s->link_mbps);
    if (!code) {
        code = read_count(reader, "period_ms", 10, 60000, &s->period_ms);
    }
    if (!code) {
        code = read_count(reader, "alarm_retransmissions", 1, 1000000, &s->alarm_retransmissions);
    }
    if (!code) {
        code = read_count(reader, "buffer_pkts", 8, 65536, &s->buffer_pkts);
    }
    if (!code) {
        code = read_real(reader, reader->root, "load", least, 1, &s->load);
    }
    if (!code) {
        code = read_real(reader, reader->root, "duration_s", 0.01, 86400, &s->duration_s);
    }
    if (!code) {
        code = read_spray(reader);
    }
    return code ? code : read_level(reader);
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
    int code = beside(reader, file, path);
    return code ? code : pd_topology_read(path, &reader->scenario.topology, reader->error);
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
        uint32_t place = pd_generator_option(generator, key);
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
        first ? pd_generator_find(json_object_iter_key(first)) : NULL;
    if (json_object_size(given) != 1 || !generator) {
        return FAIL(reader, "topology: expected a file name or a generator, as {\"fat_tree\":K}");
    }
    int code = read_values(reader, generator, json_object_iter_value(first), values);
    if (code) {
        return code;
    }
    code = pd_generate(generator, values, false, &reader->scenario.topology, reader->error);
    return code ? pd_fail_within(reader->error, "topology") : 0;
}

static int read_topology(struct reader *reader)
{
    const json_t *given = json_object_get(reader->root, "topology");
    int code = json_is_string(given) ? read_topology_file(reader, json_string_value(given))
                                     : read_generated(reader, given);
    if (code) {
        return code;
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
        return pd_sizes_read(name, &reader->scenario.sizes, reader->error);
    }
    if (!reader->files) {
        return FAIL(reader, "flow_sizes: files are not read here");
    }
    int code = beside(reader, name, path);
    if (!code) {
        code = pd_sizes_read(path, &reader->scenario.sizes, reader->error);
    }
    return code ? pd_fail_within(reader->error, "flow_sizes") : 0;
}

/* ---- faults */

static int known_only(const struct reader *reader, const json_t *object, const char *const *names)
{
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        size_t i = 0;
        while (names[i] && strcmp(names[i], key) != 0) {
            i++;
        }
        if (!names[i]) {
            return pd_fail(reader->error, -PD_E_UNKNOWN_KEY, "%.60s: unknown member", key);
        }
    }
    return 0;
}

/* "9-17", all links between the two, or one of them, "9:3-17:5". */
static int read_link(const struct reader *reader, const json_t *object, struct pd_sim_fault *fault)
{
    const struct pd_topology *topology = reader->scenario.topology;
    const char *text = json_string_value(json_object_get(object, "link"));
    int code =
        text ? pd_links_parse(topology, text, &fault->link, &fault->links_len) : -PD_E_SYNTAX;
    if (code == -PD_E_SYNTAX) {
        return FAIL(reader, "link: expected two switch IDs as in \"9-17\"");
    }
    if (code || pd_links_of(topology, fault->link)->is_host) {
        return FAIL(reader, "link: the topology has no link %.60s", text);
    }
    fault->from = pd_links_from(topology, fault->link);
    fault->to = pd_links_to(topology, fault->link);
    return 0;
}

static int read_loss(const struct reader *reader, const json_t *object, struct pd_sim_fault *fault)
{
    static const char *const names[] = {"link", "loss", "blackhole", "start_s", NULL};
    const json_t *loss = json_object_get(object, "loss"),
                 *blackhole = json_object_get(object, "blackhole");
    int code = known_only(reader, object, names);
    if (!code) {
        code = read_link(reader, object, fault);
    }
    if (!code && (!loss == !blackhole || (blackhole && !json_is_true(blackhole)))) {
        return FAIL(reader, "expected \"loss\": a number, or \"blackhole\": true");
    }
    fault->loss = 1;
    return code ? code : read_real(reader, object, "loss", 0, 1, &fault->loss);
}

/* "17" among the neighbours of the switch. */
static int read_weight(const struct reader *reader, const char *key, const json_t *value,
                       const struct pd_sim_fault *fault)
{
    const struct pd_switch *sw = &reader->scenario.topology->switches[fault->from];
    double weight = json_number_value(value);
    uint32_t id, len;
    if (pd_switches_parse(key, &id, 1, &len)) {
        return FAIL(reader, "weights: expected IDs of switches, not \"%.40s\"", key);
    }
    for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
        if (reader->scenario.topology->switches[sw->neighbours[n].node].id != id) {
            continue;
        }
        if (!json_is_number(value) || !(weight >= 0 && weight <= WEIGHT_MAX)) {
            return FAIL(reader, "weights: %s: expected a number from 0 to %d", key, WEIGHT_MAX);
        }
        fault->weights[n] = weight;
        return 0;
    }
    return FAIL(reader, "weights: the topology has no link %u-%u", sw->id, id);
}

static int read_weights(const struct reader *reader, const json_t *given,
                        struct pd_sim_fault *fault)
{
    const struct pd_switch *sw = &reader->scenario.topology->switches[fault->from];
    const char *key;
    const json_t *value;
    if (!json_object_size(given)) {
        return FAIL(reader, "weights: expected an object as {\"17\":3,\"18\":1}");
    }
    fault->weights = calloc((size_t)sw->switch_neighbours + 1, sizeof *fault->weights);
    if (!fault->weights) {
        return pd_fail(reader->error, -ENOMEM, "no memory");
    }
    for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
        fault->weights[n] = 1;
    }
    json_object_foreach((json_t *)given, key, value)
    {
        int code = read_weight(reader, key, value, fault);
        if (code) {
            return code;
        }
    }
    return 0;
}

/* A switch that chooses badly. */
static int read_choice(const struct reader *reader, const json_t *object,
                       struct pd_sim_fault *fault)
{
    static const char *const names[] = {"switch", "split_bytes", "weights", "start_s", NULL};
    const json_t *id = json_object_get(object, "switch"),
                 *split = json_object_get(object, "split_bytes"),
                 *weights = json_object_get(object, "weights");
    json_int_t number = json_integer_value(id);
    int code = known_only(reader, object, names);
    if (code) {
        return code;
    }
    fault->from = number < 1 || number > UINT32_MAX
                      ? PD_NONE
                      : pd_topology_switch(reader->scenario.topology, (uint32_t)number);
    if (!json_is_integer(id) || fault->from == PD_NONE) {
        return FAIL(reader, "switch: expected the ID of a switch");
    }
    if (!split == !weights) {
        return FAIL(reader, "expected \"split_bytes\": a number, or \"weights\": an object");
    }
    fault->kind = split ? PD_SIM_SPLIT : PD_SIM_WEIGHTS;
    return split ? read_real(reader, object, "split_bytes", 1, PD_SIZES_BYTES_MAX,
                             &fault->split_bytes)
                 : read_weights(reader, weights, fault);
}

static int read_fault(const struct reader *reader, const json_t *object, struct pd_sim_fault *fault)
{
    if (!json_is_object(object)) {
        return FAIL(reader, "expected an object");
    }
    int code = json_object_get(object, "switch") ? read_choice(reader, object, fault)
                                                 : read_loss(reader, object, fault);
    return code ? code : read_real(reader, object, "start_s", 0, 86400, &fault->start_s);
}

/* The list `key`, each member by `read`, whose errors get the place in front. */
static int read_list(struct reader *reader, const char *key, size_t most,
                     int (*read)(struct reader *reader, const json_t *object))
{
    const json_t *given = json_object_get(reader->root, key);
    size_t len = json_array_size(given);
    char place[40];
    if (given && (!json_is_array(given) || len > most)) {
        return FAIL(reader, "%s: expected a list of at most %zu %s", key, most, key);
    }
    for (size_t i = 0; i < len; i++) {
        int code = read(reader, json_array_get(given, i));
        snprintf(place, sizeof place, "%s[%zu]", key, i);
        if (code) {
            pd_fail_within(reader->error, place);
            return code;
        }
    }
    return 0;
}

/* Counted before it is read: what is half read is freed, too. */
static int add_fault(struct reader *reader, const json_t *object)
{
    struct pd_scenario *s = &reader->scenario;
    return read_fault(reader, object, &s->faults[s->faults_len++]);
}

static int read_faults(struct reader *reader)
{
    struct pd_scenario *s = &reader->scenario;
    s->faults = calloc(PD_SCENARIO_FAULTS_MAX, sizeof *s->faults);
    return s->faults ? read_list(reader, "faults", PD_SCENARIO_FAULTS_MAX, add_fault)
                     : pd_fail(reader->error, -ENOMEM, "no memory");
}

/* ---- flows of the plan */

static int read_host(const struct reader *reader, const json_t *object, const char *key,
                     uint32_t *ret_host)
{
    const json_t *id = json_object_get(object, key);
    json_int_t number = json_integer_value(id);
    *ret_host = number < 1 || number > UINT32_MAX
                    ? PD_NONE
                    : pd_topology_host(reader->scenario.topology, (uint32_t)number);
    return *ret_host == PD_NONE ? FAIL(reader, "%s: expected the ID of a host", key) : 0;
}

static int read_port(const struct reader *reader, const json_t *object, const char *key,
                     uint16_t *port)
{
    double number = *port;
    int code = read_real(reader, object, key, 0, UINT16_MAX, &number);
    if (!code && number != floor(number)) {
        return FAIL(reader, "%s: expected a whole number", key);
    }
    *port = (uint16_t)number;
    return code;
}

static int add_planned(struct reader *reader, const json_t *object)
{
    static const char *const names[] = {"src",   "dst",     "src_port", "dst_port",
                                        "bytes", "start_s", NULL};
    struct pd_scenario *s = &reader->scenario;
    struct pd_sim_planned flow = {.src_port = 1024, .dst_port = 80};
    if (!json_is_object(object)) {
        return FAIL(reader, "expected an object");
    }
    int code = known_only(reader, object, names);
    if (!code) {
        code = read_host(reader, object, "src", &flow.src);
    }
    if (!code) {
        code = read_host(reader, object, "dst", &flow.dst);
    }
    if (!code && flow.src == flow.dst) {
        return FAIL(reader, "dst: expected another host than src");
    }
    if (!code) {
        code = read_port(reader, object, "src_port", &flow.src_port);
    }
    if (!code) {
        code = read_port(reader, object, "dst_port", &flow.dst_port);
    }
    if (!code && !json_object_get(object, "bytes")) {
        return FAIL(reader, "bytes: is missing");
    }
    if (!code) {
        code = read_real(reader, object, "bytes", 1, PD_SIZES_BYTES_MAX, &flow.bytes);
    }
    if (!code) {
        code = read_real(reader, object, "start_s", 0, 86400, &flow.start_s);
    }
    if (!code) {
        s->planned[s->planned_len++] = flow;
    }
    return code;
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
    struct pd_scenario *s = &reader->scenario;
    size_t len = json_array_size(json_object_get(reader->root, "flows"));
    if (len > PD_SCENARIO_FLOWS_MAX) {
        len = 0; /* it is refused */
    }
    s->planned = calloc(len + 1, sizeof *s->planned);
    if (!s->planned) {
        return pd_fail(reader->error, -ENOMEM, "no memory");
    }
    int code = read_list(reader, "flows", PD_SCENARIO_FLOWS_MAX, add_planned);
    if (s->planned_len) {
        qsort(s->planned, s->planned_len, sizeof *s->planned, by_start);
    }
    return code;
}

/* ---- the whole */

void pd_scenario_done(struct pd_scenario *scenario)
{
    pd_topology_free(scenario->topology);
    pd_sizes_done(&scenario->sizes);
    for (size_t i = 0; i < scenario->faults_len; i++) {
        free(scenario->faults[i].weights);
    }
    free(scenario->faults);
    free(scenario->planned);
    *scenario = (struct pd_scenario){0};
}

static int read_all(struct reader *reader)
{
    static const char *const names[] = {
        "topology",      "link_mbps", "load",          "duration_s", "flow_sizes",
        "spray",         "faults",    "level",         "period_ms",  "alarm_retransmissions",
        "buffer_pkts",   "flows",     "epochs",        "epoch_s",    "flows_per_host",
        "pkts_per_flow", "noise",     "random_faults", "traffic",    NULL};
    if (!json_is_object(reader->root)) {
        return pd_fail(reader->error, -PD_E_SYNTAX, "expected an object");
    }
    int code = known_only(reader, reader->root, names);
    if (!code) {
        code = read_numbers(reader);
    }
    if (!code) {
        code = read_topology(reader);
    }
    if (!code) {
        code = read_sizes(reader);
    }
    if (!code) {
        code = read_faults(reader);
    }
    return code ? code : read_flows(reader);
}

int pd_scenario_parse(const char *json, size_t bytes, const char *name, bool files,
                      struct pd_scenario *ret_scenario, struct pd_error *error)
{
    json_error_t at;
    json_t *root = json_loadb(json, bytes, JSON_REJECT_DUPLICATES, &at);
    struct reader reader = {.root = root, .name = name, .files = files, .error = error};
    reader.scenario = (struct pd_scenario){.link_mbps = 1000,
                                           .load = 0.7,
                                           .duration_s = 60,
                                           .period_ms = 200,
                                           .alarm_retransmissions = 1,
                                           .buffer_pkts = 512};
    if (!root) {
        return pd_fail(error, -PD_E_SYNTAX, "%.200s:%d:%d: %s", name, at.line, at.column, at.text);
    }
    int code = read_all(&reader);
    json_decref(root);
    if (code) {
        pd_scenario_done(&reader.scenario);
        pd_fail_within(error, name);
        return code;
    }
    *ret_scenario = reader.scenario;
    return 0;
}

int pd_scenario_read(const char *file, struct pd_scenario *ret_scenario, struct pd_error *error)
{
    FILE *in = fopen(file, "re");
    if (!in) {
        return pd_fail(error, -errno, "%.200s: %s", file, strerror(errno));
    }
    char *text = malloc(FILE_BYTES_MAX + 1);
    size_t bytes = text ? fread(text, 1, FILE_BYTES_MAX + 1, in) : 0;
    int code = 0;
    if (!text) {
        code = pd_fail(error, -ENOMEM, "no memory");
    } else if (ferror(in)) {
        code = pd_fail(error, -EIO, "%.200s: cannot be read", file);
    } else if (bytes > FILE_BYTES_MAX) {
        code = pd_fail(error, -PD_E_TOO_LARGE, "%.200s: more than 4 MiB", file);
    } else {
        code = pd_scenario_parse(text, bytes, file, true, ret_scenario, error);
    }
    free(text);
    fclose(in);
    return code;
}

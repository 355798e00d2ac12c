/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of a scenario: their reader, which names the member that is wrong, and whom they take. */
#include "sim/faults.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/path.h"
#include "sim/sizes.h"
#include "topology/links.h"
#include "json/cursor.h"

enum { WEIGHT_MAX = 1000000, SECONDS_MAX = 86400, BURST_MAX = 1000000 };

struct reader {
    const struct pd_topology *topology;
    const json_t *object;
    struct pd_sim_fault *fault;
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

static int read_switch(const struct reader *reader, uint32_t *ret_sw)
{
    const struct pd_json_cursor cursor = at(reader, reader->object);
    uint64_t id = 0;
    int err = pd_json_number(&cursor, "switch", 1, UINT32_MAX, &id);
    *ret_sw = err ? PD_NONE : pd_topology_switch(reader->topology, (uint32_t)id);
    return err || *ret_sw != PD_NONE ? err : pd_json_wrong(&cursor, "switch", "the ID of a switch");
}

static int read_times(const struct reader *reader)
{
    struct pd_sim_fault *fault = reader->fault;
    int err = read_real(reader, reader->object, "start_s", 0, SECONDS_MAX, &fault->start_s);
    if (!err) {
        err = read_real(reader, reader->object, "end_s", 0, SECONDS_MAX, &fault->end_s);
    }
    return !err && fault->end_s <= fault->start_s ? FAIL(reader, "end_s: it is not after start_s")
                                                  : err;
}

/* ---- where */

static int add_link(const struct reader *reader, uint32_t link)
{
    struct pd_sim_fault *fault = reader->fault;
    if (PD_GROW(fault->links, fault->links_room, fault->links_len + 1)) {
        return pd_fail(reader->error, -ENOMEM, "no memory");
    }
    fault->links[fault->links_len++] = link;
    return 0;
}

/* "9-17", all links between the two, or one of them, "9:3-17:5"; "1-21" is a host's. */
static int read_link(const struct reader *reader)
{
    const char *text = json_string_value(json_object_get(reader->object, "link"));
    uint32_t link = 0, len = 0;
    int err = text ? pd_topology_links_parse(reader->topology, text, &link, &len) : -PD_E_SYNTAX;
    if (err) {
        return err == -PD_E_SYNTAX ? FAIL(reader, "link: expected two IDs as in \"9-17\"")
                                   : FAIL(reader, "link: the topology has no link %.60s", text);
    }
    for (uint32_t nth = 0; nth < len && !err; nth++) {
        err = add_link(reader, link + 2 * nth);
    }
    return err;
}

static int add_port(const struct reader *reader, uint32_t link, uint64_t card)
{
    if (!card) {
        return add_link(reader, link);
    }
    if (pd_links_card(reader->topology, link) != card) {
        return 0;
    }
    int err = add_link(reader, link);
    return err ? err : add_link(reader, pd_links_reverse(link));
}

/* All ports of a switch, or those of a card. */
static int read_ports(const struct reader *reader)
{
    const struct pd_json_cursor cursor = at(reader, reader->object);
    uint64_t card = 0;
    uint32_t sw;
    int err = read_switch(reader, &sw);
    err = err ? err : pd_json_number_or(&cursor, "card", 1, UINT32_MAX, &card);
    if (err) {
        return err;
    }
    const struct pd_switch *entry = &reader->topology->switches[sw];
    for (uint32_t n = 0; n < entry->neighbours_len; n++) {
        for (uint32_t nth = 0; nth < entry->neighbours[n].parallel && !err; nth++) {
            err = add_port(reader, entry->neighbours[n].link + 2 * nth, card);
        }
    }
    if (!err && !reader->fault->links_len) {
        err = FAIL(reader, "card: switch %u has no port on it", entry->id);
    }
    return err;
}

/* ---- what */

static int read_burst(const struct reader *reader)
{
    static const char *const names[] = {"mean_pkts", NULL};
    const json_t *given = json_object_get(reader->object, "burst");
    struct pd_sim_fault *fault = reader->fault;
    if (!given) {
        return 0;
    }
    if (!json_object_get(given, "mean_pkts") || fault->loss <= 0 || fault->loss >= 1) {
        return FAIL(reader, "burst: expected {\"mean_pkts\":N}, with a loss between 0 and 1");
    }
    int err = known_only(reader, given, names);
    if (!err) {
        err = read_real(reader, given, "mean_pkts", 1, BURST_MAX, &fault->burst_pkts);
    }
    if (!err && fault->loss > (1 - fault->loss) * fault->burst_pkts) {
        err = FAIL(reader, "burst: longer ones are needed for this loss");
    }
    return err;
}

static int read_choice(const struct reader *reader)
{
    const struct pd_json_cursor cursor = at(reader, reader->object);
    const json_t *prefix = json_object_get(reader->object, "prefix");
    const char *text = json_string_value(prefix);
    struct pd_sim_fault *fault = reader->fault;
    uint64_t hash[2] = {0, UINT16_MAX};
    size_t len;
    if (prefix && (!text || pd_prefix_parse(text, &fault->prefix))) {
        return FAIL(reader, "prefix: expected a prefix as in \"10.2.1.0/24\"");
    }
    int err = json_object_get(reader->object, "hash")
                  ? pd_json_numbers(&cursor, "hash", 2, 2, UINT16_MAX, hash, &len)
                  : 0;
    if (!err && hash[1] < hash[0]) {
        err = pd_json_wrong(&cursor, "hash", "two numbers in order");
    }
    fault->hash[0] = (uint16_t)hash[0];
    fault->hash[1] = (uint16_t)hash[1];
    return err;
}

static int read_loss(const struct reader *reader)
{
    static const char *const names[] = {"link", "switch", "card",  "loss",    "blackhole", "prefix",
                                        "hash", "burst",  "end_s", "start_s", NULL};
    const json_t *object = reader->object, *loss = json_object_get(object, "loss"),
                 *blackhole = json_object_get(object, "blackhole");
    bool of_link = json_object_get(object, "link");
    int err = known_only(reader, object, names);
    if (!err && (of_link == !!json_object_get(object, "switch") ||
                 (of_link && json_object_get(object, "card")))) {
        return FAIL(reader, "expected \"link\": two IDs, or \"switch\": its ID, with \"card\" or "
                            "without");
    }
    if (!err && (!loss == !blackhole || (blackhole && !json_is_true(blackhole)))) {
        return FAIL(reader, "expected \"loss\": a number, or \"blackhole\": true");
    }
    reader->fault->loss = 1;
    if (!err) {
        err = read_real(reader, object, "loss", 0, 1, &reader->fault->loss);
    }
    if (!err) {
        err = of_link ? read_link(reader) : read_ports(reader);
    }
    if (!err) {
        err = read_burst(reader);
    }
    return err ? err : read_choice(reader);
}

/* ---- choices of switches */

/* "17" among the neighbours of the switch. */
static int read_weight(const struct reader *reader, const char *key, const json_t *value)
{
    const struct pd_switch *sw = &reader->topology->switches[reader->fault->sw];
    double weight = json_number_value(value);
    uint32_t id, len;
    if (pd_switches_parse(key, &id, 1, &len)) {
        return FAIL(reader, "weights: expected IDs of switches, not \"%.40s\"", key);
    }
    for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
        if (reader->topology->switches[sw->neighbours[n].node].id != id) {
            continue;
        }
        if (!json_is_number(value) || !(weight >= 0 && weight <= WEIGHT_MAX)) {
            return FAIL(reader, "weights: %s: expected a number from 0 to %d", key, WEIGHT_MAX);
        }
        reader->fault->weights[n] = weight;
        return 0;
    }
    return FAIL(reader, "weights: the topology has no link %u-%u", sw->id, id);
}

static int read_weights(const struct reader *reader, const json_t *given)
{
    const struct pd_switch *sw = &reader->topology->switches[reader->fault->sw];
    const char *key;
    const json_t *value;
    if (!json_object_size(given)) {
        return FAIL(reader, "weights: expected an object as {\"17\":3,\"18\":1}");
    }
    double *weights = calloc((size_t)sw->switch_neighbours + 1, sizeof *weights);
    if (!weights) {
        return pd_fail(reader->error, -ENOMEM, "no memory");
    }
    reader->fault->weights = weights;
    for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
        weights[n] = 1;
    }
    json_object_foreach((json_t *)(uintptr_t)given, key, value)
    {
        int err = read_weight(reader, key, value);
        if (err) {
            return err;
        }
    }
    return 0;
}

/* A switch that chooses badly. */
static int read_choices(const struct reader *reader)
{
    static const char *const names[] = {"switch",  "split_bytes", "weights",
                                        "start_s", "end_s",       NULL};
    const json_t *split = json_object_get(reader->object, "split_bytes"),
                 *weights = json_object_get(reader->object, "weights");
    int err = known_only(reader, reader->object, names);
    if (!err) {
        err = read_switch(reader, &reader->fault->sw);
    }
    if (err) {
        return err;
    }
    if (split && weights) {
        return FAIL(reader, "expected \"split_bytes\": a number, or \"weights\": an object");
    }
    reader->fault->kind = split ? PD_SIM_SPLIT : PD_SIM_WEIGHTS;
    return split ? read_real(reader, reader->object, "split_bytes", 1, PD_SIZES_BYTES_MAX,
                             &reader->fault->split_bytes)
                 : read_weights(reader, weights);
}

/* ---- both */

int pd_sim_fault_read(const struct pd_topology *topology, const json_t *object,
                      struct pd_sim_fault *ret_fault, struct pd_error *error)
{
    const struct reader reader = {topology, object, ret_fault, error};
    *ret_fault = (struct pd_sim_fault){.end_s = INFINITY};
    if (!json_is_object(object)) {
        return FAIL(&reader, "expected an object");
    }
    bool chooses = json_object_get(object, "split_bytes") || json_object_get(object, "weights");
    int err = chooses ? read_choices(&reader) : read_loss(&reader);
    return err ? err : read_times(&reader);
}

void pd_sim_fault_done(struct pd_sim_fault *fault)
{
    free(fault->links);
    free(fault->weights);
    fault->links = NULL;
    fault->weights = NULL;
}

/* ---- whom they take */

uint16_t pd_sim_fault_hash(const struct pd_flow_id *flow)
{
    uint32_t words[9] = {0}, h = 0;
    uint8_t *bytes = (uint8_t *)words;
    bool ipv4 = flow->ip_version == 4;
    if (ipv4) { /* ::ffff:a.b.c.d */
        bytes[10] = bytes[11] = bytes[26] = bytes[27] = 0xff;
    }
    memcpy(bytes + (ipv4 ? 12 : 0), flow->src.bytes, ipv4 ? 4 : 16);
    memcpy(bytes + 16 + (ipv4 ? 12 : 0), flow->dst.bytes, ipv4 ? 4 : 16);
    words[8] = (uint32_t)flow->src_port << 16 | flow->dst_port;
    for (unsigned i = 0; i < 9; i++) {
        h = (h ^ words[i]) * 0x85ebca6b;
        h = (h ^ h >> 13) * 0xc2b2ae35;
        h ^= h >> 16;
    }
    return (uint16_t)(h >> 16);
}

static bool holds(const struct pd_prefix *prefix, const struct pd_flow_id *flow)
{
    const struct pd_prefix own = {flow->dst, flow->ip_version, flow->ip_version == 4 ? 32 : 128};
    return !prefix->ip_version || pd_prefix_within(prefix, &own);
}

bool pd_sim_fault_takes(const struct pd_sim_fault *fault, const struct pd_flow_id *flow)
{
    uint16_t hash = fault->hash[0] || fault->hash[1] != UINT16_MAX ? pd_sim_fault_hash(flow) : 0;
    return holds(&fault->prefix, flow) && hash >= fault->hash[0] && hash <= fault->hash[1];
}

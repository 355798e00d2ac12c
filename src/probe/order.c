/* SPDX-License-Identifier: Apache-2.0 */
/* Orders read from JSON that anybody may have written. */
#include "probe/order.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "telemetry/sr_int/sr_int.h"
#include "json/cursor.h"

#define KEY_DIGITS (2 * PD_SIPHASH_KEY_BYTES)

bool pd_probe_order_addrs(const struct pd_host *src, const struct pd_host *dst,
                          struct pd_addr *ret_src, struct pd_addr *ret_dst, uint8_t *ret_ip_version)
{
    for (uint32_t i = 0; i < src->addrs_len; i++) {
        for (uint32_t j = 0; j < dst->addrs_len; j++) {
            if (src->ip_versions[i] == dst->ip_versions[j]) {
                *ret_src = src->addrs[i];
                *ret_dst = dst->addrs[j];
                *ret_ip_version = src->ip_versions[i];
                return true;
            }
        }
    }
    return false;
}

struct pd_probe_carrier_request pd_probe_order_request(const struct pd_probe_order *order,
                                                       const struct pd_probe_order_way *way,
                                                       const struct pd_topology *topology,
                                                       uint32_t seq, uint64_t sent_ns)
{
    struct pd_probe_carrier_request request = {
        .topology = topology,
        .switches = way->switches,
        .switches_len = way->switches_len,
        .src = way->src,
        .dst = way->dst,
        .ip_version = way->ip_version,
        .head = {.plan = order->plan,
                 .number = way->number,
                 .seq = seq,
                 .sent_ns = sent_ns,
                 .flags = way->isolates ? PD_SR_INT_ISOLATION : 0},
    };

    memcpy(request.key, order->key, sizeof request.key);
    return request;
}

/* ---- a way ---- */

static int read_path(const struct pd_json_cursor *at, const struct pd_topology *topology,
                     struct pd_probe_order_way *way)
{
    const json_t *path = json_object_get(at->object, "path");
    size_t len = json_array_size(path);

    if (len < 1 || len > PD_TELEMETRY_HOPS_MAX) {
        return pd_json_wrong(at, "path", "a list of 1 to %d switches", PD_TELEMETRY_HOPS_MAX);
    }
    way->switches = calloc(len, sizeof *way->switches);
    if (!way->switches) {
        return pd_fail(at->error, -ENOMEM, "no memory for the ways");
    }
    for (size_t i = 0; i < len; i++) {
        json_int_t id = json_integer_value(json_array_get(path, i));
        uint32_t index =
            id > 0 && id <= UINT32_MAX ? pd_topology_switch(topology, (uint32_t)id) : PD_NONE;
        if (index == PD_NONE) {
            return pd_json_wrong(at, "path", "switches of the topology");
        }
        way->switches[way->switches_len++] = index;
    }
    return 0;
}

/* Both hosts are there, at the ends of the path. */
static int read_hosts(const struct pd_json_cursor *at, const struct pd_topology *topology,
                      struct pd_probe_order_way *way)
{
    uint32_t from = pd_topology_host(topology, way->from_host);
    uint32_t to = pd_topology_host(topology, way->to_host);

    if (from == PD_NONE || !pd_host_hangs_at(&topology->hosts[from], way->switches[0])) {
        return pd_json_wrong(at, "from_host", "a host at the path's first switch");
    }
    if (to == PD_NONE ||
        !pd_host_hangs_at(&topology->hosts[to], way->switches[way->switches_len - 1])) {
        return pd_json_wrong(at, "to_host", "a host at the path's last switch");
    }
    if (!pd_probe_order_addrs(&topology->hosts[from], &topology->hosts[to], &way->src, &way->dst,
                              &way->ip_version)) {
        return pd_json_wrong(at, "to_host", "a host with an address of the same family");
    }
    return 0;
}

static int read_members(const struct pd_json_cursor *at, struct pd_probe_order_way *way)
{
    static const char *const members[] = {"number",  "path",     "from_host",
                                          "to_host", "isolates", NULL};
    uint64_t number = 0, from = 0, to = 0;
    int err = pd_json_only(at, members);

    err = err ? err : pd_json_number(at, "number", 0, UINT32_MAX - 1, &number);
    err = err ? err : pd_json_number(at, "from_host", 1, UINT32_MAX, &from);
    err = err ? err : pd_json_number(at, "to_host", 1, UINT32_MAX, &to);
    err = err ? err : pd_json_flag_or(at, "isolates", &way->isolates);
    way->number = (uint32_t)number;
    way->from_host = (uint32_t)from;
    way->to_host = (uint32_t)to;
    return err;
}

/* It can be carried, or nobody has to try. */
static int check_way(const struct pd_json_cursor *at, const struct pd_probe_order *order,
                     const struct pd_probe_order_way *way, const struct pd_topology *topology)
{
    const struct pd_probe_carrier_request request =
        pd_probe_order_request(order, way, topology, 0, 0);
    uint8_t frame[PD_PROBE_CARRIER_FRAME_MAX];
    size_t bytes;
    int err = order->carrier->encode(&request, frame, &bytes, at->error);

    return err ? pd_fail_within(at->error, at->place) : 0;
}

static int read_way(const json_t *object, size_t i, const struct pd_topology *topology,
                    struct pd_probe_order *order, struct pd_error *error)
{
    struct pd_probe_order_way *way = &order->ways[order->ways_len++];
    char place[24];
    const struct pd_json_cursor at = {
        .object = object, .place = place, .err = -PD_E_VALUE, .error = error};

    snprintf(place, sizeof place, "ways[%zu]", i);
    int err = read_members(&at, way);
    err = err ? err : read_path(&at, topology, way);
    err = err ? err : read_hosts(&at, topology, way);
    err = err ? err : check_way(&at, order, way, topology);
    if (!err && i && way->number <= order->ways[i - 1].number) {
        err = pd_json_wrong(&at, "number", "ascending numbers");
    }
    return err;
}

static int read_ways(const struct pd_json_cursor *at, const struct pd_topology *topology,
                     struct pd_probe_order *order)
{
    const json_t *list = json_object_get(at->object, "ways");
    size_t len = json_array_size(list);
    int err = 0;

    if (!json_is_array(list) || len > PD_PROBE_ORDER_WAYS_MAX) {
        return pd_json_wrong(at, "ways", "a list of at most %u ways", PD_PROBE_ORDER_WAYS_MAX);
    }
    order->ways = calloc(len + 1, sizeof *order->ways);
    if (!order->ways) {
        return pd_fail(at->error, -ENOMEM, "no memory for the ways");
    }
    for (size_t i = 0; i < len && !err; i++) {
        err = read_way(json_array_get(list, i), i, topology, order, at->error);
    }
    return err;
}

/* ---- all of it ---- */

static int read_carrier(const struct pd_json_cursor *at, struct pd_probe_order *order)
{
    const char *name = NULL, *key = NULL;
    size_t bytes = 0;
    int err = pd_json_words(at, "carrier", &name);

    err = err ? err : pd_json_words(at, "key", &key);
    if (err) {
        return err;
    }
    order->carrier = pd_probe_carrier_find(name);
    if (!order->carrier) {
        return pd_json_wrong(at, "carrier", "one of the carriers");
    }
    if (pd_hex_parse(key, order->key, sizeof order->key, &bytes) || bytes != sizeof order->key) {
        return pd_json_wrong(at, "key", "%d hexadecimal digits", (int)KEY_DIGITS);
    }
    return 0;
}

static int read_numbers(const struct pd_json_cursor *at, struct pd_probe_order *order)
{
    uint64_t plan = 0, number = 0, rate = 0, lease = 0, hold = UINT32_MAX;
    int err = pd_json_number(at, "plan", 1, UINT32_MAX, &plan);

    err = err ? err : pd_json_number(at, "order", 1, UINT32_MAX, &number);
    err = err ? err : pd_json_number(at, "rate_hz", 1, PD_PROBE_ORDER_RATE_MAX, &rate);
    err = err ? err : pd_json_number(at, "lease_ms", 1, PD_PROBE_ORDER_LEASE_MAX, &lease);
    err = err ? err : pd_json_number_or(at, "hold_from", 0, UINT32_MAX, &hold);
    order->plan = (uint32_t)plan;
    order->order = (uint32_t)number;
    order->rate_hz = (uint32_t)rate;
    order->lease_ms = (uint32_t)lease;
    order->hold_from = (uint32_t)hold;
    return err;
}

int pd_probe_order_read(const json_t *document, const struct pd_topology *topology,
                        struct pd_probe_order *ret_order, struct pd_error *error)
{
    static const char *const members[] = {"plan", "order", "carrier",   "rate_hz", "lease_ms",
                                          "key",  "ways",  "hold_from", NULL};
    const struct pd_json_cursor at = {.object = document, .err = -PD_E_VALUE, .error = error};

    *ret_order = (struct pd_probe_order){.plan = 0};
    int err = pd_json_only(&at, members);
    err = err ? err : read_numbers(&at, ret_order);
    err = err ? err : read_carrier(&at, ret_order);
    return err ? err : read_ways(&at, topology, ret_order);
}

void pd_probe_order_done(struct pd_probe_order *order)
{
    for (size_t i = 0; i < order->ways_len; i++) {
        free(order->ways[i].switches);
    }
    free(order->ways);
    *order = (struct pd_probe_order){.plan = 0};
}

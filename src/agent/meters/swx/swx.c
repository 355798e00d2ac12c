/* SPDX-License-Identifier: Apache-2.0 */
/* Meters of a compiled program (p4/meters), by the REST control of pathdump-switch. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "agent/meters/driver.h"
#include "base/clock.h"
#include "base/grow.h"
#include "fleet/fanout.h"

/* Arrays and tables are those of p4/meters/README.md. The program copies strays to the slow path,
 * which does not say of which flows they were; it counts them. So an epoch is not told at all when
 * a stray has come since the reading before the last: it may be one of it. */

#define ROWS         3u
#define WIDTH        1024u
#define ROLE_AT      8192u /* of bucket_…: where the second role begins */
#define INSTANCE_AT  4096u /* likewise, of a role */
#define SLOTS        96u
#define PIPE_AT      128u /* of pipe_…: the second instance */
#define RULES_MAX    4096u
#define FILTER_BITS  UINT32_MAX /* of a mark: above them stands that there is one */
#define CLOCK_MS     4u         /* place of the epoch's length in the array `clock` */
#define ANSWER_BYTES ((uint64_t)1 << 20)
#define PATIENCE_NS  (2 * PD_NS_PER_S)
#define ROUTE_BYTES  256u
#define COUNTERS     16u

enum field { EPOCH, SRC_HI, SRC_LO, DST_HI, DST_LO, FLOW, FILTER, COUNT, DIRTY, FIELDS };
static const char *const fields[FIELDS] = {"epoch", "src_hi", "src_lo", "dst_hi", "dst_lo",
                                           "flow",  "filter", "count",  "dirty"};
enum counted { COUNTED, UNMARKED, LATE, STRAYS, OTHER, OF_ROLE = 8 };

struct swx_driver {
    struct pd_agent_meter_driver driver;
    struct pd_fanout *fanout;
    char url[ROUTE_BYTES]; /* "unix:/PATH" */
    uint32_t sw;
    uint64_t epoch; /* the newest that was read */
    /* Strays that had come by then, by the reading before, and by the one before that; 0: nobody
     * knows, so that any stray counts. */
    uint64_t last, before, base;
};

/* ---- asking ---- */

/* One request and what comes of it. */
struct ask {
    char route[ROUTE_BYTES];
    char *bytes;
    size_t len, room;
    struct pd_error error;
};

static int take(void *context, size_t i, const char *bytes, size_t len)
{
    struct ask *ask = &((struct ask *)context)[i];

    if (PD_GROW(ask->bytes, ask->room, ask->len + len + 1)) {
        return -ENOMEM;
    }
    memcpy(ask->bytes + ask->len, bytes, len);
    ask->len += len;
    return 0;
}

static void end(void *context, size_t i, const struct pd_error *error)
{
    ((struct ask *)context)[i].error = *error;
}

/* `body` NULL: GETs. 0 or a negative error in words. */
static int run(const struct swx_driver *swx, struct ask *asks, size_t len, const char *body,
               struct pd_error *error)
{
    const struct pd_fanout_sink sink = {.context = asks, .take = take, .end = end};
    const struct pd_fanout_request request = {.method = body ? "PUT" : "GET",
                                              .route = "/v1/status",
                                              .type = "application/json",
                                              .accept = "application/json",
                                              .deadline_ns = pd_clock_monotonic_ns() + PATIENCE_NS,
                                              .max_bytes = ANSWER_BYTES,
                                              .at_once = 4};
    struct pd_fanout_peer *peers = calloc(len + 1, sizeof *peers);
    int err = peers ? 0 : -ENOMEM;

    for (size_t i = 0; i < len && !err; i++) {
        peers[i] = (struct pd_fanout_peer){.url = swx->url,
                                           .route = asks[i].route,
                                           .body = body,
                                           .body_bytes = body ? strlen(body) : 0};
    }
    err = err ? err : pd_fleet_fanout_ask(swx->fanout, &request, peers, len, &sink);
    free(peers);
    if (err) {
        return pd_fail(error, err, "meters: swx: %s", pd_error_text(err));
    }
    for (size_t i = 0; i < len; i++) {
        if (asks[i].error.code) {
            return pd_fail(error, asks[i].error.code, "meters: swx: %.200s: %.200s",
                           asks[i].route + strlen("/v1/"), asks[i].error.text);
        }
    }
    return 0;
}

static void array_route(const struct swx_driver *swx, const char *kind, const char *name,
                        uint32_t from, uint32_t count, struct ask *ret_ask)
{
    snprintf(ret_ask->route, sizeof ret_ask->route,
             "/v1/switches/%" PRIu32 "/arrays/%s%s?from=%" PRIu32 "&count=%" PRIu32, swx->sw, kind,
             name, from, count);
}

/* The values of an answer. JSON's numbers have a sign, those of programs none. */
static int read_values(const struct ask *ask, uint64_t *values, uint32_t count,
                       struct pd_error *error)
{
    json_t *document = ask->bytes ? json_loadb(ask->bytes, ask->len, 0, NULL) : NULL;
    const json_t *list = json_object_get(document, "values"), *value;
    bool good = json_array_size(list) == count;
    size_t i;

    json_array_foreach(list, i, value)
    {
        good = good && json_is_integer(value);
        if (good) {
            values[i] = (uint64_t)json_integer_value(value);
        }
    }
    json_decref(document);
    return good ? 0
                : pd_fail(error, -PD_E_SYNTAX, "meters: swx: %.200s: not as many numbers as asked",
                          ask->route);
}

/* The same part of `len` arrays, one behind the other. */
static int read_arrays(const struct swx_driver *swx, const char *kind, const char *const *names,
                       size_t len, uint32_t from, uint32_t count, uint64_t *values,
                       struct pd_error *error)
{
    struct ask *asks = calloc(len, sizeof *asks);
    int err = asks ? 0 : pd_fail(error, -ENOMEM, "meters: swx: %s", pd_error_text(-ENOMEM));

    for (size_t i = 0; i < len && !err; i++) {
        array_route(swx, kind, names[i], from, count, &asks[i]);
    }
    err = err ? err : run(swx, asks, len, NULL, error);
    for (size_t i = 0; i < len && !err; i++) {
        err = read_values(&asks[i], values + i * count, count, error);
    }
    for (size_t i = 0; asks && i < len; i++) {
        free(asks[i].bytes);
    }
    free(asks);
    return err;
}

static int read_counters(const struct swx_driver *swx, uint64_t counters[COUNTERS],
                         struct pd_error *error)
{
    static const char *const names[] = {"counters"};

    return read_arrays(swx, "meter_", names, 1, 0, COUNTERS, counters, error);
}

/* ---- life ---- */

static void close_swx(struct pd_agent_meter_driver *driver)
{
    struct swx_driver *swx = (struct swx_driver *)driver;

    if (swx->fanout) {
        pd_fleet_fanout_free(swx->fanout);
    }
    free(swx);
}

/* "unix:/PATH:SWITCH". */
static int read_place(const char *where, struct swx_driver *swx, struct pd_error *error)
{
    const char *colon = strrchr(where, ':'), *digits = colon ? colon + 1 : "";
    const size_t len = strspn(digits, "0123456789");

    if (strncmp(where, "unix:/", 6) || colon < where + 6 || !len || len > 9 || digits[len] ||
        (size_t)(colon - where) >= sizeof swx->url) {
        return pd_fail(error, -PD_E_VALUE, "--meters: swx: \"%.200s\": expects unix:/PATH:SWITCH",
                       where);
    }
    memcpy(swx->url, where, (size_t)(colon - where));
    swx->sw = (uint32_t)strtoul(digits, NULL, 10);
    return 0;
}

static int open_swx(const char *where, uint32_t monitor, struct pd_agent_meter_driver **ret_driver,
                    struct pd_error *error)
{
    static const char *const names[] = {"clock"};
    struct swx_driver *swx = calloc(1, sizeof *swx);
    uint64_t counters[COUNTERS], epoch_ms = 0;

    (void)monitor;
    if (!swx || !(swx->fanout = pd_fleet_fanout_new())) {
        free(swx);
        return pd_fail(error, -ENOMEM, "meters: swx: %s", pd_error_text(-ENOMEM));
    }
    int err = read_place(where, swx, error);
    err = err ? err : read_counters(swx, counters, error);
    err = err ? err : read_arrays(swx, "", names, 1, CLOCK_MS, 1, &epoch_ms, error);
    if (err) {
        close_swx(&swx->driver);
        return err;
    }
    swx->driver.epoch_ns = epoch_ms * PD_NS_PER_MS;
    *ret_driver = &swx->driver;
    return 0;
}

/* ---- rules ---- */

static uint64_t word(const uint8_t *bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < 8; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

/* An address as programs have it: IPv4 below ::ffff. */
static void split(const struct pd_addr *addr, uint8_t ip_version, uint64_t ret_words[2])
{
    if (ip_version == 4) {
        ret_words[0] = 0;
        ret_words[1] = (uint64_t)0xffff << 32 | word(addr->bytes) >> 32;
    } else {
        ret_words[0] = word(addr->bytes);
        ret_words[1] = word(addr->bytes + 8);
    }
}

static json_t *row_json(const struct pd_flow_id *flow, const char *action)
{
    uint64_t src[2], dst[2];

    split(&flow->src, flow->ip_version, src);
    split(&flow->dst, flow->ip_version, dst);
    return json_sprintf("match 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64
                        " 0x%x 0x%x action %s",
                        dst[0], dst[1], src[0], src[1],
                        (unsigned)flow->src_port << 16 | flow->dst_port, flow->protocol, action);
}

static int put(const struct swx_driver *swx, const char *what, json_t *body, struct pd_error *error)
{
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    struct ask ask = {.len = 0};
    int err = text ? 0 : pd_fail(error, -ENOMEM, "meters: swx: %s", pd_error_text(-ENOMEM));

    snprintf(ask.route, sizeof ask.route, "/v1/switches/%" PRIu32 "/%s", swx->sw, what);
    err = err ? err : run(swx, &ask, 1, text, error);
    free(ask.bytes);
    free(text);
    json_decref(body);
    return err;
}

/* The compiler numbers actions that are used twice, in an order of its own. */
static int put_rows(const struct swx_driver *swx, bool down, const struct pd_flow_id *flows,
                    size_t len, struct pd_error *error)
{
    static const char *const actions[] = {"counted", "_counted", "_counted_1", "_counted_0"};
    int err = -PD_E_VALUE;

    for (size_t a = 0; a < sizeof actions / sizeof actions[0] && err == -PD_E_VALUE; a++) {
        json_t *rows = json_array();

        for (size_t i = 0; i < len; i++) {
            if (json_array_append_new(rows, row_json(&flows[i], actions[a]))) {
                json_decref(rows);
                return pd_fail(error, -ENOMEM, "meters: swx: %s", pd_error_text(-ENOMEM));
            }
        }
        err = put(swx, down ? "tables/meter_down" : "tables/meter_up",
                  json_pack("{s:o}", "rows", rows), error);
    }
    return err;
}

static int rules_swx(struct pd_agent_meter_driver *driver, bool down,
                     const struct pd_flow_id *flows, size_t len, uint64_t epoch_ns,
                     struct pd_error *error)
{
    struct swx_driver *swx = (struct swx_driver *)driver;
    char clock[64];
    int err = put_rows(swx, down, flows, len, error);

    if (!err && driver->epoch_ns != epoch_ns) {
        snprintf(clock, sizeof clock, "arrays/clock?from=%u", CLOCK_MS);
        err = put(swx, clock, json_pack("{s:[I]}", "values", (json_int_t)(epoch_ns / PD_NS_PER_MS)),
                  error);
        driver->epoch_ns = err ? driver->epoch_ns : epoch_ns;
    }
    return err;
}

/* ---- reading ---- */

static void join(uint64_t hi, uint64_t lo, bool ipv4, struct pd_addr *ret_addr)
{
    const uint64_t words[2] = {ipv4 ? lo << 32 : hi, ipv4 ? 0 : lo};

    for (unsigned i = 0; i < 16; i++) {
        ret_addr->bytes[i] = (uint8_t)(words[i / 8] >> (56 - i % 8 * 8));
    }
}

/* Flow of the bucket or slot at a place, of arrays of `count` values each. */
static struct pd_flow_id flow_at(const uint64_t *values, uint32_t count, uint32_t place)
{
    const uint64_t *at = values + place, rest = at[(size_t)FLOW * count];
    const bool ipv4 = !at[(size_t)DST_HI * count] && at[(size_t)DST_LO * count] >> 32 == 0xffff;
    struct pd_flow_id flow = {.src_port = (uint16_t)(rest >> 24),
                              .dst_port = (uint16_t)(rest >> 8),
                              .protocol = (uint8_t)rest,
                              .ip_version = ipv4 ? 4 : 6};

    join(at[(size_t)SRC_HI * count], at[(size_t)SRC_LO * count], ipv4, &flow.src);
    join(at[(size_t)DST_HI * count], at[(size_t)DST_LO * count], ipv4, &flow.dst);
    return flow;
}

static int read_buckets(const struct swx_driver *swx, bool down, uint64_t epoch,
                        struct pd_agent_meter_reading *reading, uint64_t *values,
                        struct pd_error *error)
{
    const uint32_t count = ROWS * WIDTH, from = down * ROLE_AT + (epoch & 1) * INSTANCE_AT;
    int err = read_arrays(swx, "bucket_", fields, FIELDS, from, count, values, error);

    for (uint32_t i = 0; i < count && !err; i++) {
        const struct pd_agent_meter_bucket bucket = {
            .flow = flow_at(values, count, i),
            .filter = down ? values[(size_t)FILTER * count + i] & FILTER_BITS : 0,
            .pkts = values[(size_t)COUNT * count + i],
            .place = i % WIDTH,
            .row = (uint8_t)(i / WIDTH),
            .dirty = values[(size_t)DIRTY * count + i]};

        if (values[(size_t)EPOCH * count + i] == epoch + 1 &&
            pd_agent_meter_reading_bucket(reading, down, &bucket)) {
            err = pd_fail(error, -ENOMEM, "meters: swx: %s", pd_error_text(-ENOMEM));
        }
    }
    return err;
}

static int read_pipe(const struct swx_driver *swx, uint64_t epoch,
                     struct pd_agent_meter_reading *reading, uint64_t *values,
                     struct pd_error *error)
{
    int err =
        read_arrays(swx, "pipe_", fields, FIELDS - 1, (epoch & 1) * PIPE_AT, SLOTS, values, error);

    for (uint32_t i = 0; i < SLOTS && !err; i++) {
        const struct pd_agent_meter_flow flow = {.flow = flow_at(values, SLOTS, i),
                                                 .filter = values[(size_t)FILTER * SLOTS + i] &
                                                           FILTER_BITS,
                                                 .pkts = values[(size_t)COUNT * SLOTS + i]};

        if (values[(size_t)EPOCH * SLOTS + i] == epoch + 1 && flow.pkts &&
            pd_agent_meter_reading_large(reading, &flow)) {
            err = pd_fail(error, -ENOMEM, "meters: swx: %s", pd_error_text(-ENOMEM));
        }
    }
    return err;
}

/* False: a stray that has come may be of this epoch. Those of one begin to come before the one
 * before it has been read. */
static bool without_strays(struct swx_driver *swx, uint64_t epoch, uint64_t strays)
{
    if (epoch != swx->epoch) {
        swx->epoch = epoch;
        swx->base = swx->before;
        swx->before = swx->last;
    }
    swx->last = strays;
    return strays == swx->base;
}

static int read_swx(struct pd_agent_meter_driver *driver, uint64_t epoch,
                    struct pd_agent_meter_reading *reading, struct pd_error *error)
{
    struct swx_driver *swx = (struct swx_driver *)driver;
    uint64_t counters[COUNTERS], *values = calloc((size_t)FIELDS * ROWS * WIDTH, sizeof *values);
    int err = values ? 0 : pd_fail(error, -ENOMEM, "meters: swx: %s", pd_error_text(-ENOMEM));

    reading->rows = ROWS;
    reading->width = WIDTH;
    err = err ? err : read_buckets(swx, false, epoch, reading, values, error);
    err = err ? err : read_buckets(swx, true, epoch, reading, values, error);
    err = err ? err : read_pipe(swx, epoch, reading, values, error);
    err = err ? err : read_counters(swx, counters, error);
    free(values);
    if (!err && !without_strays(swx, epoch, counters[OF_ROLE + STRAYS])) {
        return pd_fail(error, -PD_E_FULL,
                       "meters: swx: flows without a rule came, and the switch does not say which");
    }
    return err;
}

static int counts_swx(struct pd_agent_meter_driver *driver,
                      struct pd_agent_meter_counts *ret_counts)
{
    uint64_t counters[COUNTERS];
    const int err = read_counters((struct swx_driver *)driver, counters, NULL);

    if (!err) {
        *ret_counts =
            (struct pd_agent_meter_counts){.sent = counters[COUNTED],
                                           .received = counters[OF_ROLE + COUNTED],
                                           .late = counters[OF_ROLE + LATE],
                                           .strays = counters[OF_ROLE + STRAYS],
                                           .other = counters[OTHER] + counters[OF_ROLE + OTHER]};
    }
    return err;
}

extern const struct pd_agent_meter_driver_ops pd_agent_meters_swx;
const struct pd_agent_meter_driver_ops pd_agent_meters_swx = {
    .kind = "swx",
    .argument = "unix:/PATH:SWITCH",
    .rules_max = RULES_MAX,
    .open = open_swx,
    .close = close_swx,
    .rules = rules_swx,
    .read = read_swx,
    .counts = counts_swx,
};

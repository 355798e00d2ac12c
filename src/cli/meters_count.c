/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump meters count`: what a meter would have counted of the packets in a capture file. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "cli/json.h"
#include "cli/meters.h"
#include "evidence/meters.h"
#include "meter/epoch.h"
#include "meter/meter.h"
#include "query/members.h"

enum { RULES_MAX = 1 << 20, STRAYS_MAX = 1 << 16 };

struct settings {
    const char *topology, *rules, *pcap, *out;
    uint64_t rows, width, epoch_ms, monitor;
    bool downstream;
    bool json;
};

#define COUNTERS(X)                                        \
    X(frames) /* of the file */                            \
    X(counted)                                             \
    X(unmarked) /* by the upstream meter, or of no rule */ \
    X(late)     /* for the meter of their epoch */         \
    X(strays)                                              \
    X(other) /* no packets whose flow can be told */

struct stray {
    struct pd_flow_id flow;
    uint64_t epoch, pkts;
};

struct counting {
    const struct settings *set;
    struct pd_cli_meters meters;
    struct pd_flow_id *rules; /* sorted */
    size_t rules_len;
    struct pd_meter *meter;
    struct {
        bool used;
        uint64_t epoch;
    } instances[PD_METER_INSTANCES];
    struct stray *strays;
    size_t strays_len, strays_room;
    json_t *rows; /* lists of buckets */
    struct {
#define X(name) uint64_t name;
        COUNTERS(X)
#undef X
    } counters;
};

/* ---- rules ---- */

static int by_flow(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct pd_flow_id));
}

/* Downstream a rule also says by which filter its flow was chosen; packets tell their own. */
static int read_rule(const struct counting *c, const json_t *rule, size_t i,
                     struct pd_flow_id *ret_flow, struct pd_error *error)
{
    const json_t *flow = c->set->downstream ? json_object_get(rule, "flow_id") : rule;
    const json_t *filter = json_object_get(rule, "filter");

    if (pd_query_flow_id_read(flow, ret_flow, error) ||
        (c->set->downstream && (!json_is_integer(filter) || json_integer_value(filter) < 0))) {
        return pd_fail(error, -PD_E_SYNTAX, "%.300s: %s[%zu]: expected %s", c->set->rules,
                       c->set->downstream ? "dsm" : "usm", i,
                       c->set->downstream ? "{\"flow_id\":{…},\"filter\":N}" : "a flow ID");
    }
    return 0;
}

static int read_rules(struct counting *c, struct pd_error *error)
{
    json_t *document = NULL, *rule;
    int err = pd_cli_meters_load(c->set->rules, &document, error);
    const json_t *list = json_object_get(document, c->set->downstream ? "dsm" : "usm");
    size_t i;

    if (!err && (!json_is_array(list) || json_array_size(list) > RULES_MAX)) {
        err = pd_fail(error, -PD_E_SYNTAX, "%.300s: expected a list \"%s\" of at most %d rules",
                      c->set->rules, c->set->downstream ? "dsm" : "usm", RULES_MAX);
    }
    c->rules = err ? NULL : calloc(json_array_size(list) + 1, sizeof *c->rules);
    if (!err && !c->rules) {
        err = pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    json_array_foreach(err ? NULL : list, i, rule)
    {
        err = err ? err : read_rule(c, rule, i, &c->rules[c->rules_len], error);
        c->rules_len += !err;
    }
    if (!err) {
        qsort(c->rules, c->rules_len, sizeof *c->rules, by_flow);
    }
    json_decref(document);
    return err;
}

static bool has_rule(const struct counting *c, const struct pd_flow_id *flow)
{
    return bsearch(flow, c->rules, c->rules_len, sizeof *c->rules, by_flow);
}

/* ---- buckets ---- */

static json_t *bucket_json(const struct counting *c, const struct pd_meter_bucket *bucket,
                           uint32_t place, uint64_t epoch)
{
    json_t *object = json_pack("{s:I,s:I,s:b}", "bucket", (json_int_t)place, "epoch",
                               (json_int_t)epoch, "dirty", bucket->dirty);

    json_object_set_new(object, "flow_id",
                        bucket->dirty ? json_null() : pd_query_flow_id_json(&bucket->flow));
    json_object_set_new(object, "count",
                        bucket->dirty ? json_null() : json_integer((json_int_t)bucket->pkts));
    json_object_set_new(
        object, "filter",
        bucket->dirty || !c->set->downstream
            ? json_null()
            : json_integer((json_int_t)pd_evidence_meters_filter(c->meters.codec, bucket->filter)));
    return object;
}

/* Reads an instance, as a monitor's is read after its epoch, and clears it. */
static void read_instance(struct counting *c, unsigned instance)
{
    if (!c->instances[instance].used) {
        return;
    }
    for (unsigned row = 0; row < c->set->rows; row++) {
        for (uint32_t place = 0; place < c->set->width; place++) {
            const struct pd_meter_bucket *bucket = pd_meter_bucket(c->meter, instance, row, place);
            if (bucket->used) {
                json_array_append_new(json_array_get(c->rows, row),
                                      bucket_json(c, bucket, place, c->instances[instance].epoch));
            }
        }
    }
    pd_meter_clear(c->meter, instance);
    c->instances[instance].used = false;
}

/* False: the meter of this epoch has been read. */
static bool open_epoch(struct counting *c, uint64_t epoch)
{
    const unsigned instance = epoch & 1;

    if (c->instances[instance].used && c->instances[instance].epoch > epoch) {
        return false;
    }
    if (!c->instances[instance].used || c->instances[instance].epoch < epoch) {
        read_instance(c, instance);
        c->instances[instance].used = true;
        c->instances[instance].epoch = epoch;
    }
    return true;
}

static void count_packet(struct counting *c, const struct pd_flow_id *flow, uint64_t epoch,
                         uint64_t filter)
{
    if (!open_epoch(c, epoch)) {
        c->counters.late++;
        return;
    }
    c->counters.counted++;
    pd_meter_add(c->meter, epoch & 1, flow, filter, 1);
}

/* ---- packets ---- */

static int add_stray(struct counting *c, const struct pd_flow_id *flow, uint64_t epoch)
{
    c->counters.strays++;
    for (size_t i = 0; i < c->strays_len; i++) {
        if (c->strays[i].epoch == epoch && pd_flow_id_equal(&c->strays[i].flow, flow)) {
            c->strays[i].pkts++;
            return 0;
        }
    }
    if (c->strays_len == STRAYS_MAX) {
        return -PD_E_FULL;
    }
    if (PD_GROW(c->strays, c->strays_room, c->strays_len + 1)) {
        return -ENOMEM;
    }
    c->strays[c->strays_len++] = (struct stray){*flow, epoch, 1};
    return 0;
}

/* Marks what it counts, and takes marks off that a host wrote itself. */
static void take_upstream(struct counting *c, uint8_t *frame, const struct pd_packet *packet,
                          uint64_t time_ns)
{
    const uint64_t epoch = time_ns / (c->set->epoch_ms * PD_NS_PER_MS);
    const uint8_t others = pd_tags_dscp(packet->mark) & (uint8_t)~PD_METER_MARK_BITS;
    const bool counts = has_rule(c, &packet->flow);

    if (counts) {
        count_packet(c, &packet->flow, epoch, 0);
    } else {
        c->counters.unmarked++;
    }
    pd_packet_set_dscp(frame, packet,
                       (uint8_t)(others | (counts ? pd_meter_mark(epoch) : PD_METER_UNMARKED)));
}

static int take_downstream(struct counting *c, const uint8_t *frame, size_t captured,
                           const struct pd_packet *packet, uint64_t time_ns)
{
    const struct pd_codec *codec = c->meters.codec;
    const uint8_t bits = pd_tags_dscp(packet->mark) & PD_METER_MARK_BITS;
    uint64_t epoch;

    if (bits == PD_METER_UNMARKED) {
        c->counters.unmarked++;
        return 0;
    }
    if (!pd_meter_epoch(bits, time_ns, c->set->epoch_ms * PD_NS_PER_MS, &epoch)) {
        c->counters.late++;
        return 0;
    }
    if (!has_rule(c, &packet->flow)) {
        return add_stray(c, &packet->flow, epoch);
    }
    const uint64_t mark =
        codec->read_mark ? codec->read_mark(frame, captured, packet) : packet->mark;
    count_packet(c, &packet->flow, epoch, mark & codec->mark_bits);
    return 0;
}

static int take_frame(struct counting *c, uint8_t *frame, const struct pcap_pkthdr *header)
{
    const uint64_t time_ns =
        (uint64_t)header->ts.tv_sec * PD_NS_PER_S + (uint64_t)header->ts.tv_usec * 1000;
    struct pd_packet packet;

    c->counters.frames++;
    if (pd_packet_parse(frame, header->caplen, header->len, &packet) != PD_PACKET_OK) {
        c->counters.other++;
        return 0;
    }
    if (c->set->downstream) {
        return take_downstream(c, frame, header->caplen, &packet, time_ns);
    }
    take_upstream(c, frame, &packet, time_ns);
    return 0;
}

/* ---- files ---- */

static int take_frames(struct counting *c, pcap_t *pcap, pcap_dumper_t *out, struct pd_error *error)
{
    struct pcap_pkthdr *header;
    const u_char *data;
    int got, err = 0;

    while (!err && (got = pcap_next_ex(pcap, &header, &data)) == 1) {
        uint8_t *frame = malloc(header->caplen + 1);
        if (!frame) {
            return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
        }
        memcpy(frame, data, header->caplen);
        err = take_frame(c, frame, header);
        if (out) {
            pcap_dump((u_char *)out, header, frame);
        }
        free(frame);
    }
    if (err) {
        return pd_fail(error, err, "%.300s: too many flows without a rule", c->set->pcap);
    }
    return got == PCAP_ERROR_BREAK
               ? 0
               : pd_fail(error, -PD_E_SYNTAX, "%.300s: %.100s", c->set->pcap, pcap_geterr(pcap));
}

static int run_capture(struct counting *c, struct pd_error *error)
{
    char words[PCAP_ERRBUF_SIZE];
    pcap_t *pcap = pcap_open_offline(c->set->pcap, words);
    pcap_dumper_t *out = NULL;

    if (!pcap) {
        return pd_fail(error, -PD_E_SYNTAX, "%.300s: %.100s", c->set->pcap, words);
    }
    int err = pcap_datalink(pcap) == DLT_EN10MB
                  ? 0
                  : pd_fail(error, -PD_E_SYNTAX, "%.300s: no capture of Ethernet", c->set->pcap);
    if (!err && c->set->out && !(out = pcap_dump_open(pcap, c->set->out))) {
        err = pd_fail(error, -EIO, "%.300s", pcap_geterr(pcap));
    }
    if (!err) {
        err = take_frames(c, pcap, out, error);
    }
    if (out && (pcap_dump_flush(out) && !err)) {
        err = pd_fail(error, -EIO, "%.300s: cannot be written", c->set->out);
    }
    if (out) {
        pcap_dump_close(out);
    }
    pcap_close(pcap);
    return err;
}

/* ---- report ---- */

static json_t *strays_json(const struct counting *c)
{
    json_t *list = json_array();

    for (size_t i = 0; i < c->strays_len; i++) {
        json_array_append_new(list, json_pack("{s:o,s:I,s:I}", "flow_id",
                                              pd_query_flow_id_json(&c->strays[i].flow), "epoch",
                                              (json_int_t)c->strays[i].epoch, "pkts",
                                              (json_int_t)c->strays[i].pkts));
    }
    return list;
}

static int report(struct counting *c, struct pd_error *error)
{
    json_t *counters = json_object();

    for (unsigned i = 0; i < PD_METER_INSTANCES; i++) {
        read_instance(c, i);
    }
#define X(name) json_object_set_new(counters, #name, json_integer((json_int_t)c->counters.name));
    COUNTERS(X)
#undef X
    if (!c->set->json) {
        printf("counted %" PRIu64 " of %" PRIu64 " frames, %" PRIu64 " unmarked, %" PRIu64
               " late, %" PRIu64 " strays\n",
               c->counters.counted, c->counters.frames, c->counters.unmarked, c->counters.late,
               c->counters.strays);
        json_decref(counters);
        return PD_CLI_OK;
    }
    return pd_cli_json_print(
        json_pack("{s:I,s:s,s:I,s:I,s:O,s:o,s:o}", "monitor", (json_int_t)c->set->monitor, "role",
                  c->set->downstream ? "dsm" : "usm", "width", (json_int_t)c->set->width,
                  "epoch_ms", (json_int_t)c->set->epoch_ms, "rows", c->rows, "strays",
                  strays_json(c), "counters", counters),
        error);
}

static int count(struct counting *c, struct pd_error *error)
{
    const struct settings *set = c->set;
    int err = pd_cli_meters_open(set->topology, &c->meters, error);

    if (!err && pd_topology_switch(c->meters.topology, (uint32_t)set->monitor) == PD_NONE) {
        err = pd_fail(error, -PD_E_NOT_FOUND, "--monitor: %" PRIu64 " is no switch of %.300s",
                      set->monitor, set->topology);
    }
    if (!err) {
        err = read_rules(c, error);
    }
    if (!err) {
        err = pd_meter_new((unsigned)set->rows, (uint32_t)set->width, &c->meter);
        err = err ? pd_fail(error, err, "--width: expects a power of two up to %u",
                            PD_METER_WIDTH_MAX)
                  : 0;
    }
    c->rows = json_array();
    for (unsigned row = 0; row < set->rows; row++) {
        json_array_append_new(c->rows, json_array());
    }
    if (!err) {
        err = run_capture(c, error);
    }
    return err ? err : report(c, error);
}

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    struct counting c = {.set = settings};

    (void)words;
    const int err = count(&c, error);
    pd_meter_free(c.meter);
    pd_cli_meters_close(&c.meters);
    json_decref(c.rows);
    free(c.rules);
    free(c.strays);
    return err;
}

static int set_role(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct settings *set = target;

    if (strcmp(value, "usm") && strcmp(value, "dsm")) {
        return pd_fail(error, -PD_E_VALUE, "%s: expects usm or dsm, not \"%.100s\"", name, value);
    }
    set->downstream = !strcmp(value, "dsm");
    return 0;
}

static const struct pd_option options[] = {
    {.name = "role",
     .type = PD_OPTION_CALLBACK,
     .value = "usm|dsm",
     .set = set_role,
     .help = "upstream or downstream meter"},
    {.name = "rules",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, rules),
     .value = "R.json",
     .help = "the flows that it counts"},
    {.name = "pcap",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, pcap),
     .value = "F",
     .help = "capture file of what came to the monitor"},
    {.name = "topology",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, topology),
     .value = "T",
     .help = "topology file"},
    {.name = "monitor",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, monitor),
     .min = 1,
     .max = UINT32_MAX,
     .value = "ID",
     .help = "ID of the switch"},
    {.name = "rows",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, rows),
     .min = 1,
     .max = PD_METER_ROWS_MAX,
     .fallback = "3",
     .value = "N",
     .help = "rows of buckets, each with a hash of its own"},
    {.name = "width",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, width),
     .min = 1,
     .max = PD_METER_WIDTH_MAX,
     .fallback = "1024",
     .value = "N",
     .help = "buckets of a row, a power of two"},
    {.name = "epoch-ms",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, epoch_ms),
     .min = 1,
     .max = 86400000,
     .fallback = "100",
     .value = "N",
     .help = "length of an epoch"},
    {.name = "out",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, out),
     .value = "MARKED.pcap",
     .help = "usm: the capture file with packets marked"},
    {.name = "json",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "the meter, as meters compare reads it"},
    {0},
};

const struct pd_cli_command pd_cli_meters_count = {
    .name = "meters count",
    .synopsis = "--role usm|dsm --rules R.json --pcap F --topology T --monitor ID [--rows N] "
                "[--width N] [--epoch-ms N] [--out MARKED.pcap] [--json]",
    .help = "what a meter counts of a capture file",
    .details =
        "Replays a capture file through a monitor's meter. Upstream (usm) it counts the packets of "
        "the flows in its rules and marks them with the parity of their epoch, in the lower two "
        "bits of the DSCP; --out writes the packets as they go on. Downstream (dsm) it counts "
        "marked packets of its rules by flow and path filter; marked ones without a rule are "
        "strays. An epoch is Unix time divided by --epoch-ms.\n"
        "R.json: {\"usm\":[FLOW_ID…],\"dsm\":[{\"flow_id\":{…},\"filter\":N}…]}.",
    .options = options,
    .required = "role rules pcap topology monitor",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .run = run,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump meters compare`: what flows lost between upstream and downstream meters. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "cli/meters.h"
#include "meter/compare.h"
#include "query/members.h"
#include "query/rows/text.h"

enum { READINGS_MAX = 65536 };

struct settings {
    const char *topology;
    bool json;
};

struct comparing {
    const struct settings *set;
    struct pd_cli_meters meters;
    struct pd_meter_readings all;
    size_t entries_room, strays_room;
    json_t *segments, *undetermined;
    uint64_t flows, lossy, more_received;
};

/* ---- files ---- */

static int reserve(void **items, size_t *room, size_t len, size_t bytes)
{
    if (len < *room) {
        return 0;
    }
    const size_t more = *room ? 2 * *room : 256;
    void *grown = reallocarray(*items, more, bytes);

    if (!grown) {
        return -ENOMEM;
    }
    *items = grown;
    *room = more;
    return 0;
}

/* A whole number from `least` to `most`. */
static bool read_number(const json_t *object, const char *key, uint64_t least, uint64_t most,
                        uint64_t *ret_number)
{
    const json_t *value = json_object_get(object, key);
    const json_int_t number = json_integer_value(value);

    if (!json_is_integer(value) || number < 0 || (uint64_t)number < least ||
        (uint64_t)number > most) {
        return false;
    }
    *ret_number = (uint64_t)number;
    return true;
}

static bool read_clean(const struct comparing *c, const json_t *bucket, bool downstream,
                       struct pd_meter_entry *entry)
{
    uint64_t filter = 0;

    if (pd_query_flow_id_read(json_object_get(bucket, "flow_id"), &entry->flow, NULL) ||
        !read_number(bucket, "count", 1, INT64_MAX, &entry->pkts) ||
        (downstream && !read_number(bucket, "filter", 0, INT64_MAX, &filter))) {
        return false;
    }
    entry->filter = downstream ? pd_cli_meters_mark(&c->meters, filter) : 0;
    return true;
}

static int read_bucket(struct comparing *c, const json_t *bucket, uint32_t reading, uint8_t row)
{
    const struct pd_meter_reading *meter = &c->all.readings[reading];
    const json_t *dirty = json_object_get(bucket, "dirty");
    struct pd_meter_entry entry = {.reading = reading, .row = row};
    uint64_t place = 0;

    if (!read_number(bucket, "bucket", 0, meter->width - 1, &place) ||
        !read_number(bucket, "epoch", 0, INT64_MAX, &entry.epoch) || !json_is_boolean(dirty)) {
        return -PD_E_SYNTAX;
    }
    entry.bucket = (uint32_t)place;
    entry.dirty = json_is_true(dirty);
    if (!entry.dirty && !read_clean(c, bucket, meter->downstream, &entry)) {
        return -PD_E_SYNTAX;
    }
    const int err = reserve((void **)&c->all.entries, &c->entries_room, c->all.entries_len,
                            sizeof *c->all.entries);
    if (!err) {
        c->all.entries[c->all.entries_len++] = entry;
    }
    return err;
}

static int read_stray(struct comparing *c, const json_t *item)
{
    struct pd_meter_stray stray;

    if (pd_query_flow_id_read(json_object_get(item, "flow_id"), &stray.flow, NULL) ||
        !read_number(item, "epoch", 0, INT64_MAX, &stray.epoch)) {
        return -PD_E_SYNTAX;
    }
    const int err =
        reserve((void **)&c->all.strays, &c->strays_room, c->all.strays_len, sizeof *c->all.strays);
    if (!err) {
        c->all.strays[c->all.strays_len++] = stray;
    }
    return err;
}

static int read_head(struct comparing *c, const json_t *document, struct pd_meter_reading *reading)
{
    const char *role = json_string_value(json_object_get(document, "role"));
    const json_t *rows = json_object_get(document, "rows");
    uint64_t monitor = 0, width = 0;

    if (!role || (strcmp(role, "usm") && strcmp(role, "dsm")) || !json_is_array(rows) ||
        !json_array_size(rows) || json_array_size(rows) > PD_METER_ROWS_MAX ||
        !read_number(document, "monitor", 1, UINT32_MAX, &monitor) ||
        !read_number(document, "width", 1, PD_METER_WIDTH_MAX, &width) || width & (width - 1)) {
        return -PD_E_SYNTAX;
    }
    *reading = (struct pd_meter_reading){.monitor = (uint32_t)monitor,
                                         .downstream = !strcmp(role, "dsm"),
                                         .rows = (uint8_t)json_array_size(rows),
                                         .width = (uint32_t)width};
    return pd_topology_switch(c->meters.topology, reading->monitor) == PD_NONE ? -PD_E_NOT_FOUND
                                                                               : 0;
}

static int read_document(struct comparing *c, const json_t *document, const char **ret_where)
{
    const uint32_t reading = (uint32_t)c->all.len;
    json_t *row, *bucket, *stray;
    size_t r, i;
    int err = read_head(c, document, &c->all.readings[reading]);

    *ret_where = err == -PD_E_NOT_FOUND ? "monitor" : "role, monitor, width or rows";
    if (err) {
        return err;
    }
    c->all.len++;
    *ret_where = "rows";
    json_array_foreach(json_object_get(document, "rows"), r, row)
    {
        json_array_foreach(row, i, bucket)
        {
            err = err ? err : read_bucket(c, bucket, reading, (uint8_t)r);
        }
    }
    if (!err) {
        *ret_where = "strays";
    }
    json_array_foreach(json_object_get(document, "strays"), i, stray)
    {
        err = err ? err : read_stray(c, stray);
    }
    return err;
}

static int read_file(struct comparing *c, const char *file, struct pd_error *error)
{
    json_t *document = NULL;
    const char *where = "";
    int err = pd_cli_meters_load(file, &document, error);

    if (err) {
        return err;
    }
    err = read_document(c, document, &where);
    json_decref(document);
    return err ? pd_fail(error, err, "%.300s: %s: %s", file, where, pd_error_text(err)) : 0;
}

/* ---- results ---- */

static bool ends_at(void *context, const struct pd_flow_id *flow, uint32_t from, uint32_t monitor)
{
    const struct comparing *c = context;
    (void)from;
    uint32_t tors[PD_HOMES_MAX];
    const uint32_t len =
        pd_topology_tors_of(c->meters.topology, &flow->dst, flow->ip_version, tors);

    for (uint32_t i = 0; i < len; i++) {
        if (c->meters.topology->switches[tors[i]].id == monitor) {
            return true;
        }
    }
    return false;
}

static int find_path(const struct comparing *c, const struct pd_meter_result *result,
                     struct pd_path *ret_path)
{
    const struct pd_topology *topology = c->meters.topology;
    const struct pd_flow_id *flow = &result->flow;
    const uint32_t src = pd_topology_tor_of(topology, &flow->src, flow->ip_version);
    const uint32_t dst = pd_topology_tor_of(topology, &flow->dst, flow->ip_version);

    return pd_codec_decode(c->meters.codec, src, dst, result->filter, ret_path, NULL);
}

static json_t *path_json(const struct pd_path *path)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < path->len; i++) {
        json_array_append_new(list, json_integer(path->switches[i]));
    }
    return list;
}

static int take_result(void *context, const struct pd_meter_result *result)
{
    struct comparing *c = context;
    struct pd_path path;
    const char *why = result->why ? pd_meter_why_text(result->why) : NULL;

    if (!why && find_path(c, result, &path)) {
        why = "its filter is that of no path, or of several";
    }
    c->flows++;
    c->more_received += result->more_received;
    if (why) {
        return json_array_append_new(c->undetermined,
                                     json_pack("{s:o,s:I,s:s}", "flow_id",
                                               pd_query_flow_id_json(&result->flow), "epoch",
                                               (json_int_t)result->epoch, "why", why))
                   ? -ENOMEM
                   : 0;
    }
    c->lossy += result->lost > 0;
    return json_array_append_new(
               c->segments,
               json_pack("{s:o,s:o,s:I,s:I,s:I}", "flow_id", pd_query_flow_id_json(&result->flow),
                         "path", path_json(&path), "epoch", (json_int_t)result->epoch, "sent",
                         (json_int_t)result->sent, "lost", (json_int_t)result->lost))
               ? -ENOMEM
               : 0;
}

static int report(struct comparing *c, struct pd_error *error)
{
    if (c->set->json) {
        return pd_cli_json_print(json_pack("{s:O,s:O,s:I}", "segments", c->segments, "undetermined",
                                           c->undetermined, "more_received",
                                           (json_int_t)c->more_received),
                                 error);
    }
    printf("%" PRIu64 " flows and epochs: %zu measured, %" PRIu64 " of them lossy, "
           "%zu undetermined\n",
           c->flows, json_array_size(c->segments), c->lossy, json_array_size(c->undetermined));
    return PD_CLI_OK;
}

static int compare(struct comparing *c, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct pd_meter_compare how = {.ends_at = ends_at, .result = take_result, .context = c};
    int err = pd_cli_meters_open(c->set->topology, &c->meters, error);

    c->all.readings = calloc((size_t)words->len + 1, sizeof *c->all.readings);
    c->segments = json_array();
    c->undetermined = json_array();
    if (!err && (!c->all.readings || !c->segments || !c->undetermined)) {
        err = pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    for (int i = 0; i < words->len && !err; i++) {
        err = read_file(c, words->words[i], error);
    }
    if (!err) {
        err = pd_meter_compare(&c->all, &how);
        err = err ? pd_fail(error, err, "%s", pd_error_text(err)) : 0;
    }
    return err ? err : report(c, error);
}

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    struct comparing c = {.set = settings};
    const int err = compare(&c, words, error);

    pd_cli_meters_close(&c.meters);
    free(c.all.readings);
    free(c.all.entries);
    free(c.all.strays);
    json_decref(c.segments);
    json_decref(c.undetermined);
    return err;
}

static const struct pd_option options[] = {
    {.name = "topology",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, topology),
     .value = "T",
     .help = "topology file"},
    {.name = "json",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "print one JSON object, for programs"},
    {0},
};

const struct pd_cli_command pd_cli_meters_compare = {
    .name = "meters compare",
    .synopsis = "--topology T [--json] M.json…",
    .help = "what flows lost between meters",
    .details =
        "Reads what meters count --json has printed, upstream and downstream, and tells for each "
        "flow and epoch how many packets were sent and lost, and the path that its filter tells. A "
        "flow without a clean bucket at both ends, with clean ones that disagree, or that came to "
        "a monitor without a rule for it is undetermined: it counts for nothing.",
    .options = options,
    .required = "topology",
    .words = "FILE",
    .words_min = 1,
    .words_max = READINGS_MAX,
    .settings_bytes = sizeof(struct settings),
    .run = run,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a meter says, as files and monitors tell it. */
#include "evidence/meters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "packet/filter.h"
#include "query/members.h"

uint64_t pd_evidence_meters_filter(const struct pd_codec *codec, uint64_t mark)
{
    return codec->read_mark ? mark & ~PD_FILTER_PRESENT : mark;
}

uint64_t pd_evidence_meters_mark(const struct pd_codec *codec, uint64_t filter)
{
    return codec->read_mark ? filter | PD_FILTER_PRESENT : filter;
}

void pd_evidence_meters_done(struct pd_evidence_meters *meters)
{
    free(meters->all.readings);
    free(meters->all.entries);
    free(meters->all.strays);
    *meters = (struct pd_evidence_meters){.topology = meters->topology, .codec = meters->codec};
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

static bool read_clean(const struct pd_evidence_meters *c, const json_t *bucket, bool downstream,
                       struct pd_meter_entry *entry)
{
    uint64_t filter = 0;

    if (pd_query_flow_id_read(json_object_get(bucket, "flow_id"), &entry->flow, NULL) ||
        !read_number(bucket, "count", 1, INT64_MAX, &entry->pkts) ||
        (downstream && !read_number(bucket, "filter", 0, INT64_MAX, &filter))) {
        return false;
    }
    entry->filter = downstream ? pd_evidence_meters_mark(c->codec, filter) : 0;
    return true;
}

static int read_bucket(struct pd_evidence_meters *c, const json_t *bucket, uint32_t reading,
                       uint8_t row)
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
    const int err = PD_GROW(c->all.entries, c->entries_room, c->all.entries_len + 1);
    if (!err) {
        c->all.entries[c->all.entries_len++] = entry;
    }
    return err;
}

static int read_stray(struct pd_evidence_meters *c, const json_t *item)
{
    struct pd_meter_stray stray;

    if (pd_query_flow_id_read(json_object_get(item, "flow_id"), &stray.flow, NULL) ||
        !read_number(item, "epoch", 0, INT64_MAX, &stray.epoch)) {
        return -PD_E_SYNTAX;
    }
    const int err = PD_GROW(c->all.strays, c->strays_room, c->all.strays_len + 1);
    if (!err) {
        c->all.strays[c->all.strays_len++] = stray;
    }
    return err;
}

static int read_head(struct pd_evidence_meters *c, const json_t *document,
                     struct pd_meter_reading *reading)
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
    return pd_topology_switch(c->topology, reading->monitor) == PD_NONE ? -PD_E_NOT_FOUND : 0;
}

int pd_evidence_meters_take(struct pd_evidence_meters *c, const json_t *document,
                            const char **ret_where)
{
    const uint32_t reading = (uint32_t)c->all.len;
    json_t *row, *bucket, *stray;
    size_t r, i;
    int err = PD_GROW(c->all.readings, c->readings_room, c->all.len + 1);

    *ret_where = "memory";
    if (err) {
        return err;
    }
    err = read_head(c, document, &c->all.readings[reading]);
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

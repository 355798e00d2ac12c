/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of meters, written down. */
#include "agent/meters/answer.h"

#include <stdlib.h>
#include <string.h>

#include "query/members.h"

/* ---- buckets ---- */

static json_t *bucket_json(const struct pd_agent_meter_bucket *bucket, bool down, uint64_t epoch)
{
    const bool told = !bucket->dirty;

    return json_pack("{s:I, s:I, s:b, s:o, s:o, s:o}", "bucket", (json_int_t)bucket->place, "epoch",
                     (json_int_t)epoch, "dirty", bucket->dirty, "flow_id",
                     told ? pd_query_flow_id_json(&bucket->flow) : json_null(), "count",
                     told ? json_integer((json_int_t)bucket->pkts) : json_null(), "filter",
                     told && down ? json_integer((json_int_t)bucket->filter) : json_null());
}

static json_t *rows_json(const struct pd_agent_meter_reading *reading, bool down, uint64_t epoch)
{
    json_t *rows = json_array();

    for (uint32_t row = 0; row < reading->rows; row++) {
        json_array_append_new(rows, json_array());
    }
    for (size_t i = 0; i < reading->roles[down].len; i++) {
        const struct pd_agent_meter_bucket *bucket = &reading->roles[down].buckets[i];

        if (json_array_append_new(json_array_get(rows, bucket->row),
                                  bucket_json(bucket, down, epoch))) {
            json_decref(rows); /* a reading that misses a bucket would tell of losses */
            return NULL;
        }
    }
    return rows;
}

static json_t *strays_json(const struct pd_agent_meter_reading *reading, uint64_t epoch)
{
    json_t *list = json_array();

    for (size_t i = 0; i < reading->strays.len; i++) {
        const struct pd_agent_meter_flow *stray = &reading->strays.flows[i];

        if (json_array_append_new(
                list, json_pack("{s:o, s:I, s:I}", "flow_id", pd_query_flow_id_json(&stray->flow),
                                "epoch", (json_int_t)epoch, "pkts", (json_int_t)stray->pkts))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *role_json(const struct pd_agent_meter_reading *reading, bool down, uint32_t monitor,
                         uint64_t epoch, uint64_t epoch_ms)
{
    return json_pack("{s:I, s:s, s:I, s:I, s:o, s:o}", "monitor", (json_int_t)monitor, "role",
                     down ? "dsm" : "usm", "width", (json_int_t)reading->width, "epoch_ms",
                     (json_int_t)epoch_ms, "rows", rows_json(reading, down, epoch), "strays",
                     down ? strays_json(reading, epoch) : json_array());
}

json_t *pd_agent_meters_roles_json(const struct pd_agent_meter_reading *reading, uint32_t monitor,
                                   uint64_t epoch, uint64_t epoch_ms)
{
    return json_pack("[o, o]", role_json(reading, false, monitor, epoch, epoch_ms),
                     role_json(reading, true, monitor, epoch, epoch_ms));
}

json_t *pd_agent_meters_largest_json(const struct pd_agent_meter_reading *reading)
{
    json_t *list = json_array();

    for (size_t i = 0; i < reading->largest.len; i++) {
        const struct pd_agent_meter_flow *flow = &reading->largest.flows[i];

        json_array_append_new(
            list, json_pack("{s:o, s:I, s:I}", "flow_id", pd_query_flow_id_json(&flow->flow),
                            "filter", (json_int_t)flow->filter, "count", (json_int_t)flow->pkts));
    }
    return list;
}

/* ---- what does not agree ---- */

static int by_flow(const void *a, const void *b)
{
    const struct pd_agent_meter_bucket *x = a, *y = b;

    return memcmp(&x->flow, &y->flow, sizeof x->flow);
}

static uint64_t disagree_of(struct pd_agent_meter_bucket *buckets, size_t len)
{
    uint64_t flows = 0;
    size_t clean = 0;

    for (size_t i = 0; i < len; i++) { /* clean ones first */
        if (!buckets[i].dirty) {
            const struct pd_agent_meter_bucket kept = buckets[clean];
            buckets[clean++] = buckets[i];
            buckets[i] = kept;
        }
    }
    if (clean) {
        qsort(buckets, clean, sizeof *buckets, by_flow);
    }
    for (size_t i = 1, counted = 0; i < clean; i++) {
        const bool same = !by_flow(&buckets[i - 1], &buckets[i]);
        const bool differs = same && (buckets[i - 1].pkts != buckets[i].pkts ||
                                      buckets[i - 1].filter != buckets[i].filter);
        counted = same && counted;
        flows += differs && !counted;
        counted |= differs;
    }
    return flows;
}

uint64_t pd_agent_meters_disagree(struct pd_agent_meter_reading *reading)
{
    uint64_t flows = 0;

    for (unsigned role = 0; role < 2; role++) {
        flows += disagree_of(reading->roles[role].buckets, reading->roles[role].len);
    }
    return flows;
}

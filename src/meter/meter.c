/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets of a meter. */
#include "meter/meter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "meter/steps.h"

enum { KEY_BYTES_MAX = 37 };

struct pd_meter {
    unsigned rows;
    uint32_t width;
    struct pd_meter_bucket buckets[]; /* instance by instance, row by row */
};

/* ---- places ---- */

static const uint32_t crc_steps[PD_METER_ROWS_MAX][16] = PD_METER_STEPS;

static uint32_t crc32(const uint32_t steps[16], const uint8_t *bytes, size_t len)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < len; i++) {
        crc ^= bytes[i];
        crc = crc >> 4 ^ steps[crc & 15];
        crc = crc >> 4 ^ steps[crc & 15];
    }
    return ~crc;
}

static size_t write_key(const struct pd_flow_id *flow, uint8_t key[KEY_BYTES_MAX])
{
    const size_t bytes = flow->ip_version == 4 ? 4 : 16;
    uint8_t *at = key + 2 * bytes;

    memcpy(key, flow->src.bytes, bytes);
    memcpy(key + bytes, flow->dst.bytes, bytes);
    *at++ = (uint8_t)(flow->src_port >> 8);
    *at++ = (uint8_t)flow->src_port;
    *at++ = (uint8_t)(flow->dst_port >> 8);
    *at++ = (uint8_t)flow->dst_port;
    *at++ = flow->protocol;
    return (size_t)(at - key);
}

uint32_t pd_meter_place(const struct pd_flow_id *flow, unsigned row, uint32_t width)
{
    uint8_t key[KEY_BYTES_MAX];
    const size_t len = write_key(flow, key);

    return crc32(crc_steps[row], key, len) & (width - 1);
}

/* ---- life ---- */

int pd_meter_new(unsigned rows, uint32_t width, struct pd_meter **ret_meter)
{
    if (!rows || rows > PD_METER_ROWS_MAX || !width || width & (width - 1) ||
        width > PD_METER_WIDTH_MAX) {
        return -EINVAL;
    }
    const size_t len = (size_t)PD_METER_INSTANCES * rows * width;
    struct pd_meter *meter = calloc(1, sizeof *meter + len * sizeof *meter->buckets);

    if (!meter) {
        return -ENOMEM;
    }
    meter->rows = rows;
    meter->width = width;
    *ret_meter = meter;
    return 0;
}

void pd_meter_free(struct pd_meter *meter)
{
    free(meter);
}

/* ---- counting ---- */

static struct pd_meter_bucket *bucket_at(const struct pd_meter *meter, unsigned instance,
                                         unsigned row, uint32_t bucket)
{
    const size_t first = ((size_t)instance * meter->rows + row) * meter->width;

    return (struct pd_meter_bucket *)&meter->buckets[first + bucket];
}

void pd_meter_add(struct pd_meter *meter, unsigned instance, const struct pd_flow_id *flow,
                  uint64_t filter, uint64_t pkts)
{
    for (unsigned row = 0; row < meter->rows; row++) {
        struct pd_meter_bucket *bucket =
            bucket_at(meter, instance, row, pd_meter_place(flow, row, meter->width));

        if (!bucket->used) {
            *bucket = (struct pd_meter_bucket){.flow = *flow, .filter = filter, .used = true};
        }
        bucket->dirty |= bucket->filter != filter || !pd_flow_id_equal(&bucket->flow, flow);
        bucket->pkts += bucket->dirty ? 0 : pkts;
    }
}

const struct pd_meter_bucket *pd_meter_bucket(const struct pd_meter *meter, unsigned instance,
                                              unsigned row, uint32_t bucket)
{
    return bucket_at(meter, instance, row, bucket);
}

void pd_meter_clear(struct pd_meter *meter, unsigned instance)
{
    memset(bucket_at(meter, instance, 0, 0), 0,
           (size_t)meter->rows * meter->width * sizeof *meter->buckets);
}

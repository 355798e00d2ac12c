/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets of a meter. */
#include "meter/meter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES_MAX = 37 };

struct pd_meter {
    unsigned rows;
    uint32_t width;
    struct pd_meter_bucket buckets[]; /* instance by instance, row by row */
};

/* ---- places ---- */

/* By the lower four bits of the rest, for the three polynomials, reflected. */
static const uint32_t crc_steps[PD_METER_ROWS_MAX][16] = {
    {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
     0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278,
     0xbdbdf21c},
    {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
     0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a,
     0xf36e6f75},
    {0x00000000, 0x83cf0f3c, 0xd1fdae25, 0x5232a119, 0x7598ec17, 0xf657e32b, 0xa4654232, 0x27aa4d0e,
     0xeb31d82e, 0x68fed712, 0x3acc760b, 0xb9037937, 0x9ea93439, 0x1d663b05, 0x4f549a1c,
     0xcc9b9520},
};

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

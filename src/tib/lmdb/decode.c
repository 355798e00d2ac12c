/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding: the rows of a block become records, column by column. */
#include <stddef.h>
#include <string.h>

#include "tib/lmdb/select.h"

/* Index of the first run from rows->run on that ends behind a row: in steps that double, then
 * halve. */
static void run_seek(struct pd_rows *rows, size_t row)
{
    size_t runs = rows->chunk->columns[PD_COLUMN_RUN_LAST].len, step = 1;
    while (rows->run + step < runs && pd_rows_run_end(rows, rows->run + step - 1) <= row) {
        rows->run += step;
        step *= 2;
    }
    for (; step; step /= 2) {
        if (rows->run + step <= runs && pd_rows_run_end(rows, rows->run + step - 1) <= row) {
            rows->run += step;
        }
    }
}

void pd_lmdb_rows_path_ids(struct pd_rows *rows, const struct pd_block *block, uint32_t *ret_ids)
{
    const struct pd_column *path_ids = &rows->chunk->columns[PD_COLUMN_RUN_PATH];
    for (uint32_t i = 0; i < block->len;) {
        uint32_t row = block->rows ? block->rows[i] : block->first + i;
        run_seek(rows, row);
        size_t end = pd_rows_run_end(rows, rows->run);
        uint32_t id = (uint32_t)pd_column_get(path_ids, rows->run);
        if (block->rows) {
            while (i < block->len && block->rows[i] < end) {
                ret_ids[i++] = id;
            }
        } else {
            while (i < block->len && block->first + i < end) {
                ret_ids[i++] = id;
            }
        }
    }
}

static void addr_set(struct pd_addr *addr, uint64_t upper, uint64_t low, bool v4)
{
    uint64_t halves[2] = {v4 ? htobe64(low << 32) : htobe64(upper), v4 ? 0 : htobe64(low)};
    memcpy(addr->bytes, halves, sizeof halves);
}

/* One prefix for all rows of the block's column: the rule for IPv4, and for one subnet of IPv6. */
static void addrs_of_prefix(const struct pd_rows *rows, const struct pd_block *block, size_t code,
                            const uint64_t *low, size_t offset_bytes, struct pd_tib_record *records)
{
    const struct pd_column *columns = rows->chunk->columns;
    uint64_t upper = pd_column_get(&columns[PD_COLUMN_PREFIX_UPPER], code);
    bool v4 = pd_column_get(&columns[PD_COLUMN_PREFIX_FAMILY], code) == 4;
    for (uint32_t i = 0; i < block->len; i++) {
        addr_set((struct pd_addr *)((uint8_t *)&records[i] + offset_bytes), upper, low[i], v4);
    }
}

static void addrs(struct pd_rows *rows, const struct pd_block *block, enum pd_chunk_column prefix,
                  size_t offset_bytes, struct pd_tib_record *records)
{
    const struct pd_column *columns = rows->chunk->columns;
    const struct pd_column *codes = &columns[prefix];
    pd_rows_column(rows, block, prefix + 1, rows->values);
    if (!codes->width_bytes) {
        addrs_of_prefix(rows, block, codes->base, rows->values, offset_bytes, records);
        return;
    }
    for (uint32_t i = 0; i < block->len; i++) {
        size_t code = pd_column_get(codes, block->rows ? block->rows[i] : block->first + i);
        addr_set((struct pd_addr *)((uint8_t *)&records[i] + offset_bytes),
                 pd_column_get(&columns[PD_COLUMN_PREFIX_UPPER], code), rows->values[i],
                 pd_column_get(&columns[PD_COLUMN_PREFIX_FAMILY], code) == 4);
    }
}

static void families(struct pd_rows *rows, const struct pd_block *block,
                     struct pd_tib_record *records)
{
    const struct pd_column *family = &rows->chunk->columns[PD_COLUMN_PREFIX_FAMILY];
    const struct pd_column *codes = &rows->chunk->columns[PD_COLUMN_SRC_PREFIX];
    uint8_t of_all = (uint8_t)pd_column_get(family, codes->base);
    if (!codes->width_bytes) {
        for (uint32_t i = 0; i < block->len; i++) {
            records[i].flow.ip_version = of_all;
            memset(records[i].flow.zero, 0, sizeof records[i].flow.zero);
        }
        return;
    }
    pd_rows_column(rows, block, PD_COLUMN_SRC_PREFIX, rows->values);
    for (uint32_t i = 0; i < block->len; i++) {
        records[i].flow.ip_version = (uint8_t)pd_column_get(family, rows->values[i]);
        memset(records[i].flow.zero, 0, sizeof records[i].flow.zero);
    }
}

/* A column into one field of all records of the block. */
#define FIELD(id, field, type)                            \
    do {                                                  \
        pd_rows_column(rows, block, id, rows->values);    \
        for (uint32_t i = 0; i < block->len; i++)         \
            ret_records[i].field = (type)rows->values[i]; \
    } while (0)

static void flows(struct pd_rows *rows, const struct pd_block *block,
                  struct pd_tib_record *ret_records)
{
    addrs(rows, block, PD_COLUMN_SRC_PREFIX, offsetof(struct pd_tib_record, flow.src), ret_records);
    addrs(rows, block, PD_COLUMN_DST_PREFIX, offsetof(struct pd_tib_record, flow.dst), ret_records);
    FIELD(PD_COLUMN_SRC_PORT, flow.src_port, uint16_t);
    FIELD(PD_COLUMN_DST_PORT, flow.dst_port, uint16_t);
    FIELD(PD_COLUMN_PROTOCOL, flow.protocol, uint8_t);
    families(rows, block, ret_records);
}

static void more(struct pd_rows *rows, const struct pd_block *block,
                 struct pd_tib_record *ret_records)
{
    if (rows->chunk->header.version == PD_CHUNK_VERSION) {
        for (uint32_t i = 0; i < block->len; i++) {
            ret_records[i].retransmissions = ret_records[i].extra_bytes = 0;
            ret_records[i].extra = NULL;
        }
        return;
    }
    FIELD(PD_COLUMN_RETRANSMISSIONS, retransmissions, uint32_t);
    for (uint32_t i = 0; i < block->len; i++) {
        ret_records[i].extra =
            pd_chunk_extra(rows->chunk, block->rows ? block->rows[i] : block->first + i,
                           &ret_records[i].extra_bytes);
    }
}

void pd_lmdb_rows_records(struct pd_rows *rows, const struct pd_block *block, unsigned parts,
                          struct pd_tib_record *ret_records)
{
    if (parts & PD_PART_FLOW) {
        flows(rows, block, ret_records);
    }
    if (parts & PD_PART_SOURCE) {
        for (uint32_t i = 0; i < block->len; i++) {
            ret_records[i].flow = (struct pd_flow_id){0};
        }
        addrs(rows, block, PD_COLUMN_SRC_PREFIX, offsetof(struct pd_tib_record, flow.src),
              ret_records);
        families(rows, block, ret_records);
    }
    if (parts & PD_PART_PATH) {
        const struct pd_paths *paths = rows->select->snapshot->store->paths;
        pd_lmdb_rows_path_ids(rows, block, rows->ids);
        struct pd_paths_way way = {NULL, NULL};
        for (uint32_t i = 0; i < block->len; i++) {
            if (!i || rows->ids[i] != rows->ids[i - 1]) {
                way = pd_lmdb_paths_way(paths, rows->ids[i]);
            }
            ret_records[i].path = way.path;
            ret_records[i].claim = way.claim;
        }
    }
    if (parts & PD_PART_TIMES) {
        FIELD(PD_COLUMN_STIME, stime_us, uint64_t);
        pd_rows_column(rows, block, PD_COLUMN_DURATION, rows->values);
        for (uint32_t i = 0; i < block->len; i++) {
            ret_records[i].etime_us = ret_records[i].stime_us + rows->values[i];
        }
    }
    if (parts & PD_PART_COUNTS) {
        FIELD(PD_COLUMN_BYTES, bytes, uint64_t);
        FIELD(PD_COLUMN_PKTS, pkts, uint64_t);
    }
    if (parts & PD_PART_MORE) {
        more(rows, block, ret_records);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks: checks and reading. Bytes come from a file and are held for hostile until
 * pd_lmdb_chunk_verify has passed. */
#include "tib/lmdb/chunk.h"

#include <xxhash.h>

#include "base/error.h"
#include "tib/tib.h"

#define HASHED_FROM offsetof(struct pd_chunk_header, first_row)

static const enum pd_chunk_axis axis_of[PD_COLUMN_COUNT] = {
#define X(name, axis) PD_AXIS_##axis,
    PD_CHUNK_COLUMNS(X)
#undef X
};

static void header_load(const uint8_t *bytes, struct pd_chunk_header *ret_header)
{
    struct pd_chunk_header raw;
    memcpy(&raw, bytes, sizeof raw);
    *ret_header = (struct pd_chunk_header){
        .magic = le32toh(raw.magic),
        .version = le16toh(raw.version),
        .columns = le16toh(raw.columns),
        .xxh3 = le64toh(raw.xxh3),
        .first_row = le64toh(raw.first_row),
        .min_time_us = le64toh(raw.min_time_us),
        .max_time_us = le64toh(raw.max_time_us),
        .size_bytes = le32toh(raw.size_bytes),
        .encoding = le32toh(raw.encoding),
        .extra_bytes = le32toh(raw.extra_bytes),
    };
    for (unsigned i = 0; i < PD_AXIS_COUNT; i++) {
        ret_header->len[i] = le32toh(raw.len[i]);
    }
}

static bool lens_hold(const uint32_t len[PD_AXIS_COUNT])
{
    return len[PD_AXIS_ROWS] >= 1 && len[PD_AXIS_ROWS] <= PD_CHUNK_ROWS && len[PD_AXIS_RUNS] >= 1 &&
           len[PD_AXIS_RUNS] <= len[PD_AXIS_ROWS] && len[PD_AXIS_PREFIXES] >= 1 &&
           len[PD_AXIS_PREFIXES] <= 2 * len[PD_AXIS_ROWS] && len[PD_AXIS_COMMITS] >= 1 &&
           len[PD_AXIS_COMMITS] <= len[PD_AXIS_ROWS] &&
           len[PD_AXIS_BLOOM] % PD_BLOOM_BLOCK_WORDS == 0 &&
           len[PD_AXIS_BLOOM] <= PD_CHUNK_ROWS / PD_BLOOM_ROWS_PER_BLOCK * PD_BLOOM_BLOCK_WORDS &&
           (len[PD_AXIS_INDEX] == 0 || len[PD_AXIS_INDEX] == len[PD_AXIS_ROWS]) &&
           len[PD_AXIS_BUCKETS] == pd_index_buckets(len[PD_AXIS_INDEX]);
}

/* Sizes of the frames stand in front of them; together they fill the column. */
static bool frames_fill(const struct pd_column *column)
{
    uint64_t frames = (column->len + PD_CHUNK_FRAME_VALUES - 1) / PD_CHUNK_FRAME_VALUES;
    uint64_t filled = frames * sizeof(uint32_t);
    if (filled > column->packed_bytes) {
        return false;
    }
    for (size_t i = 0; i < frames; i++) {
        filled += pd_column_offset_at(column->packed, sizeof(uint32_t), i);
    }
    return filled == column->packed_bytes;
}

static uint32_t len_of(const struct pd_chunk_header *header, enum pd_chunk_axis axis)
{
    return axis == PD_AXIS_EXTRA ? header->extra_bytes : header->len[axis];
}

/* A column lies wholly behind the descriptors and inside the chunk. */
static int column_open(const uint8_t *bytes, const struct pd_chunk_header *header, unsigned id,
                       struct pd_column *ret_column)
{
    struct pd_column_descriptor raw;
    memcpy(&raw, bytes + sizeof *header + id * sizeof raw, sizeof raw);
    uint64_t offset = le32toh(raw.offset_bytes), width = raw.width_bytes;
    uint64_t stored = raw.stored_bytes[0] | (uint64_t)raw.stored_bytes[1] << 8 |
                      (uint64_t)raw.stored_bytes[2] << 16;
    uint32_t len = len_of(header, axis_of[id]);
    if ((width & (width - 1)) != 0 || width > 8 || offset < pd_chunk_head_bytes(header->columns) ||
        offset + stored > header->size_bytes) {
        return -PD_E_CORRUPT;
    }
    struct pd_column column = {
        .base = le64toh(raw.base), .len = len, .width_bytes = raw.width_bytes};
    bool packed = header->encoding == PD_CHUNK_PACKED && pd_column_packs(id) && width;
    if (packed) {
        column.packed = bytes + offset;
        column.packed_bytes = (uint32_t)stored;
    } else {
        column.at = bytes + offset;
    }
    if (packed ? !frames_fill(&column) : stored != width * len) {
        return -PD_E_CORRUPT;
    }
    *ret_column = column;
    return 0;
}

int pd_lmdb_chunk_open(const void *bytes, size_t size_bytes, uint64_t key,
                       struct pd_chunk *ret_chunk)
{
    struct pd_chunk chunk = {.bytes = bytes};
    if (size_bytes < pd_chunk_head_bytes(PD_COLUMN_COUNT_PLAIN)) {
        return -PD_E_CORRUPT;
    }
    header_load(bytes, &chunk.header);
    if (chunk.header.magic != PD_CHUNK_MAGIC) {
        return -PD_E_CORRUPT;
    }
    bool more = chunk.header.version == PD_CHUNK_VERSION_MORE;
    if ((chunk.header.version != PD_CHUNK_VERSION && !more) ||
        chunk.header.encoding > PD_CHUNK_PACKED) {
        return -PD_E_VERSION;
    }
    if (chunk.header.columns != (more ? PD_COLUMN_COUNT : PD_COLUMN_COUNT_PLAIN) ||
        chunk.header.size_bytes != size_bytes ||
        size_bytes < pd_chunk_head_bytes(chunk.header.columns) ||
        chunk.header.extra_bytes > (more ? PD_CHUNK_EXTRA_BYTES : 0) ||
        chunk.header.first_row != key || !lens_hold(chunk.header.len)) {
        return -PD_E_CORRUPT;
    }
    for (unsigned id = 0; id < chunk.header.columns; id++) {
        if (column_open(bytes, &chunk.header, id, &chunk.columns[id])) {
            return -PD_E_CORRUPT;
        }
    }
    for (unsigned id = chunk.header.columns; id < PD_COLUMN_COUNT; id++) {
        chunk.columns[id] = (struct pd_column){
            .at = chunk.bytes, .len = len_of(&chunk.header, axis_of[id])}; /* all values are 0 */
    }
    *ret_chunk = chunk;
    return 0;
}

static bool column_below(const struct pd_column *column, uint64_t bound)
{
    if (column->packed) {
        return true; /* looked at when it is loaded */
    }
    size_t len = column->width_bytes ? column->len : 1; /* all are the same */
    for (size_t i = 0; i < len; i++) {
        if (pd_column_get(column, i) >= bound) {
            return false;
        }
    }
    return true;
}

/* Runs are in order, not empty, and the last one ends with the last row. */
static bool runs_hold(const struct pd_chunk *chunk)
{
    const struct pd_column *last = &chunk->columns[PD_COLUMN_RUN_LAST];
    uint64_t next = 0;
    for (size_t i = 0; i < last->len; i++) {
        uint64_t end = pd_column_get(last, i);
        if (end < next || end >= chunk->header.len[PD_AXIS_ROWS]) {
            return false;
        }
        next = end + 1;
    }
    return next == chunk->header.len[PD_AXIS_ROWS];
}

/* Commits begin with the chunk's first record and are in order. */
static bool commits_hold(const struct pd_chunk *chunk)
{
    const struct pd_column *first = &chunk->columns[PD_COLUMN_COMMIT_ROW];
    bool holds = pd_column_get(first, 0) == chunk->header.first_row;
    for (size_t i = 1; i < first->len; i++) {
        holds &= pd_column_get(first, i - 1) < pd_column_get(first, i);
    }
    return holds && column_below(&chunk->columns[PD_COLUMN_COMMIT], first->len);
}

/* Buckets are in order and the last one ends with the last row. */
static bool index_holds(const struct pd_chunk *chunk)
{
    const struct pd_column *end = &chunk->columns[PD_COLUMN_FLOW_END];
    uint64_t before = 0;
    for (size_t i = 0; i < end->len; i++) {
        uint64_t now = pd_column_get(end, i);
        if (now < before) {
            return false;
        }
        before = now;
    }
    return before == chunk->header.len[PD_AXIS_INDEX] &&
           (!end->len ||
            column_below(&chunk->columns[PD_COLUMN_FLOW_ROW], chunk->header.len[PD_AXIS_ROWS]));
}

/* The rows' extra bytes lie one behind the other and fill the column, each value of which is a
 * byte.
 */
static bool extra_holds(const struct pd_chunk *chunk)
{
    const struct pd_column *end = &chunk->columns[PD_COLUMN_EXTRA_END];
    const struct pd_column *extra = &chunk->columns[PD_COLUMN_EXTRA];
    uint64_t before = 0;
    if (chunk->header.version == PD_CHUNK_VERSION) {
        return true;
    }
    for (size_t i = 0; i < end->len; i++) {
        uint64_t now = pd_column_get(end, i);
        if (now < before || now - before > PD_TIB_EXTRA_BYTES) {
            return false;
        }
        before = now;
    }
    return before == extra->len && (!extra->len || (extra->width_bytes == 1 && !extra->base));
}

static uint64_t chunk_hash(const uint8_t *bytes, size_t size_bytes, uint64_t first_row)
{
    return XXH3_64bits_withSeed(bytes + HASHED_FROM, size_bytes - HASHED_FROM, first_row);
}

void pd_lmdb_chunk_seal_hash(uint8_t *bytes, size_t size_bytes, uint64_t first_row)
{
    uint64_t xxh3 = htole64(chunk_hash(bytes, size_bytes, first_row));
    memcpy(bytes + offsetof(struct pd_chunk_header, xxh3), &xxh3, sizeof xxh3);
}

int pd_lmdb_chunk_verify(const struct pd_chunk *chunk, uint32_t paths_len)
{
    const struct pd_chunk_header *header = &chunk->header;
    uint64_t xxh3 = chunk_hash(chunk->bytes, header->size_bytes, header->first_row);
    uint32_t prefixes = header->len[PD_AXIS_PREFIXES];
    if (xxh3 != header->xxh3 || !runs_hold(chunk) || !commits_hold(chunk) || !index_holds(chunk) ||
        !extra_holds(chunk) || !column_below(&chunk->columns[PD_COLUMN_SRC_PREFIX], prefixes) ||
        !column_below(&chunk->columns[PD_COLUMN_DST_PREFIX], prefixes) ||
        !column_below(&chunk->columns[PD_COLUMN_RUN_PATH], paths_len)) {
        return -PD_E_CORRUPT;
    }
    return 0;
}

static void addr_join(uint8_t ip_version, uint64_t upper, uint64_t low, struct pd_addr *ret_addr)
{
    uint64_t halves[2] = {htobe64(upper), htobe64(low)};
    if (ip_version == 4) {
        halves[0] = htobe64(low << 32);
        halves[1] = 0;
    }
    memcpy(ret_addr->bytes, halves, sizeof halves);
}

void pd_lmdb_chunk_flow(const struct pd_chunk *chunk, size_t row, struct pd_flow_id *ret_flow)
{
    const struct pd_column *columns = chunk->columns;
    const struct pd_column *upper = &columns[PD_COLUMN_PREFIX_UPPER];
    size_t src = pd_column_get(&columns[PD_COLUMN_SRC_PREFIX], row);
    size_t dst = pd_column_get(&columns[PD_COLUMN_DST_PREFIX], row);
    *ret_flow = (struct pd_flow_id){
        .src_port = (uint16_t)pd_column_get(&columns[PD_COLUMN_SRC_PORT], row),
        .dst_port = (uint16_t)pd_column_get(&columns[PD_COLUMN_DST_PORT], row),
        .protocol = (uint8_t)pd_column_get(&columns[PD_COLUMN_PROTOCOL], row),
        .ip_version = (uint8_t)pd_column_get(&columns[PD_COLUMN_PREFIX_FAMILY], src),
    };
    addr_join(ret_flow->ip_version, pd_column_get(upper, src),
              pd_column_get(&columns[PD_COLUMN_SRC_LOW], row), &ret_flow->src);
    addr_join(ret_flow->ip_version, pd_column_get(upper, dst),
              pd_column_get(&columns[PD_COLUMN_DST_LOW], row), &ret_flow->dst);
}

void pd_lmdb_chunk_rows(const struct pd_chunk *chunk, struct pd_row *ret_rows)
{
    const struct pd_column *columns = chunk->columns;
    size_t run = 0;
    for (size_t i = 0; i < chunk->header.len[PD_AXIS_ROWS]; i++) {
        run += i > pd_column_get(&columns[PD_COLUMN_RUN_LAST], run);
        struct pd_row *row = &ret_rows[i];
        pd_lmdb_chunk_flow(chunk, i, &row->flow);
        row->path = (uint32_t)pd_column_get(&columns[PD_COLUMN_RUN_PATH], run);
        row->commit = (uint32_t)pd_column_get(&columns[PD_COLUMN_COMMIT], i);
        row->stime_us = pd_column_get(&columns[PD_COLUMN_STIME], i);
        row->etime_us = row->stime_us + pd_column_get(&columns[PD_COLUMN_DURATION], i);
        row->bytes = pd_column_get(&columns[PD_COLUMN_BYTES], i);
        row->pkts = pd_column_get(&columns[PD_COLUMN_PKTS], i);
        row->retransmissions = (uint32_t)pd_column_get(&columns[PD_COLUMN_RETRANSMISSIONS], i);
        row->extra = pd_chunk_extra(chunk, i, &row->extra_bytes);
    }
}

bool pd_lmdb_chunk_may_have(const struct pd_chunk *chunk, uint64_t flow_hash)
{
    const struct pd_column *bloom = &chunk->columns[PD_COLUMN_BLOOM];
    if (!bloom->len) {
        return true;
    }
    size_t first =
        pd_bloom_block(flow_hash, bloom->len / PD_BLOOM_BLOCK_WORDS) * PD_BLOOM_BLOCK_WORDS;
    for (unsigned probe = 0; probe < PD_BLOOM_PROBES; probe++) {
        if (!(pd_column_get(bloom, first + probe) & pd_bloom_bit(flow_hash, probe))) {
            return false;
        }
    }
    return true;
}

bool pd_lmdb_chunk_flow_rows(const struct pd_chunk *chunk, uint64_t flow_hash, uint32_t *ret_first,
                             uint32_t *ret_end)
{
    const struct pd_column *end = &chunk->columns[PD_COLUMN_FLOW_END];
    if (!end->len) {
        return false;
    }
    uint32_t bucket = pd_index_bucket(flow_hash, end->len);
    *ret_first = bucket ? (uint32_t)pd_column_get(end, bucket - 1) : 0;
    *ret_end = (uint32_t)pd_column_get(end, bucket);
    return true;
}

size_t pd_lmdb_chunk_commits_before(const struct pd_chunk *chunk, uint64_t since_row)
{
    const struct pd_column *first = &chunk->columns[PD_COLUMN_COMMIT_ROW];
    size_t low = 0, high = first->len;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (pd_column_get(first, mid) < since_row) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

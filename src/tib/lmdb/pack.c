/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks: packing of the large columns of cold ones, and reading of what was packed
 * (docs/formats/tib.md, "Packed columns"). */
#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/error.h"
#include "tib/lmdb/chunk.h"

#define LEVEL                                                                          \
    6 /* 3 takes a third of the time for 1 % more, 15 seven times as long for 5 % less \
       */

static size_t frame_len(const struct pd_column *column, size_t frame)
{
    size_t rest = column->len - frame * PD_CHUNK_FRAME_VALUES;
    return rest < PD_CHUNK_FRAME_VALUES ? rest : PD_CHUNK_FRAME_VALUES;
}

static size_t frames_of(const struct pd_column *column)
{
    return (column->len + PD_CHUNK_FRAME_VALUES - 1) / PD_CHUNK_FRAME_VALUES;
}

/* ---- packing ---- */

/* All lowest bytes, then all second ones, and so on: the high ones are nearly constant. */
static void shuffle(const uint8_t *values, size_t len, unsigned width_bytes, uint8_t *ret_planes)
{
    for (unsigned byte = 0; byte < width_bytes; byte++) {
        for (size_t i = 0; i < len; i++) {
            *ret_planes++ = values[i * width_bytes + byte];
        }
    }
}

struct packer {
    uint8_t *bytes;
    size_t size_bytes, room_bytes;
    uint8_t shuffled[8 * PD_CHUNK_FRAME_VALUES];
    ZSTD_CCtx *zstd;
};

/* A frame that does not get smaller stays shuffled only: its size then is that of its values. */
static uint32_t frame_put(struct packer *packer, const struct pd_column *column, size_t frame)
{
    size_t len = frame_len(column, frame), size_bytes = len * column->width_bytes;
    shuffle(column->at + frame * PD_CHUNK_FRAME_VALUES * column->width_bytes, len,
            column->width_bytes, packer->shuffled);
    uint8_t *to = packer->bytes + packer->size_bytes;
    size_t packed = ZSTD_compressCCtx(packer->zstd, to, packer->room_bytes - packer->size_bytes,
                                      packer->shuffled, size_bytes, LEVEL);
    if (ZSTD_isError(packed) || packed >= size_bytes) {
        memcpy(to, packer->shuffled, size_bytes);
        packed = size_bytes;
    }
    packer->size_bytes += packed;
    return (uint32_t)packed;
}

static void column_pack(struct packer *packer, const struct pd_column *column)
{
    size_t frames = frames_of(column), table = packer->size_bytes;
    packer->size_bytes += frames * sizeof(uint32_t);
    for (size_t i = 0; i < frames; i++) {
        uint32_t size = htole32(frame_put(packer, column, i));
        memcpy(packer->bytes + table + i * sizeof size, &size, sizeof size);
    }
}

/* Leaves the index of flows out. */
static struct pd_column column_kept(const struct pd_chunk *plain, unsigned id)
{
    struct pd_column nothing = {.at = plain->bytes};
    return id == PD_COLUMN_FLOW_ROW || id == PD_COLUMN_FLOW_END ? nothing : plain->columns[id];
}

static void column_put(struct packer *packer, const struct pd_chunk *plain, unsigned id)
{
    const struct pd_column kept = column_kept(plain, id), *column = &kept;
    struct pd_column_descriptor raw;
    size_t place = sizeof plain->header + id * sizeof raw, from = packer->size_bytes;
    memcpy(&raw, plain->bytes + place, sizeof raw);
    if (pd_column_packs(id) && column->width_bytes) {
        column_pack(packer, column);
    } else {
        memcpy(packer->bytes + from, column->at, (size_t)column->len * column->width_bytes);
        packer->size_bytes += (size_t)column->len * column->width_bytes;
    }
    size_t stored = packer->size_bytes - from;
    raw.width_bytes = column->width_bytes;
    raw.offset_bytes = htole32((uint32_t)from);
    for (unsigned i = 0; i < sizeof raw.stored_bytes; i++) {
        raw.stored_bytes[i] = (uint8_t)(stored >> 8 * i);
    }
    memcpy(packer->bytes + place, &raw, sizeof raw);
    while (packer->size_bytes % 8) {
        packer->bytes[packer->size_bytes++] = 0;
    }
}

/* At most: columns may share their bytes in a chunk that was not made here. zstd wants its bound of
 * room to be quick. */
static size_t room_for(const struct pd_chunk *plain)
{
    size_t room =
        pd_chunk_head_bytes(plain->header.columns) + ZSTD_COMPRESSBOUND(8 * PD_CHUNK_FRAME_VALUES);
    for (unsigned id = 0; id < PD_COLUMN_COUNT; id++) {
        const struct pd_column *column = &plain->columns[id];
        room +=
            (size_t)column->len * column->width_bytes + frames_of(column) * sizeof(uint32_t) + 8;
    }
    return room;
}

int pd_lmdb_chunk_pack(const struct pd_chunk *plain, void **ret_bytes, size_t *ret_size_bytes)
{
    size_t room = room_for(plain);
    struct packer *packer = malloc(sizeof *packer);
    if (!packer) {
        return -ENOMEM;
    }
    *packer = (struct packer){.size_bytes = pd_chunk_head_bytes(plain->header.columns),
                              .room_bytes = room};
    packer->bytes = malloc(room);
    packer->zstd = ZSTD_createCCtx();
    int err = packer->bytes && packer->zstd ? 0 : -ENOMEM;
    if (err) {
        goto out;
    }
    memcpy(packer->bytes, plain->bytes, sizeof plain->header);
    for (unsigned id = 0; id < plain->header.columns; id++) {
        column_put(packer, plain, id);
    }
    uint32_t encoding = htole32(PD_CHUNK_PACKED), size = htole32((uint32_t)packer->size_bytes);
    memcpy(packer->bytes + offsetof(struct pd_chunk_header, encoding), &encoding, sizeof encoding);
    memset(packer->bytes + offsetof(struct pd_chunk_header, len[PD_AXIS_INDEX]), 0,
           2 * sizeof plain->header.len[0]);
    memcpy(packer->bytes + offsetof(struct pd_chunk_header, size_bytes), &size, sizeof size);
    pd_lmdb_chunk_seal_hash(packer->bytes, packer->size_bytes, plain->header.first_row);
    *ret_bytes = packer->bytes;
    *ret_size_bytes = packer->size_bytes;
    packer->bytes = NULL;
out:
    ZSTD_freeCCtx(packer->zstd);
    free(packer->bytes);
    free(packer);
    return err;
}

/* ---- reading ---- */

void pd_lmdb_chunk_scratch_done(struct pd_chunk_scratch *scratch)
{
    for (unsigned id = 0; id < PD_COLUMN_COUNT; id++) {
        free(scratch->columns[id]);
    }
    free(scratch->shuffled);
    ZSTD_freeDCtx(scratch->zstd);
    *scratch = (struct pd_chunk_scratch){.zstd = NULL};
}

static inline __attribute__((always_inline)) void unshuffle_width(const uint8_t *planes, size_t len,
                                                                  unsigned width_bytes,
                                                                  uint8_t *ret_values)
{
    for (size_t i = 0; i < len; i++) {
        for (unsigned byte = 0; byte < width_bytes; byte++) {
            ret_values[i * width_bytes + byte] = planes[byte * len + i];
        }
    }
}

static void unshuffle(const uint8_t *planes, size_t len, unsigned width_bytes, uint8_t *ret_values)
{
    switch (width_bytes) {
    case 1: memcpy(ret_values, planes, len); break;
    case 2: unshuffle_width(planes, len, 2, ret_values); break;
    case 4: unshuffle_width(planes, len, 4, ret_values); break;
    default: unshuffle_width(planes, len, 8, ret_values);
    }
}

static int reserve(struct pd_chunk_scratch *scratch, const struct pd_column *column, unsigned id)
{
    size_t size_bytes = (size_t)column->len * column->width_bytes;
    if (!scratch->zstd) {
        scratch->zstd = ZSTD_createDCtx();
    }
    if (!scratch->shuffled) {
        scratch->shuffled = malloc((size_t)8 * PD_CHUNK_FRAME_VALUES);
    }
    if (!scratch->zstd || !scratch->shuffled) {
        return -ENOMEM;
    }
    if (scratch->room_bytes[id] >= size_bytes) {
        return 0;
    }
    free(scratch->columns[id]);
    scratch->columns[id] = malloc(size_bytes);
    scratch->room_bytes[id] = scratch->columns[id] ? size_bytes : 0;
    return scratch->columns[id] ? 0 : -ENOMEM;
}

/* Values of these columns are indexes; what they index is checked here, since verifying does not
 * unpack. */
static uint64_t bound_of(const struct pd_chunk *chunk, unsigned id)
{
    switch (id) {
    case PD_COLUMN_SRC_PREFIX:
    case PD_COLUMN_DST_PREFIX: return chunk->header.len[PD_AXIS_PREFIXES];
    case PD_COLUMN_COMMIT: return chunk->header.len[PD_AXIS_COMMITS];
    default: return UINT64_MAX;
    }
}

static int frame_load(struct pd_chunk *chunk, unsigned id, size_t frame,
                      struct pd_chunk_scratch *scratch)
{
    struct pd_column *column = &chunk->columns[id];
    size_t len = frame_len(column, frame), size_bytes = len * column->width_bytes;
    const uint8_t *from = column->packed + frames_of(column) * sizeof(uint32_t);
    for (size_t i = 0; i < frame; i++) {
        from += pd_column_offset_at(column->packed, sizeof(uint32_t), i);
    }
    size_t packed = (size_t)pd_column_offset_at(column->packed, sizeof(uint32_t), frame);
    uint8_t *to = scratch->columns[id] + frame * PD_CHUNK_FRAME_VALUES * column->width_bytes;
    if (packed != size_bytes) {
        if (ZSTD_decompressDCtx(scratch->zstd, scratch->shuffled, size_bytes, from, packed) !=
            size_bytes) {
            return -PD_E_CORRUPT;
        }
        from = scratch->shuffled;
    }
    unshuffle(from, len, column->width_bytes, to);
    uint64_t bound = bound_of(chunk, id);
    for (size_t i = 0; i < len && bound != UINT64_MAX; i++) {
        if (column->base + pd_column_offset_at(to, column->width_bytes, i) >= bound) {
            return -PD_E_CORRUPT;
        }
    }
    column->at = scratch->columns[id];
    column->loaded |= (uint8_t)(1u << frame);
    return 0;
}

static int column_load(struct pd_chunk *chunk, unsigned id, uint32_t first, uint32_t end,
                       struct pd_chunk_scratch *scratch)
{
    struct pd_column *column = &chunk->columns[id];
    if (end > column->len) {
        end = column->len;
    }
    if (!column->packed || first >= end) {
        return 0;
    }
    int err = column->loaded ? 0 : reserve(scratch, column, id);
    for (size_t frame = first / PD_CHUNK_FRAME_VALUES;
         !err && frame <= (end - 1) / PD_CHUNK_FRAME_VALUES; frame++) {
        if (!(column->loaded >> frame & 1)) {
            err = frame_load(chunk, id, frame, scratch);
        }
    }
    return err;
}

int pd_lmdb_chunk_load(struct pd_chunk *chunk, uint32_t columns, uint32_t first, uint32_t end,
                       struct pd_chunk_scratch *scratch)
{
    int err = 0;
    if (chunk->header.encoding == PD_CHUNK_PLAIN) {
        return 0;
    }
    for (unsigned id = 0; !err && id < PD_COLUMN_COUNT; id++) {
        if (columns >> id & 1) {
            err = column_load(chunk, id, first, end, scratch);
        }
    }
    return err;
}

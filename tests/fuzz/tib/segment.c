/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: bytes as a chunk of the TIB, a segment, packed or not, or a tail: checks, then every
 * row and the Bloom filter are read; a plain one is packed and must come out of it as it was. */
#include <endian.h>
#include <stdlib.h>

#include "tib/lmdb/chunk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

static struct pd_row *rows_of(const struct pd_chunk *chunk)
{
    struct pd_row *rows = malloc(chunk->header.len[PD_AXIS_ROWS] * sizeof *rows);
    if (!rows) {
        abort();
    }
    pd_lmdb_chunk_rows(chunk, rows);
    return rows;
}

static void pack_and_compare(const struct pd_chunk *plain, const struct pd_row *rows)
{
    struct pd_chunk packed;
    struct pd_chunk_scratch scratch = {.zstd = NULL};
    void *bytes;
    size_t size_bytes;
    if (pd_lmdb_chunk_pack(plain, &bytes, &size_bytes) ||
        pd_lmdb_chunk_open(bytes, size_bytes, plain->header.first_row, &packed) ||
        pd_lmdb_chunk_verify(&packed, PD_PATHS_MAX) ||
        pd_lmdb_chunk_load(&packed, PD_CHUNK_ALL_COLUMNS, 0, PD_CHUNK_ROWS, &scratch)) {
        abort();
    }
    struct pd_row *again = rows_of(&packed);
    for (size_t i = 0; i < plain->header.len[PD_AXIS_ROWS]; i++) {
        struct pd_row row = rows[i];
        if (row.extra_bytes && (row.extra_bytes != again[i].extra_bytes ||
                                memcmp(row.extra, again[i].extra, row.extra_bytes) != 0)) {
            abort();
        }
        row.extra = again[i].extra; /* each in its own chunk */
        if (memcmp(&row, &again[i], sizeof row) != 0) {
            abort();
        }
    }
    free(again);
    free(bytes);
    pd_lmdb_chunk_scratch_done(&scratch);
}

static void look_up(const struct pd_chunk *chunk, uint64_t flow_hash)
{
    uint32_t at = 0, end = 0;
    if (!pd_lmdb_chunk_flow_rows(chunk, flow_hash, &at, &end)) {
        return;
    }
    for (; at < end; at++) {
        if (pd_column_get(&chunk->columns[PD_COLUMN_FLOW_ROW], at) >=
            chunk->header.len[PD_AXIS_ROWS]) {
            abort();
        }
    }
}

static void use(struct pd_chunk *chunk)
{
    struct pd_chunk_scratch scratch = {.zstd = NULL};
    size_t len = chunk->header.len[PD_AXIS_ROWS];
    if (pd_lmdb_chunk_load(chunk, PD_CHUNK_ALL_COLUMNS, 0, PD_CHUNK_ROWS, &scratch)) {
        pd_lmdb_chunk_scratch_done(&scratch);
        return;
    }
    struct pd_row *rows = rows_of(chunk);
    if (chunk->header.encoding == PD_CHUNK_PLAIN) {
        pack_and_compare(chunk, rows);
    }
    for (size_t i = 0; i < len; i++) {
        if (rows[i].path >= PD_PATHS_MAX) {
            abort();
        }
        pd_lmdb_chunk_may_have(chunk, pd_flow_id_hash(&rows[i].flow));
        look_up(chunk, pd_flow_id_hash(&rows[i].flow));
    }
    free(rows);
    pd_lmdb_chunk_scratch_done(&scratch);
}

/* The key and the hash are made to fit, so that the search gets behind them. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct pd_chunk chunk;
    uint64_t key = 0;
    size_t from = offsetof(struct pd_chunk_header, first_row);
    uint8_t *bytes = malloc(size_bytes ? size_bytes : 1);
    if (!bytes) {
        abort();
    }
    if (size_bytes) {
        memcpy(bytes, data, size_bytes);
    }
    if (size_bytes >= sizeof(struct pd_chunk_header)) {
        memcpy(&key, bytes + from, sizeof key);
        key = le64toh(key);
        pd_lmdb_chunk_seal_hash(bytes, size_bytes, key);
    }
    if (!pd_lmdb_chunk_open(bytes, size_bytes, key, &chunk) &&
        !pd_lmdb_chunk_verify(&chunk, PD_PATHS_MAX)) {
        use(&chunk);
    }
    free(bytes);
    return 0;
}

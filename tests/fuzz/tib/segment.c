/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: bytes as a chunk of the TIB, a segment or a tail: checks, then every row and the Bloom filter are read. */
#include <endian.h>
#include <stdlib.h>
#include <xxhash.h>

#include "tib/lmdb/chunk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

static void use(const struct pd_chunk *chunk)
{
    size_t len = chunk->header.len[PD_AXIS_ROWS];
    struct pd_row *rows = malloc(len * sizeof *rows);
    if (!rows)
        abort();
    pd_chunk_rows(chunk, rows);
    for (size_t i = 0; i < len; i++) {
        if (rows[i].path >= PD_PATHS_MAX)
            abort();
        pd_chunk_may_have(chunk, pd_flow_id_hash(&rows[i].flow));
    }
    free(rows);
}

/* The key and the hash are made to fit, so that the search gets behind them. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct pd_chunk chunk;
    uint64_t key = 0, hash;
    size_t from = offsetof(struct pd_chunk_header, first_row);
    uint8_t *bytes = malloc(size_bytes ? size_bytes : 1);
    if (!bytes)
        abort();
    if (size_bytes)
        memcpy(bytes, data, size_bytes);
    if (size_bytes >= sizeof(struct pd_chunk_header)) {
        memcpy(&key, bytes + from, sizeof key);
        key = le64toh(key);
        hash = htole64(XXH3_64bits_withSeed(bytes + from, size_bytes - from, key));
        memcpy(bytes + offsetof(struct pd_chunk_header, xxh3), &hash, sizeof hash);
    }
    if (!pd_chunk_open(bytes, size_bytes, key, &chunk) && !pd_chunk_verify(&chunk, PD_PATHS_MAX))
        use(&chunk);
    free(bytes);
    return 0;
}

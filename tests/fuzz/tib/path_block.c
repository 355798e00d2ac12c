/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: bytes as a block of paths; what is accepted is written again and must be accepted
 * again. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "tib/lmdb/paths.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

static void round_trip(const struct pd_paths *paths)
{
    void *bytes;
    size_t size_bytes;
    struct pd_paths *copy = pd_lmdb_paths_new();
    if (!copy || pd_lmdb_paths_block_encode(paths, 0, &bytes, &size_bytes) ||
        pd_lmdb_paths_block_load(copy, 0, bytes, size_bytes) ||
        pd_lmdb_paths_len(copy) != pd_lmdb_paths_len(paths)) {
        abort();
    }
    for (uint32_t id = 0; id < pd_lmdb_paths_len(paths); id++) {
        const struct pd_claim *a = pd_lmdb_paths_claim(paths, id),
                              *b = pd_lmdb_paths_claim(copy, id);
        if (pd_lmdb_paths_get(paths, id) != pd_lmdb_paths_get(copy, id) || !a != !b ||
            (a && !pd_claim_equal(a, b))) {
            abort();
        }
    }
    free(bytes);
    pd_lmdb_paths_free(copy);
}

/* The hash is made to fit, so that the search gets behind it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct pd_paths *paths = pd_lmdb_paths_new();
    uint8_t *bytes = malloc(size_bytes ? size_bytes : 1); /* no byte more: an over-read shows */
    if (!paths || !bytes) {
        abort();
    }
    if (size_bytes) {
        memcpy(bytes, data, size_bytes);
    }
    if (size_bytes >= sizeof(uint64_t)) {
        uint64_t hash =
            htole64(XXH3_64bits_withSeed(bytes + sizeof hash, size_bytes - sizeof hash, 0));
        memcpy(bytes, &hash, sizeof hash);
    }
    if (!pd_lmdb_paths_block_load(paths, 0, bytes, size_bytes) && pd_lmdb_paths_len(paths)) {
        round_trip(paths);
    }
    free(bytes);
    pd_lmdb_paths_free(paths);
    return 0;
}

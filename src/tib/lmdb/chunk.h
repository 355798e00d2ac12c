/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks: the bytes of a TIB segment or of one commit's tail, rows by column (docs/formats/tib.md).
 */
#ifndef PD_TIB_LMDB_CHUNK_H
#define PD_TIB_LMDB_CHUNK_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/flow_id.h"
#include "tib/lmdb/paths.h"

/* A chunk is a header, a descriptor for each column, and the columns. Everything is a column: the
 * fields of the rows, the runs of rows that share a path, the upper halves of the addresses, and
 * the words of the Bloom filter. A column holds its values less the least of them (`base`) in 0, 1,
 * 2, 4 or 8 bytes each, whatever the largest needs; a column whose values are all equal takes no
 * room. Scans compare in that form and decode matching rows only.
 *
 * Rows are sorted by their path, read from its last switch: the rows of a link near the destination
 * lie together.
 *
 * An address is ⟨prefix code, lower half⟩: the upper 64 bits (IPv6) and the family stand once in
 * the chunk's table of prefixes. IPv4 has upper half 0 and the 32-bit address as lower half, so
 * both families share the columns.
 *
 * Commits: each row has the number of its commit within the chunk, and a table says which record
 * was each commit's first. A token of an earlier snapshot stands between two commits, so the rows
 * behind it are those with a commit number from some one on, however the rows are sorted.
 *
 * Index of flows: the rows once more, in the order of their flow IDs' hashes, in buckets of some
 * 16; a look-up of one flow reads one bucket instead of a column. It does not compress, so cold
 * chunks have none.
 *
 * A cold chunk (encoding 1) has its large columns packed: frames of 8,192 values, their bytes
 * sorted by significance and compressed. What tells whether a chunk is needed at all is never
 * packed. Readers load what they need of it.
 *
 * Thread safety: a chunk is immutable; struct pd_chunk is a view of bytes that the caller keeps. */

#define PD_CHUNK_ROWS           65536u      /* of a full segment: the most that any chunk holds */
#define PD_CHUNK_MAGIC          0x47534450u /* "PDSG" */
#define PD_CHUNK_VERSION        2u          /* of a chunk without further columns */
#define PD_CHUNK_VERSION_MORE   3u
#define PD_CHUNK_EXTRA_BYTES    ((UINT32_C(1) << 24) - 1) /* of all rows of a chunk */
#define PD_CHUNK_SUM_MAX        ((UINT64_C(1) << 53) - 1)
#define PD_CHUNK_FRAME_VALUES   8192u /* that are packed together */
#define PD_BLOOM_BLOCK_WORDS    8u    /* a block is one cache line */
#define PD_BLOOM_ROWS_PER_BLOCK 32u   /* 16 bits a row: about 0.1 % of unknown flows pass */

enum pd_chunk_axis {
    PD_AXIS_ROWS,
    PD_AXIS_RUNS,
    PD_AXIS_PREFIXES,
    PD_AXIS_COMMITS,
    PD_AXIS_BLOOM,
    PD_AXIS_INDEX,
    PD_AXIS_BUCKETS,
    PD_AXIS_COUNT,
    PD_AXIS_EXTRA = PD_AXIS_COUNT /* stands elsewhere in the header */
};

#define PD_CHUNK_COLUMNS(X)                                                        \
    X(SRC_PREFIX, ROWS) /* index into the prefixes */                              \
    X(SRC_LOW, ROWS)                                                               \
    X(DST_PREFIX, ROWS)                                                            \
    X(DST_LOW, ROWS)                                                               \
    X(SRC_PORT, ROWS)                                                              \
    X(DST_PORT, ROWS)                                                              \
    X(PROTOCOL, ROWS)                                                              \
    X(STIME, ROWS)    /* microseconds */                                           \
    X(DURATION, ROWS) /* etime - stime, modulo 2^64 */                             \
    X(BYTES, ROWS)                                                                 \
    X(PKTS, ROWS)                                                                  \
    X(COMMIT, ROWS)    /* index into the commits */                                \
    X(RUN_PATH, RUNS)  /* path ID of a run of rows */                              \
    X(RUN_LAST, RUNS)  /* index of its last row */                                 \
    X(RUN_BYTES, RUNS) /* sum of its rows' bytes; saturates at PD_CHUNK_SUM_MAX */ \
    X(RUN_PKTS, RUNS)                                                              \
    X(PREFIX_UPPER, PREFIXES)  /* upper 64 bits of an address */                   \
    X(PREFIX_FAMILY, PREFIXES) /* 4 or 6 */                                        \
    X(COMMIT_ROW, COMMITS)     /* number of a commit's first record */             \
    X(BLOOM, BLOOM)                                                                \
    X(FLOW_ROW, INDEX)   /* rows by the bucket of their flow ID */                 \
    X(FLOW_END, BUCKETS) /* where a bucket's rows end in that column */            \
    /* further columns, of chunks of version 3 alone */                            \
    X(RETRANSMISSIONS, ROWS)                                                       \
    X(EXTRA_END, ROWS) /* where a row's extra bytes end in the next column */      \
    X(EXTRA, EXTRA)

enum pd_chunk_column {
#define X(name, axis) PD_COLUMN_##name,
    PD_CHUNK_COLUMNS(X)
#undef X
        PD_COLUMN_COUNT
};
#define PD_COLUMN_COUNT_PLAIN ((unsigned)PD_COLUMN_RETRANSMISSIONS)

enum pd_chunk_encoding { PD_CHUNK_PLAIN, PD_CHUNK_PACKED };

/* On disk; little-endian. */
struct pd_chunk_header {
    uint32_t magic;
    uint16_t version;
    uint16_t columns;   /* PD_COLUMN_COUNT_PLAIN in version 2, PD_COLUMN_COUNT in version 3 */
    uint64_t xxh3;      /* XXH3-64 of all bytes behind this field, seed first_row */
    uint64_t first_row; /* number of its earliest record since the store was made; the key */
    /* Rows, runs, prefixes, commits, words of the Bloom filter, rows in the index of flows, its
     * buckets. */
    uint32_t len[PD_AXIS_COUNT];
    uint32_t encoding;    /* enum pd_chunk_encoding */
    uint64_t min_time_us; /* least stime (or etime) of a row */
    uint64_t max_time_us; /* greatest etime (or stime) */
    uint32_t size_bytes;  /* of the whole chunk */
    uint32_t extra_bytes; /* of all rows; 0 in version 2 */
};
_Static_assert(sizeof(struct pd_chunk_header) == 80, "docs/formats/tib.md");
_Static_assert(offsetof(struct pd_chunk_header, first_row) == 16, "docs/formats/tib.md");
_Static_assert(offsetof(struct pd_chunk_header, encoding) == 52, "docs/formats/tib.md");
_Static_assert(offsetof(struct pd_chunk_header, min_time_us) == 56, "docs/formats/tib.md");
_Static_assert(offsetof(struct pd_chunk_header, size_bytes) == 72, "docs/formats/tib.md");

struct pd_column_descriptor {
    uint64_t base;
    uint32_t offset_bytes;   /* from the chunk's start */
    uint8_t width_bytes;     /* 0, 1, 2, 4 or 8 */
    uint8_t stored_bytes[3]; /* the room it takes, a number of 24 bits */
};
_Static_assert(sizeof(struct pd_column_descriptor) == 16, "docs/formats/tib.md");

/* Header and descriptors. */
static inline uint32_t pd_chunk_head_bytes(unsigned columns)
{
    return (uint32_t)(sizeof(struct pd_chunk_header) +
                      columns * sizeof(struct pd_column_descriptor));
}

struct pd_column {
    /* No alignment is assumed: small values lie inside LMDB's pages. Packed columns: NULL until
     * something is loaded. */
    const uint8_t *at;
    uint64_t base;
    uint32_t len;
    uint8_t width_bytes;
    uint8_t loaded; /* a bit for each frame */
    const uint8_t *packed;
    uint32_t packed_bytes;
};
_Static_assert(PD_CHUNK_ROWS <= 8 * PD_CHUNK_FRAME_VALUES, "a bit for each frame");

/* A view of a chunk whose structure was checked. */
struct pd_chunk {
    struct pd_chunk_header header;
    struct pd_column columns[PD_COLUMN_COUNT];
    const uint8_t *bytes;
};

/* A record with its path as ID: what the encoder takes and the decoder gives. */
struct pd_row {
    struct pd_flow_id flow;
    uint32_t path;
    uint32_t commit; /* index of its commit within the chunk */
    uint64_t stime_us;
    uint64_t etime_us;
    uint64_t bytes;
    uint64_t pkts;
    uint32_t retransmissions;
    uint32_t extra_bytes;
    const uint8_t *extra; /* in the chunk's bytes */
};

/* Value `i` of a column less its base. `width_bytes` is the column's, a constant where loops are
 * made for each width. */
static inline uint64_t pd_column_offset_at(const uint8_t *at, unsigned width_bytes, size_t i)
{
    uint16_t half;
    uint32_t word;
    uint64_t twice;
    switch (width_bytes) {
    case 1: return at[i];
    case 2: memcpy(&half, at + 2 * i, 2); return le16toh(half);
    case 4: memcpy(&word, at + 4 * i, 4); return le32toh(word);
    case 8: memcpy(&twice, at + 8 * i, 8); return le64toh(twice);
    default: return 0;
    }
}

static inline uint64_t pd_column_get(const struct pd_column *column, size_t i)
{
    return column->base + pd_column_offset_at(column->at, column->width_bytes, i);
}

/* Checks header and descriptors (cost: a few hundred bytes) and makes the view. -PD_E_CORRUPT or
 * -PD_E_VERSION. */
int pd_lmdb_chunk_open(const void *bytes, size_t size_bytes, uint64_t key,
                       struct pd_chunk *ret_chunk);

/* Checks all the rest, so that rows can be read without further checks: checksum, runs that cover
 * the rows, prefix codes, path IDs below `paths_len`. Reads every byte once: some 0.1 ms for a full
 * segment. -PD_E_CORRUPT. */
int pd_lmdb_chunk_verify(const struct pd_chunk *chunk, uint32_t paths_len);

/* Memory of one reader for packed columns; {0} to begin with. It serves one view at a time. */
struct pd_chunk_scratch {
    uint8_t *columns[PD_COLUMN_COUNT];
    size_t room_bytes[PD_COLUMN_COUNT];
    uint8_t *shuffled; /* a frame */
    void *zstd;
};
void pd_lmdb_chunk_scratch_done(struct pd_chunk_scratch *scratch);

/* Makes values first … end - 1 of the columns (bits 1 << PD_COLUMN_…) readable; nothing to do for
 * plain ones. The columns of the view then point into the scratch. -PD_E_CORRUPT or -ENOMEM. */
int pd_lmdb_chunk_load(struct pd_chunk *chunk, uint32_t columns, uint32_t first, uint32_t end,
                       struct pd_chunk_scratch *scratch);

#define PD_CHUNK_ROW_COLUMNS ((UINT32_C(1) << (PD_COLUMN_COMMIT + 1)) - 1)
#define PD_CHUNK_ALL_COLUMNS ((UINT32_C(1) << PD_COLUMN_COUNT) - 1)

/* The same chunk packed. The caller frees *ret_bytes. 0 or -ENOMEM. */
int pd_lmdb_chunk_pack(const struct pd_chunk *plain, void **ret_bytes, size_t *ret_size_bytes);

/* Is this column packed in packed chunks? */
static inline bool pd_column_packs(unsigned id)
{
    return id <= PD_COLUMN_COMMIT || id == PD_COLUMN_RUN_BYTES || id == PD_COLUMN_RUN_PKTS;
}

/* Puts the hash in front of a chunk's bytes. */
void pd_lmdb_chunk_seal_hash(uint8_t *bytes, size_t size_bytes, uint64_t first_row);

/* Which values of FLOW_ROW are rows of a flow with this hash, and of others of its bucket. False:
 * there is no index. */
bool pd_lmdb_chunk_flow_rows(const struct pd_chunk *chunk, uint64_t flow_hash, uint32_t *ret_first,
                             uint32_t *ret_end);

/* The fields of row `row` of a verified chunk; of a packed one, its rows are loaded. */
void pd_lmdb_chunk_flow(const struct pd_chunk *chunk, size_t row, struct pd_flow_id *ret_flow);

/* What row `row` of a verified chunk has of further columns. Returns where it lies. */
static inline const uint8_t *pd_chunk_extra(const struct pd_chunk *chunk, size_t row,
                                            uint32_t *ret_bytes)
{
    const struct pd_column *end = &chunk->columns[PD_COLUMN_EXTRA_END];
    uint64_t first = row ? pd_column_get(end, row - 1) : 0;
    *ret_bytes = (uint32_t)(pd_column_get(end, row) - first);
    return *ret_bytes ? chunk->columns[PD_COLUMN_EXTRA].at + first : NULL;
}

/* All rows of a verified chunk whose columns are loaded, in its order. `ret_rows` has room for
 * header.len[PD_AXIS_ROWS]. */
void pd_lmdb_chunk_rows(const struct pd_chunk *chunk, struct pd_row *ret_rows);

/* What becomes a chunk. */
struct pd_chunk_input {
    const struct pd_row *rows;
    size_t len;              /* 1 … PD_CHUNK_ROWS */
    const uint64_t *commits; /* numbers of the commits' first records, ascending; none is empty */
    size_t commits_len;
    bool with_bloom;
};

/* The number of its first record is commits[0]. The caller frees *ret_bytes. 0, -ENOMEM or, when
 * the rows have more than PD_CHUNK_EXTRA_BYTES extra bytes, -PD_E_TOO_LARGE. */
int pd_lmdb_chunk_encode(const struct pd_chunk_input *input, struct pd_paths *paths,
                         void **ret_bytes, size_t *ret_size_bytes);

/* Index of the first commit of a verified chunk that is not before record `since_row`;
 * header.len[PD_AXIS_COMMITS] when all are before it. The rows stored since then are those with
 * COMMIT from that index on. */
size_t pd_lmdb_chunk_commits_before(const struct pd_chunk *chunk, uint64_t since_row);

/* False when no row of the chunk has this flow ID (as pd_flow_id_hash gives it). */
bool pd_lmdb_chunk_may_have(const struct pd_chunk *chunk, uint64_t flow_hash);

/* The halves of an address as the columns have them. */
static inline void pd_addr_halves(const struct pd_addr *addr, uint8_t ip_version,
                                  uint64_t *ret_upper, uint64_t *ret_low)
{
    uint64_t upper, low;
    uint32_t v4;
    memcpy(&upper, addr->bytes, 8);
    memcpy(&low, addr->bytes + 8, 8);
    memcpy(&v4, addr->bytes, 4);
    *ret_upper = ip_version == 4 ? 0 : be64toh(upper);
    *ret_low = ip_version == 4 ? be32toh(v4) : be64toh(low);
}

/* The Bloom filter's block (of `blocks`) and, for word i of it, the bits of a flow: one bit in
 * each. */
static inline size_t pd_bloom_block(uint64_t flow_hash, size_t blocks)
{
    return (size_t)((flow_hash >> 32) * blocks >> 32);
}
/* The bucket of a flow in the index. */
#define PD_INDEX_ROWS_PER_BUCKET 16u
static inline uint32_t pd_index_buckets(size_t rows)
{
    return (uint32_t)((rows + PD_INDEX_ROWS_PER_BUCKET - 1) / PD_INDEX_ROWS_PER_BUCKET);
}
static inline uint32_t pd_index_bucket(uint64_t flow_hash, uint32_t buckets)
{
    return (uint32_t)((flow_hash >> 32) * buckets >> 32);
}
#define PD_BLOOM_PROBES 8u
static inline uint64_t pd_bloom_bit(uint64_t flow_hash, unsigned probe)
{
    return UINT64_C(1) << ((flow_hash * UINT64_C(0x9e3779b97f4a7c15)) >> (8 + 6 * probe) & 63);
}

#endif

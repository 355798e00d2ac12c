/* SPDX-License-Identifier: Apache-2.0 */
/* Selection: from a filter to the chunks, the runs and the rows that pass; what scans and groupings
 * both begin with. */
#ifndef PD_TIB_LMDB_SELECT_H
#define PD_TIB_LMDB_SELECT_H

#include "tib/lmdb/kernels.h"
#include "tib/lmdb/store.h"
#include "tib/lmdb/view.h"
#include "tib/tib.h"

/* Three steps, each of which leaves out what it can without touching it: chunks by time, by commit
 * and by the Bloom filter on the flow ID (a look-up of one flow prefetches the filters' cache lines
 * of all chunks before it tests the first); runs by their path; rows by the columns that the filter
 * names, the first of them in one vectorised pass, the others on what is left; rows of one flow are
 * looked up in the chunk's index, where it has one. A row is decoded
 * only when it has passed, a block of rows at a time, column by column.
 *
 * A selection is for one query; it does not change once it is made, so threads may share it, each
 * with its own struct pd_rows.
 *
 * Usage: pd_lmdb_select_init; for each i < select.chunks_len: pd_lmdb_rows_begin(rows, i), while
 * (pd_lmdb_rows_next(rows, &block)) …; done. */

struct pd_select {
    struct pd_store_snapshot *snapshot;
    const struct pd_tib_filter *filter;
    const struct pd_kernels *kernels;
    uint32_t *path_bits; /* IDs of the paths that pass; NULL: all do */
    uint64_t since_row;  /* records before this one do not count */
    uint64_t flow_hash;  /* of a filter that names a whole flow ID */
    uint32_t *chunks;    /* indexes in the view of those that may have rows */
    _Atomic uint8_t
        *broken; /* of these: packed columns turned out to be damaged, which is counted once */
    size_t chunks_len;
    uint64_t rows; /* of these chunks, whether they pass or not */
};

/* Counts damage of the whole snapshot, once. -PD_E_VALUE: `since` is no token of this store. */
int pd_lmdb_select_init(struct pd_select *select, struct pd_store_snapshot *snapshot,
                        const struct pd_tib_filter *filter);
void pd_lmdb_select_done(struct pd_select *select); /* a zeroed one is fine */

#define PD_BLOCK_ROWS 192u /* as records they fit into the first cache, beside their columns */

/* Rows of one chunk that pass: those listed, or `len` from `first` on. */
struct pd_block {
    const uint32_t *rows; /* ascending; NULL: all of the range */
    uint32_t first;
    uint32_t len;
};

/* A row passes when low <= its value less the column's base <= low + span, unsigned. */
struct pd_predicate {
    const struct pd_column *column;
    uint64_t low, span;
};
#define PD_PREDICATES_MAX 10u

/* Where a thread stands in one chunk. {0} to begin with. */
struct pd_rows {
    const struct pd_select *select;
    /* bits 1 << PD_COLUMN_… that the blocks are wanted for: packed ones are loaded before a block
     * is given */
    uint32_t columns;
    size_t place; /* of the chunk at hand, in the selection */
    const struct pd_chunk *chunk;
    struct pd_chunk loaded; /* where a packed chunk's columns are, as far as they were loaded */
    struct pd_chunk_scratch scratch;
    struct pd_predicate predicates[PD_PREDICATES_MAX];
    unsigned predicates_len;
    bool check_etime;
    /* rows come from the chunk's index of flows, the values next_flow … flows_end - 1 of it */
    bool indexed;
    uint32_t next_flow, flows_end;
    size_t next_run;  /* to look for wanted runs from */
    size_t next, end; /* rows of the wanted runs at hand */
    size_t run;       /* that pd_lmdb_rows_path_ids has come to */
    uint32_t found[PD_BLOCK_ROWS];
    uint64_t values[PD_BLOCK_ROWS]; /* scratch of pd_lmdb_rows_records */
    uint32_t ids[PD_BLOCK_ROWS];
};

void pd_lmdb_rows_done(struct pd_rows *rows);

/* Begins with chunk select->chunks[i]; false when no row of it can pass. */
bool pd_lmdb_rows_begin(struct pd_rows *rows, const struct pd_select *select, size_t i);

/* No predicate on rows: whole runs pass. */
static inline bool pd_rows_whole_runs(const struct pd_rows *rows)
{
    return !rows->predicates_len && !rows->check_etime;
}

/* The next neighbouring runs that pass: rows->run … rows->next_run - 1, with the rows rows->next …
 * rows->end - 1. For those who read whole runs. A packed chunk that cannot be read is counted as
 * damaged, and the rest of it left out. */
bool pd_lmdb_rows_next_range(struct pd_rows *rows);

/* Makes what the range at hand has of these columns readable. False: damaged, as above. */
bool pd_lmdb_rows_load(struct pd_rows *rows, uint32_t columns, size_t first, size_t end);

/* The next block, of at most PD_BLOCK_ROWS rows; never an empty one. */
bool pd_lmdb_rows_next(struct pd_rows *rows, struct pd_block *ret_block);

/* Where a run of the chunk at hand ends: behind its last row. */
static inline size_t pd_rows_run_end(const struct pd_rows *rows, size_t run)
{
    return (size_t)pd_column_get(&rows->chunk->columns[PD_COLUMN_RUN_LAST], run) + 1;
}

/* A column of a block. */
static inline void pd_rows_column(const struct pd_rows *rows, const struct pd_block *block,
                                  enum pd_chunk_column id, uint64_t *ret_values)
{
    const struct pd_column *column = &rows->chunk->columns[id];
    if (block->rows) {
        rows->select->kernels->gather(column, block->rows, block->len, ret_values);
    } else {
        rows->select->kernels->load(column, block->first, block->len, ret_values);
    }
}

/* Path IDs of a block's rows; blocks of a chunk have to come in order. */
void pd_lmdb_rows_path_ids(struct pd_rows *rows, const struct pd_block *block, uint32_t *ret_ids);

/* A block's rows as records, or those fields of them that `parts` names (others are not touched).
 */
enum pd_rows_part {
    PD_PART_FLOW = 1 << 0, /* also IPv4 or IPv6 */
    PD_PART_PATH = 1 << 1,
    PD_PART_TIMES = 1 << 2,
    PD_PART_COUNTS = 1 << 3,
    PD_PART_MORE = 1 << 4, /* retransmissions and further columns */
    PD_PART_ALL = (1 << 5) - 1,
    PD_PART_SOURCE = 1 << 5 /* of the flow ID the source and its family alone; the rest is 0 */
};
#define PD_COLUMNS_OF_RECORDS (PD_CHUNK_ROW_COLUMNS & ~(UINT32_C(1) << PD_COLUMN_COMMIT))
void pd_lmdb_rows_records(struct pd_rows *rows, const struct pd_block *block, unsigned parts,
                          struct pd_tib_record *ret_records);

#endif

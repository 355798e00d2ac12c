/* SPDX-License-Identifier: Apache-2.0 */
/* Grouping inside the LMDB backend: what its parts share. */
#ifndef PD_TIB_LMDB_GROUP_H
#define PD_TIB_LMDB_GROUP_H

#include "tib/budget.h"
#include "tib/lmdb/select.h"
#include "tib/tib.h"

/* The answer is the same as that of pd_tib_group_scanned (src/tib/group.c), which is the
 * definition; the way there depends on what is asked for:
 *
 *   group_records.c  the first k records: one pass over one column, with the k-th largest so far as
 *                    a threshold
 *   group_paths.c    sums by path: the sums of runs that segments carry, or an array indexed by
 *                    path
 *   group_flows.c    the first k flows of many: a sketch in one pass tells which flows can be among
 *                    them, those are grouped in another
 *   group_table.c    all else: a hash table of groups, filled a block of rows at a time; by parts
 *                    of the hash where it would not fit
 *   group_give.c     order and output
 *
 * One call of `group` is one struct pd_group, and one thread; the first k records are looked for by
 * a crew (crew.h). */

struct pd_group {
    struct pd_select select;
    const struct pd_tib_grouping *grouping;
    struct pd_tib_budget budget;
    int (*visit)(void *context, const struct pd_tib_record *groups, size_t n);
    void *context;
    struct pd_tib_record *live; /* those that pass, with the snapshot's paths where it has them */
    size_t live_len;
};

/* What is compared in orders by size. */
static inline uint64_t pd_group_value(enum pd_tib_order order, const struct pd_tib_record *record)
{
    uint64_t value = order == PD_TIB_ORDER_PKTS ? record->pkts : record->bytes;
    return value < PD_TIB_SUM_MAX ? value : PD_TIB_SUM_MAX;
}
static inline enum pd_chunk_column pd_group_column(enum pd_tib_order order)
{
    return order == PD_TIB_ORDER_PKTS ? PD_COLUMN_PKTS : PD_COLUMN_BYTES;
}

/* ---- group_table.c ---- */

struct pd_tally_slot {
    uint32_t hash;
    uint32_t index; /* + 1; 0: free */
};

struct pd_tally {
    enum pd_tib_by by;
    struct pd_tib_budget *budget;
    struct pd_tib_record *groups; /* in order of arrival */
    struct pd_tally_slot *slots;
    uint32_t len, slots_len;
    uint32_t from, to; /* only groups whose hash lies there are kept */
};

void pd_lmdb_tally_init(struct pd_tally *table, enum pd_tib_by by, struct pd_tib_budget *budget);
void pd_lmdb_tally_done(struct pd_tally *table);

/* Adds up to PD_BLOCK_ROWS records without further columns, which become keys: fields of the flow
 * and the way that the groups do not share are cleared. -PD_E_TOO_LARGE, -ENOMEM: none was added.
 */
int pd_lmdb_tally_add(struct pd_tally *table, struct pd_tib_record *records, size_t len);

/* Which parts of records the table looks at. */
unsigned pd_lmdb_tally_parts(const struct pd_tib_grouping *grouping, uint32_t *ret_columns);

int pd_lmdb_group_by_table(struct pd_group *group);

/* ---- the others ---- */

int pd_lmdb_group_top_records(struct pd_group *group);
/* A row of the store and its size. */
struct pd_group_row {
    uint64_t value;
    uint32_t chunk; /* of the selection */
    uint32_t row;
};

/* The rows with the `most` largest values, and all that are as large as the last of those; by chunk
 * and row. The memory is the caller's, and was taken from the group's budget. */
int pd_lmdb_group_largest(struct pd_group *group, size_t most, struct pd_group_row **ret_rows,
                          size_t *ret_len);
/* The next block of such rows from *at on, of one chunk and with the reader's columns; those of a
 * chunk that turns out to be damaged are left out. False: no more. */
bool pd_lmdb_group_next_block(const struct pd_group *group, struct pd_rows *reader,
                              const struct pd_group_row *rows, size_t len, size_t *at,
                              struct pd_block *ret_block);
/* The `wanted`-th largest of the values, which change places: quickselect by the median of three.
 */
uint64_t pd_lmdb_group_kth_largest(uint64_t *values, size_t len, size_t wanted);
int pd_lmdb_group_by_path(struct pd_group *group);
int pd_lmdb_group_top_flows(struct pd_group *group);

/* Gives out groups in the order asked for. */
int pd_lmdb_group_give(struct pd_group *group, struct pd_tib_record *groups, size_t len);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Views: the list of a snapshot's chunks, opened and verified, so that a query does not walk the
 * B-tree again. */
#ifndef PD_TIB_LMDB_VIEW_H
#define PD_TIB_LMDB_VIEW_H

#include "tib/lmdb/chunk.h"

/* A view belongs to one LMDB transaction ID: what two snapshots of the same commit see is the same,
 * so they share it, and a query on a store at rest starts from a list in memory. A new commit makes
 * a new list, which takes over every chunk that is still at its place; only new ones are opened
 * (and verified, see directory.h). Of a chunk that is pruned no page is touched.
 *
 * Thread safety: get and put from any thread; a view does not change. Its chunks lie in LMDB's map:
 * they may be read as long as the snapshot lives. */

struct pd_store;
struct pd_store_snapshot;

struct pd_lmdb_view_chunk {
    uint64_t key;
    const void *at;
    size_t size_bytes;
    unsigned views; /* that hold it; guarded by the store's view_lock */
    int error;      /* not 0: damaged, and `chunk` is not filled */
    struct pd_chunk chunk;
};

/* What pruning looks at, side by side. */
struct pd_lmdb_view_range {
    uint64_t min_time_us, max_time_us;
    uint64_t last_commit_row; /* number of the first record of its last commit */
    uint32_t rows;
    uint32_t damaged; /* 1: the rest is not known */
};

/* Where the Bloom filters are: a look-up of one flow asks all of them. */
struct pd_lmdb_view_bloom {
    const uint8_t *at;
    uint64_t base;
    uint32_t blocks; /* 0: no filter, rows have to be looked at */
    uint32_t width_bytes;
};

struct pd_lmdb_view {
    unsigned users; /* snapshots, and the store while it is the latest; guarded by view_lock */
    size_t txn_id;
    size_t segments_len; /* these come first, then the tail */
    size_t len, room;
    uint64_t rows; /* of all undamaged chunks */
    uint64_t damaged;
    struct pd_lmdb_view_chunk **chunks;
    struct pd_lmdb_view_range *ranges;
    struct pd_lmdb_view_bloom *blooms;
};

/* The view of a snapshot, which keeps it until pd_lmdb_view_put. 0, -ENOMEM or an error of LMDB's.
 */
int pd_lmdb_view_get(struct pd_store_snapshot *snapshot);
void pd_lmdb_view_put(struct pd_store *store, struct pd_lmdb_view *view); /* NULL is fine */

/* Drops the latest view: before the map moves (no snapshot is in use then) or the store closes. */
void pd_lmdb_view_forget(struct pd_store *store);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the path table: for paths.c and path_block.c alone. */
#ifndef PD_TIB_LMDB_PATHS_PRIVATE_H
#define PD_TIB_LMDB_PATHS_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "tib/lmdb/paths.h"

#define PD_PATHS_BLOCK  1024u /* paths that are allocated at once, in memory */
#define PD_PATHS_BLOCKS (PD_PATHS_MAX / PD_PATHS_BLOCK)

/* Paths that have a link; side by side, since a query reads all of them. */
struct pd_link_head {
    uint32_t from, to;
    uint32_t *paths; /* NULL: a free head */
    uint32_t len, room;
};
/* Hash from links to their paths. */
struct pd_link_index {
    struct pd_link_head *heads;
    uint32_t heads_len, heads_used;
    uint32_t paths_len; /* paths below this ID are in the index */
};

/* Two locks, never held together: the writer takes `lock` for each record, and a query that had to
 * wait for it while the writer's thread was off its core took milliseconds. What queries read lies
 * away from it, past the cache lines in between. */
struct pd_paths {
    _Atomic uint32_t len;
    _Atomic uint32_t damaged;
    pthread_mutex_t links_lock; /* guards `links` */
    struct pd_link_index links;
    /* Each set once, before `len` counts a path of it. A path of NULL: it is not known. */
    struct pd_claim *blocks[PD_PATHS_BLOCKS];
    struct pd_paths_way *ways[PD_PATHS_BLOCKS]; /* what records have of them */
    /* Claims that are not from tags; claims with a path that is not exact or not from tags.
     * Relaxed: asked for by snapshots, that were taken after they were added. */
    _Atomic uint32_t other_origins, variants;
    pthread_mutex_t lock; /* guards what follows, and adding: `blocks`, and `len` when it grows */
    uint32_t inexact;
    uint32_t *slots; /* open addressing: ID + 1; 0: free */
    uint32_t slots_len;
};

/* Adds a path under the next ID. The lock is held. */
int pd_lmdb_paths_add_locked(struct pd_paths *paths, const struct pd_claim *claim);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The LMDB backend: what a store of version 2 has otherwise becomes what it is now, beside the
 * daemon's work. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "tib/lmdb/store.h"

/* Of version 2 only the blocks of paths are read otherwise: infeasible trajectories had raw tags
 * where claims have marks. Chunks of version 2 are today's chunks without further columns. So a
 * store is read as it is from the first moment, each block tells its own version, and any mixture
 * is a whole store: a kill between two transactions does no harm. The first transaction that a
 * writer commits makes the store one of version 3, which older programs refuse. */

#define BLOCKS_MAX 256u /* looked at in one call */
#define BYTES_MAX  (UINT32_C(4) << 20)

struct converting {
    uint64_t from; /* keys of blocks that are converted, or damaged, are lower */
    uint64_t bytes;
    unsigned seen, converted;
    bool done;
};

static int convert_at(MDB_cursor *cursor, uint64_t first, const MDB_val *old)
{
    struct pd_store_key number;
    MDB_val key = pd_store_key_val(&number, first), value;
    int err = first < PD_PATHS_MAX
                  ? pd_lmdb_paths_block_convert((uint32_t)first, old->mv_data, old->mv_size,
                                                &value.mv_data, &value.mv_size)
                  : -PD_E_CORRUPT;
    if (err) {
        return err;
    }
    err = pd_tib_lmdb_error(mdb_cursor_put(cursor, &key, &value, MDB_CURRENT));
    free(value.mv_data);
    return err;
}

static int convert_some(MDB_cursor *cursor, struct converting *converting)
{
    struct pd_store_key number;
    MDB_val key = pd_store_key_val(&number, converting->from), value;
    int result = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE), err = 0;
    for (; !result && converting->seen < BLOCKS_MAX && converting->bytes < BYTES_MAX;
         result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        uint64_t first;
        if (!pd_store_key_number(&key, &first)) {
            return -PD_E_CORRUPT;
        }
        converting->seen++;
        converting->bytes += value.mv_size;
        converting->from = first + 1;
        if (!pd_lmdb_paths_block_old(value.mv_data, value.mv_size)) {
            continue;
        }
        err = convert_at(cursor, first, &value);
        converting->converted += !err;
        if (err && err != -PD_E_CORRUPT) { /* a damaged one stays as it is */
            return err;
        }
    }
    converting->done = result == MDB_NOTFOUND;
    return result && result != MDB_NOTFOUND ? pd_tib_lmdb_error(result) : 0;
}

static int convert(struct pd_store *store, MDB_txn *txn, struct converting *converting)
{
    MDB_cursor *cursor;
    int err = pd_tib_lmdb_error(mdb_cursor_open(txn, store->path_db, &cursor));
    if (err) {
        return err;
    }
    err = pd_lmdb_store_near_full(store, txn) ? -PD_E_FULL : convert_some(cursor, converting);
    mdb_cursor_close(cursor);
    return err;
}

int pd_lmdb_store_convert(struct pd_store *store)
{
    struct pd_store_writer *writer = &store->writer;
    struct converting converting = {.from = writer->convert_from};
    struct pd_store_meta same;
    MDB_txn *txn;
    if (!writer->old_blocks) {
        return 0;
    }
    int err = pd_lmdb_store_txn_begin(store, &txn);
    if (err) {
        return err;
    }
    err = convert(store, txn, &converting);
    same = writer->meta;
    err = pd_lmdb_store_txn_end(store, txn, &same, err);
    if (err) {
        return err == -PD_E_FULL ? 0 : err; /* retention makes room, then it goes on */
    }
    writer->convert_from = converting.from;
    writer->old_blocks = !converting.done;
    pthread_mutex_lock(&store->lock);
    store->counters.converted += converting.converted;
    pthread_mutex_unlock(&store->lock);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Cold segments: those that nothing has been added to for a while are packed, half the size for
 * slower reading. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "tib/lmdb/store.h"

#define PACKED_MAX 2u /* segments in one call, some 20 ms each */

struct cooling {
    struct pd_store *store;
    uint64_t before_us; /* segments whose last etime is before get packed */
    uint64_t hot_from;  /* as store->writer.hot_from, when this is committed */
    unsigned packed;
};

static int pack_at(struct pd_store *store, MDB_cursor *cursor, uint64_t first_row,
                   const struct pd_chunk *plain)
{
    struct pd_store_key number;
    MDB_val key = pd_store_key_val(&number, first_row), value;
    int err = pd_lmdb_chunk_pack(plain, &value.mv_data, &value.mv_size);
    if (err) {
        return err;
    }
    pd_lmdb_store_written_put(store, store->segment_db, first_row, &value);
    err = pd_tib_lmdb_error(mdb_cursor_put(cursor, &key, &value, MDB_CURRENT));
    free(value.mv_data);
    return err;
}

/* The segments from `hot_from` on; it moves along as long as all before are packed. Damaged ones
 * stay as they are. */
static int pack_from(struct cooling *cooling, MDB_cursor *cursor)
{
    struct pd_store_key number;
    MDB_val key = pd_store_key_val(&number, cooling->hot_from), value;
    bool all_packed = true;
    int result = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE), err = 0;
    for (; !result && !err && cooling->packed < PACKED_MAX;
         result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        struct pd_chunk chunk;
        uint64_t first_row;
        if (!pd_store_key_number(&key, &first_row)) {
            return -PD_E_CORRUPT;
        }
        /* Its head says whether it is to be packed; only then all of it is read and verified. */
        bool plain = !pd_lmdb_chunk_open(value.mv_data, value.mv_size, first_row, &chunk) &&
                     chunk.header.encoding == PD_CHUNK_PLAIN;
        if (plain && chunk.header.max_time_us >= cooling->before_us) {
            all_packed = false;
            continue;
        }
        if (plain && !pd_lmdb_store_chunk(cooling->store, &key, &value, &chunk)) {
            err = pack_at(cooling->store, cursor, first_row, &chunk);
            cooling->packed++;
        }
        if (all_packed) {
            cooling->hot_from = first_row + 1;
        }
    }
    return err || result == MDB_NOTFOUND ? err : pd_tib_lmdb_error(result);
}

static int cool(struct cooling *cooling, MDB_txn *txn)
{
    MDB_cursor *cursor;
    int err = pd_tib_lmdb_error(mdb_cursor_open(txn, cooling->store->segment_db, &cursor));
    if (err) {
        return err;
    }
    err = pd_lmdb_store_near_full(cooling->store, txn) ? -PD_E_FULL : pack_from(cooling, cursor);
    mdb_cursor_close(cursor);
    return err;
}

int pd_lmdb_store_cool(struct pd_store *store, uint64_t now_us)
{
    uint64_t after_us = store->config.cold_after_s * PD_US_PER_S;
    if (!store->config.cold_after_s || now_us < after_us) {
        return 0;
    }
    return pd_lmdb_store_pack(store, now_us - after_us);
}

int pd_lmdb_store_pack(struct pd_store *store, uint64_t before_us)
{
    struct cooling cooling = {
        .store = store, .before_us = before_us, .hot_from = store->writer.hot_from};
    MDB_txn *txn;
    int err = pd_lmdb_store_txn_begin(store, &txn);
    if (err) {
        return err;
    }
    err = cool(&cooling, txn);
    struct pd_store_meta same = store->writer.meta;
    if (!err && !cooling.packed) {
        mdb_txn_abort(txn);
    } else {
        err = pd_lmdb_store_txn_end(store, txn, &same, err);
    }
    if (err) {
        return err == -PD_E_FULL ? 0 : err; /* retention makes room, then it goes on */
    }
    store->writer.hot_from = cooling.hot_from;
    pthread_mutex_lock(&store->lock);
    store->counters.segments_packed += cooling.packed;
    pthread_mutex_unlock(&store->lock);
    return 0;
}

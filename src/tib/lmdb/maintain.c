/* SPDX-License-Identifier: Apache-2.0 */
/* Upkeep of the LMDB backend: seals a tail that has waited for an hour, removes what is too old or
 * too much. */
#include "base/clock.h"
#include "base/error.h"
#include "tib/lmdb/store.h"

#define REMOVED_MAX  8u /* chunks in one call */
#define JUMP_US      (60 * PD_US_PER_S)
#define JUMP_HELD_NS (3600 * PD_NS_PER_S)

/* The clock of retention. A wall clock that jumps ahead would make every record too old at once, so
 * a jump counts only when it has lasted for an hour of the monotonic clock; until then time goes on
 * from before it. Jumps back do no harm. */
static uint64_t trusted_now(struct pd_store_writer *writer, uint64_t now_us)
{
    uint64_t now_ns = pd_clock_monotonic_ns();
    uint64_t expected_us =
        writer->trusted_wall_us + (now_ns - writer->trusted_at_ns) / PD_NS_PER_US;
    if (writer->trusted_wall_us && now_us > expected_us + JUMP_US) {
        if (!writer->jump_since_ns) {
            writer->jump_since_ns = now_ns;
        }
        if (now_ns - writer->jump_since_ns < JUMP_HELD_NS) {
            return expected_us;
        }
    }
    writer->jump_since_ns = 0;
    writer->trusted_wall_us = now_us;
    writer->trusted_at_ns = now_ns;
    return now_us;
}

static bool tail_is_due(struct pd_store_writer *writer, uint64_t now_us)
{
    if (!writer->tail_rows) {
        return false;
    }
    if (!writer->tail_waits ||
        now_us < writer->tail_since_us) { /* a new tail, or the clock went back */
        writer->tail_waits = true;
        writer->tail_since_us = now_us;
    }
    return now_us - writer->tail_since_us >= PD_SEAL_AGE_US;
}

int pd_lmdb_store_seal_tail(struct pd_store *store)
{
    MDB_txn *txn;
    if (!store->writer.tail_rows) {
        return 0;
    }
    int err = pd_lmdb_store_txn_begin(store, &txn);
    if (err) {
        return err;
    }
    struct pd_store_meta same = store->writer.meta;
    err = pd_lmdb_store_txn_end(store, txn, &same, pd_lmdb_store_seal(store, txn, NULL, 0, 0));
    if (err) {
        return err;
    }
    store->writer.tail_rows = 0;
    store->writer.tail_waits = false;
    pthread_mutex_lock(&store->lock);
    store->counters.segments_sealed++;
    pthread_mutex_unlock(&store->lock);
    return 0;
}

struct removal {
    uint64_t before_us;    /* chunks whose last etime is before go */
    uint64_t excess_bytes; /* the oldest go until this much is free */
    unsigned chunks;
    uint64_t rows, tail_rows;
};

/* Reads the head alone of a chunk that stays: a store is not paged in for its upkeep. A damaged
 * chunk has no times to be trusted: it goes by size only. */
static bool goes(struct pd_store *store, const struct removal *removal, const MDB_val *key,
                 const MDB_val *value, uint32_t *ret_rows)
{
    struct pd_chunk chunk;
    uint64_t number;
    bool old = pd_store_key_number(key, &number) &&
               !pd_lmdb_chunk_open(value->mv_data, value->mv_size, number, &chunk) &&
               chunk.header.max_time_us < removal->before_us;
    if (!old && !removal->excess_bytes) {
        return false;
    }
    bool damaged = pd_lmdb_store_chunk(store, key, value, &chunk) != 0;
    *ret_rows = damaged ? 0 : chunk.header.len[PD_AXIS_ROWS];
    return !damaged || removal->excess_bytes;
}

/* Walks from the oldest on. */
static int remove_from(struct pd_store *store, MDB_txn *txn, MDB_dbi db, struct removal *removal)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    int result = mdb_cursor_open(txn, db, &cursor);
    if (result) {
        return pd_tib_lmdb_error(result);
    }
    while (removal->chunks < REMOVED_MAX &&
           !(result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
        uint32_t rows;
        uint64_t size_bytes = value.mv_size;
        if (!goes(store, removal, &key, &value, &rows)) {
            continue;
        }
        result = mdb_cursor_del(cursor, 0);
        if (result) {
            break;
        }
        removal->chunks++;
        removal->rows += rows;
        removal->tail_rows += db == store->tail_db ? rows : 0;
        removal->excess_bytes -=
            size_bytes < removal->excess_bytes ? size_bytes : removal->excess_bytes;
    }
    mdb_cursor_close(cursor);
    return result == MDB_NOTFOUND ? 0 : pd_tib_lmdb_error(result);
}

static int removal_commit(struct pd_store *store, MDB_txn *txn, const struct removal *removal)
{
    struct pd_store_meta meta = store->writer.meta;
    meta.expired += removal->rows;
    int err = pd_lmdb_store_txn_end(store, txn, &meta, 0);
    if (err) {
        return err;
    }
    store->writer.tail_rows -= removal->tail_rows;
    pthread_mutex_lock(&store->lock);
    store->counters.expired += removal->rows;
    pthread_mutex_unlock(&store->lock);
    return 0;
}

void pd_lmdb_store_retain(struct pd_tib *tib, uint64_t max_bytes, uint64_t max_age_s)
{
    struct pd_store *store = (struct pd_store *)tib;
    pthread_mutex_lock(&store->lock);
    store->config.max_bytes = max_bytes;
    store->config.max_age_s = max_age_s;
    pthread_mutex_unlock(&store->lock);
}

static int retention(struct pd_store *store, uint64_t now_us)
{
    uint64_t used;
    MDB_txn *txn;
    pthread_mutex_lock(&store->lock);
    uint64_t max_bytes = store->config.max_bytes, max_age_s = store->config.max_age_s;
    pthread_mutex_unlock(&store->lock);
    if (!max_age_s && !max_bytes) {
        return 0;
    }
    uint64_t age_us = max_age_s < UINT64_MAX / PD_US_PER_S ? max_age_s * PD_US_PER_S : UINT64_MAX;
    struct removal removal = {.before_us = max_age_s && now_us > age_us ? now_us - age_us : 0};
    int err = pd_lmdb_store_txn_begin(store, &txn);
    if (err) {
        return err;
    }
    err = pd_lmdb_store_bytes_used(store, txn, &used);
    if (!err && max_bytes && used > max_bytes) {
        removal.excess_bytes = used - max_bytes;
    }
    err = err ? err : remove_from(store, txn, store->segment_db, &removal);
    err = err ? err : remove_from(store, txn, store->tail_db, &removal);
    if (!err && removal.chunks) {
        return removal_commit(store, txn, &removal);
    }
    mdb_txn_abort(txn);
    return err;
}

int pd_lmdb_store_maintain(struct pd_tib *tib, uint64_t now_us)
{
    struct pd_store *store = (struct pd_store *)tib;
    int stale;
    if (store->mode != PD_TIB_WRITE) {
        return -PD_E_UNSUPPORTED;
    }
    mdb_reader_check(store->env, &stale);
    int err = tail_is_due(&store->writer, now_us) ? pd_lmdb_store_seal_tail(store) : 0;
    int also = retention(store, trusted_now(&store->writer, now_us));
    err = err ? err : also;
    err = err ? err : pd_lmdb_store_convert(store);
    err = err ? err : pd_lmdb_store_cool(store, now_us);
    return err ? err : pd_lmdb_store_punch(store);
}

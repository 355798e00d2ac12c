/* SPDX-License-Identifier: Apache-2.0 */
/* The LMDB backend's snapshots: read transactions that are renewed per query, the store's numbers,
 * and the whole check. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "tib/lmdb/store.h"
#include "tib/lmdb/view.h"

#define TOKEN_BYTES 40u

/* A writer of another process has made the map larger: possible only while none of ours is in use.
 */
static int map_adopt(struct pd_store *store)
{
    if (store->txns_live) {
        return -PD_E_BUSY;
    }
    while (store->pool_len) {
        mdb_txn_abort(store->pool[--store->pool_len]);
    }
    pd_lmdb_view_forget(store); /* it points into the old map */
    pd_lmdb_directory_forget(store->directory);
    return pd_tib_lmdb_error(mdb_env_set_mapsize(store->env, 0));
}

static int txn_start_locked(struct pd_store *store, MDB_txn **ret_txn)
{
    MDB_txn *txn = store->pool_len ? store->pool[--store->pool_len] : NULL;
    if (txn) {
        int result = mdb_txn_renew(txn);
        if (!result) {
            *ret_txn = txn;
            return 0;
        }
        mdb_txn_abort(txn);
        if (result != MDB_MAP_RESIZED) {
            return result;
        }
    }
    return mdb_txn_begin(store->env, NULL, MDB_RDONLY, ret_txn);
}

/* A reader takes over the file that compaction has put there, or the first writer. */
static int env_adopt(struct pd_store *store)
{
    bool again = store->env_error || (store->mode == PD_TIB_READ && pd_lmdb_store_replaced(store));
    int err = again ? pd_lmdb_store_reopen_locked(store) : 0;
    return err == -PD_E_BUSY && !store->env_error
               ? 0
               : err; /* else the old file as long as it is read */
}

/* *ret_txn stays as it is when there is no store yet. */
static int txn_start_any(struct pd_store *store, MDB_txn **ret_txn)
{
    int stale, err = env_adopt(store);
    if (err || !store->env) {
        return err;
    }
    int result = txn_start_locked(store, ret_txn);
    if (result == MDB_READERS_FULL && !mdb_reader_check(store->env, &stale)) {
        result = txn_start_locked(store, ret_txn);
    }
    if (result == MDB_MAP_RESIZED) {
        err = map_adopt(store);
        result = err ? 0 : txn_start_locked(store, ret_txn);
    }
    err = err ? err : pd_tib_lmdb_error(result);
    store->txns_live += !err;
    return err;
}

static int txn_start(struct pd_store *store, MDB_txn **ret_txn)
{
    pthread_mutex_lock(&store->lock);
    int err = txn_start_any(store, ret_txn);
    pthread_mutex_unlock(&store->lock);
    return err;
}

static void txn_end(struct pd_store *store, MDB_txn *txn)
{
    mdb_txn_reset(txn);
    pthread_mutex_lock(&store->lock);
    store->txns_live--;
    bool keep = store->pool_len < PD_POOL_TXNS;
    if (keep) {
        store->pool[store->pool_len++] = txn;
    } else {
        mdb_txn_abort(txn);
    }
    pthread_mutex_unlock(&store->lock);
}

static int paths_catch_up(struct pd_store *store, MDB_txn *txn, uint32_t len)
{
    if (pd_lmdb_paths_len(store->paths) >= len) {
        return 0; /* always so in the process that writes */
    }
    pthread_mutex_lock(&store->lock);
    int err = pd_lmdb_store_paths_load(store, txn, len);
    pthread_mutex_unlock(&store->lock);
    return err;
}

int pd_lmdb_store_snapshot(struct pd_tib *tib, struct pd_tib_snapshot **ret_snapshot)
{
    struct pd_store *store = (struct pd_store *)tib;
    struct pd_store_snapshot *snapshot = calloc(1, sizeof *snapshot);
    if (!snapshot) {
        return -ENOMEM;
    }
    snapshot->head.ops = store->head.ops;
    snapshot->store = store;
    int err = txn_start(store, &snapshot->txn);
    if (!err && snapshot->txn) {
        err = pd_lmdb_store_meta_get(store, snapshot->txn, &snapshot->meta);
        err = err ? err : paths_catch_up(store, snapshot->txn, snapshot->meta.paths);
    }
    if (err) {
        pd_lmdb_store_release(&snapshot->head);
        return err;
    }
    *ret_snapshot = &snapshot->head;
    return 0;
}

void pd_lmdb_store_release(struct pd_tib_snapshot *head)
{
    struct pd_store_snapshot *snapshot = (struct pd_store_snapshot *)head;
    pd_lmdb_view_put(snapshot->store, snapshot->view);
    if (snapshot->txn) {
        txn_end(snapshot->store, snapshot->txn);
    }
    free(snapshot);
}

/* ---- tokens: IDENTITY-RECORD, where the store stood ---- */

int pd_lmdb_store_token(struct pd_tib_snapshot *head, char **ret_token)
{
    const struct pd_store_snapshot *snapshot = (const struct pd_store_snapshot *)head;
    char *token = malloc(TOKEN_BYTES);
    if (!token) {
        return -ENOMEM;
    }
    snprintf(token, TOKEN_BYTES, "%016" PRIx64 "-%" PRIu64, snapshot->meta.identity,
             snapshot->meta.next_row);
    *ret_token = token;
    return 0;
}

/* Every commit, sealing, packing and retention is a transaction. */
uint64_t pd_lmdb_store_version(const struct pd_tib_snapshot *head)
{
    const struct pd_store_snapshot *snapshot = (const struct pd_store_snapshot *)head;
    return snapshot->txn ? mdb_txn_id(snapshot->txn) : 0;
}

int pd_lmdb_store_since(const struct pd_store_snapshot *snapshot, const char *since,
                        uint64_t *ret_row)
{
    char again[TOKEN_BYTES];
    uint64_t identity = 0, row = 0;
    if (since) {
        if (sscanf(since, "%16" SCNx64 "-%" SCNu64, &identity, &row) != 2) {
            return -PD_E_VALUE;
        }
        snprintf(again, sizeof again, "%016" PRIx64 "-%" PRIu64, identity, row);
        /* Identity 0: a directory where no store was made yet. */
        if (strcmp(again, since) != 0 || row > snapshot->meta.next_row ||
            (identity ? identity != snapshot->meta.identity : row)) {
            return -PD_E_VALUE;
        }
    }
    *ret_row = row;
    return 0;
}

/* ---- chunks ---- */

static int chunk_verified(struct pd_store *store, uint64_t key, const MDB_val *value,
                          struct pd_chunk *ret_chunk)
{
    int err = pd_lmdb_chunk_open(value->mv_data, value->mv_size, key, ret_chunk);
    return err ? err : pd_lmdb_chunk_verify(ret_chunk, pd_lmdb_paths_len(store->paths));
}

int pd_lmdb_store_chunk_verify(struct pd_store *store, uint64_t key, const MDB_val *value,
                               struct pd_chunk *ret_chunk)
{
    struct pd_directory_entry entry = {
        .key = key, .at = value->mv_data, .size_bytes = value->mv_size};
    entry.error = chunk_verified(store, key, value, ret_chunk);
    if (!entry.error) {
        entry.min_time_us = ret_chunk->header.min_time_us;
        entry.max_time_us = ret_chunk->header.max_time_us;
        entry.last_commit_row = pd_column_get(&ret_chunk->columns[PD_COLUMN_COMMIT_ROW],
                                              ret_chunk->header.len[PD_AXIS_COMMITS] - 1);
        entry.rows = ret_chunk->header.len[PD_AXIS_ROWS];
    }
    pd_lmdb_directory_put(store->directory, &entry);
    return entry.error;
}

static bool is_written_here(struct pd_store *store, uint64_t key, const MDB_val *value,
                            struct pd_chunk *ret_chunk)
{
    uint64_t xxh3;
    struct pd_chunk chunk;
    if (!pd_lmdb_directory_find_written(store->directory, key, value->mv_size, &xxh3) ||
        pd_lmdb_chunk_open(value->mv_data, value->mv_size, key, &chunk) ||
        chunk.header.xxh3 != xxh3) {
        return false;
    }
    *ret_chunk = chunk;
    return true;
}

int pd_lmdb_store_chunk(struct pd_store *store, const MDB_val *key, const MDB_val *value,
                        struct pd_chunk *ret_chunk)
{
    uint64_t number;
    struct pd_directory_entry entry;
    if (!pd_store_key_number(key, &number)) {
        return -PD_E_CORRUPT;
    }
    /* In this order: the writer enters what it has read back before it forgets to have written it.
     */
    if (is_written_here(store, number, value, ret_chunk)) {
        return 0;
    }
    if (!pd_lmdb_directory_find(store->directory, number, value->mv_data, value->mv_size, &entry)) {
        return pd_lmdb_store_chunk_verify(store, number, value, ret_chunk);
    }
    return entry.error ? entry.error
                       : pd_lmdb_chunk_open(value->mv_data, value->mv_size, number, ret_chunk);
}

/* ---- numbers ---- */

static int pages_of(MDB_txn *txn, MDB_dbi db, uint64_t *pages, uint64_t *ret_page_bytes)
{
    MDB_stat stat;
    int result = mdb_stat(txn, db, &stat);
    if (result) {
        return pd_tib_lmdb_error(result);
    }
    *pages += stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
    *ret_page_bytes = stat.ms_psize;
    return 0;
}

int pd_lmdb_store_bytes_used(struct pd_store *store, MDB_txn *txn, uint64_t *ret_bytes)
{
    /* 0 and 1 are LMDB's own: free pages, and the names of the others. Two pages describe the file.
     */
    const MDB_dbi dbs[] = {0, 1, store->path_db, store->tail_db, store->segment_db, store->meta_db};
    uint64_t pages = 2, page_bytes = 0;
    int err = 0;
    for (size_t i = 0; !err && i < sizeof dbs / sizeof *dbs; i++) {
        err = pages_of(txn, dbs[i], &pages, &page_bytes);
    }
    if (!err) {
        *ret_bytes = pages * page_bytes;
    }
    return err;
}

static int chunks_stat(struct pd_store *store, MDB_txn *txn, MDB_dbi db, struct pd_tib_stat *stat)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    int result = mdb_cursor_open(txn, db, &cursor);
    if (result) {
        return pd_tib_lmdb_error(result);
    }
    while (!(result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
        struct pd_chunk chunk;
        stat->segments += db == store->segment_db;
        if (pd_lmdb_store_chunk(store, &key, &value, &chunk)) {
            continue;
        }
        const struct pd_chunk_header *header = &chunk.header;
        if (!stat->records || header->min_time_us < stat->min_stime_us) {
            stat->min_stime_us = header->min_time_us;
        }
        if (header->max_time_us > stat->max_etime_us) {
            stat->max_etime_us = header->max_time_us;
        }
        stat->records += header->len[PD_AXIS_ROWS];
    }
    mdb_cursor_close(cursor);
    return result == MDB_NOTFOUND ? 0 : pd_tib_lmdb_error(result);
}

static int snapshot_stat(struct pd_store_snapshot *snapshot, struct pd_tib_stat *stat)
{
    struct pd_store *store = snapshot->store;
    if (!snapshot->txn) {
        return 0;
    }
    stat->paths = snapshot->meta.paths;
    int err = pd_lmdb_store_bytes_file(store, &stat->bytes_file);
    err = err ? err : pd_lmdb_store_bytes_used(store, snapshot->txn, &stat->bytes_used);
    err = err ? err : chunks_stat(store, snapshot->txn, store->segment_db, stat);
    err = err ? err : chunks_stat(store, snapshot->txn, store->tail_db, stat);
    return err;
}

int pd_lmdb_store_stat(struct pd_tib *tib, struct pd_tib_stat *ret_stat)
{
    struct pd_store *store = (struct pd_store *)tib;
    struct pd_tib_snapshot *snapshot;
    struct pd_tib_stat stat = {0};
    int err = pd_lmdb_store_snapshot(tib, &snapshot);
    if (err) {
        return err;
    }
    err = snapshot_stat((struct pd_store_snapshot *)snapshot, &stat);
    pd_lmdb_store_release(snapshot);
    if (err) {
        return err;
    }
    pthread_mutex_lock(&store->lock);
#define X(name, text) stat.name = store->counters.name;
    PD_TIB_COUNTERS(X)
#undef X
    pthread_mutex_unlock(&store->lock);
    *ret_stat = stat;
    return 0;
}

/* ---- check: everything is read again, whatever the directory knows ---- */

struct finder {
    void (*report)(void *context, const char *finding);
    void *context;
    uint64_t findings;
};

static void find(struct finder *finder, const char *what, uint64_t number, int err)
{
    char finding[160];
    snprintf(finding, sizeof finding, "%s %llu: %s", what, (unsigned long long)number,
             pd_error_text(err));
    finder->report(finder->context, finding);
    finder->findings++;
}

static int check_chunks(struct pd_store_snapshot *snapshot, MDB_dbi db, const char *what,
                        struct finder *finder)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    struct pd_chunk_scratch scratch = {.zstd = NULL};
    int result = mdb_cursor_open(snapshot->txn, db, &cursor);
    if (result) {
        return pd_tib_lmdb_error(result);
    }
    while (!(result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
        struct pd_chunk chunk;
        uint64_t number = 0;
        int err = pd_store_key_number(&key, &number)
                      ? chunk_verified(snapshot->store, number, &value, &chunk)
                      : -PD_E_CORRUPT;
        err = err ? err
                  : pd_lmdb_chunk_load(&chunk, PD_CHUNK_ALL_COLUMNS, 0, PD_CHUNK_ROWS, &scratch);
        if (err) {
            find(finder, what, number, err);
        }
    }
    pd_lmdb_chunk_scratch_done(&scratch);
    mdb_cursor_close(cursor);
    return result == MDB_NOTFOUND ? 0 : pd_tib_lmdb_error(result);
}

int pd_lmdb_store_check(struct pd_tib *tib, void (*report)(void *context, const char *finding),
                        void *context)
{
    struct pd_store *store = (struct pd_store *)tib;
    struct finder finder = {report, context, 0};
    struct pd_tib_snapshot *head;
    int err = pd_lmdb_store_snapshot(tib, &head);
    if (err) {
        return err;
    }
    struct pd_store_snapshot *snapshot = (struct pd_store_snapshot *)head;
    if (snapshot->txn) {
        if (pd_lmdb_paths_damaged(store->paths)) {
            find(&finder, "paths, of which are damaged:", pd_lmdb_paths_damaged(store->paths),
                 -PD_E_CORRUPT);
        }
        err = check_chunks(snapshot, store->segment_db, "segment", &finder);
        err = err ? err : check_chunks(snapshot, store->tail_db, "tail", &finder);
    }
    pd_lmdb_store_release(head);
    return err ? err : finder.findings ? -PD_E_CORRUPT : 0;
}

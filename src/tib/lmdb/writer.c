/* SPDX-License-Identifier: Apache-2.0 */
/* The LMDB backend's writer: rows wait in a buffer, a commit writes them as one chunk of the tail
 * (or into a segment). */
#include <errno.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/grow.h"
#include "tib/lmdb/store.h"

/* What is in the tail when the store is opened. */
static int tail_count(struct pd_store *store, MDB_txn *txn)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    int result = mdb_cursor_open(txn, store->tail_db, &cursor);
    if (result) {
        return pd_tib_lmdb_error(result);
    }
    store->writer.tail_rows = 0;
    while (!(result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
        struct pd_chunk chunk;
        if (!pd_lmdb_store_chunk(store, &key, &value, &chunk)) {
            store->writer.tail_rows += chunk.header.len[PD_AXIS_ROWS];
        }
    }
    mdb_cursor_close(cursor);
    return result == MDB_NOTFOUND ? 0 : pd_tib_lmdb_error(result);
}

static int state_load(struct pd_store *store, bool is_first)
{
    MDB_txn *txn;
    int result = mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn);
    if (result) {
        return pd_tib_lmdb_error(result);
    }
    int err = pd_lmdb_store_meta_get(store, txn, &store->writer.meta);
    if (!err && is_first) {
        err = pd_lmdb_store_cursors_get(store, txn);
        err = err ? err : pd_lmdb_store_paths_load(store, txn, store->writer.meta.paths);
    }
    err = err ? err : tail_count(store, txn);
    mdb_txn_abort(txn);
    return err;
}

int pd_lmdb_store_writer_open(struct pd_store *store)
{
    return state_load(store, true);
}

/* Cursors and paths in memory are those of the file, or newer ones. */
int pd_lmdb_store_writer_resume(struct pd_store *store)
{
    store->writer.hot_from = 0;
    return state_load(store, false);
}

static int rows_reserve(struct pd_store_writer *writer)
{
    return PD_GROW(writer->rows, writer->room, writer->len + 1);
}

static int append_one(struct pd_store *store, const struct pd_tib_record *record,
                      bool *ret_mark_dropped)
{
    struct pd_store_writer *writer = &store->writer;
    const struct pd_claim claim = pd_tib_claim(record);
    uint32_t path;
    int err = pd_lmdb_paths_intern(store->paths, &claim, &path, ret_mark_dropped);
    err = err ? err : rows_reserve(writer);
    if (err) {
        return err;
    }
    struct pd_row row = {
        .flow = record->flow,
        .path = path,
        .stime_us = record->stime_us,
        .etime_us = record->etime_us,
        .bytes = record->bytes,
        .pkts = record->pkts,
        .retransmissions = record->retransmissions,
        .extra_bytes = record->extra_bytes,
        .extra = record->extra,
    };
    if (row.extra_bytes && !pd_tib_extra_valid(row.extra, row.extra_bytes)) {
        return -PD_E_VALUE;
    }
    err = pd_lmdb_extra_take(&writer->extra, &row);
    if (!err) {
        writer->rows[writer->len++] = row;
    }
    return err;
}

int pd_lmdb_store_append(struct pd_tib *tib, const struct pd_tib_record *records, size_t n)
{
    struct pd_store *store = (struct pd_store *)tib;
    uint64_t lost_full = 0, lost_error = 0, dropped = 0;
    int err = 0;
    for (size_t i = 0; i < n; i++) {
        bool mark_dropped = false;
        int failed = append_one(store, &records[i], &mark_dropped);
        lost_full += failed == -PD_E_FULL;
        lost_error += failed && failed != -PD_E_FULL;
        dropped += mark_dropped;
        if (store->writer.len == PD_COMMIT_ROWS) {
            int lost = pd_lmdb_store_commit(tib);
            failed = failed ? failed : lost;
        }
        err = err ? err : failed;
    }
    pthread_mutex_lock(&store->lock);
    store->counters.appended += n;
    store->counters.lost_full += lost_full;
    store->counters.lost_error += lost_error;
    store->counters.tags_dropped += dropped;
    pthread_mutex_unlock(&store->lock);
    return err;
}

int pd_lmdb_store_chunk_put(struct pd_store *store, MDB_txn *txn, MDB_dbi db,
                            const struct pd_chunk_input *input)
{
    struct pd_store_key number;
    MDB_val key = pd_store_key_val(&number, input->commits[0]), value;
    int err = pd_lmdb_chunk_encode(input, store->paths, &value.mv_data, &value.mv_size);
    if (err) {
        return err;
    }
    pd_lmdb_store_written_put(store, db, input->commits[0], &value);
    err = pd_tib_lmdb_error(mdb_put(txn, db, &key, &value, MDB_NOOVERWRITE));
    free(value.mv_data);
    return err;
}

/* Puts the paths that are not on disk yet; after a lost commit those of that one as well. */
static int paths_put(struct pd_store *store, MDB_txn *txn, uint32_t first, uint32_t len)
{
    struct pd_store_key number;
    MDB_val key = pd_store_key_val(&number, first), value;
    if (first == len) {
        return 0;
    }
    int err = pd_lmdb_paths_block_encode(store->paths, first, &value.mv_data, &value.mv_size);
    if (err) {
        return err;
    }
    err = pd_tib_lmdb_error(mdb_put(txn, store->path_db, &key, &value, MDB_NOOVERWRITE));
    free(value.mv_data);
    return err;
}

/* The last pages of the map are kept for retention: removing takes pages first and gives them back
 * later. */
bool pd_lmdb_store_near_full(struct pd_store *store, MDB_txn *txn)
{
    MDB_envinfo info;
    uint64_t used;
    if (mdb_env_info(store->env, &info) || pd_lmdb_store_bytes_used(store, txn, &used)) {
        return false;
    }
    return used + info.me_mapsize / 32 > info.me_mapsize;
}

static int rows_put(struct pd_store *store, MDB_txn *txn, struct pd_store_meta *meta,
                    bool *ret_sealed)
{
    const struct pd_store_writer *writer = &store->writer;
    size_t taken = 0;
    int err = 0;
    bool seal = writer->tail_rows + writer->len >= PD_CHUNK_ROWS;
    if (seal) {
        taken = PD_CHUNK_ROWS > writer->tail_rows ? PD_CHUNK_ROWS - writer->tail_rows : 0;
        err = pd_lmdb_store_seal(store, txn, writer->rows, taken, meta->next_row);
    }
    uint64_t first_row = meta->next_row + taken;
    struct pd_chunk_input rest = {.rows = writer->rows + taken,
                                  .len = writer->len - taken,
                                  .commits = &first_row,
                                  .commits_len = 1};
    if (!err && rest.len) {
        err = pd_lmdb_store_chunk_put(store, txn, store->tail_db, &rest);
    }
    meta->next_row += writer->len;
    *ret_sealed = seal;
    return err;
}

static int commit_txn(struct pd_store *store, bool *ret_sealed)
{
    MDB_txn *txn;
    bool sealed = false;
    uint32_t paths = pd_lmdb_paths_len(store->paths);
    int err = pd_lmdb_store_txn_begin(store, &txn);
    if (err) {
        return err;
    }
    struct pd_store_meta meta = store->writer.meta;
    err = pd_lmdb_store_near_full(store, txn) ? -PD_E_FULL : 0;
    err = err ? err : paths_put(store, txn, meta.paths, paths);
    meta.paths = paths;
    err = err ? err : rows_put(store, txn, &meta, &sealed);
    err = err ? err : pd_lmdb_store_cursors_put(store, txn);
    err = pd_lmdb_store_txn_end(store, txn, &meta, err);
    if (err) {
        return err;
    }
    store->writer.cursors_changed = false;
    *ret_sealed = sealed;
    return 0;
}

/* LMDB reports a write that was cut short as EIO. */
static int full_if_disk_is_full(struct pd_store *store, int err)
{
    int fd;
    struct statvfs fs;
    if (err != -EIO || mdb_env_get_fd(store->env, &fd) || fstatvfs(fd, &fs)) {
        return err;
    }
    return (uint64_t)fs.f_bavail * fs.f_frsize < PD_COMMIT_ROWS * sizeof(struct pd_row) ? -PD_E_FULL
                                                                                        : err;
}

/* LMDB uses the pages that a transaction has freed from the next but one on. If a commit fails for
 * want of room right after retention has made some, there would never be a next one: a small one
 * has to come in between. */
static int commit_again(struct pd_store *store, bool *ret_sealed)
{
    MDB_txn *txn;
    int err = pd_lmdb_store_txn_begin(store, &txn);
    if (err) {
        return err;
    }
    struct pd_store_meta same = store->writer.meta;
    err = pd_lmdb_store_txn_end(store, txn, &same, 0);
    return err ? err : commit_txn(store, ret_sealed);
}

int pd_lmdb_store_commit(struct pd_tib *tib)
{
    struct pd_store *store = (struct pd_store *)tib;
    struct pd_store_writer *writer = &store->writer;
    size_t len = writer->len;
    bool sealed = false;
    if (!len) {
        return 0;
    }
    int err = full_if_disk_is_full(store, commit_txn(store, &sealed));
    if (err == -PD_E_FULL) {
        err = full_if_disk_is_full(store, commit_again(store, &sealed));
    }
    if (!err) {
        writer->tail_rows =
            sealed ? (writer->tail_rows + len) % PD_CHUNK_ROWS : writer->tail_rows + len;
        if (sealed) {
            writer->tail_waits = false;
        }
    }
    uint64_t dropped = writer->extra.dropped;
    writer->len = 0;
    pd_lmdb_extra_done(&writer->extra);
    pthread_mutex_lock(&store->lock);
    store->counters.extra_dropped += dropped;
    store->counters.stored += err ? 0 : len;
    store->counters.lost_full += err == -PD_E_FULL ? len : 0;
    store->counters.lost_error += err && err != -PD_E_FULL ? len : 0;
    store->counters.commits += !err;
    store->counters.segments_sealed += sealed;
    pthread_mutex_unlock(&store->lock);
    return err;
}

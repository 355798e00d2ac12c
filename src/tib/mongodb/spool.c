/* SPDX-License-Identifier: Apache-2.0 */
/* The spool's file: opening, commits, and what the sender takes and drops. */
#include "tib/mongodb/spool.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tib/mongodb/spool_entry.h"

#define MAGIC       UINT32_C(0x70735064) /* "dPsp" */
#define VERSION     2u                   /* entries of version 1 are read as well */
#define VERSION_OLD 1u
#define FILE_MODE   0640
#define DIR_MODE    0750

/* In `meta`, little-endian. */
struct spool_meta {
    uint32_t magic;
    uint32_t version;
    uint32_t host_id;
    uint32_t cursors_len;
    uint64_t next_seq;
    uint8_t identity[16];
    struct pd_spool_cursor cursors[PD_TIB_CURSORS]; /* so many are stored as there are */
};
_Static_assert(sizeof(struct spool_meta) == 40 + 16 * PD_TIB_CURSORS, "written as it is");
#define META_BYTES(n) (offsetof(struct spool_meta, cursors) + 16u * (n))

static int lmdb_error(int result)
{
    switch (result) {
    case 0: return 0;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case MDB_MAP_FULL: return -PD_E_FULL;
    case MDB_VERSION_MISMATCH: return -PD_E_VERSION;
    case MDB_READERS_FULL: return -PD_E_BUSY;
    default: return result > 0 ? -result : -PD_E_CORRUPT;
    }
}

/* ---- meta ---- */

static int meta_put(struct pd_spool *spool, MDB_txn *txn, struct spool_meta *meta)
{
    meta->magic = htole32(MAGIC);
    meta->version = htole32(VERSION);
    meta->next_seq = htole64(spool->next_seq + spool->buffered);
    meta->cursors_len = htole32(spool->cursors_len);
    for (unsigned i = 0; i < spool->cursors_len; i++) {
        meta->cursors[i] = (struct pd_spool_cursor){htole64(spool->cursors[i].key),
                                                    htole64(spool->cursors[i].value)};
    }
    MDB_val key = {5, (void *)"spool"}, value = {META_BYTES(spool->cursors_len), meta};
    return lmdb_error(mdb_put(txn, spool->meta_db, &key, &value, 0));
}

static int meta_get(struct pd_spool *spool, MDB_txn *txn, struct spool_meta *ret_meta)
{
    MDB_val key = {5, (void *)"spool"}, value;
    int result = mdb_get(txn, spool->meta_db, &key, &value);
    if (result) {
        return result == MDB_NOTFOUND ? -PD_E_NOT_FOUND : lmdb_error(result);
    }
    if (value.mv_size < META_BYTES(0) || value.mv_size > sizeof *ret_meta) {
        return -PD_E_CORRUPT;
    }
    memcpy(ret_meta, value.mv_data, value.mv_size);
    if (le32toh(ret_meta->magic) != MAGIC) {
        return -PD_E_CORRUPT;
    }
    if (le32toh(ret_meta->version) != VERSION && le32toh(ret_meta->version) != VERSION_OLD) {
        return -PD_E_VERSION;
    }
    uint32_t cursors = le32toh(ret_meta->cursors_len);
    return cursors <= PD_TIB_CURSORS && value.mv_size == META_BYTES(cursors) ? 0 : -PD_E_CORRUPT;
}

static void meta_take(struct pd_spool *spool, const struct spool_meta *meta)
{
    spool->next_seq = le64toh(meta->next_seq);
    spool->cursors_len = le32toh(meta->cursors_len);
    for (unsigned i = 0; i < spool->cursors_len; i++) {
        spool->cursors[i] = (struct pd_spool_cursor){le64toh(meta->cursors[i].key),
                                                     le64toh(meta->cursors[i].value)};
    }
    for (unsigned i = 0; i < sizeof meta->identity; i++) {
        snprintf(spool->identity + 2 * i, 3, "%02x", meta->identity[i]);
    }
}

/* A new spool, or an empty one that is given to another host. */
static int meta_new(struct pd_spool *spool, MDB_txn *txn, uint32_t host_id)
{
    struct spool_meta meta = {.host_id = htole32(host_id)};
    if (getrandom(meta.identity, sizeof meta.identity, 0) != sizeof meta.identity) {
        return -EIO;
    }
    spool->next_seq = 1;
    spool->cursors_len = 0;
    int error = meta_put(spool, txn, &meta);
    if (!error) {
        meta_take(spool, &meta);
    }
    return error;
}

static int meta_open(struct pd_spool *spool, MDB_txn *txn, uint32_t host_id)
{
    struct spool_meta meta = {0};
    MDB_stat queue;
    int error = meta_get(spool, txn, &meta);
    if (error == -PD_E_NOT_FOUND) {
        return meta_new(spool, txn, host_id);
    }
    if (error) {
        return error;
    }
    if (le32toh(meta.host_id) == host_id) {
        meta_take(spool, &meta);
        return 0;
    }
    error = lmdb_error(mdb_stat(txn, spool->queue_db, &queue));
    return error ? error : queue.ms_entries ? -PD_E_VALUE : meta_new(spool, txn, host_id);
}

/* ---- opening ---- */

/* With its parents, like mkdir -p. */
static int directory_make(const char *directory)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s", directory) >= (int)sizeof path) {
        return -ENAMETOOLONG;
    }
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, DIR_MODE) && errno != EEXIST) {
            return -errno;
        }
        *slash = '/';
    }
    return mkdir(path, DIR_MODE) && errno != EEXIST ? -errno : 0;
}

static int lock(struct pd_spool *spool, const char *directory)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/spool.lock", directory) >= (int)sizeof path) {
        return -ENAMETOOLONG;
    }
    spool->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, FILE_MODE);
    if (spool->lock_fd < 0) {
        return -errno;
    }
    if (flock(spool->lock_fd, LOCK_EX | LOCK_NB)) {
        return errno == EWOULDBLOCK ? -PD_E_BUSY : -errno;
    }
    return 0;
}

/* Twice the limit and some: dropping needs pages too, and entries need runs of them. */
static int env_open(struct pd_spool *spool, const char *directory)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/spool.mdb", directory) >= (int)sizeof path) {
        return -ENAMETOOLONG;
    }
    int result = mdb_env_create(&spool->env);
    result = result ? result : mdb_env_set_maxdbs(spool->env, 2);
    result = result ? result
                    : mdb_env_set_mapsize(spool->env, 2 * spool->max_bytes + (UINT64_C(32) << 20));
    result = result ? result : mdb_env_open(spool->env, path, MDB_NOSUBDIR, FILE_MODE);
    return lmdb_error(result);
}

static int databases_open(struct pd_spool *spool, uint32_t host_id)
{
    MDB_txn *txn;
    int error = lmdb_error(mdb_txn_begin(spool->env, NULL, 0, &txn));
    if (error) {
        return error;
    }
    error = lmdb_error(mdb_dbi_open(txn, "queue", MDB_CREATE, &spool->queue_db));
    error = error ? error : lmdb_error(mdb_dbi_open(txn, "meta", MDB_CREATE, &spool->meta_db));
    error = error ? error : meta_open(spool, txn, host_id);
    if (error) {
        mdb_txn_abort(txn);
    } else {
        error = lmdb_error(mdb_txn_commit(txn));
    }
    return error;
}

int pd_mongodb_spool_open(const char *directory, uint32_t host_id, uint64_t max_bytes,
                          struct pd_spool **ret_spool, struct pd_error *error)
{
    struct pd_spool *spool = calloc(1, sizeof *spool);
    if (!spool) {
        return pd_fail(error, -ENOMEM, "%s: no memory", directory);
    }
    spool->lock_fd = -1;
    spool->max_bytes = max_bytes;
    int err = directory_make(directory);
    err = err ? err : lock(spool, directory);
    err = err ? err : env_open(spool, directory);
    err = err ? err : databases_open(spool, host_id);
    if (err) {
        pd_mongodb_spool_close(spool);
        return pd_fail(error, err, "%s: %s", directory,
                       err == -PD_E_VALUE ? "this spool holds records of another host ID"
                                          : pd_error_text(err));
    }
    *ret_spool = spool;
    return 0;
}

void pd_mongodb_spool_close(struct pd_spool *spool)
{
    if (!spool) {
        return;
    }
    if (spool->env) {
        mdb_env_close(spool->env);
    }
    if (spool->lock_fd >= 0) {
        close(spool->lock_fd);
    }
    free(spool->buffer);
    free(spool);
}

/* ---- commits ---- */

void pd_mongodb_spool_set_cursor(struct pd_spool *spool, uint64_t key, uint64_t value)
{
    unsigned at = 0;
    while (at < spool->cursors_len && spool->cursors[at].key != key) {
        at++;
    }
    if (at == spool->cursors_len && at < PD_TIB_CURSORS) {
        spool->cursors_len++;
    }
    if (at == PD_TIB_CURSORS) {
        at--;
    }
    memmove(spool->cursors + 1, spool->cursors, at * sizeof *spool->cursors);
    spool->cursors[0] = (struct pd_spool_cursor){key, value};
    spool->cursors_changed = true;
}

static uint64_t pages_bytes(const MDB_stat *stat)
{
    return (stat->ms_branch_pages + stat->ms_leaf_pages + stat->ms_overflow_pages) * stat->ms_psize;
}

uint64_t pd_mongodb_spool_used_bytes(struct pd_spool *spool)
{
    MDB_txn *txn;
    MDB_stat stat;
    uint64_t used = 0;
    if (mdb_txn_begin(spool->env, NULL, MDB_RDONLY, &txn)) {
        return 0;
    }
    if (!mdb_stat(txn, spool->queue_db, &stat)) {
        used = pages_bytes(&stat);
    }
    mdb_txn_abort(txn);
    return used;
}

/* The entries of the buffer, each with its length before it there, under the numbers that they get
 * now. */
static int entries_put(struct pd_spool *spool, MDB_txn *txn)
{
    uint64_t seq = spool->next_seq;
    MDB_stat stat;
    int error = lmdb_error(mdb_stat(txn, spool->queue_db, &stat));
    if (!error && pages_bytes(&stat) + spool->buffer_bytes > spool->max_bytes) {
        return -PD_E_FULL;
    }
    for (size_t at = 0; at < spool->buffer_bytes && !error;) {
        struct pd_spool_entry_view view;
        uint64_t number = htobe64(seq);
        uint64_t len = pd_mongodb_spool_entry_seal(spool, at, &view);
        MDB_val key = {sizeof number, &number}, value = {len, spool->buffer + at + PD_SPOOL_PREFIX};
        error =
            lmdb_error(mdb_put(txn, spool->queue_db, &key, &value, MDB_NOOVERWRITE | MDB_APPEND));
        seq += view.records;
        at += PD_SPOOL_PREFIX + len;
    }
    return error;
}

static int commit(struct pd_spool *spool)
{
    MDB_txn *txn;
    struct spool_meta meta = {0};
    int error = pd_mongodb_spool_buffer_end(spool);
    error = error ? error : lmdb_error(mdb_txn_begin(spool->env, NULL, 0, &txn));
    if (error) {
        return error;
    }
    error = entries_put(spool, txn);
    error = error ? error : meta_get(spool, txn, &meta); /* identity and host stay */
    error = error ? error : meta_put(spool, txn, &meta);
    if (error) {
        mdb_txn_abort(txn);
    } else {
        error = lmdb_error(mdb_txn_commit(txn));
    }
    return error;
}

int pd_mongodb_spool_commit(struct pd_spool *spool)
{
    if (!spool->buffered) {
        return 0;
    }
    int error = commit(spool);
    if (!error) {
        spool->next_seq += spool->buffered;
        spool->cursors_changed = false;
    }
    spool->buffer_bytes = 0;
    spool->buffered = 0;
    spool->entry_records = 0;
    return error;
}

/* ---- what the sender does ---- */

static uint64_t seq_of(const MDB_val *key)
{
    uint64_t number = 0;
    if (key->mv_size == sizeof number) {
        memcpy(&number, key->mv_data, sizeof number);
    }
    return be64toh(number);
}

/* Where the entry at the cursor ends: before the next one, or before next_seq. */
static int entry_end(MDB_cursor *cursor, uint64_t next_seq, uint64_t *ret_end)
{
    MDB_val key, value;
    int result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    if (result && result != MDB_NOTFOUND) {
        return lmdb_error(result);
    }
    *ret_end = (result ? next_seq : seq_of(&key)) - 1;
    return 0;
}

static int take(struct pd_spool *spool, MDB_txn *txn, MDB_cursor *cursor,
                struct pd_spool_batch *batch)
{
    struct spool_meta meta = {0};
    MDB_val key, value;
    int result = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    int error = meta_get(spool, txn, &meta);
    while (!result && !error) {
        uint64_t seq = seq_of(&key), end = 0;
        MDB_val entry = value;
        error = entry_end(cursor, le64toh(meta.next_seq), &end);
        if (error) {
            break;
        }
        if (!batch->len && !batch->damaged) {
            batch->first_seq = seq;
        }
        if (!pd_mongodb_spool_entry_read(&entry, seq, end, batch)) {
            break; /* it is for the next batch */
        }
        batch->end_seq = end;
        result = mdb_cursor_get(cursor, &key, &value, MDB_GET_CURRENT);
        if (result || seq_of(&key) == seq) {
            break; /* that was the last */
        }
    }
    return error;
}

int pd_mongodb_spool_take(struct pd_spool *spool, struct pd_spool_batch *batch)
{
    MDB_txn *txn;
    MDB_cursor *cursor;
    int error = lmdb_error(mdb_txn_begin(spool->env, NULL, MDB_RDONLY, &txn));
    if (error) {
        return error;
    }
    batch->len = 0;
    batch->damaged = 0;
    batch->cursors_len = 0;
    batch->first_seq = 1;
    batch->end_seq = 0;
    error = lmdb_error(mdb_cursor_open(txn, spool->queue_db, &cursor));
    if (!error) {
        error = take(spool, txn, cursor, batch);
        mdb_cursor_close(cursor);
    }
    mdb_txn_abort(txn);
    return error;
}

int pd_mongodb_spool_drop(struct pd_spool *spool, uint64_t end_seq)
{
    MDB_txn *txn;
    MDB_cursor *cursor;
    MDB_val key, value;
    int result = mdb_txn_begin(spool->env, NULL, 0, &txn);
    if (result) {
        return lmdb_error(result);
    }
    result = mdb_cursor_open(txn, spool->queue_db, &cursor);
    while (!result && !(result = mdb_cursor_get(cursor, &key, &value, MDB_FIRST)) &&
           seq_of(&key) <= end_seq) {
        result = mdb_cursor_del(cursor, 0);
    }
    if (result && result != MDB_NOTFOUND) {
        mdb_txn_abort(txn);
    } else {
        result = mdb_txn_commit(txn);
    }
    return lmdb_error(result);
}

int pd_mongodb_spool_front(struct pd_spool *spool, uint64_t *ret_seq)
{
    MDB_txn *txn;
    MDB_cursor *cursor;
    MDB_val key, value;
    struct spool_meta meta = {0};
    int error = lmdb_error(mdb_txn_begin(spool->env, NULL, MDB_RDONLY, &txn));
    if (error) {
        return error;
    }
    error = meta_get(spool, txn, &meta);
    error = error ? error : lmdb_error(mdb_cursor_open(txn, spool->queue_db, &cursor));
    if (!error) {
        int result = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
        if (!result || result == MDB_NOTFOUND) {
            *ret_seq = result ? le64toh(meta.next_seq) : seq_of(&key);
        } else {
            error = lmdb_error(result);
        }
        mdb_cursor_close(cursor);
    }
    mdb_txn_abort(txn);
    return error;
}

int pd_mongodb_spool_check(struct pd_spool *spool, uint64_t *ret_damaged)
{
    MDB_txn *txn;
    MDB_cursor *cursor;
    MDB_val key, value;
    uint64_t damaged = 0;
    int error = lmdb_error(mdb_txn_begin(spool->env, NULL, MDB_RDONLY, &txn));
    if (error) {
        return error;
    }
    error = lmdb_error(mdb_cursor_open(txn, spool->queue_db, &cursor));
    if (!error) {
        while (!mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
            damaged += !pd_mongodb_spool_entry_holds(&value);
        }
        mdb_cursor_close(cursor);
        *ret_damaged = damaged;
    }
    mdb_txn_abort(txn);
    return error;
}

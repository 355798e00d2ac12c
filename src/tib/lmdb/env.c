/* SPDX-License-Identifier: Apache-2.0 */
/* The LMDB backend's directory: writer.lock, data.mdb, lock.mdb; who may open it, and how a new store comes to be. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/error.h"
#include "tib/lmdb/pages.h"
#include "tib/lmdb/store.h"

#define DEFAULT_MAP_BYTES (UINT64_C(64) << 30)
#define MAX_READERS       512u
/* Who may read the store may register as a reader: lock.mdb is writable for the group. */
#define DIRECTORY_MODE 0750
#define DATA_MODE      0640
#define LOCK_MODE      0660

/* LMDB forbids one process to open an environment twice (closing one drops the locks of both). */
static struct pd_store *open_stores;
static pthread_mutex_t open_stores_lock = PTHREAD_MUTEX_INITIALIZER;

int pd_lmdb_error(int result)
{
    switch (result) {
    case 0: return 0;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case MDB_MAP_FULL: return -PD_E_FULL;
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
    case MDB_BAD_VALSIZE:
    case MDB_INCOMPATIBLE:
    case MDB_KEYEXIST:
    case MDB_NOTFOUND: return -PD_E_CORRUPT;
    case MDB_VERSION_MISMATCH: return -PD_E_VERSION;
    case MDB_READERS_FULL: return -PD_E_BUSY;
    default: return result > 0 ? -result : -EIO;
    }
}

static int registry_add(struct pd_store *store, int directory_fd)
{
    struct stat stat;
    if (fstat(directory_fd, &stat))
        return -errno;
    store->file_id[0] = stat.st_dev;
    store->file_id[1] = stat.st_ino;
    pthread_mutex_lock(&open_stores_lock);
    const struct pd_store *other = open_stores;
    while (other && memcmp(other->file_id, store->file_id, sizeof store->file_id) != 0)
        other = other->next_open;
    if (!other) {
        store->next_open = open_stores;
        open_stores = store;
    }
    pthread_mutex_unlock(&open_stores_lock);
    return other ? -PD_E_BUSY : 0;
}

static void registry_remove(struct pd_store *store)
{
    pthread_mutex_lock(&open_stores_lock);
    struct pd_store **at = &open_stores;
    while (*at && *at != store)
        at = &(*at)->next_open;
    if (*at)
        *at = store->next_open;
    pthread_mutex_unlock(&open_stores_lock);
}

/* ---- the record of the whole store ---- */

static const MDB_val meta_key = {5, (void *)"store"};
#define META_HASHED_FROM offsetof(struct pd_store_meta, magic)

static uint64_t meta_hash(const struct pd_store_meta *raw)
{
    return XXH3_64bits((const uint8_t *)raw + META_HASHED_FROM, sizeof *raw - META_HASHED_FROM);
}

static int record_parse(const void *bytes, size_t size_bytes, struct pd_store_meta *ret_meta)
{
    struct pd_store_meta raw;
    /* Other versions may have other sizes. */
    if (size_bytes < offsetof(struct pd_store_meta, next_row))
        return -PD_E_CORRUPT;
    memcpy(&raw, bytes, offsetof(struct pd_store_meta, next_row));
    if (le32toh(raw.magic) == PD_STORE_MAGIC && le32toh(raw.version) != PD_STORE_VERSION)
        return -PD_E_VERSION;
    if (le32toh(raw.magic) != PD_STORE_MAGIC || size_bytes != sizeof raw)
        return -PD_E_CORRUPT;
    memcpy(&raw, bytes, sizeof raw);
    if (le64toh(raw.xxh3) != meta_hash(&raw))
        return -PD_E_CORRUPT;
    *ret_meta = (struct pd_store_meta){
        .next_row = le64toh(raw.next_row),
        .expired = le64toh(raw.expired),
        .paths = le32toh(raw.paths),
        .identity = le64toh(raw.identity),
        .txn_id = le64toh(raw.txn_id),
    };
    return ret_meta->paths <= PD_PATHS_MAX ? 0 : -PD_E_CORRUPT;
}

int pd_store_meta_get(struct pd_store *store, MDB_txn *txn, struct pd_store_meta *ret_meta)
{
    struct pd_store_meta meta;
    MDB_val key = meta_key, value;
    int err = pd_lmdb_error(mdb_get(txn, store->meta_db, &key, &value));
    err = err ? err : record_parse(value.mv_data, value.mv_size, &meta);
    if (err)
        return err;
    if (meta.txn_id != mdb_txn_id(txn))
        return -PD_E_CORRUPT;
    *ret_meta = meta;
    return 0;
}

/* LMDB's meta pages have no checksum, and the one with the greater commit number counts. Had a number changed so that the older
 * page counts, the store would be whole, as of a commit earlier. So each commit's record has its number as well, and what
 * either page leads to must have the page's own. */
static int commit_numbers_check(int fd, struct pd_error *error)
{
    for (unsigned page = 0; page < 2; page++) {
        uint8_t bytes[sizeof(struct pd_store_meta)];
        size_t size_bytes = sizeof bytes;
        uint64_t txn_id;
        struct pd_store_meta meta;
        if (!pd_pages_value(fd, page, "meta", meta_key.mv_data, bytes, &size_bytes, &txn_id) &&
            !record_parse(bytes, size_bytes, &meta) && meta.txn_id != txn_id)
            return pd_fail(error, -PD_E_CORRUPT,
                           "page %u: the meta page of commit %llu has the number %llu", page,
                           (unsigned long long)meta.txn_id, (unsigned long long)txn_id);
    }
    return 0;
}

int pd_store_meta_put(struct pd_store *store, MDB_txn *txn, const struct pd_store_meta *meta)
{
    struct pd_store_meta raw = {
        .magic = htole32(PD_STORE_MAGIC),
        .version = htole32(PD_STORE_VERSION),
        .next_row = htole64(meta->next_row),
        .expired = htole64(meta->expired),
        .paths = htole32(meta->paths),
        .identity = htole64(meta->identity),
        .txn_id = htole64(mdb_txn_id(txn)),
    };
    raw.xxh3 = htole64(meta_hash(&raw));
    MDB_val key = meta_key, value = {sizeof raw, &raw};
    return pd_lmdb_error(mdb_put(txn, store->meta_db, &key, &value, 0));
}

int pd_store_txn_end(struct pd_store *store, MDB_txn *txn, const struct pd_store_meta *meta,
                     int err)
{
    err = err ? err : pd_store_meta_put(store, txn, meta);
    if (err) {
        mdb_txn_abort(txn);
        return err;
    }
    err = pd_lmdb_error(mdb_txn_commit(txn));
    if (!err)
        store->writer.meta = *meta;
    return err;
}

/* ---- environment ---- */

static int databases_open(struct pd_store *store, MDB_txn *txn, unsigned flags)
{
    int result = mdb_dbi_open(txn, "path", flags, &store->path_db);
    result = result ? result : mdb_dbi_open(txn, "tail", flags, &store->tail_db);
    result = result ? result : mdb_dbi_open(txn, "segment", flags, &store->segment_db);
    return result ? result : mdb_dbi_open(txn, "meta", flags, &store->meta_db);
}

static int env_new(struct pd_store *store, uint64_t map_bytes)
{
    int result = mdb_env_create(&store->env);
    result = result ? result : mdb_env_set_maxdbs(store->env, 8);
    result = result ? result : mdb_env_set_maxreaders(store->env, MAX_READERS);
    /* A reader maps as much as the writer said, which stands in the file. */
    return result || !map_bytes ? result : mdb_env_set_mapsize(store->env, map_bytes);
}

/* Makes NEW as a whole store without records; its lock file is thrown away. */
static int store_build(struct pd_store *store, const char *new_file, uint64_t map_bytes)
{
    MDB_txn *txn;
    struct pd_store_meta meta = {0};
    if (getrandom(&meta.identity, sizeof meta.identity, 0) != sizeof meta.identity)
        return -EIO;
    int err = pd_lmdb_error(env_new(store, map_bytes));
    err = err ? err
              : pd_lmdb_error(
                    mdb_env_open(store->env, new_file, MDB_NOSUBDIR | MDB_NOLOCK, DATA_MODE));
    err = err ? err : pd_lmdb_error(mdb_txn_begin(store->env, NULL, 0, &txn));
    if (err)
        goto out;
    err = pd_lmdb_error(databases_open(store, txn, MDB_CREATE));
    err = err ? err : pd_store_meta_put(store, txn, &meta);
    if (err)
        mdb_txn_abort(txn);
    else
        err = pd_lmdb_error(mdb_txn_commit(txn));
out:
    mdb_env_close(store->env);
    store->env = NULL;
    return err;
}

/* A data.mdb is whole from the moment that it is there: made under another name, synced, renamed. */
static int store_create(struct pd_store *store, int directory_fd, const char *location,
                        uint64_t map_bytes)
{
    char new_file[4096];
    if (snprintf(new_file, sizeof new_file, "%s/new.mdb", location) >= (int)sizeof new_file)
        return -ENAMETOOLONG;
    unlinkat(directory_fd, "new.mdb", 0); /* of a writer that was killed here */
    int err = store_build(store, new_file, map_bytes);
    if (!err && renameat(directory_fd, "new.mdb", directory_fd, "data.mdb"))
        err = -errno;
    if (!err && fsync(directory_fd))
        err = -errno;
    return err;
}

/* One writer: whoever holds the flock of writer.lock, which ends with the process however it dies. */
static int writer_lock(struct pd_store *store, int directory_fd)
{
    store->lock_fd = openat(directory_fd, "writer.lock", O_RDWR | O_CREAT | O_CLOEXEC, DATA_MODE);
    if (store->lock_fd < 0)
        return -errno;
    if (flock(store->lock_fd, LOCK_EX | LOCK_NB))
        return errno == EWOULDBLOCK ? -PD_E_BUSY : -errno;
    return 0;
}

/* Whoever may read the store may register as a reader, so lock.mdb is writable for all who can read data.mdb. */
static int reader_table_create(int directory_fd)
{
    struct stat data;
    if (fstatat(directory_fd, "data.mdb", &data, 0))
        return -errno;
    int fd = openat(directory_fd, "lock.mdb", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, DATA_MODE);
    if (fd < 0)
        return errno == EEXIST ? 0 : -errno;
    mode_t readable = data.st_mode & (S_IRUSR | S_IRGRP | S_IROTH);
    int err = fchmod(fd, readable | readable >> 1) ? -errno : 0;
    close(fd);
    return err;
}

static int writer_prepare(struct pd_store *store, int directory_fd, const char *location,
                          struct pd_error *error)
{
    uint64_t map_bytes = store->config.map_bytes;
    int err = writer_lock(store, directory_fd);
    if (err == -PD_E_BUSY)
        return pd_fail(error, err, "%s: another process writes to this TIB", location);
    if (!err && faccessat(directory_fd, "data.mdb", F_OK, 0))
        err = store_create(store, directory_fd, location, map_bytes);
    err = err ? err : reader_table_create(directory_fd);
    return err ? pd_fail(error, err, "%s: cannot make a TIB there: %s", location,
                         pd_error_text(err))
               : 0;
}

/* Where lock.mdb cannot be written, nobody can register as a reader, and a writer would use pages again while they are read.
 * So such a reader holds off writers for as long as it has the store open, or is refused while one is there. */
static int reader_flags(struct pd_store *store, int directory_fd, const char *location,
                        unsigned *ret_flags, struct pd_error *error)
{
    *ret_flags = MDB_RDONLY;
    if (!faccessat(directory_fd, "lock.mdb", R_OK | W_OK, AT_EACCESS) ||
        (errno == ENOENT && !faccessat(directory_fd, ".", W_OK, AT_EACCESS)))
        return 0;
    store->lock_fd = openat(directory_fd, "writer.lock", O_RDONLY | O_CLOEXEC);
    if (store->lock_fd < 0 && errno != ENOENT)
        return pd_fail(error, -errno, "%s/writer.lock: %s", location, pd_error_text(-errno));
    if (store->lock_fd >= 0 && flock(store->lock_fd, LOCK_SH | LOCK_NB))
        return pd_fail(error, -PD_E_BUSY,
                       "%s/lock.mdb: not writable for this user, who can read only while no daemon "
                       "writes here",
                       location);
    *ret_flags |= MDB_NOLOCK;
    return 0;
}

/* Opens what is there; *ret_flags stays 0 when there is only the beginning of a store. */
static int reader_prepare(struct pd_store *store, int directory_fd, const char *location,
                          unsigned *ret_flags, struct pd_error *error)
{
    if (!faccessat(directory_fd, "data.mdb", F_OK, 0))
        return reader_flags(store, directory_fd, location, ret_flags, error);
    *ret_flags = 0;
    if (!faccessat(directory_fd, "writer.lock", F_OK, 0))
        return 0;
    return pd_fail(error, -PD_E_NOT_FOUND, "%s: no TIB there (data.mdb is missing)", location);
}

/* The environment as it is at one commit: liblmdb follows no page that was not checked. */
static int pages_check(struct pd_store *store, MDB_txn *txn, struct pd_error *error)
{
    int fd;
    int err = pd_lmdb_error(mdb_env_get_fd(store->env, &fd));
    for (unsigned attempt = 0; !err; attempt++) {
        err = pd_pages_check(fd, mdb_txn_id(txn), store->mode == PD_TIB_WRITE, error);
        /* While we looked for the meta page, a writer may have replaced it: twice more. */
        if ((err != -PD_E_NOT_FOUND && err != -PD_E_CORRUPT) || attempt == 2)
            break;
        mdb_txn_reset(txn);
        err = pd_lmdb_error(mdb_txn_renew(txn));
    }
    return err;
}

static int env_check(struct pd_store *store, struct pd_error *error)
{
    MDB_txn *txn;
    struct pd_store_meta meta;
    int err = pd_lmdb_error(mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn));
    if (err)
        return err;
    err = pages_check(store, txn, error);
    err = err ? err : pd_lmdb_error(databases_open(store, txn, 0));
    err = err ? err : pd_store_meta_get(store, txn, &meta);
    if (!err)
        return pd_lmdb_error(mdb_txn_commit(txn)); /* keeps the handles */
    mdb_txn_abort(txn);
    return err;
}

static int meta_check(int directory_fd, struct pd_error *error)
{
    int fd = openat(directory_fd, "data.mdb", O_RDONLY | O_CLOEXEC);
    int err = fd < 0 ? -errno : pd_pages_check_meta(fd, error);
    err = err ? err : commit_numbers_check(fd, error);
    if (fd >= 0)
        close(fd);
    return err;
}

static int env_open(struct pd_store *store, int directory_fd, const char *location, unsigned flags,
                    struct pd_error *error)
{
    int stale;
    struct pd_error why = {0};
    uint64_t map_bytes = store->mode == PD_TIB_WRITE ? store->config.map_bytes : 0;
    int err = meta_check(directory_fd, &why);
    err = err ? err : pd_lmdb_error(env_new(store, map_bytes));
    err =
        err ? err : pd_lmdb_error(mdb_env_open(store->env, location, flags | MDB_NOTLS, DATA_MODE));
    err = err ? err
              : pd_lmdb_error(mdb_reader_check(store->env, &stale)); /* killed readers pin pages */
    err = err ? err : env_check(store, &why);
    if (err)
        pd_fail(error, err, "%s/data.mdb: %s", location,
                why.code == err ? why.text : pd_error_text(err));
    return err;
}

int pd_store_env_open(struct pd_store *store, const char *location, struct pd_error *error)
{
    bool write = store->mode == PD_TIB_WRITE;
    unsigned flags = 0;
    if (!store->config.map_bytes)
        store->config.map_bytes = DEFAULT_MAP_BYTES;
    if (write && mkdir(location, DIRECTORY_MODE) && errno != EEXIST)
        return pd_fail(error, -errno, "%s: cannot make the directory: %s", location,
                       pd_error_text(-errno));
    int directory_fd = open(location, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory_fd < 0)
        return pd_fail(error, errno == ENOENT ? -PD_E_NOT_FOUND : -errno, "%s: %s", location,
                       pd_error_text(-errno));
    int err = registry_add(store, directory_fd);
    if (err) {
        pd_fail(error, err, "%s: this process has the TIB open already", location);
        goto out;
    }
    err = write ? writer_prepare(store, directory_fd, location, error)
                : reader_prepare(store, directory_fd, location, &flags, error);
    if (!err && (write || flags))
        err = env_open(store, directory_fd, location, flags, error);
out:
    close(directory_fd);
    return err;
}

void pd_store_env_close(struct pd_store *store)
{
    while (store->pool_len)
        mdb_txn_abort(store->pool[--store->pool_len]);
    if (store->env)
        mdb_env_close(store->env);
    if (store->lock_fd >= 0)
        close(store->lock_fd);
    registry_remove(store);
}

int pd_store_paths_load(struct pd_store *store, MDB_txn *txn, uint32_t len)
{
    MDB_cursor *cursor;
    struct pd_store_key number;
    MDB_val key = pd_store_key_val(&number, pd_paths_len(store->paths)), value;
    int err = pd_lmdb_error(mdb_cursor_open(txn, store->path_db, &cursor));
    if (err)
        return err;
    int result = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    for (; !result && !err; result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        uint64_t first;
        if (!pd_store_key_number(&key, &first) || first < pd_paths_len(store->paths) ||
            first >= len)
            continue;
        err = pd_paths_skip(store->paths, (uint32_t)first); /* a block is missing in front */
        if (!err && pd_paths_block_load(store->paths, (uint32_t)first, value.mv_data,
                                        value.mv_size) == -ENOMEM)
            err = -ENOMEM; /* a damaged block is skipped when the next one is there, or below */
    }
    mdb_cursor_close(cursor);
    return err ? err : pd_paths_skip(store->paths, len);
}

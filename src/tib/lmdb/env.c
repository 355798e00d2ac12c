/* SPDX-License-Identifier: Apache-2.0 */
/* The LMDB backend's directory: writer.lock, data.mdb, lock.mdb; who may open it, and how a new
 * store comes to be. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "tib/lmdb/pages.h"
#include "tib/lmdb/store.h"
#include "tib/lmdb/view.h"

#define DEFAULT_MAP_BYTES (UINT64_C(64) << 30)
#define MAX_READERS       512u
#define REOPEN_WAIT_MS    1000u
#define LOOK_MS           100u /* a reader looks whether the file was replaced */
/* Who may read the store may register as a reader: lock.mdb is writable for the group. */
#define DIRECTORY_MODE 0750
#define DATA_MODE      0640
#define LOCK_MODE      0660

/* LMDB forbids one process to open an environment twice (closing one drops the locks of both). */
static struct pd_store *open_stores;
static pthread_mutex_t open_stores_lock = PTHREAD_MUTEX_INITIALIZER;

int pd_tib_lmdb_error(int result)
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
    if (fstat(directory_fd, &stat)) {
        return -errno;
    }
    store->file_id[0] = stat.st_dev;
    store->file_id[1] = stat.st_ino;
    pthread_mutex_lock(&open_stores_lock);
    const struct pd_store *other = open_stores;
    while (other && memcmp(other->file_id, store->file_id, sizeof store->file_id) != 0) {
        other = other->next_open;
    }
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
    while (*at && *at != store) {
        at = &(*at)->next_open;
    }
    if (*at) {
        *at = store->next_open;
    }
    pthread_mutex_unlock(&open_stores_lock);
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
    if (getrandom(&meta.identity, sizeof meta.identity, 0) != sizeof meta.identity) {
        return -EIO;
    }
    int err = pd_tib_lmdb_error(env_new(store, map_bytes));
    err = err ? err
              : pd_tib_lmdb_error(
                    mdb_env_open(store->env, new_file, MDB_NOSUBDIR | MDB_NOLOCK, DATA_MODE));
    err = err ? err : pd_tib_lmdb_error(mdb_txn_begin(store->env, NULL, 0, &txn));
    if (err) {
        goto out;
    }
    err = pd_tib_lmdb_error(databases_open(store, txn, MDB_CREATE));
    err = err ? err : pd_lmdb_store_meta_put(store, txn, &meta);
    if (err) {
        mdb_txn_abort(txn);
    } else {
        err = pd_tib_lmdb_error(mdb_txn_commit(txn));
    }
out:
    mdb_env_close(store->env);
    store->env = NULL;
    return err;
}

/* Whoever may read the store may register as a reader, so lock.mdb is writable for all who can read
 * the data. */
static int reader_table_create(int directory_fd, const char *data_file)
{
    struct stat data;
    if (fstatat(directory_fd, data_file, &data, 0)) {
        return -errno;
    }
    int fd = openat(directory_fd, "lock.mdb", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, DATA_MODE);
    if (fd < 0) {
        return errno == EEXIST ? 0 : -errno;
    }
    mode_t readable = data.st_mode & (S_IRUSR | S_IRGRP | S_IROTH);
    int err = fchmod(fd, readable | readable >> 1) ? -errno : 0;
    close(fd);
    return err;
}

/* A data.mdb is whole from the moment that it is there: made under another name, synced, renamed.
 */
static int store_create(struct pd_store *store, int directory_fd, const char *location,
                        uint64_t map_bytes)
{
    char new_file[4096];
    if (snprintf(new_file, sizeof new_file, "%s/new.mdb", location) >= (int)sizeof new_file) {
        return -ENAMETOOLONG;
    }
    unlinkat(directory_fd, "new.mdb", 0); /* of a writer that was killed here */
    int err = store_build(store, new_file, map_bytes);
    /* First the table: a reader that finds data without one would make it, with its own rights. */
    err = err ? err : reader_table_create(directory_fd, "new.mdb");
    if (!err && renameat(directory_fd, "new.mdb", directory_fd, "data.mdb")) {
        err = -errno;
    }
    if (!err && fsync(directory_fd)) {
        err = -errno;
    }
    return err;
}

/* One writer: whoever holds the flock of writer.lock, which ends with the process however it dies.
 */
static int writer_lock(struct pd_store *store, int directory_fd)
{
    store->lock_fd =
        openat(directory_fd, "writer.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, DATA_MODE);
    if (store->lock_fd < 0) {
        return -errno;
    }
    if (flock(store->lock_fd, LOCK_EX | LOCK_NB)) {
        return errno == EWOULDBLOCK ? -PD_E_BUSY : -errno;
    }
    return 0;
}

static int writer_prepare(struct pd_store *store, int directory_fd, const char *location,
                          struct pd_error *error)
{
    uint64_t map_bytes = store->config.map_bytes;
    int err = writer_lock(store, directory_fd);
    if (err == -PD_E_BUSY) {
        return pd_fail(error, err, "%s: another process writes to this TIB", location);
    }
    unlinkat(directory_fd, PD_COMPACT_FILE, 0); /* of a compaction that was killed */
    if (!err && faccessat(directory_fd, "data.mdb", F_OK, 0)) {
        err = store_create(store, directory_fd, location, map_bytes);
    }
    err = err ? err : reader_table_create(directory_fd, "data.mdb");
    return err ? pd_fail(error, err, "%s: cannot make a TIB there: %s", location,
                         pd_error_text(err))
               : 0;
}

/* Where lock.mdb cannot be written, nobody can register as a reader, and a writer would use pages
 * again while they are read. So such a reader holds off writers for as long as it has the store
 * open, or is refused while one is there. */
static int reader_flags(struct pd_store *store, int directory_fd, const char *location,
                        unsigned *ret_flags, struct pd_error *error)
{
    *ret_flags = MDB_RDONLY;
    if (faccessat(directory_fd, "lock.mdb", F_OK, 0) &&
        !faccessat(directory_fd, ".", W_OK, AT_EACCESS)) {
        reader_table_create(directory_fd, "data.mdb"); /* where this fails, it cannot be written */
    }
    if (!faccessat(directory_fd, "lock.mdb", R_OK | W_OK, AT_EACCESS)) {
        return 0;
    }
    store->lock_fd = openat(directory_fd, "writer.lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (store->lock_fd < 0 && errno != ENOENT) {
        return pd_fail(error, -errno, "%s/writer.lock: %s", location, pd_error_text(-errno));
    }
    if (store->lock_fd >= 0 && flock(store->lock_fd, LOCK_SH | LOCK_NB)) {
        return pd_fail(error, -PD_E_BUSY,
                       "%s/lock.mdb: not writable for this user, who can read only while no daemon "
                       "writes here",
                       location);
    }
    *ret_flags |= MDB_NOLOCK;
    return 0;
}

/* Opens what is there; *ret_flags stays 0 when there is only the beginning of a store. */
static int reader_prepare(struct pd_store *store, int directory_fd, const char *location,
                          unsigned *ret_flags, struct pd_error *error)
{
    if (!faccessat(directory_fd, "data.mdb", F_OK, 0)) {
        return reader_flags(store, directory_fd, location, ret_flags, error);
    }
    *ret_flags = 0;
    if (!faccessat(directory_fd, "writer.lock", F_OK, 0)) {
        return 0;
    }
    return pd_fail(error, -PD_E_NOT_FOUND, "%s: no TIB there (data.mdb is missing)", location);
}

/* The environment as it is at one commit: liblmdb follows no page that was not checked. */
static int pages_check(struct pd_store *store, MDB_txn *txn, struct pd_error *error)
{
    int fd;
    int err = pd_tib_lmdb_error(mdb_env_get_fd(store->env, &fd));
    for (unsigned attempt = 0; !err; attempt++) {
        err = pd_lmdb_pages_check(fd, mdb_txn_id(txn), error);
        /* While we looked for the meta page, a writer may have replaced it: twice more. */
        if ((err != -PD_E_NOT_FOUND && err != -PD_E_CORRUPT) || attempt == 2) {
            break;
        }
        mdb_txn_reset(txn);
        err = pd_tib_lmdb_error(mdb_txn_renew(txn));
    }
    return err;
}

static int env_check(struct pd_store *store, struct pd_error *error)
{
    MDB_txn *txn;
    struct pd_store_meta meta;
    int err = pd_tib_lmdb_error(mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn));
    if (err) {
        return err;
    }
    err = pages_check(store, txn, error);
    err = err ? err : pd_tib_lmdb_error(databases_open(store, txn, 0));
    err = err ? err : pd_lmdb_store_meta_get(store, txn, &meta);
    if (!err && store->identity && meta.identity != store->identity) {
        err = pd_fail(error, -PD_E_CORRUPT,
                      "another store has taken the place of the one that was open");
    }
    store->identity = err ? store->identity : meta.identity;
    if (!err) {
        return pd_tib_lmdb_error(mdb_txn_commit(txn)); /* keeps the handles */
    }
    mdb_txn_abort(txn);
    return err;
}

/* LMDB would write through a link, and wait at a pipe. */
static int file_check(int directory_fd, const char *name, struct pd_error *error)
{
    struct stat now;
    if (fstatat(directory_fd, name, &now, AT_SYMLINK_NOFOLLOW)) {
        return errno == ENOENT ? 0 : -errno;
    }
    return S_ISREG(now.st_mode) ? 0
                                : pd_fail(error, -PD_E_CORRUPT, "%s is a link, or no file", name);
}

static int meta_check(int directory_fd, struct pd_error *error)
{
    int err = file_check(directory_fd, "data.mdb", error);
    err = err ? err : file_check(directory_fd, "lock.mdb", error);
    if (err) {
        return err;
    }
    int fd = openat(directory_fd, "data.mdb", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    err = fd < 0 ? -errno : pd_lmdb_pages_check_meta(fd, error);
    err = err ? err : pd_lmdb_store_numbers_check(fd, error);
    if (fd >= 0) {
        close(fd);
    }
    return err;
}

/* Which file is open: compaction puts another one in its place. */
static int file_note(struct pd_store *store)
{
    int fd;
    struct stat stat;
    int err = pd_tib_lmdb_error(mdb_env_get_fd(store->env, &fd));
    if (!err && fstat(fd, &stat)) {
        err = -errno;
    }
    if (!err) {
        store->data_inode = stat.st_ino;
    }
    return err;
}

static int env_open(struct pd_store *store, int directory_fd, const char *location, unsigned flags,
                    struct pd_error *error)
{
    int stale;
    struct pd_error why = {0};
    uint64_t map_bytes = store->mode == PD_TIB_WRITE ? store->config.map_bytes : 0;
    int err = meta_check(directory_fd, &why);
    err = err ? err : pd_tib_lmdb_error(env_new(store, map_bytes));
    err = err ? err
              : pd_tib_lmdb_error(mdb_env_open(store->env, location, flags | MDB_NOTLS, DATA_MODE));
    err = err ? err
              : pd_tib_lmdb_error(
                    mdb_reader_check(store->env, &stale)); /* killed readers pin pages */
    err = err ? err : env_check(store, &why);
    err = err ? err : file_note(store);
    if (err) {
        pd_fail(error, err, "%s/data.mdb: %s", location,
                why.code == err ? why.text : pd_error_text(err));
    }
    return err;
}

/* Opens what is there. A reader of a directory where the store is not made yet goes without. */
static int files_open(struct pd_store *store, int directory_fd, struct pd_error *error)
{
    bool write = store->mode == PD_TIB_WRITE;
    unsigned flags = 0;
    int err = write ? writer_prepare(store, directory_fd, store->location, error)
                    : reader_prepare(store, directory_fd, store->location, &flags, error);
    if (!err && (write || flags)) {
        err = env_open(store, directory_fd, store->location, flags, error);
    }
    return err;
}

static int directory_open(const char *location, struct pd_error *error)
{
    int fd = open(location, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        return fd;
    }
    int err = errno == ENOENT ? -PD_E_NOT_FOUND : -errno;
    return pd_fail(error, err, "%s: %s", location, pd_error_text(-errno));
}

int pd_lmdb_store_env_open(struct pd_store *store, const char *location, struct pd_error *error)
{
    if (!store->config.map_bytes) {
        store->config.map_bytes = DEFAULT_MAP_BYTES;
    }
    store->location = strdup(location);
    if (!store->location) {
        return pd_fail(error, -ENOMEM, "%s: no memory", location);
    }
    if (store->mode == PD_TIB_WRITE && mkdir(location, DIRECTORY_MODE) && errno != EEXIST) {
        return pd_fail(error, -errno, "%s: cannot make the directory: %s", location,
                       pd_error_text(-errno));
    }
    int directory_fd = directory_open(location, error);
    if (directory_fd < 0) {
        return directory_fd;
    }
    int err = registry_add(store, directory_fd);
    if (err) {
        pd_fail(error, err, "%s: this process has the TIB open already", location);
    }
    err = err ? err : files_open(store, directory_fd, error);
    close(directory_fd);
    return err;
}

static void env_close(struct pd_store *store)
{
    while (store->pool_len) {
        mdb_txn_abort(store->pool[--store->pool_len]);
    }
    if (store->env) {
        mdb_env_close(store->env);
    }
    store->env = NULL;
}

int pd_lmdb_store_reopen_locked(struct pd_store *store)
{
    if (store->txns_live) {
        return -PD_E_BUSY;
    }
    pd_lmdb_view_forget(store);
    pd_lmdb_directory_forget(store->directory);
    env_close(store);
    int directory_fd = directory_open(store->location, NULL);
    int err = directory_fd < 0 ? directory_fd : 0;
    unsigned flags = MDB_RDONLY;
    if (!err && store->mode == PD_TIB_READ && store->lock_fd < 0) {
        err = reader_prepare(store, directory_fd, store->location, &flags, NULL);
    } else if (store->mode == PD_TIB_READ) {
        flags |= MDB_NOLOCK; /* it holds off writers all the time */
    } else {
        flags = 0;
    }
    if (!err && (flags || store->mode == PD_TIB_WRITE)) {
        err = env_open(store, directory_fd, store->location, flags, NULL);
    }
    if (directory_fd >= 0) {
        close(directory_fd);
    }
    if (err) {
        env_close(store);
    }
    store->env_error = err;
    return err;
}

/* Queries last for milliseconds; new ones wait for the lock. */
int pd_lmdb_store_reopen(struct pd_store *store)
{
    int err = -PD_E_BUSY;
    for (unsigned i = 0; err == -PD_E_BUSY && i < REOPEN_WAIT_MS; i++) {
        if (i) {
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
        pthread_mutex_lock(&store->lock);
        err = pd_lmdb_store_reopen_locked(store);
        pthread_mutex_unlock(&store->lock);
    }
    return err;
}

bool pd_lmdb_store_replaced(struct pd_store *store)
{
    char name[4096];
    struct stat stat_of;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    uint64_t now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    if (now_ms < store->next_look_ms) {
        return false;
    }
    store->next_look_ms = now_ms + LOOK_MS;
    return snprintf(name, sizeof name, "%s/data.mdb", store->location) < (int)sizeof name &&
           !stat(name, &stat_of) && stat_of.st_ino != store->data_inode;
}

void pd_lmdb_store_env_close(struct pd_store *store)
{
    env_close(store);
    if (store->lock_fd >= 0) {
        close(store->lock_fd);
    }
    registry_remove(store);
    free(store->location);
}

int pd_lmdb_store_paths_load(struct pd_store *store, MDB_txn *txn, uint32_t len)
{
    MDB_cursor *cursor;
    struct pd_store_key number;
    MDB_val key = pd_store_key_val(&number, pd_lmdb_paths_len(store->paths)), value;
    int err = pd_tib_lmdb_error(mdb_cursor_open(txn, store->path_db, &cursor));
    if (err) {
        return err;
    }
    int result = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    for (; !result && !err; result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        uint64_t first;
        if (!pd_store_key_number(&key, &first) || first < pd_lmdb_paths_len(store->paths) ||
            first >= len) {
            continue;
        }
        store->writer.old_blocks |= pd_lmdb_paths_block_old(value.mv_data, value.mv_size);
        err = pd_lmdb_paths_skip(store->paths, (uint32_t)first); /* a block is missing in front */
        if (!err && pd_lmdb_paths_block_load(store->paths, (uint32_t)first, value.mv_data,
                                             value.mv_size) == -ENOMEM) {
            err = -ENOMEM; /* a damaged block is skipped when the next one is there, or below */
        }
    }
    mdb_cursor_close(cursor);
    return err ? err : pd_lmdb_paths_skip(store->paths, len);
}

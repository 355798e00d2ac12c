/* SPDX-License-Identifier: Apache-2.0 */
/* Compaction: the store as a new file without free pages, which takes the old one's place in one
 * rename. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "tib/lmdb/pages.h"
#include "tib/lmdb/store.h"

/* The copy goes on with the commit numbers of the original, so that lock.mdb, where processes that
 * have the old file open are registered, goes with either file, and the rename is all that has to
 * be atomic. Killed before it, the next writer removes the copy. Readers keep the old file until
 * their query ends, see another inode at the next one, and open the new file. */

#define POLL_NS 50000000

struct copying {
    MDB_env *env;
    int fd;
    int result;
    _Atomic bool done; /* set by the thread with release; then `result` is there */
};

static void *copy_run(void *context)
{
    struct copying *copying = context;
    copying->result = mdb_env_copyfd2(copying->env, copying->fd, MDB_CP_COMPACT);
    atomic_store_explicit(&copying->done, true, memory_order_release);
    return NULL;
}

/* LMDB does not tell how far it is; the size of the copy does. */
static int copy(struct pd_store *store, int fd, uint64_t all,
                void (*progress)(void *context, uint64_t done, uint64_t all), void *context)
{
    struct copying copying = {.env = store->env, .fd = fd};
    struct stat stat;
    pthread_t thread;
    int err = -pthread_create(&thread, NULL, copy_run, &copying);
    if (err) {
        return err;
    }
    while (!atomic_load_explicit(&copying.done, memory_order_acquire)) {
        if (progress && !fstat(fd, &stat)) {
            progress(context, (uint64_t)stat.st_size < all ? (uint64_t)stat.st_size : all, all);
        }
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
    }
    pthread_join(thread, NULL);
    return pd_tib_lmdb_error(copying.result);
}

/* Mode and owner as the original's, where the user may. */
static int copy_open(struct pd_store *store, int directory_fd)
{
    int original;
    struct stat stat;
    int err = pd_tib_lmdb_error(mdb_env_get_fd(store->env, &original));
    if (err) {
        return err;
    }
    int fd = openat(directory_fd, PD_COMPACT_FILE,
                    O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return -errno;
    }
    if (fstat(original, &stat) || (fchown(fd, stat.st_uid, stat.st_gid) && errno != EPERM) ||
        fchmod(fd, stat.st_mode & 07777)) {
        err = -errno;
        close(fd);
    }
    return err ? err : fd;
}

static int copy_make(struct pd_store *store, int fd,
                     void (*progress)(void *context, uint64_t done, uint64_t all), void *context)
{
    uint64_t all = 0;
    MDB_txn *txn;
    int err = pd_tib_lmdb_error(mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn));
    if (err) {
        return err;
    }
    uint64_t txn_id = mdb_txn_id(txn);
    err = pd_lmdb_store_bytes_used(store, txn, &all);
    mdb_txn_abort(txn);
    err = err ? err : copy(store, fd, all, progress, context);
    err = err ? err : pd_lmdb_pages_renumber(fd, txn_id);
    err = err ? err : pd_lmdb_pages_check(fd, txn_id, NULL);
    err = err ? err : pd_lmdb_store_numbers_check(fd, NULL);
    if (!err && fsync(fd)) {
        err = -errno;
    }
    if (!err && progress) {
        progress(context, all, all);
    }
    return err;
}

/* From here on the new file is the store. */
static int copy_adopt(struct pd_store *store, int directory_fd)
{
    int err = store->txns_live ? -PD_E_BUSY : 0;
    if (!err && renameat(directory_fd, PD_COMPACT_FILE, directory_fd, "data.mdb")) {
        err = -errno;
    }
    if (err) {
        return err;
    }
    int late = fsync(directory_fd) ? -errno : 0;
    err = pd_lmdb_store_reopen_locked(store);
    return err ? err : late;
}

static int compact(struct pd_store *store, int directory_fd,
                   void (*progress)(void *context, uint64_t done, uint64_t all), void *context)
{
    int fd = copy_open(store, directory_fd);
    int err = fd < 0 ? fd : copy_make(store, fd, progress, context);
    if (fd >= 0 && close(fd) && !err) {
        err = -errno;
    }
    if (!err) {
        pthread_mutex_lock(&store->lock);
        err = copy_adopt(store, directory_fd);
        pthread_mutex_unlock(&store->lock);
    }
    unlinkat(directory_fd, PD_COMPACT_FILE, 0);
    return err ? err : pd_lmdb_store_writer_resume(store);
}

/* Whoever compacts wants the bytes: all is sealed and packed, hot or cold. */
static int pack_all(struct pd_store *store)
{
    uint64_t packed;
    int err = pd_lmdb_store_seal_tail(store);
    uint64_t from;
    do { /* no step forward: there is no room for it */
        from = store->writer.convert_from;
        err = err ? err : pd_lmdb_store_convert(store);
    } while (!err && store->writer.old_blocks && store->writer.convert_from > from);
    do {
        packed = store->counters.segments_packed;
        err = err ? err : pd_lmdb_store_pack(store, UINT64_MAX);
    } while (!err && store->counters.segments_packed > packed);
    return err;
}

int pd_lmdb_store_compact(struct pd_tib *tib,
                          void (*progress)(void *context, uint64_t done, uint64_t all),
                          void *context)
{
    struct pd_store *store = (struct pd_store *)tib;
    if (store->mode != PD_TIB_WRITE) {
        return -PD_E_UNSUPPORTED;
    }
    int err = pd_lmdb_store_commit(tib);
    err = err ? err : pack_all(store);
    if (err || !store->env) {
        return err ? err : -EIO;
    }
    int directory_fd = open(store->location, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory_fd < 0) {
        return -errno;
    }
    err = compact(store, directory_fd, progress, context);
    close(directory_fd);
    return err;
}

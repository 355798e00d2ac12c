/* SPDX-License-Identifier: Apache-2.0 */
/* Free pages go back to the file system: retention, packing and sealing free pages, and LMDB alone
 * would keep them for ever. */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/grow.h"
#include "tib/lmdb/store.h"

/* LMDB lists the pages that each transaction has freed. It uses such a page again when no reader's
 * snapshot is as old as that transaction and the one before the last is younger; the same rule says
 * here which pages nobody can reach, be it by the older meta page after a crash. They become holes
 * of the file; when LMDB writes there again, the file system gives it new blocks. The writer's lock
 * is held meanwhile (a transaction that is aborted), so the list does not change.
 *
 * Some pages stay: a disk that is full would else stop retention, which needs pages to free pages.
 */

/* Free bytes that are not worth the work, and 1/256 of what is in use. */
#define SLACK_BYTES   (64u << 10)
#define RESERVE_PAGES 32u
#define RUN_PAGES     4u         /* shorter holes would only break up the file */
#define PAGES_MAX     (1u << 20) /* in one call */

struct holes {
    size_t oldest;        /* transaction: what was freed before it is unreachable */
    bool pinned;          /* by a reader */
    uint64_t later_pages; /* freed since: they can be given back soon */
    uint64_t *pages;
    size_t len, room;
    int fd;
    uint64_t page_bytes;
};

static uint64_t blocks_of(const struct stat *stat)
{
    return (uint64_t)stat->st_blocks * 512;
}

int pd_lmdb_store_bytes_file(struct pd_store *store, uint64_t *ret_bytes)
{
    static const char *const others[] = {"lock.mdb", "writer.lock"};
    struct stat stat_of;
    char name[4096];
    int fd;
    int err = pd_tib_lmdb_error(mdb_env_get_fd(store->env, &fd));
    if (err) {
        return err;
    }
    if (fstat(fd, &stat_of)) {
        return -errno;
    }
    uint64_t bytes = blocks_of(&stat_of);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (snprintf(name, sizeof name, "%s/%s", store->location, others[i]) < (int)sizeof name &&
            !stat(name, &stat_of)) {
            bytes += blocks_of(&stat_of);
        }
    }
    *ret_bytes = bytes;
    return 0;
}

/* One line of LMDB's table: process, thread, transaction or "-". */
static int reader_see(const char *line, void *context)
{
    size_t *oldest = context, txn_id;
    if (sscanf(line, "%*d %*x %zu", &txn_id) == 1 && txn_id < *oldest) {
        *oldest = txn_id;
    }
    return 0;
}

static int pages_add(struct holes *holes, const MDB_val *list)
{
    size_t len;
    memcpy(&len, list->mv_data, sizeof len);
    if (PD_GROW(holes->pages, holes->room, holes->len + len)) {
        return -ENOMEM;
    }
    memcpy(holes->pages + holes->len, (const uint8_t *)list->mv_data + sizeof len,
           len * sizeof *holes->pages);
    holes->len += len;
    return 0;
}

/* Database 0 is LMDB's own: transaction → number of pages, pages. It was checked when the store was
 * opened. */
static int pages_list(struct holes *holes, MDB_txn *txn)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    int result = mdb_cursor_open(txn, 0, &cursor), err = 0;
    if (result) {
        return pd_tib_lmdb_error(result);
    }
    while (!err && holes->len < PAGES_MAX &&
           !(result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
        size_t txn_id, len;
        memcpy(&txn_id, key.mv_data, sizeof txn_id);
        memcpy(&len, value.mv_data, sizeof len);
        if (txn_id >= holes->oldest) {
            holes->later_pages += len;
        } else {
            err = pages_add(holes, &value);
        }
    }
    mdb_cursor_close(cursor);
    return err || result == MDB_NOTFOUND ? err : pd_tib_lmdb_error(result);
}

static int compare_pages(const void *a, const void *b)
{
    uint64_t pa = *(const uint64_t *)a, pb = *(const uint64_t *)b;
    return (pa > pb) - (pa < pb);
}

/* The first pages, which LMDB takes first, stay or get their blocks back. */
static int runs_punch(const struct holes *holes)
{
    for (size_t i = 0, len; i < holes->len; i += len) {
        bool reserve = i < RESERVE_PAGES;
        for (len = 1; i + len < holes->len && holes->pages[i + len] == holes->pages[i] + len &&
                      (i + len < RESERVE_PAGES) == reserve;
             len++)
            ;
        if (!reserve && len < RUN_PAGES) {
            continue;
        }
        int mode = FALLOC_FL_KEEP_SIZE | (reserve ? 0 : FALLOC_FL_PUNCH_HOLE);
        if (fallocate(holes->fd, mode, (off_t)(holes->pages[i] * holes->page_bytes),
                      (off_t)(len * holes->page_bytes)) &&
            !(reserve && errno == ENOSPC)) {
            return -errno;
        }
    }
    return 0;
}

static int holes_find(struct pd_store *store, struct holes *holes)
{
    size_t last = holes->oldest;
    MDB_txn *reader; /* LMDB shows the list of free pages to readers only */
    MDB_stat stat;
    int err = pd_tib_lmdb_error(mdb_env_stat(store->env, &stat));
    err = err ? err : pd_tib_lmdb_error(mdb_env_get_fd(store->env, &holes->fd));
    int listed = err ? 0 : mdb_reader_list(store->env, reader_see, &holes->oldest);
    err = listed < 0 ? pd_tib_lmdb_error(listed) : err;
    holes->pinned = holes->oldest != last;
    err = err ? err : pd_tib_lmdb_error(mdb_txn_begin(store->env, NULL, MDB_RDONLY, &reader));
    if (err) {
        return err;
    }
    holes->page_bytes = stat.ms_psize;
    err = pages_list(holes, reader);
    mdb_txn_abort(reader);
    return err;
}

static int punch(struct pd_store *store, struct holes *holes)
{
    MDB_txn *writer;
    int err = pd_lmdb_store_txn_begin(store, &writer);
    if (err) {
        return err;
    }
    holes->oldest = mdb_txn_id(writer) - 1;
    err = holes_find(store, holes);
    if (!err && holes->len) {
        qsort(holes->pages, holes->len, sizeof *holes->pages, compare_pages);
        err = runs_punch(holes);
    }
    mdb_txn_abort(writer);
    return err;
}

/* What the last commit has freed becomes unreachable with the commits that follow. An idle store
 * gets them, empty. */
static int age(struct pd_store *store)
{
    MDB_txn *txn;
    int err = pd_lmdb_store_txn_begin(store, &txn);
    if (err) {
        return err;
    }
    struct pd_store_meta same = store->writer.meta;
    return pd_lmdb_store_txn_end(store, txn, &same, 0);
}

static uint64_t slack_bytes(uint64_t used)
{
    return SLACK_BYTES + used / 256;
}

/* Bytes of the file that are free and still have blocks. */
static int free_bytes(struct pd_store *store, uint64_t *ret_free, uint64_t *ret_used)
{
    MDB_txn *txn;
    struct stat stat;
    int fd;
    int err = pd_tib_lmdb_error(mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn));
    if (err) {
        return err;
    }
    err = pd_lmdb_store_bytes_used(store, txn, ret_used);
    mdb_txn_abort(txn);
    err = err ? err : pd_tib_lmdb_error(mdb_env_get_fd(store->env, &fd));
    if (!err && fstat(fd, &stat)) {
        err = -errno;
    }
    if (!err) {
        *ret_free = blocks_of(&stat) > *ret_used ? blocks_of(&stat) - *ret_used : 0;
    }
    return err;
}

int pd_lmdb_store_punch(struct pd_store *store)
{
    uint64_t free_now, used;
    struct holes holes = {.pages = NULL};
    if (store->writer.holes_refused || !store->env) {
        return 0;
    }
    int err = free_bytes(store, &free_now, &used);
    if (err || free_now <= store->writer.held_bytes + slack_bytes(used)) {
        return err;
    }
    err = punch(store, &holes);
    free(holes.pages);
    if (err == -EOPNOTSUPP || err == -ENOSYS) {
        store->writer.holes_refused = true;
        return 0;
    }
    uint64_t later = holes.later_pages * holes.page_bytes;
    if (!err && !free_bytes(store, &free_now, &used)) {
        store->writer.held_bytes = free_now > later ? free_now - later : 0;
    }
    if (!err && later > slack_bytes(used) && !holes.pinned) {
        err = age(store);
    }
    return err == -PD_E_FULL ? 0 : err;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Views: made from two cursors and from the view before. */
#include "tib/lmdb/view.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/grow.h"
#include "tib/lmdb/store.h"

#define FIRST_ROOM 16u
#define AHEAD      8u /* chunks that are on their way from memory while one is compared */

/* ---- all of these run under view_lock ---- */

static void chunk_put(struct pd_lmdb_view_chunk *chunk)
{
    if (!--chunk->views) {
        free(chunk);
    }
}

static void view_free(struct pd_lmdb_view *view)
{
    for (size_t i = 0; i < view->len; i++) {
        chunk_put(view->chunks[i]);
    }
    free(view->chunks);
    free(view->ranges);
    free(view->blooms);
    free(view);
}

static void view_put(struct pd_lmdb_view *view)
{
    if (view && !--view->users) {
        view_free(view);
    }
}

static int reserve(struct pd_lmdb_view *view, size_t first_room)
{
    const size_t need = view->room ? view->len + 1 : first_room;
    size_t rooms[3] = {view->room, view->room, view->room};
    if (PD_GROW(view->chunks, rooms[0], need) || PD_GROW(view->ranges, rooms[1], need) ||
        PD_GROW(view->blooms, rooms[2], need)) {
        return -ENOMEM;
    }
    view->room = rooms[0];
    return 0;
}

/* Is it the same chunk in the view before? *place moves along to it, up to `end`. */
static bool is_known(const struct pd_lmdb_view *before, size_t *place, size_t end, uint64_t key,
                     const MDB_val *value)
{
    while (*place < end && before->chunks[*place]->key < key) {
        ++*place;
    }
    if (*place + AHEAD < end) {
        __builtin_prefetch(before->chunks[*place + AHEAD], 1); /* its key, and `views` */
    }
    const struct pd_lmdb_view_chunk *chunk = *place < end ? before->chunks[*place] : NULL;
    return chunk && chunk->key == key && chunk->at == value->mv_data &&
           chunk->size_bytes == value->mv_size;
}

static struct pd_lmdb_view_chunk *chunk_new(struct pd_store *store, uint64_t number,
                                            const MDB_val *key, const MDB_val *value)
{
    struct pd_lmdb_view_chunk *chunk = calloc(1, sizeof *chunk);
    if (!chunk) {
        return NULL;
    }
    chunk->key = number;
    chunk->at = value->mv_data;
    chunk->size_bytes = value->mv_size;
    chunk->error = pd_lmdb_store_chunk(store, key, value, &chunk->chunk);
    return chunk;
}

/* As the view before has it: the chunk itself is not looked at, of hundreds that stay as they are
 * with each commit. */
static void add_known(struct pd_lmdb_view *view, const struct pd_lmdb_view *before, size_t place)
{
    const struct pd_lmdb_view_range *range = &before->ranges[place];
    before->chunks[place]->views++;
    view->rows += range->rows;
    view->damaged += range->damaged;
    view->ranges[view->len] = *range;
    view->blooms[view->len] = before->blooms[place];
    view->chunks[view->len++] = before->chunks[place];
}

static void add_new(struct pd_lmdb_view *view, struct pd_lmdb_view_chunk *chunk)
{
    const struct pd_chunk_header *header = &chunk->chunk.header;
    struct pd_lmdb_view_range range = {.damaged = 1};
    struct pd_lmdb_view_bloom bloom = {0};
    if (!chunk->error) {
        const struct pd_column *commits = &chunk->chunk.columns[PD_COLUMN_COMMIT_ROW];
        range = (struct pd_lmdb_view_range){header->min_time_us, header->max_time_us,
                                            pd_column_get(commits, commits->len - 1),
                                            header->len[PD_AXIS_ROWS], 0};
        const struct pd_column *column = &chunk->chunk.columns[PD_COLUMN_BLOOM];
        bloom = (struct pd_lmdb_view_bloom){
            column->at, column->base, column->len / PD_BLOOM_BLOCK_WORDS, column->width_bytes};
        view->rows += header->len[PD_AXIS_ROWS];
    }
    view->damaged += chunk->error != 0;
    chunk->views++;
    view->ranges[view->len] = range;
    view->blooms[view->len] = bloom;
    view->chunks[view->len++] = chunk;
}

static int add(struct pd_lmdb_view *view, struct pd_store *store, uint64_t number,
               const MDB_val *key, const MDB_val *value)
{
    struct pd_lmdb_view_chunk *chunk = chunk_new(store, number, key, value);
    if (!chunk) {
        return -ENOMEM;
    }
    add_new(view, chunk);
    return 0;
}

static int walk(struct pd_store_snapshot *snapshot, MDB_dbi db, const struct pd_lmdb_view *before,
                size_t place, size_t end, struct pd_lmdb_view *view)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    int result = mdb_cursor_open(snapshot->txn, db, &cursor), err = 0;
    if (result) {
        return pd_tib_lmdb_error(result);
    }
    while (!err && !(result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
        uint64_t number = 0;
        bool named = pd_store_key_number(&key, &number);
        err = reserve(view, FIRST_ROOM + (before ? before->len : 0));
        if (!err && named && before && is_known(before, &place, end, number, &value)) {
            add_known(view, before, place);
        } else if (!err) {
            err = add(view, snapshot->store, number, &key, &value);
        }
    }
    mdb_cursor_close(cursor);
    return err || result == MDB_NOTFOUND ? err : pd_tib_lmdb_error(result);
}

static int view_new(struct pd_store_snapshot *snapshot, struct pd_lmdb_view **ret_view)
{
    struct pd_store *store = snapshot->store;
    const struct pd_lmdb_view *before = store->view;
    struct pd_lmdb_view *view = calloc(1, sizeof *view);
    if (!view) {
        return -ENOMEM;
    }
    view->txn_id = mdb_txn_id(snapshot->txn);
    int err = walk(snapshot, store->segment_db, before, 0, before ? before->segments_len : 0, view);
    view->segments_len = view->len;
    err = err ? err
              : walk(snapshot, store->tail_db, before, before ? before->segments_len : 0,
                     before ? before->len : 0, view);
    if (err) {
        view_free(view);
        return err;
    }
    *ret_view = view;
    return 0;
}

/* ---- from outside ---- */

static int get_locked(struct pd_store_snapshot *snapshot)
{
    struct pd_store *store = snapshot->store;
    struct pd_lmdb_view *view = store->view;
    if (!view || view->txn_id != mdb_txn_id(snapshot->txn)) {
        int err = view_new(snapshot, &view);
        if (err) {
            return err;
        }
        /* A snapshot that was taken earlier and asked later must not push out the newer view. */
        if (!store->view || store->view->txn_id < view->txn_id) {
            view_put(store->view);
            store->view = view;
            view->users++;
        }
    }
    view->users++;
    snapshot->view = view;
    return 0;
}

int pd_lmdb_view_get(struct pd_store_snapshot *snapshot)
{
    if (snapshot->view) {
        return 0;
    }
    atomic_store_explicit(&snapshot->store->asked_ns, pd_clock_monotonic_ns(),
                          memory_order_relaxed);
    pthread_mutex_lock(&snapshot->store->view_lock);
    int err = get_locked(snapshot);
    pthread_mutex_unlock(&snapshot->store->view_lock);
    return err;
}

void pd_lmdb_view_put(struct pd_store *store, struct pd_lmdb_view *view)
{
    if (!view) {
        return;
    }
    pthread_mutex_lock(&store->view_lock);
    view_put(view);
    pthread_mutex_unlock(&store->view_lock);
}

void pd_lmdb_view_forget(struct pd_store *store)
{
    pthread_mutex_lock(&store->view_lock);
    view_put(store->view);
    store->view = NULL;
    pthread_mutex_unlock(&store->view_lock);
}

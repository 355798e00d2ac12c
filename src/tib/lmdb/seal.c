/* SPDX-License-Identifier: Apache-2.0 */
/* Sealing: the rows of the tail become one segment, in one transaction with the removal of the
 * tail. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "base/error.h"
#include "tib/lmdb/store.h"

/* Rows of the tail, in the order of their commits, and then some more. */
struct gathered {
    struct pd_row *rows;
    uint64_t *commits;
    size_t len, commits_len;
    struct pd_extra_arena extra; /* removing chunks moves what lies in them */
};

static int gather_chunk(struct gathered *gathered, const struct pd_chunk *chunk)
{
    int err = 0;
    size_t rows_len = chunk->header.len[PD_AXIS_ROWS];
    struct pd_row *rows = gathered->rows + gathered->len;
    pd_lmdb_chunk_rows(chunk, rows);
    for (size_t i = 0; i < rows_len && !err; i++) {
        rows[i].commit += (uint32_t)gathered->commits_len;
        err = pd_lmdb_extra_take(&gathered->extra, &rows[i]);
    }
    for (size_t i = 0; i < chunk->header.len[PD_AXIS_COMMITS]; i++) {
        gathered->commits[gathered->commits_len++] =
            pd_column_get(&chunk->columns[PD_COLUMN_COMMIT_ROW], i);
    }
    gathered->len += rows_len;
    return err;
}

/* Reads the tail's rows and removes their chunks. A damaged chunk stays where it is: it goes on
 * making answers incomplete, which is the truth, until retention takes it. */
static int gather_tail(struct pd_store *store, MDB_cursor *cursor, struct gathered *gathered)
{
    MDB_val key, value;
    int result;
    while (!(result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
        struct pd_chunk chunk;
        if (pd_lmdb_store_chunk(store, &key, &value, &chunk) ||
            chunk.header.encoding != PD_CHUNK_PLAIN) {
            continue; /* the tail is never packed */
        }
        if (gathered->len + chunk.header.len[PD_AXIS_ROWS] > store->writer.tail_rows) {
            return -PD_E_CORRUPT; /* more than the writer has counted: another process wrote */
        }
        int err = gather_chunk(gathered, &chunk);
        if (err) {
            return err;
        }
        result = mdb_cursor_del(cursor, 0);
        if (result) {
            break;
        }
    }
    return result == MDB_NOTFOUND ? 0 : pd_tib_lmdb_error(result);
}

static int gather_extra(struct gathered *gathered, const struct pd_row *extra, size_t extra_len,
                        uint64_t extra_first_row)
{
    int err = 0;
    if (!extra_len) {
        return 0;
    }
    struct pd_row *rows = gathered->rows + gathered->len;
    memcpy(rows, extra, extra_len * sizeof *rows);
    for (size_t i = 0; i < extra_len && !err; i++) {
        rows[i].commit = (uint32_t)gathered->commits_len;
        err = pd_lmdb_extra_take(&gathered->extra, &rows[i]);
    }
    gathered->commits[gathered->commits_len++] = extra_first_row;
    gathered->len += extra_len;
    return err;
}

int pd_lmdb_store_seal(struct pd_store *store, MDB_txn *txn, const struct pd_row *extra,
                       size_t extra_len, uint64_t extra_first_row)
{
    MDB_cursor *cursor = NULL;
    size_t room = store->writer.tail_rows + extra_len;
    struct gathered gathered = {.rows = malloc(room * sizeof *gathered.rows),
                                .commits = malloc(room * sizeof *gathered.commits)};
    int err = gathered.rows && gathered.commits ? 0 : -ENOMEM;
    err = err ? err : pd_tib_lmdb_error(mdb_cursor_open(txn, store->tail_db, &cursor));
    err = err ? err : gather_tail(store, cursor, &gathered);
    if (err) {
        goto out;
    }
    err = gather_extra(&gathered, extra, extra_len, extra_first_row);
    if (err) {
        goto out;
    }
    store->writer.extra.dropped += gathered.extra.dropped;
    err = pd_lmdb_store_chunk_put(store, txn, store->segment_db,
                                  &(struct pd_chunk_input){.rows = gathered.rows,
                                                           .len = gathered.len,
                                                           .commits = gathered.commits,
                                                           .commits_len = gathered.commits_len,
                                                           .with_bloom = true});
out:
    if (cursor) {
        mdb_cursor_close(cursor);
    }
    pd_lmdb_extra_done(&gathered.extra);
    free(gathered.rows);
    free(gathered.commits);
    malloc_trim(
        0); /* megabytes, once in 65,536 records or an hour: an idle daemon shall not keep them */
    return err;
}

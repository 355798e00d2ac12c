/* SPDX-License-Identifier: Apache-2.0 */
/* Sealing: the rows of the tail become one segment, in one transaction with the removal of the tail. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "base/error.h"
#include "tib/lmdb/store.h"

/* Reads the tail's rows behind `rows` and removes their chunks. A damaged chunk stays where it is: it goes on making
 * answers incomplete, which is the truth, until retention takes it. */
static int tail_take(struct pd_store *store, MDB_cursor *cursor, struct pd_row *rows,
                     size_t *ret_len, uint64_t *ret_first_row)
{
    MDB_val key, value;
    size_t len = 0;
    int result;
    while (!(result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
        struct pd_chunk chunk;
        if (pd_store_chunk(store, &key, &value, &chunk))
            continue;
        if (len + chunk.header.len[PD_AXIS_ROWS] > PD_CHUNK_ROWS)
            return -PD_E_CORRUPT; /* more than the writer has counted: another process wrote */
        if (!len)
            *ret_first_row = chunk.header.first_row;
        pd_chunk_rows(&chunk, rows + len);
        len += chunk.header.len[PD_AXIS_ROWS];
        result = mdb_cursor_del(cursor, 0);
        if (result)
            break;
    }
    *ret_len = len;
    return result == MDB_NOTFOUND ? 0 : pd_lmdb_error(result);
}

int pd_store_seal(struct pd_store *store, MDB_txn *txn, const struct pd_row *extra,
                  size_t extra_len, uint64_t extra_first_row)
{
    MDB_cursor *cursor = NULL;
    size_t len = 0;
    uint64_t first_row = extra_first_row;
    struct pd_row *rows = malloc((store->writer.tail_rows + extra_len) * sizeof *rows);
    int err = rows ? pd_lmdb_error(mdb_cursor_open(txn, store->tail_db, &cursor)) : -ENOMEM;
    if (err)
        goto out;
    err = tail_take(store, cursor, rows, &len, &first_row);
    if (err)
        goto out;
    if (extra_len)
        memcpy(rows + len, extra, extra_len * sizeof *rows);
    err = pd_store_chunk_put(store, txn, store->segment_db, rows, len + extra_len, first_row);
out:
    if (cursor)
        mdb_cursor_close(cursor);
    free(rows);
    malloc_trim(
        0); /* megabytes, once in 65,536 records or an hour: an idle daemon shall not keep them */
    return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The LMDB backend's cursors: how far each source of records was read, in the transaction that
 * stores its records. */
#include <endian.h>
#include <string.h>

#include "tib/lmdb/store.h"

static const MDB_val cursors_key = {7, (void *)"cursors"};

int pd_lmdb_store_cursors_get(struct pd_store *store, MDB_txn *txn)
{
    struct pd_store_writer *writer = &store->writer;
    MDB_val key = cursors_key, value;
    int result = mdb_get(txn, store->meta_db, &key, &value);
    if (result) {
        return result == MDB_NOTFOUND ? 0 : pd_tib_lmdb_error(result);
    }
    if (value.mv_size % sizeof *writer->cursors || value.mv_size > sizeof writer->cursors) {
        return -PD_E_CORRUPT;
    }
    writer->cursors_len = (unsigned)(value.mv_size / sizeof *writer->cursors);
    memcpy(writer->cursors, value.mv_data, value.mv_size);
    for (unsigned i = 0; i < writer->cursors_len; i++) {
        writer->cursors[i].key = le64toh(writer->cursors[i].key);
        writer->cursors[i].value = le64toh(writer->cursors[i].value);
    }
    return 0;
}

int pd_lmdb_store_cursors_put(struct pd_store *store, MDB_txn *txn)
{
    const struct pd_store_writer *writer = &store->writer;
    struct pd_store_cursor raw[PD_TIB_CURSORS];
    if (!writer->cursors_changed) {
        return 0;
    }
    for (unsigned i = 0; i < writer->cursors_len; i++) {
        raw[i] = (struct pd_store_cursor){htole64(writer->cursors[i].key),
                                          htole64(writer->cursors[i].value)};
    }
    MDB_val key = cursors_key, value = {writer->cursors_len * sizeof *raw, raw};
    return pd_tib_lmdb_error(mdb_put(txn, store->meta_db, &key, &value, 0));
}

int pd_lmdb_store_set_cursor(struct pd_tib *tib, uint64_t key, uint64_t value)
{
    struct pd_store_writer *writer = &((struct pd_store *)tib)->writer;
    unsigned at = 0;
    while (at < writer->cursors_len && writer->cursors[at].key != key) {
        at++;
    }
    if (at == writer->cursors_len && at < PD_TIB_CURSORS) {
        writer->cursors_len++;
    }
    if (at == PD_TIB_CURSORS) {
        at--;
    }
    memmove(writer->cursors + 1, writer->cursors, at * sizeof *writer->cursors);
    writer->cursors[0] = (struct pd_store_cursor){key, value};
    writer->cursors_changed = true;
    return 0;
}

int pd_lmdb_store_cursor(struct pd_tib *tib, uint64_t key, uint64_t *ret_value)
{
    const struct pd_store_writer *writer = &((struct pd_store *)tib)->writer;
    for (unsigned i = 0; i < writer->cursors_len; i++) {
        if (writer->cursors[i].key == key) {
            *ret_value = writer->cursors[i].value;
            return 0;
        }
    }
    return -PD_E_NOT_FOUND;
}

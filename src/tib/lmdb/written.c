/* SPDX-License-Identifier: Apache-2.0 */
/* The LMDB backend's writer reads back what it has committed, so that a query does not begin with a
 * new segment's checksum. */
#include "base/clock.h"
#include "tib/lmdb/store.h"
#include "tib/lmdb/view.h"

/* Reading back brings pages into this process's memory, for nothing where nobody asks: then whoever
 * asks first verifies. */
uint64_t pd_lmdb_written_asked_within_ns = 10 * PD_NS_PER_S;

void pd_lmdb_store_written_put(struct pd_store *store, MDB_dbi db, uint64_t key,
                               const MDB_val *value)
{
    struct pd_store_writer *writer = &store->writer;
    struct pd_chunk chunk;
    uint64_t asked_ns = atomic_load_explicit(&store->asked_ns, memory_order_relaxed);
    if (!asked_ns || pd_clock_monotonic_ns() - asked_ns > pd_lmdb_written_asked_within_ns ||
        writer->written_len == PD_DIRECTORY_WRITTEN ||
        pd_lmdb_chunk_open(value->mv_data, value->mv_size, key, &chunk)) {
        return;
    }
    writer->written[writer->written_len++] = (struct pd_store_written){db, key};
    pd_lmdb_directory_write(store->directory,
                            &(struct pd_directory_written){key, value->mv_size, chunk.header.xxh3});
}

static int read_back(struct pd_store *store, MDB_txn *txn, const struct pd_store_written *written)
{
    struct pd_store_key number;
    struct pd_chunk chunk;
    MDB_val key = pd_store_key_val(&number, written->key), value;
    int err = pd_tib_lmdb_error(mdb_get(txn, written->db, &key, &value));
    return err ? err : pd_lmdb_store_chunk_verify(store, written->key, &value, &chunk);
}

static int read_back_all(struct pd_store *store)
{
    struct pd_tib_snapshot *head;
    int err = pd_lmdb_store_snapshot(&store->head, &head);
    if (err) {
        return err;
    }
    MDB_txn *txn = ((struct pd_store_snapshot *)head)->txn;
    for (unsigned i = 0; txn && i < store->writer.written_len; i++) {
        int failed = read_back(store, txn, &store->writer.written[i]);
        err = err ? err : failed;
    }
    pd_lmdb_store_release(head);
    return err;
}

void pd_lmdb_store_written_settle(struct pd_store *store, bool committed)
{
    if (!store->writer.written_len) {
        return;
    }
    bool damaged = committed && read_back_all(store);
    store->writer.written_len = 0;
    pd_lmdb_directory_forget_written(store->directory);
    if (damaged) {
        pd_lmdb_view_forget(store); /* it may hold what was taken for good in between */
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The LMDB backend's store record: what stands in it, and how each transaction that writes ends
 * with it. */
#include <xxhash.h>

#include "base/error.h"
#include "tib/lmdb/pages.h"
#include "tib/lmdb/store.h"

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
    if (size_bytes < offsetof(struct pd_store_meta, next_row)) {
        return -PD_E_CORRUPT;
    }
    memcpy(&raw, bytes, offsetof(struct pd_store_meta, next_row));
    if (le32toh(raw.magic) == PD_STORE_MAGIC && le32toh(raw.version) != PD_STORE_VERSION &&
        le32toh(raw.version) != PD_STORE_VERSION_OLD) {
        return -PD_E_VERSION;
    }
    if (le32toh(raw.magic) != PD_STORE_MAGIC || size_bytes != sizeof raw) {
        return -PD_E_CORRUPT;
    }
    memcpy(&raw, bytes, sizeof raw);
    if (le64toh(raw.xxh3) != meta_hash(&raw)) {
        return -PD_E_CORRUPT;
    }
    *ret_meta = (struct pd_store_meta){
        .next_row = le64toh(raw.next_row),
        .expired = le64toh(raw.expired),
        .paths = le32toh(raw.paths),
        .identity = le64toh(raw.identity),
        .txn_id = le64toh(raw.txn_id),
    };
    return ret_meta->paths <= PD_PATHS_MAX ? 0 : -PD_E_CORRUPT;
}

int pd_lmdb_store_meta_get(struct pd_store *store, MDB_txn *txn, struct pd_store_meta *ret_meta)
{
    struct pd_store_meta meta;
    MDB_val key = meta_key, value;
    int err = pd_tib_lmdb_error(mdb_get(txn, store->meta_db, &key, &value));
    err = err ? err : record_parse(value.mv_data, value.mv_size, &meta);
    if (err) {
        return err;
    }
    if (meta.txn_id != mdb_txn_id(txn)) {
        return -PD_E_CORRUPT;
    }
    *ret_meta = meta;
    return 0;
}

int pd_lmdb_store_meta_put(struct pd_store *store, MDB_txn *txn, const struct pd_store_meta *meta)
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
    return pd_tib_lmdb_error(mdb_put(txn, store->meta_db, &key, &value, 0));
}

/* LMDB's meta pages have no checksum, and the one with the greater commit number counts. Had a
 * number changed so that the older page counts, the store would be whole, as of a commit earlier.
 * So each commit's record has its number as well, and what either page leads to must have the
 * page's own. */
int pd_lmdb_store_numbers_check(int fd, struct pd_error *error)
{
    for (unsigned page = 0; page < 2; page++) {
        uint8_t bytes[sizeof(struct pd_store_meta)];
        size_t size_bytes = sizeof bytes;
        uint64_t txn_id;
        struct pd_store_meta meta;
        if (!pd_lmdb_pages_value(fd, page, "meta", "store", bytes, &size_bytes, &txn_id) &&
            !record_parse(bytes, size_bytes, &meta) && meta.txn_id != txn_id) {
            return pd_fail(error, -PD_E_CORRUPT,
                           "page %u: the meta page of commit %llu has the number %llu", page,
                           (unsigned long long)meta.txn_id, (unsigned long long)txn_id);
        }
    }
    return 0;
}

int pd_lmdb_store_txn_begin(struct pd_store *store, MDB_txn **ret_txn)
{
    int result = store->env ? mdb_txn_begin(store->env, NULL, 0, ret_txn) : MDB_PANIC;
    /* A meta page could not be written, and LMDB refuses to go on: what is in the file counts then.
     */
    if (result == MDB_PANIC) {
        int err = pd_lmdb_store_reopen(store);
        err = err ? err : pd_lmdb_store_writer_resume(store);
        if (err) {
            return err;
        }
        result = mdb_txn_begin(store->env, NULL, 0, ret_txn);
    }
    return pd_tib_lmdb_error(result);
}

int pd_lmdb_store_txn_end(struct pd_store *store, MDB_txn *txn, const struct pd_store_meta *meta,
                          int err)
{
    err = err ? err : pd_lmdb_store_meta_put(store, txn, meta);
    if (err) {
        mdb_txn_abort(txn);
    } else {
        err = pd_tib_lmdb_error(mdb_txn_commit(txn));
    }
    if (!err) {
        store->writer.meta = *meta;
    }
    pd_lmdb_store_written_settle(store, !err);
    return err;
}

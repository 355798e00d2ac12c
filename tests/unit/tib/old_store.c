/* SPDX-License-Identifier: Apache-2.0 */
/* Stores of version 2: the same chunks, other blocks of paths. */
#include "old_store.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "codec/tagging/mark.h"

#define BLOCK_BYTES 1024u /* a path and its header */

static size_t put_mark(uint8_t *at, const struct pd_claim *claim)
{
    uint16_t vids[PD_TAGGING_TAGS_MAX];
    uint8_t *begin = at, dscp;
    unsigned len = pd_tagging_mark_read(&claim->mark, vids, &dscp);
    *at++ = (uint8_t)len;
    *at++ = dscp;
    for (unsigned i = 0; i < len; i++) {
        *at++ = (uint8_t)vids[i];
        *at++ = (uint8_t)(vids[i] >> 8);
    }
    return (size_t)(at - begin);
}

static size_t put_block(uint8_t *at, uint32_t id, const struct pd_claim *claim)
{
    uint8_t *begin = at;
    uint32_t one = htole32(1);
    memset(at, 0, 16);
    memcpy(at + 8, &one, 4);
    at[12] = 4; /* bytes of a switch ID */
    at += 16;
    *at++ = (uint8_t)claim->path->len;
    for (unsigned i = 0; i < claim->path->len; i++, at += 4) {
        uint32_t node = htole32(claim->path->switches[i]);
        memcpy(at, &node, 4);
    }
    at += claim->path->len ? 0 : put_mark(at, claim);
    uint64_t hash = htole64(XXH3_64bits_withSeed(begin + 8, (size_t)(at - begin) - 8, id));
    memcpy(begin, &hash, sizeof hash);
    return (size_t)(at - begin);
}

static int put_blocks(struct pd_store *store, MDB_txn *txn)
{
    uint8_t bytes[BLOCK_BYTES];
    int err = mdb_drop(txn, store->path_db, 0);
    for (uint32_t id = 0; !err && id < pd_lmdb_paths_len(store->paths); id++) {
        struct pd_tib_record way = {.path = pd_lmdb_paths_get(store->paths, id),
                                    .claim = pd_lmdb_paths_claim(store->paths, id)};
        const struct pd_claim claim = pd_tib_claim(&way);
        struct pd_store_key number;
        MDB_val key = pd_store_key_val(&number, id), value = {put_block(bytes, id, &claim), bytes};
        err = mdb_put(txn, store->path_db, &key, &value, 0);
    }
    return err;
}

/* The store record with another version; the transaction's number stays its own. */
static int put_version(MDB_txn *txn, MDB_dbi db, uint32_t version)
{
    struct pd_store_meta meta;
    MDB_val key = {5, (void *)"store"}, value;
    int err = mdb_get(txn, db, &key, &value);
    if (err) {
        return err;
    }
    memcpy(&meta, value.mv_data, sizeof meta);
    meta.version = htole32(version);
    meta.txn_id = htole64(mdb_txn_id(txn));
    meta.xxh3 = htole64(XXH3_64bits((uint8_t *)&meta + 8, sizeof meta - 8));
    value = (MDB_val){sizeof meta, &meta};
    return mdb_put(txn, db, &key, &value, 0);
}

int old_store_age(struct pd_store *store, uint32_t version)
{
    MDB_txn *txn;
    int err = mdb_txn_begin(store->env, NULL, 0, &txn);
    if (err) {
        return -EIO;
    }
    err = version == PD_STORE_VERSION_OLD ? put_blocks(store, txn) : 0;
    err = err ? err : put_version(txn, store->meta_db, version);
    if (err) {
        mdb_txn_abort(txn);
        return -EIO;
    }
    return mdb_txn_commit(txn) ? -EIO : 0;
}

unsigned old_store_blocks(struct pd_store *store)
{
    MDB_txn *txn;
    MDB_cursor *cursor;
    MDB_val key, value;
    unsigned old = 0;
    if (mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn)) {
        return 0;
    }
    if (!mdb_cursor_open(txn, store->path_db, &cursor)) {
        while (!mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
            old += pd_lmdb_paths_block_old(value.mv_data, value.mv_size);
        }
        mdb_cursor_close(cursor);
    }
    mdb_txn_abort(txn);
    return old;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Where in the alarm store a time begins, or the newest so many do. IDs are in the order in which
 * alarms came, so a time is found by halves. */
#include <endian.h>
#include <string.h>

#include "controller/alarms/private.h"
#include "tib/lmdb_error.h"

/* The first alarm from this ID on. */
static int look(MDB_cursor *cursor, uint64_t id, uint64_t *ret_id, uint64_t *ret_received_us)
{
    uint64_t id_be = htobe64(id);
    MDB_val key = {sizeof id_be, &id_be}, value;
    struct pd_alarm_value_head head;
    int result = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);

    if (result) {
        return result;
    }
    if (key.mv_size != sizeof id_be || value.mv_size < sizeof head) {
        return MDB_CORRUPTED;
    }
    memcpy(&id_be, key.mv_data, sizeof id_be);
    memcpy(&head, value.mv_data, sizeof head);
    *ret_id = be64toh(id_be);
    *ret_received_us = le64toh(head.received_us);
    return 0;
}

/* Clocks may be set back: then it finds one of the places where the time passes. */
static int search(MDB_cursor *cursor, uint64_t received_us, uint64_t last, uint64_t *ret_since)
{
    uint64_t low = 1, high = last + 1; /* the first that is late enough lies in [low, high] */

    while (low < high) {
        uint64_t middle = low + (high - low) / 2, id = 0, at_us = 0;
        int result = look(cursor, middle, &id, &at_us);

        if (result && result != MDB_NOTFOUND) {
            return result;
        }
        if (result || at_us >= received_us) {
            high = middle;
        } else {
            low = id + 1;
        }
    }
    *ret_since = low - 1;
    return 0;
}

int pd_alarm_store_find(struct pd_alarm_store *store, uint64_t received_us, uint64_t *ret_since)
{
    uint64_t last = pd_alarm_store_last(store);
    MDB_cursor *cursor;
    MDB_txn *txn;
    int result = mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn);

    if (result) {
        return pd_tib_lmdb_error(result);
    }
    result = mdb_cursor_open(txn, store->alarms_db, &cursor);
    if (!result) {
        result = search(cursor, received_us, last, ret_since);
        mdb_cursor_close(cursor);
    }
    mdb_txn_abort(txn);
    return pd_tib_lmdb_error(result);
}

/* From the last alarm back; with a reason, in the index of reasons, whose values are IDs. */
static int step_back(MDB_cursor *cursor, const char *reason, size_t n, uint64_t *ret_since)
{
    MDB_val key = {reason ? strlen(reason) : 0, (char *)reason}, value = {0};
    int result = reason ? mdb_cursor_get(cursor, &key, &value, MDB_SET) : 0;
    MDB_cursor_op op = reason ? MDB_LAST_DUP : MDB_LAST;
    uint64_t id_be = 0;

    for (size_t i = 0; i < n && !result; i++) {
        result = mdb_cursor_get(cursor, &key, &value, op);
        if (!result) {
            const MDB_val *id = reason ? &value : &key;

            if (id->mv_size != sizeof id_be) {
                return MDB_CORRUPTED;
            }
            memcpy(&id_be, id->mv_data, sizeof id_be);
        }
        op = reason ? MDB_PREV_DUP : MDB_PREV;
    }
    if (result && result != MDB_NOTFOUND) {
        return result;
    }
    *ret_since = result || !id_be ? 0 : be64toh(id_be) - 1;
    return 0;
}

int pd_alarm_store_newest(struct pd_alarm_store *store, const char *reason, size_t n,
                          uint64_t *ret_since)
{
    MDB_cursor *cursor;
    MDB_txn *txn;
    int result = mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn);

    if (result) {
        return pd_tib_lmdb_error(result);
    }
    result = mdb_cursor_open(txn, reason ? store->reasons_db : store->alarms_db, &cursor);
    if (!result) {
        result = step_back(cursor, reason, n, ret_since);
        mdb_cursor_close(cursor);
    }
    mdb_txn_abort(txn);
    return pd_tib_lmdb_error(result);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which alarms go: the oldest of all where they are too old, the oldest of the host that has the
 * most where they are too many. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "controller/alarms/private.h"
#include "tib/lmdb_error.h"

#define RETAIN_STEP 2000u /* of a transaction, beyond as many as it brings */
#define ROUNDS      16u   /* looks for the loudest of a transaction, or one for each host */

/* ---- one alarm ---- */

static bool value_holds(const MDB_val *value)
{
    struct pd_alarm_value_head head;

    if (value->mv_size < sizeof head) {
        return false;
    }
    memcpy(&head, value->mv_data, sizeof head);
    return head.reason_len && head.reason_len < PD_ALARM_REASON_BYTES &&
           value->mv_size > sizeof head + head.reason_len;
}

/* The value holds. */
static bool is_too_old(const struct pd_alarm_store *store, const MDB_val *value, uint64_t now_us)
{
    struct pd_alarm_value_head head;

    memcpy(&head, value->mv_data, sizeof head);
    return store->config.max_age_s &&
           le64toh(head.received_us) + store->config.max_age_s * PD_US_PER_S < now_us;
}

static MDB_val host_key(uint32_t *host_be, uint32_t host)
{
    *host_be = htobe32(host);
    return (MDB_val){sizeof *host_be, host_be};
}

int pd_alarm_index_host(struct pd_alarm_store *store, MDB_txn *txn, const MDB_val *id,
                        uint32_t host)
{
    uint32_t host_be;
    MDB_val key = host_key(&host_be, host), value = *id;

    return mdb_put(txn, store->hosts_db, &key, &value, MDB_APPENDDUP);
}

int pd_alarm_index_all(struct pd_alarm_store *store, MDB_txn *txn)
{
    struct pd_alarm_value_head head;
    MDB_val id, value;
    MDB_cursor *cursor;
    int result = mdb_cursor_open(txn, store->alarms_db, &cursor);

    if (result) {
        return result;
    }
    result = mdb_cursor_get(cursor, &id, &value, MDB_FIRST);
    while (!result) {
        if (value_holds(&value)) {
            memcpy(&head, value.mv_data, sizeof head);
            result = pd_alarm_index_host(store, txn, &id, le32toh(head.host));
        }
        result = result ? result : mdb_cursor_get(cursor, &id, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    return result == MDB_NOTFOUND ? 0 : result;
}

/* Takes it out of both indexes, where its value holds. */
static int unindex(struct pd_alarm_store *store, MDB_txn *txn, const MDB_val *id,
                   const MDB_val *value)
{
    struct pd_alarm_value_head head;
    MDB_val key, reason_id = *id, host_id = *id;
    uint32_t host_be;
    int result;

    if (!value_holds(value)) {
        return 0;
    }
    memcpy(&head, value->mv_data, sizeof head);
    key = (MDB_val){head.reason_len, (char *)value->mv_data + sizeof head};
    result = mdb_del(txn, store->reasons_db, &key, &reason_id);
    if (!result || result == MDB_NOTFOUND) {
        key = host_key(&host_be, le32toh(head.host));
        result = mdb_del(txn, store->hosts_db, &key, &host_id);
    }
    return result == MDB_NOTFOUND ? 0 : result;
}

/* ---- too old ---- */

static int remove_old(struct pd_alarm_store *store, MDB_txn *txn, uint64_t most,
                      struct pd_alarm_tally *tally)
{
    uint64_t now_us = pd_clock_wall_us(), removed = 0;
    MDB_val id, value;
    MDB_cursor *cursor;
    int result = mdb_cursor_open(txn, store->alarms_db, &cursor);

    if (result) {
        return result;
    }
    result = mdb_cursor_get(cursor, &id, &value, MDB_FIRST);
    while (!result && removed < most &&
           (!value_holds(&value) || is_too_old(store, &value, now_us))) {
        result = unindex(store, txn, &id, &value);
        result = result ? result : mdb_cursor_del(cursor, 0);
        result = result ? result : mdb_cursor_get(cursor, &id, &value, MDB_FIRST);
        removed++;
    }
    mdb_cursor_close(cursor);
    tally->removed += removed;
    return result == MDB_NOTFOUND ? 0 : result;
}

/* ---- too many ---- */

/* A map that runs full takes no deletions either: at three quarters the oldest alarms begin to go,
 * whatever their number. */
static int count_too_many(const struct pd_alarm_store *store, MDB_txn *txn, uint64_t *ret_too_many)
{
    const MDB_dbi dbs[] = {store->alarms_db, store->reasons_db, store->hosts_db, store->spools_db};
    uint64_t pages = 0, entries = 0;
    MDB_envinfo info;
    MDB_stat stat;
    int result = mdb_env_info(store->env, &info);

    for (size_t i = 0; i < sizeof dbs / sizeof dbs[0] && !result; i++) {
        result = mdb_stat(txn, dbs[i], &stat);
        if (result) {
            break;
        }
        pages += stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
        entries = i ? entries : stat.ms_entries;
    }
    if (result) {
        return result;
    }
    *ret_too_many = entries > store->config.max_alarms ? entries - store->config.max_alarms : 0;
    if (pages * stat.ms_psize > info.me_mapsize / 4 * 3 && *ret_too_many < entries / 16) {
        *ret_too_many = entries / 16;
    }
    return 0;
}

/* Who has the most alarms, how many, and how many more than the next one. */
struct loudest {
    uint32_t host_be;
    uint64_t alarms, more;
};

static int find_loudest(MDB_cursor *cursor, struct loudest *ret_loudest)
{
    struct loudest loudest = {.alarms = 0};
    uint64_t second = 0;
    MDB_val key, id;
    int result = mdb_cursor_get(cursor, &key, &id, MDB_FIRST);

    while (!result) {
        size_t alarms = 0;

        result = mdb_cursor_count(cursor, &alarms);
        if (!result && key.mv_size == sizeof loudest.host_be && alarms > loudest.alarms) {
            second = loudest.alarms;
            loudest.alarms = alarms;
            memcpy(&loudest.host_be, key.mv_data, sizeof loudest.host_be);
        } else if (alarms > second) {
            second = alarms;
        }
        result = result ? result : mdb_cursor_get(cursor, &key, &id, MDB_NEXT_NODUP);
    }
    loudest.more = loudest.alarms - second;
    *ret_loudest = loudest;
    return result == MDB_NOTFOUND && loudest.alarms ? 0 : result;
}

/* The oldest `n` of a host. */
static int remove_of(struct pd_alarm_store *store, MDB_txn *txn, MDB_cursor *hosts,
                     uint32_t host_be, uint64_t n)
{
    int result = 0;

    while (n-- && !result) {
        MDB_val key = {sizeof host_be, &host_be}, at, id, value;
        uint64_t id_be = 0;

        result = mdb_cursor_get(hosts, &key, &at, MDB_SET_KEY);
        if (result || at.mv_size != sizeof id_be) {
            return result ? result : MDB_CORRUPTED;
        }
        memcpy(&id_be, at.mv_data, sizeof id_be);
        id = (MDB_val){sizeof id_be, &id_be};
        result = mdb_get(txn, store->alarms_db, &id, &value);
        result = result ? result : unindex(store, txn, &id, &value);
        result = result ? result : mdb_del(txn, store->alarms_db, &id, NULL);
    }
    return result;
}

/* Of the loudest until it is no louder than the next one, and so on; where many are equally loud a
 * few more at a time. */
static int remove_many(struct pd_alarm_store *store, MDB_txn *txn, uint64_t too_many,
                       struct pd_alarm_tally *tally)
{
    MDB_cursor *hosts;
    int result = too_many ? mdb_cursor_open(txn, store->hosts_db, &hosts) : 0;

    if (result || !too_many) {
        return result;
    }
    while (too_many && !result) {
        struct loudest loudest;
        uint64_t n;

        result = find_loudest(hosts, &loudest);
        if (result) {
            break;
        }
        n = loudest.more + 1 > too_many / ROUNDS ? loudest.more + 1 : too_many / ROUNDS;
        n = n < too_many ? n : too_many;
        result = remove_of(store, txn, hosts, loudest.host_be, n);
        tally->removed += n;
        too_many -= n;
    }
    mdb_cursor_close(hosts);
    return result == MDB_NOTFOUND ? 0 : result;
}

/* ---- both ---- */

int pd_alarm_store_retain(struct pd_alarm_store *store, MDB_txn *txn, uint64_t accepted,
                          struct pd_alarm_tally *tally)
{
    uint64_t too_many = 0, most = RETAIN_STEP + accepted;
    int result = remove_old(store, txn, most, tally);

    if (!result) {
        result = count_too_many(store, txn, &too_many);
    }
    if (!result) {
        result = remove_many(store, txn, too_many < most ? too_many : most, tally);
    }
    return pd_tib_lmdb_error(result);
}

void pd_alarm_store_age(struct pd_alarm_store *store)
{
    struct pd_alarm_tally tally = {0};
    MDB_txn *txn;
    int err = pd_tib_lmdb_error(mdb_txn_begin(store->env, NULL, 0, &txn));

    if (err) {
        return;
    }
    err = pd_alarm_store_retain(store, txn, 0, &tally);
    if (err || !tally.removed) {
        mdb_txn_abort(txn);
        return;
    }
    if (mdb_txn_commit(txn)) {
        return;
    }
    pthread_mutex_lock(&store->lock);
    store->stat.removed += tally.removed;
    pthread_mutex_unlock(&store->lock);
}

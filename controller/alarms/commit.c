/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions of the alarm store: deliveries without what was sent before, retention. */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "controller/alarms/private.h"
#include "tib/lmdb/error.h"

#define RETAIN_STEP 2000u /* of a transaction, beyond as many as it brings */
#define SPOOL_KEY   12u
#define HOST_BYTES  24u

/* What a transaction did, to be counted when it is durable. */
struct tally {
    uint64_t accepted, repeated, missing, removed, forgotten;
};

/* ---- retention ---- */

static bool is_too_old(const struct pd_alarm_store *store, const MDB_val *value, uint64_t now_us)
{
    struct pd_alarm_value_head head;

    memcpy(&head, value->mv_data, sizeof head);
    return store->config.max_age_s &&
           le64toh(head.received_us) + store->config.max_age_s * PD_US_PER_S < now_us;
}

/* The value is long enough: it was looked at. */
static int unindex(struct pd_alarm_store *store, MDB_txn *txn, const MDB_val *id,
                   const MDB_val *value)
{
    struct pd_alarm_value_head head;
    MDB_val reason, dup = *id;
    int result;

    memcpy(&head, value->mv_data, sizeof head);
    reason = (MDB_val){head.reason_len, (char *)value->mv_data + sizeof head};
    result = mdb_del(txn, store->reasons_db, &reason, &dup);
    return result == MDB_NOTFOUND ? 0 : result;
}

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

static int remove_oldest(struct pd_alarm_store *store, MDB_txn *txn, MDB_cursor *cursor,
                         uint64_t most, uint64_t too_many, struct tally *tally)
{
    uint64_t now_us = pd_clock_wall_us(), removed = 0;
    MDB_val id, value;
    int result = mdb_cursor_get(cursor, &id, &value, MDB_FIRST);

    while (!result && removed < most) {
        bool holds = value_holds(&value);

        if (removed >= too_many && holds && !is_too_old(store, &value, now_us)) {
            break;
        }
        if (holds) {
            result = unindex(store, txn, &id, &value);
        }
        if (!result) {
            result = mdb_cursor_del(cursor, 0);
        }
        if (!result) {
            result = mdb_cursor_get(cursor, &id, &value, MDB_FIRST);
        }
        removed++;
    }
    tally->removed += removed;
    return result == MDB_NOTFOUND ? 0 : pd_lmdb_error(result);
}

/* A map that runs full takes no deletions either: at seven eighths the oldest alarms begin to go,
 * whatever their number. */
static int count_too_many(const struct pd_alarm_store *store, MDB_txn *txn, uint64_t *ret_too_many)
{
    const MDB_dbi dbs[] = {store->alarms_db, store->reasons_db, store->spools_db};
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
        return pd_lmdb_error(result);
    }
    *ret_too_many = entries > store->config.max_alarms ? entries - store->config.max_alarms : 0;
    if (pages * stat.ms_psize > info.me_mapsize / 8 * 7 && *ret_too_many < entries / 16) {
        *ret_too_many = entries / 16;
    }
    return 0;
}

/* Removes those that are too many or too old, oldest first, at most `most`. */
static int retain(struct pd_alarm_store *store, MDB_txn *txn, uint64_t most, struct tally *tally)
{
    MDB_cursor *cursor;
    uint64_t too_many = 0;
    int e = count_too_many(store, txn, &too_many);

    if (!e) {
        e = pd_lmdb_error(mdb_cursor_open(txn, store->alarms_db, &cursor));
    }
    if (e) {
        return e;
    }
    e = remove_oldest(store, txn, cursor, most, too_many, tally);
    mdb_cursor_close(cursor);
    return e;
}

/* ---- spools ---- */

static void make_key(unsigned char key[SPOOL_KEY], uint32_t host, uint64_t spool)
{
    uint32_t host_be = htobe32(host);
    uint64_t spool_be = htobe64(spool);

    memcpy(key, &host_be, sizeof host_be);
    memcpy(key + sizeof host_be, &spool_be, sizeof spool_be);
}

/* A host has a new spool: if it has too many now, the one goes that was silent for longest. */
static int forget_oldest(struct pd_alarm_store *store, MDB_txn *txn, uint32_t host,
                         struct tally *tally)
{
    unsigned char first[SPOOL_KEY], oldest[SPOOL_KEY];
    MDB_val key = {SPOOL_KEY, first}, value;
    uint64_t oldest_us = UINT64_MAX;
    unsigned spools = 0;
    MDB_cursor *cursor;
    int result = mdb_cursor_open(txn, store->spools_db, &cursor);

    if (result) {
        return pd_lmdb_error(result);
    }
    make_key(first, host, 0);
    result = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    while (!result && key.mv_size == SPOOL_KEY && !memcmp(key.mv_data, first, sizeof host)) {
        struct pd_alarm_spool_value row = {0};

        if (value.mv_size == sizeof row) {
            memcpy(&row, value.mv_data, sizeof row);
        }
        if (le64toh(row.touched_us) < oldest_us) {
            oldest_us = le64toh(row.touched_us);
            memcpy(oldest, key.mv_data, SPOOL_KEY);
        }
        spools++;
        result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    if (result && result != MDB_NOTFOUND) {
        return pd_lmdb_error(result);
    }
    if (spools < PD_ALARM_SPOOLS_MAX) {
        return 0;
    }
    tally->forgotten++;
    key = (MDB_val){SPOOL_KEY, oldest};
    return pd_lmdb_error(mdb_del(txn, store->spools_db, &key, NULL));
}

/* How far the spool was taken; *ret_new: not at all, so that its first alarm may have any number.
 */
static int spool_get(struct pd_alarm_store *store, MDB_txn *txn, unsigned char *bytes,
                     uint64_t *ret_last, bool *ret_new)
{
    MDB_val key = {SPOOL_KEY, bytes}, value;
    struct pd_alarm_spool_value row;
    int result = mdb_get(txn, store->spools_db, &key, &value);

    *ret_new = result == MDB_NOTFOUND;
    *ret_last = 0;
    if (*ret_new) {
        return 0;
    }
    if (result || value.mv_size != sizeof row) {
        return result ? pd_lmdb_error(result) : -PD_E_CORRUPT;
    }
    memcpy(&row, value.mv_data, sizeof row);
    *ret_last = le64toh(row.last);
    return 0;
}

static int spool_put(struct pd_alarm_store *store, MDB_txn *txn, unsigned char *bytes,
                     uint64_t last)
{
    struct pd_alarm_spool_value row = {htole64(last), htole64(pd_clock_wall_us())};
    MDB_val key = {SPOOL_KEY, bytes}, value = {sizeof row, &row};

    return pd_lmdb_error(mdb_put(txn, store->spools_db, &key, &value, 0));
}

/* ---- alarms ---- */

/* Head, reason, and "host":21,…}: without what differs from reader to reader. Its length, 0 when it
 * does not fit. */
static size_t make_value(uint32_t host, const struct pd_alarm_message *message, char *image)
{
    struct pd_alarm_value_head head = {.received_us = htole64(pd_clock_wall_us()),
                                       .host = htole32(host),
                                       .reason_len = (uint8_t)strlen(message->reason)};
    size_t at = sizeof head, len;

    memcpy(image, &head, sizeof head);
    memcpy(image + at, message->reason, head.reason_len);
    at += head.reason_len;
    at += (size_t)snprintf(image + at, HOST_BYTES, "\"host\":%" PRIu32 ",", host);
    len = pd_alarm_message_text(message, image + at);
    return len ? at + len : 0;
}

static int alarm_put(struct pd_alarm_store *store, MDB_txn *txn, uint64_t id, uint32_t host,
                     const struct pd_alarm_message *message)
{
    char image[sizeof(struct pd_alarm_value_head) + PD_ALARM_REASON_BYTES + HOST_BYTES +
               PD_ALARM_MESSAGE_MAX_BYTES];
    uint64_t id_be = htobe64(id);
    MDB_val key = {sizeof id_be, &id_be}, value = {make_value(host, message, image), image};
    MDB_val reason = {strlen(message->reason), (char *)message->reason};
    int result;

    if (!value.mv_size) {
        return -PD_E_TOO_LARGE;
    }
    result = mdb_put(txn, store->alarms_db, &key, &value, MDB_APPEND);
    if (!result) {
        result = mdb_put(txn, store->reasons_db, &reason, &key, MDB_APPENDDUP);
    }
    return pd_lmdb_error(result);
}

static int put_delivery(struct pd_alarm_store *store, MDB_txn *txn, struct commit *commit,
                        uint64_t *next_id, struct tally *tally)
{
    const struct pd_alarm_delivery *delivery = commit->delivery;
    unsigned char key[SPOOL_KEY];
    uint64_t last;
    bool is_new;
    int e;

    make_key(key, delivery->host, delivery->spool);
    e = spool_get(store, txn, key, &last, &is_new);
    if (!e && is_new) {
        e = forget_oldest(store, txn, delivery->host, tally);
    }
    for (size_t i = 0; i < delivery->len && !e; i++) {
        uint64_t seq = delivery->seqs[i];

        if (seq <= last) {
            tally->repeated++;
            continue;
        }
        tally->missing += is_new && !i ? 0 : seq - last - 1;
        tally->accepted++;
        last = seq;
        e = alarm_put(store, txn, (*next_id)++, delivery->host, &delivery->messages[i]);
    }
    commit->last = last;
    return e ? e : spool_put(store, txn, key, last);
}

/* Those of the controller: nobody sends them twice. */
static int put_own(struct pd_alarm_store *store, MDB_txn *txn, const struct commit *commit,
                   uint64_t *next_id, struct tally *tally)
{
    int e = 0;

    for (size_t i = 0; i < commit->delivery->len && !e; i++) {
        e = alarm_put(store, txn, (*next_id)++, 0, &commit->delivery->messages[i]);
        tally->accepted++;
    }
    return e;
}

static int meta_put(struct pd_alarm_store *store, MDB_txn *txn, uint64_t next_id)
{
    struct pd_alarm_meta_value meta = {.version = htole32(PD_ALARM_STORE_VERSION),
                                       .next_id = htole64(next_id)};
    MDB_val key = {5, (void *)"store"}, value = {sizeof meta, &meta};

    return pd_lmdb_error(mdb_put(txn, store->meta_db, &key, &value, 0));
}

/* ---- transactions ---- */

static void count(struct pd_alarm_store *store, const struct tally *tally, uint64_t next_id, int e)
{
    struct pd_alarm_store_stat *stat = &store->stat;

    pthread_mutex_lock(&store->lock);
    if (e) {
        stat->commits_failed++;
    } else {
        stat->commits++;
        stat->accepted += tally->accepted;
        stat->repeated += tally->repeated;
        stat->missing += tally->missing;
        stat->removed += tally->removed;
        stat->forgotten += tally->forgotten;
        stat->last_id = next_id - 1;
        pthread_cond_broadcast(&store->grown);
    }
    pthread_mutex_unlock(&store->lock);
}

int pd_alarm_store_commit(struct pd_alarm_store *store, struct commit *first)
{
    struct tally tally = {0};
    uint64_t next_id = store->next_id;
    MDB_txn *txn;
    int e = pd_lmdb_error(mdb_txn_begin(store->env, NULL, 0, &txn));

    if (e) {
        return e;
    }
    for (struct commit *commit = first; commit && !e; commit = commit->next) {
        e = commit->delivery->seqs ? put_delivery(store, txn, commit, &next_id, &tally)
                                   : put_own(store, txn, commit, &next_id, &tally);
    }
    if (!e) {
        e = retain(store, txn, RETAIN_STEP + tally.accepted, &tally);
    }
    if (!e) {
        e = meta_put(store, txn, next_id);
    }
    if (e) {
        mdb_txn_abort(txn);
    } else {
        e = pd_lmdb_error(mdb_txn_commit(txn));
    }
    if (!e) {
        store->next_id = next_id;
    }
    count(store, &tally, next_id, e);
    if (!e && store->config.grown) {
        store->config.grown(store->config.context);
    }
    return e;
}

void pd_alarm_store_age(struct pd_alarm_store *store)
{
    struct tally tally = {0};
    MDB_txn *txn;
    int e = pd_lmdb_error(mdb_txn_begin(store->env, NULL, 0, &txn));

    if (e) {
        return;
    }
    e = retain(store, txn, RETAIN_STEP, &tally);
    if (e || !tally.removed) {
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

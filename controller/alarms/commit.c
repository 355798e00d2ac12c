/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions of the alarm store: deliveries without what was sent before. */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "controller/alarms/private.h"
#include "tib/lmdb_error.h"

#define SPOOL_KEY  12u
#define HOST_BYTES 24u
#define IMAGE_BYTES                                                            \
    (sizeof(struct pd_alarm_value_head) + PD_ALARM_REASON_BYTES + HOST_BYTES + \
     PD_ALARM_MESSAGE_MAX_BYTES)

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
                         struct pd_alarm_tally *tally)
{
    unsigned char first[SPOOL_KEY], oldest[SPOOL_KEY];
    MDB_val key = {SPOOL_KEY, first}, value;
    uint64_t oldest_us = UINT64_MAX;
    unsigned spools = 0;
    MDB_cursor *cursor;
    int result = mdb_cursor_open(txn, store->spools_db, &cursor);

    if (result) {
        return pd_tib_lmdb_error(result);
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
        return pd_tib_lmdb_error(result);
    }
    if (spools < PD_ALARM_SPOOLS_MAX) {
        return 0;
    }
    tally->forgotten++;
    key = (MDB_val){SPOOL_KEY, oldest};
    return pd_tib_lmdb_error(mdb_del(txn, store->spools_db, &key, NULL));
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
        return result ? pd_tib_lmdb_error(result) : -PD_E_CORRUPT;
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

    return pd_tib_lmdb_error(mdb_put(txn, store->spools_db, &key, &value, 0));
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
    len = pd_fleet_alarm_message_text(message, image + at);
    return len ? at + len : 0;
}

int pd_alarm_put_again(struct pd_alarm_store *store, MDB_txn *txn, uint64_t id, uint32_t host,
                       const struct pd_alarm_value_head *head,
                       const struct pd_alarm_message *message)
{
    char image[IMAGE_BYTES];
    uint64_t id_be = htobe64(id);
    MDB_val key = {sizeof id_be, &id_be}, value = {make_value(host, message, image), image};

    if (!value.mv_size) {
        return -PD_E_TOO_LARGE;
    }
    memcpy(image, head, sizeof *head);
    return pd_tib_lmdb_error(mdb_put(txn, store->alarms_db, &key, &value, 0));
}

static int alarm_put(struct pd_alarm_store *store, MDB_txn *txn, uint64_t id, uint32_t host,
                     const struct pd_alarm_message *message)
{
    char image[IMAGE_BYTES];
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
    if (!result) {
        result = pd_alarm_index_host(store, txn, &key, host);
    }
    return pd_tib_lmdb_error(result);
}

/* One that is told again raises a count, another one is new. */
static int take_alarm(struct pd_alarm_store *store, MDB_txn *txn, uint32_t host,
                      const struct pd_alarm_message *message, uint64_t *next_id,
                      struct pd_alarm_tally *tally)
{
    int err = pd_alarm_repeat(store, txn, host, message);

    if (err != -PD_E_NOT_FOUND) {
        tally->merged += !err;
        return err;
    }
    err = alarm_put(store, txn, *next_id, host, message);
    if (!err) {
        pd_alarm_remember(store, (*next_id)++, host, message);
        tally->accepted++;
    }
    return err;
}

static int put_delivery(struct pd_alarm_store *store, MDB_txn *txn, struct commit *commit,
                        uint64_t *next_id, struct pd_alarm_tally *tally)
{
    const struct pd_alarm_delivery *delivery = commit->delivery;
    unsigned char key[SPOOL_KEY];
    uint64_t last;
    bool is_new;
    int err;

    make_key(key, delivery->host, delivery->spool);
    err = spool_get(store, txn, key, &last, &is_new);
    if (!err && !is_new && delivery->len && delivery->seqs[delivery->len - 1] > last &&
        delivery->seqs[delivery->len - 1] - last > PD_ALARM_AHEAD_MAX) {
        commit->refused = -PD_E_VALUE;
        return 0;
    }
    if (!err && is_new) {
        err = forget_oldest(store, txn, delivery->host, tally);
    }
    for (size_t i = 0; i < delivery->len && !err; i++) {
        uint64_t seq = delivery->seqs[i];

        if (seq <= last) {
            tally->repeated++;
            continue;
        }
        tally->missing += is_new && !i ? 0 : seq - last - 1;
        last = seq;
        err = take_alarm(store, txn, delivery->host, &delivery->messages[i], next_id, tally);
    }
    commit->last = last;
    return err ? err : spool_put(store, txn, key, last);
}

/* Those of the controller: nobody sends them twice. */
static int put_own(struct pd_alarm_store *store, MDB_txn *txn, const struct commit *commit,
                   uint64_t *next_id, struct pd_alarm_tally *tally)
{
    int err = 0;

    for (size_t i = 0; i < commit->delivery->len && !err; i++) {
        err = alarm_put(store, txn, (*next_id)++, 0, &commit->delivery->messages[i]);
        tally->accepted++;
    }
    return err;
}

static int meta_put(struct pd_alarm_store *store, MDB_txn *txn, uint64_t next_id)
{
    struct pd_alarm_meta_value meta = {.version = htole32(PD_ALARM_STORE_VERSION),
                                       .next_id = htole64(next_id)};
    MDB_val key = {5, (void *)"store"}, value = {sizeof meta, &meta};

    return pd_tib_lmdb_error(mdb_put(txn, store->meta_db, &key, &value, 0));
}

/* ---- transactions ---- */

static void count(struct pd_alarm_store *store, const struct pd_alarm_tally *tally,
                  uint64_t next_id, int err)
{
    struct pd_alarm_store_stat *stat = &store->stat;

    pthread_mutex_lock(&store->lock);
    if (err) {
        stat->commits_failed++;
    } else {
        stat->commits++;
        stat->accepted += tally->accepted;
        stat->merged += tally->merged;
        stat->repeated += tally->repeated;
        stat->missing += tally->missing;
        stat->removed += tally->removed;
        stat->forgotten += tally->forgotten;
        stat->last_id = next_id - 1;
        while (store->retold) {
            struct pd_alarm_retold *retold = store->retold;

            store->retold = retold->next;
            retold->next = store->to_retell;
            store->to_retell = retold;
        }
        pthread_cond_broadcast(&store->grown);
    }
    pthread_mutex_unlock(&store->lock);
}

int pd_alarm_store_commit(struct pd_alarm_store *store, struct commit *first)
{
    struct pd_alarm_tally tally = {0};
    uint64_t next_id = store->next_id;
    MDB_txn *txn;
    int err = pd_tib_lmdb_error(mdb_txn_begin(store->env, NULL, 0, &txn));

    if (err) {
        return err;
    }
    for (struct commit *commit = first; commit && !err; commit = commit->next) {
        err = commit->delivery->seqs ? put_delivery(store, txn, commit, &next_id, &tally)
                                     : put_own(store, txn, commit, &next_id, &tally);
    }
    if (!err) {
        err = pd_alarm_store_retain(store, txn, tally.accepted, &tally);
    }
    if (!err) {
        err = meta_put(store, txn, next_id);
    }
    if (err) {
        mdb_txn_abort(txn);
    } else {
        err = pd_tib_lmdb_error(mdb_txn_commit(txn));
    }
    if (!err) {
        store->next_id = next_id;
    }
    count(store, &tally, next_id, err);
    pd_alarm_retold_free(store->retold);
    store->retold = NULL;
    if (!err && store->config.grown) {
        store->config.grown(store->config.context);
    }
    return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The MongoDB backend's operations: opening, closing, what the writer's thread does, what the
 * counters say. */
#include "tib/mongodb/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/wait.h"

#define COMMIT_RECORDS      20000u /* the buffer commits by itself */
#define DEFAULT_SPOOL       "/var/lib/pathdump/spool"
#define DEFAULT_SPOOL_BYTES (UINT64_C(1) << 30)

/* ---- opening ---- */

static void store_free(struct pd_mongo_store *store)
{
    pd_mongodb_sender_stop(store);
    pd_mongodb_spool_close(store->spool);
    pd_mongodb_server_close(&store->server);
    pthread_cond_destroy(&store->changed);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

static struct pd_mongo_store *store_new(enum pd_tib_mode mode)
{
    struct pd_mongo_store *store = calloc(1, sizeof *store);
    if (!store) {
        return NULL;
    }
    store->head.ops = &pd_mongodb_ops;
    store->mode = mode;
    pthread_mutex_init(&store->lock, NULL);
    pd_wait_init(&store->changed);
    return store;
}

/* The server may be away: records wait in the spool. */
static int open_writer(struct pd_mongo_store *store, const struct pd_tib_config *config,
                       struct pd_error *error)
{
    const char *directory = config && config->spool ? config->spool : DEFAULT_SPOOL;
    uint64_t most = config && config->spool_bytes ? config->spool_bytes : DEFAULT_SPOOL_BYTES;
    uint64_t front;
    if (!config || !config->host_id) {
        return pd_fail(error, -PD_E_VALUE,
                       "%s: --host-id N is missing: hosts that share a store each need their own",
                       store->server.place);
    }
    store->host_id = config->host_id;
    store->max_bytes = config->max_bytes;
    store->max_age_s = config->max_age_s;
    int err = pd_mongodb_spool_open(directory, store->host_id, most, &store->spool, error);
    if (!err && (err = pd_mongodb_spool_front(store->spool, &front))) {
        pd_fail(error, err, "%s: %s", directory, pd_error_text(err));
    }
    if (err) {
        return err;
    }
    store->committed = store->spool->next_seq - 1;
    store->acknowledged = front - 1;
    err = pd_mongodb_sender_start(store);
    return err ? pd_fail(error, err, "no thread for the spool") : 0;
}

/* A reader without a server has nothing to read. */
static int open_reader(struct pd_mongo_store *store, struct pd_error *error)
{
    struct pd_mongo_client client;
    struct pd_mongo_writers writers;
    int err = pd_mongodb_client_take(&store->server, &client);
    if (err) {
        return pd_fail(error, err, "%s: no free connection", store->server.place);
    }
    err = pd_mongodb_writers_load(&client, false, 0, &writers, error);
    pd_mongodb_client_give(&client);
    if (err) {
        pd_fail_within(error, store->server.place);
        return err;
    }
    pd_mongodb_writers_done(&writers);
    return 0;
}

static int store_open(const char *location, enum pd_tib_mode mode,
                      const struct pd_tib_config *config, struct pd_tib **ret_tib,
                      struct pd_error *error)
{
    struct pd_mongo_store *store = store_new(mode);
    if (!store) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    int err = pd_mongodb_server_open(location, &store->server, error);
    if (!err) {
        err = mode == PD_TIB_WRITE ? open_writer(store, config, error) : open_reader(store, error);
    }
    if (err) {
        store_free(store);
        return err;
    }
    *ret_tib = &store->head;
    return 0;
}

/* ---- the writer's thread ---- */

static int store_commit(struct pd_tib *tib)
{
    struct pd_mongo_store *store = (struct pd_mongo_store *)tib;
    if (store->mode != PD_TIB_WRITE) {
        return -EBADF;
    }
    uint32_t records = store->spool->buffered;
    if (!records) {
        return 0;
    }
    int err = pd_mongodb_spool_commit(store->spool);
    pthread_mutex_lock(&store->lock);
    if (!err) {
        store->committed = store->spool->next_seq - 1;
        store->counters.stored += records;
        store->counters.commits++;
        pthread_cond_broadcast(&store->changed);
    } else if (err == -PD_E_FULL) {
        store->counters.lost_full += records;
    } else {
        store->counters.lost_error += records;
    }
    pthread_mutex_unlock(&store->lock);
    return err;
}

static int store_append(struct pd_tib *tib, const struct pd_tib_record *records, size_t n)
{
    struct pd_mongo_store *store = (struct pd_mongo_store *)tib;
    uint64_t lost = 0;
    int err = 0;
    if (store->mode != PD_TIB_WRITE) {
        return -EBADF;
    }
    for (size_t i = 0; i < n; i++) {
        int failed = pd_mongodb_spool_add(store->spool, &records[i]);
        lost += failed != 0;
        if (!failed && store->spool->buffered == COMMIT_RECORDS) {
            failed = store_commit(tib);
        }
        err = err ? err : failed;
    }
    pthread_mutex_lock(&store->lock);
    store->counters.appended += n;
    store->counters.lost_error += lost;
    pthread_mutex_unlock(&store->lock);
    return err;
}

static void store_close(struct pd_tib *tib)
{
    struct pd_mongo_store *store = (struct pd_mongo_store *)tib;
    if (store->mode == PD_TIB_WRITE) {
        store_commit(tib);
    }
    store_free(store);
}

static int store_set_cursor(struct pd_tib *tib, uint64_t key, uint64_t value)
{
    struct pd_mongo_store *store = (struct pd_mongo_store *)tib;
    if (store->mode != PD_TIB_WRITE) {
        return -EBADF;
    }
    pd_mongodb_spool_set_cursor(store->spool, key, value);
    return 0;
}

static int store_cursor(struct pd_tib *tib, uint64_t key, uint64_t *ret_value)
{
    const struct pd_spool *spool = ((struct pd_mongo_store *)tib)->spool;
    for (unsigned i = 0; spool && i < spool->cursors_len; i++) {
        if (spool->cursors[i].key == key) {
            *ret_value = spool->cursors[i].value;
            return 0;
        }
    }
    return -PD_E_NOT_FOUND;
}

/* The sender does the work: here nobody may wait for a server. */
static int store_maintain(struct pd_tib *tib, uint64_t now_us)
{
    struct pd_mongo_store *store = (struct pd_mongo_store *)tib;
    pthread_mutex_lock(&store->lock);
    store->now_us = now_us;
    pthread_mutex_unlock(&store->lock);
    return 0;
}

static void store_retain(struct pd_tib *tib, uint64_t max_bytes, uint64_t max_age_s)
{
    struct pd_mongo_store *store = (struct pd_mongo_store *)tib;
    pthread_mutex_lock(&store->lock);
    store->max_bytes = max_bytes;
    store->max_age_s = max_age_s;
    pthread_mutex_unlock(&store->lock);
}

/* ---- counters ---- */

static void stat_writer(struct pd_mongo_store *store, struct pd_tib_stat *stat)
{
    const struct pd_mongo_registration *registration = &store->registration;
    uint64_t average = store->documents ? store->document_bytes / store->documents : 0;
    uint64_t spool_bytes = pd_mongodb_spool_used_bytes(store->spool);
    pthread_mutex_lock(&store->lock);
    *stat = store->counters;
    stat->spooled = store->committed - store->acknowledged;
    stat->records = store->host_stored + stat->spooled;
    if (stat->records && registration->max_etime_us) {
        stat->min_stime_us = registration->min_stime_us;
        stat->max_etime_us = registration->max_etime_us;
    }
    pthread_mutex_unlock(&store->lock);
    stat->bytes_used = (stat->records - stat->spooled) * average + spool_bytes;
    stat->bytes_file = stat->bytes_used;
}

static uint64_t extreme(struct pd_mongo_client *client, const char *field, int32_t direction)
{
    const bson_t *document;
    bson_t *any = bson_new();
    bson_t *options = BCON_NEW("sort", "{", field, BCON_INT32(direction), "}", "limit",
                               BCON_INT64(1), "maxTimeMS", BCON_INT64(PD_MONGO_QUERY_MS));
    mongoc_cursor_t *cursor = mongoc_collection_find_with_opts(client->records, any, options, NULL);
    uint64_t value =
        mongoc_cursor_next(cursor, &document) ? pd_mongodb_member(document, field, 0) : 0;
    mongoc_cursor_destroy(cursor);
    bson_destroy(options);
    bson_destroy(any);
    return value;
}

/* All that the readers of all hosts see. */
static int stat_reader(struct pd_mongo_store *store, struct pd_tib_stat *stat)
{
    struct pd_tib_snapshot *snapshot;
    struct pd_mongo_client client;
    struct pd_tib_filter all = PD_TIB_FILTER_ALL;
    struct pd_mongo_writers writers = {0};
    bson_error_t mongo;
    bson_t match = BSON_INITIALIZER;
    int64_t count = 0;
    int err = pd_mongodb_snapshot(&store->head, &snapshot);
    if (err) {
        return err;
    }
    err = pd_mongodb_snapshot_writers((struct pd_mongo_snapshot *)snapshot, NULL, &writers);
    err = err ? err : pd_mongodb_client_take(&store->server, &client);
    if (!err) {
        if (pd_mongodb_match(&writers, &all, &match)) {
            count =
                mongoc_collection_count_documents(client.records, &match, NULL, NULL, NULL, &mongo);
        }
        if (count < 0) {
            err = pd_mongodb_fail(&store->server, &mongo, NULL);
        }
        stat->records = count > 0 ? (uint64_t)count : 0;
        stat->min_stime_us = count > 0 ? extreme(&client, "stime_us", 1) : 0;
        stat->max_etime_us = count > 0 ? extreme(&client, "etime_us", -1) : 0;
        pd_mongodb_client_give(&client);
    }
    bson_destroy(&match);
    pd_mongodb_writers_done(&writers);
    pd_mongodb_release(snapshot);
    return err;
}

static int store_stat(struct pd_tib *tib, struct pd_tib_stat *ret_stat)
{
    struct pd_mongo_store *store = (struct pd_mongo_store *)tib;
    struct pd_tib_stat stat = {0};
    int err = 0;
    if (store->mode == PD_TIB_WRITE) {
        stat_writer(store, &stat);
    } else {
        err = stat_reader(store, &stat);
    }
    if (!err) {
        *ret_stat = stat;
    }
    return err;
}

const struct pd_tib_ops pd_mongodb_ops = {
    .scheme = "mongodb",
    .open = store_open,
    .close = store_close,
    .append = store_append,
    .commit = store_commit,
    .set_cursor = store_set_cursor,
    .cursor = store_cursor,
    .maintain = store_maintain,
    .retain = store_retain,
    .stat = store_stat,
    .snapshot = pd_mongodb_snapshot,
    .release = pd_mongodb_release,
    .scan = pd_mongodb_scan,
    .group = pd_mongodb_group,
    .token = pd_mongodb_token,
    .check = pd_mongodb_check,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Retention by this host's sender: by age where the server does not do it, and by bytes. */
#include "base/clock.h"
#include "tib/mongodb/store.h"

#define PERIOD_NS (5 * PD_NS_PER_S)
/* The server does the work; this is for an age that was made shorter. */
#define TTL_PERIOD_NS (60 * PD_NS_PER_S)
#define LEAST_PART    100 /* bytes: not for less than 1/100 of the records */
#define GUESS_BYTES   420 /* of a document, until some were sent */
#define IDLE_FACTOR   10  /* a server that takes long to remove is left alone for so much longer */

struct limits {
    uint64_t cutoff_us; /* records that ended before go; 0: none */
    uint64_t excess;    /* so many of the oldest go */
};

static uint64_t average_bytes(const struct pd_mongo_store *store)
{
    return store->documents ? store->document_bytes / store->documents : GUESS_BYTES;
}

/* With the store's lock. */
static struct limits limits_of(const struct pd_mongo_store *store)
{
    struct limits limits = {0};
    uint64_t age_us = store->max_age_s * PD_US_PER_S;
    if (store->max_age_s && store->now_us > age_us) {
        limits.cutoff_us = store->now_us - age_us;
    }
    if (store->max_bytes) {
        uint64_t most = store->max_bytes / average_bytes(store);
        limits.excess = store->host_stored > most ? store->host_stored - most : 0;
        if (limits.excess < store->host_stored / LEAST_PART) {
            limits.excess = 0;
        }
    }
    return limits;
}

static int remove_matching(struct pd_mongo_client *client, const bson_t *which,
                           uint64_t *ret_removed, struct pd_error *error)
{
    bson_t reply;
    bson_error_t mongo;
    int err = 0;
    if (mongoc_collection_delete_many(client->records, which, NULL, &reply, &mongo)) {
        *ret_removed = pd_mongodb_member(&reply, "deletedCount", 0);
    } else {
        err = pd_mongodb_fail(client->server, &mongo, error);
    }
    bson_destroy(&reply);
    return err;
}

static int remove_old(const struct pd_mongo_store *store, struct pd_mongo_client *client,
                      uint64_t cutoff_us, uint64_t *ret_removed, struct pd_error *error)
{
    bson_t *which = BCON_NEW("host", BCON_INT64((int64_t)store->host_id), "etime_us", "{", "$lt",
                             BCON_INT64((int64_t)cutoff_us), "}");
    int err = remove_matching(client, which, ret_removed, error);
    bson_destroy(which);
    return err;
}

/* The number of the excess-th record bounds them: numbers ascend as the commits did. */
static int remove_first(const struct pd_mongo_store *store, struct pd_mongo_client *client,
                        uint64_t excess, uint64_t *ret_removed, struct pd_error *error)
{
    const bson_t *last;
    bson_iter_t at;
    bson_error_t mongo;
    int err = 0;
    bson_t *mine = BCON_NEW("host", BCON_INT64((int64_t)store->host_id));
    bson_t *options = BCON_NEW("projection", "{", "_id", BCON_INT32(1), "}", "sort", "{", "host",
                               BCON_INT32(1), "_id", BCON_INT32(1), "}", "skip",
                               BCON_INT64((int64_t)excess - 1), "limit", BCON_INT64(1));
    mongoc_cursor_t *cursor =
        mongoc_collection_find_with_opts(client->records, mine, options, NULL);
    if (mongoc_cursor_next(cursor, &last) && bson_iter_init_find(&at, last, "_id") &&
        BSON_ITER_HOLDS_UTF8(&at)) {
        bson_t *which = BCON_NEW("host", BCON_INT64((int64_t)store->host_id), "_id", "{", "$lte",
                                 BCON_UTF8(bson_iter_utf8(&at, NULL)), "}");
        err = remove_matching(client, which, ret_removed, error);
        bson_destroy(which);
    } else if (mongoc_cursor_error(cursor, &mongo)) {
        err = pd_mongodb_fail(client->server, &mongo, error);
    }
    mongoc_cursor_destroy(cursor);
    bson_destroy(options);
    bson_destroy(mine);
    return err;
}

static void note_removed(struct pd_mongo_store *store, uint64_t removed)
{
    pthread_mutex_lock(&store->lock);
    store->registration.removed += removed;
    store->host_stored -= removed < store->host_stored ? removed : store->host_stored;
    store->counters.expired += removed;
    pthread_cond_broadcast(&store->changed);
    pthread_mutex_unlock(&store->lock);
}

static int save_removed(const struct pd_mongo_store *store, struct pd_mongo_client *client,
                        struct pd_error *error)
{
    struct pd_mongo_progress progress = {
        .host = store->host_id,
        .writer = store->registration.writer,
        .committed = store->acknowledged,
        .removed = store->registration.removed,
        .min_stime_us = store->registration.min_stime_us,
        .max_etime_us = store->registration.max_etime_us,
    };
    return pd_mongodb_progress_put(client, &progress, error);
}

/* What the server removed by itself it does not tell. */
static void recount(struct pd_mongo_store *store, struct pd_mongo_client *client)
{
    bson_t *mine = BCON_NEW("host", BCON_INT64((int64_t)store->host_id));
    bson_t *options = BCON_NEW("maxTimeMS", BCON_INT64(PD_MONGO_QUERY_MS / 2));
    int64_t count =
        mongoc_collection_count_documents(client->records, mine, options, NULL, NULL, NULL);
    bson_destroy(options);
    bson_destroy(mine);
    if (count < 0) {
        return; /* the next time */
    }
    pthread_mutex_lock(&store->lock);
    uint64_t before = store->host_stored;
    store->host_stored = (uint64_t)count;
    if (before > store->host_stored) {
        store->registration.removed += before - store->host_stored;
        store->counters.expired += before - store->host_stored;
    }
    pthread_mutex_unlock(&store->lock);
}

int pd_mongodb_retain(struct pd_mongo_store *store, struct pd_mongo_client *client,
                      struct pd_error *error)
{
    uint64_t start_ns = pd_clock_monotonic_ns(), removed = 0;
    int err = 0;
    pthread_mutex_lock(&store->lock);
    bool due = store->now_us && start_ns >= store->retain_ns;
    struct limits limits = due ? limits_of(store) : (struct limits){0};
    pthread_mutex_unlock(&store->lock);
    if (!due) {
        return 0;
    }
    if (limits.cutoff_us && store->registration.ttl) {
        recount(store, client);
    }
    if (limits.cutoff_us) {
        err = remove_old(store, client, limits.cutoff_us, &removed, error);
    }
    if (!err && limits.excess > removed) {
        uint64_t more = 0;
        err = remove_first(store, client, limits.excess - removed, &more, error);
        removed += more;
    }
    if (removed) {
        note_removed(store, removed);
        err = err ? err : save_removed(store, client, error);
    }
    uint64_t now_ns = pd_clock_monotonic_ns();
    store->retain_ns = now_ns + IDLE_FACTOR * (now_ns - start_ns) +
                       (store->registration.ttl && !limits.excess ? TTL_PERIOD_NS : PERIOD_NS);
    return err;
}

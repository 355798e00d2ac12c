/* SPDX-License-Identifier: Apache-2.0 */
/* The sender: takes records from the spool, in order, until the server has acknowledged them. A
 * thread of its own. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/wait.h"
#include "tib/mongodb/store.h"

#define MODULE          "mongodb"
#define BULK_RECORDS    (2 * PD_SPOOL_ENTRY_RECORDS)
#define BULK_LEAST      50u
#define RETRY_MIN_MS    100u
#define RETRY_MAX_MS    5000u
#define IDLE_MS         1000u
#define CLOSE_MS        10000u /* a store that closes waits so long for the spool to run empty */
#define WAIT_MS         10000u /* and a query for what was committed before it */

#define CODE_DUPLICATE  11000
#define CODE_VALIDATION 121
#define CODE_TOO_LARGE  10334

struct sending {
    struct pd_mongo_store *store;
    struct pd_spool_batch batch;
    bson_t *documents;
    const bson_t **pointers;
    uint32_t documents_len;
    /* documents of one bulk: fewer when bulks fail, which may take the server too long */
    uint32_t slice;
};

static void wait_ms(struct pd_mongo_store *store, uint64_t ms)
{
    pd_wait_until(&store->changed, &store->lock, pd_clock_monotonic_ns() + ms * PD_NS_PER_MS);
}

/* ---- one bulk ---- */

static uint64_t expire_us(struct pd_mongo_store *store, const struct pd_tib_record *record)
{
    pthread_mutex_lock(&store->lock);
    uint64_t age_s = store->registration.ttl ? store->max_age_s : 0;
    pthread_mutex_unlock(&store->lock);
    return age_s ? record->etime_us + age_s * PD_US_PER_S : 0;
}

static uint64_t documents_make(struct sending *sending)
{
    struct pd_mongo_store *store = sending->store;
    struct pd_mongo_id id = {store->host_id, store->registration.writer, sending->batch.first_seq};
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < sending->batch.len; i++, id.seq++) {
        const struct pd_tib_record *record = &sending->batch.records[i];
        bson_reinit(&sending->documents[i]);
        pd_mongodb_document(record, id, expire_us(store, record), &sending->documents[i]);
        bytes += sending->documents[i].len;
    }
    return bytes;
}

/* Records that are there already were sent before; those that the server will never take are lost,
 * and counted. Anything else is a failure of the whole. */
static bool only_known_errors(const bson_t *reply, uint64_t *ret_refused)
{
    bson_iter_t at, one;
    uint64_t refused = 0, seen = 0;
    if (bson_iter_init_find(&at, reply, "writeConcernErrors") || !bson_iter_init(&at, reply) ||
        !bson_iter_find(&at, "writeErrors") || !bson_iter_recurse(&at, &one)) {
        return false;
    }
    while (bson_iter_next(&one)) {
        bson_iter_t code;
        uint64_t number = 0;
        if (!bson_iter_recurse(&one, &code) || !bson_iter_find(&code, "code") ||
            pd_mongodb_number(&code, &number)) {
            return false;
        }
        if (number == CODE_VALIDATION || number == CODE_TOO_LARGE) {
            refused++;
        } else if (number != CODE_DUPLICATE) {
            return false;
        }
        seen++;
    }
    *ret_refused = refused;
    return seen > 0;
}

static int slice_insert(struct sending *sending, struct pd_mongo_client *client, uint32_t first,
                        uint64_t *refused, struct pd_error *error)
{
    uint32_t left = sending->batch.len - first, len = left < sending->slice ? left : sending->slice;
    uint64_t not_taken = 0;
    bson_t *options = BCON_NEW("ordered", BCON_BOOL(false), "validate", BCON_BOOL(false));
    bson_t reply;
    bson_error_t mongo;
    int err = 0;
    if (!mongoc_collection_insert_many(client->records, sending->pointers + first, len, options,
                                       &reply, &mongo) &&
        !(mongo.domain != MONGOC_ERROR_STREAM && only_known_errors(&reply, &not_taken))) {
        err = pd_mongodb_fail(client->server, &mongo, error);
    }
    *refused += not_taken;
    bson_destroy(&reply);
    bson_destroy(options);
    return err;
}

static int bulk_insert(struct sending *sending, struct pd_mongo_client *client,
                       uint64_t *ret_refused, struct pd_error *error)
{
    int err = 0;
    *ret_refused = 0;
    for (uint32_t first = 0; first < sending->batch.len && !err; first += sending->slice) {
        err = slice_insert(sending, client, first, ret_refused, error);
    }
    if (err) {
        sending->slice = sending->slice / 2 > BULK_LEAST ? sending->slice / 2 : BULK_LEAST;
    } else {
        sending->slice = 2 * sending->slice < BULK_RECORDS ? 2 * sending->slice : BULK_RECORDS;
    }
    return err;
}

static struct pd_mongo_progress progress_of(const struct sending *sending)
{
    const struct pd_mongo_registration *registration = &sending->store->registration;
    const struct pd_spool_batch *batch = &sending->batch;
    struct pd_mongo_progress progress = {
        .host = sending->store->host_id,
        .writer = registration->writer,
        .committed = batch->end_seq,
        .removed = registration->removed,
        .min_stime_us = registration->min_stime_us,
        .max_etime_us = registration->max_etime_us,
        .cursors = batch->cursors,
        .cursors_len = batch->cursors_len,
    };
    for (uint32_t i = 0; i < batch->len; i++) {
        if (batch->records[i].stime_us < progress.min_stime_us) {
            progress.min_stime_us = batch->records[i].stime_us;
        }
        if (batch->records[i].etime_us > progress.max_etime_us) {
            progress.max_etime_us = batch->records[i].etime_us;
        }
    }
    return progress;
}

static void acknowledge(struct sending *sending, const struct pd_mongo_progress *progress,
                        uint64_t refused, uint64_t bytes)
{
    struct pd_mongo_store *store = sending->store;
    const struct pd_spool_batch *batch = &sending->batch;
    uint64_t whole = batch->len - refused;
    pthread_mutex_lock(&store->lock);
    store->acknowledged = batch->end_seq;
    store->host_stored += whole;
    store->documents += batch->len;
    store->document_bytes += bytes;
    store->registration.min_stime_us = progress->min_stime_us;
    store->registration.max_etime_us = progress->max_etime_us;
    store->counters.sent += whole;
    store->counters.lost_error += refused + batch->damaged;
    pthread_cond_broadcast(&store->changed);
    pthread_mutex_unlock(&store->lock);
}

/* First the records, then the number that makes them count, then the spool forgets them: whatever
 * is cut short here is done again, to the same effect. */
static int send_batch(struct sending *sending, struct pd_mongo_client *client,
                      struct pd_error *error)
{
    uint64_t refused = 0;
    uint64_t bytes = documents_make(sending);
    int err = sending->batch.len ? bulk_insert(sending, client, &refused, error) : 0;
    if (err) {
        return err;
    }
    struct pd_mongo_progress progress = progress_of(sending);
    err = pd_mongodb_progress_put(client, &progress, error);
    if (err) {
        return err;
    }
    err = pd_mongodb_spool_drop(sending->store->spool, sending->batch.end_seq);
    if (err) {
        return pd_fail(error, err, "the spool: %s", pd_error_text(err));
    }
    acknowledge(sending, &progress, refused, bytes);
    if (refused || sending->batch.damaged) {
        pd_log(PD_LOG_ERROR, MODULE, NULL,
               "records are lost: %llu refused by the server, %llu damaged in the spool",
               (unsigned long long)refused, (unsigned long long)sending->batch.damaged);
    }
    return 0;
}

/* ---- the thread ---- */

static int enlist(struct pd_mongo_store *store, struct pd_mongo_client *client,
                  struct pd_error *error)
{
    struct pd_mongo_registration registration;
    uint64_t front = 0;
    int err = pd_mongodb_spool_front(store->spool, &front);
    if (err) {
        return pd_fail(error, err, "the spool: %s", pd_error_text(err));
    }
    err = pd_mongodb_register(client, store->host_id, store->spool, front, &registration, error);
    if (err) {
        return err;
    }
    /* Killed between the acknowledgement and the spool's forgetting. */
    if (registration.committed >= front) {
        pd_mongodb_spool_drop(store->spool, registration.committed);
    }
    pthread_mutex_lock(&store->lock);
    store->registration = registration;
    store->host_stored = registration.host_stored;
    if (registration.committed > store->acknowledged) {
        store->acknowledged = registration.committed;
    }
    store->registered = true;
    pthread_cond_broadcast(&store->changed);
    pthread_mutex_unlock(&store->lock);
    return 0;
}

static bool has_work(struct pd_mongo_store *store)
{
    pthread_mutex_lock(&store->lock);
    bool work = store->acknowledged < store->committed;
    pthread_mutex_unlock(&store->lock);
    return work;
}

static int work(struct sending *sending, struct pd_error *error)
{
    struct pd_mongo_store *store = sending->store;
    struct pd_mongo_client client;
    int err = pd_mongodb_client_take(&store->server, &client);
    if (err) {
        return pd_fail(error, err, "no free connection");
    }
    if (!store->registered) {
        err = enlist(store, &client, error);
    }
    if (!err && has_work(store)) {
        err = pd_mongodb_spool_take(store->spool, &sending->batch);
        if (err) {
            pd_fail(error, err, "the spool: %s", pd_error_text(err));
        } else if (sending->batch.end_seq >= sending->batch.first_seq) {
            err = send_batch(sending, &client, error);
        }
    }
    err = err ? err : pd_mongodb_retain(store, &client, error);
    if (err == -PD_E_NOT_FOUND) { /* the database was emptied */
        pthread_mutex_lock(&store->lock);
        store->registered = false;
        pthread_mutex_unlock(&store->lock);
    }
    pd_mongodb_client_give(&client);
    return err;
}

/* People are told when it begins and when it ends. */
static void judge(struct pd_mongo_store *store, int err, const struct pd_error *error)
{
    pthread_mutex_lock(&store->lock);
    int before = store->sender_error;
    store->sender_error = err;
    store->counters.server_errors += err != 0;
    pthread_cond_broadcast(&store->changed);
    pthread_mutex_unlock(&store->lock);
    if (err && err != before) {
        pd_log(PD_LOG_WARN, MODULE, NULL, "%s: %s; records wait in the spool", store->server.place,
               error->text);
    } else if (!err && before) {
        pd_log(PD_LOG_INFO, MODULE, NULL, "%s answers again", store->server.place);
    }
}

/* Returns false when the thread has to end. */
static bool rest(struct pd_mongo_store *store, int err, uint64_t *retry_ms)
{
    pthread_mutex_lock(&store->lock);
    if (err) {
        uint64_t until_ns = pd_clock_monotonic_ns() + *retry_ms * PD_NS_PER_MS, now_ns;
        while (!store->stopping && (now_ns = pd_clock_monotonic_ns()) < until_ns) {
            wait_ms(store, (until_ns - now_ns) / PD_NS_PER_MS + 1);
        }
        *retry_ms = 2 * *retry_ms < RETRY_MAX_MS ? 2 * *retry_ms : RETRY_MAX_MS;
    } else {
        *retry_ms = RETRY_MIN_MS;
        if (!store->stopping && store->acknowledged >= store->committed) {
            wait_ms(store, IDLE_MS);
        }
    }
    bool going = !store->stopping;
    pthread_mutex_unlock(&store->lock);
    return going;
}

static int sending_init(struct sending *sending)
{
    if (pd_mongodb_spool_batch_init(&sending->batch, BULK_RECORDS)) {
        return -ENOMEM;
    }
    sending->documents = calloc(BULK_RECORDS, sizeof *sending->documents);
    sending->pointers = calloc(BULK_RECORDS, sizeof(const bson_t *));
    if (!sending->documents || !sending->pointers) {
        return -ENOMEM;
    }
    for (; sending->documents_len < BULK_RECORDS; sending->documents_len++) {
        bson_init(&sending->documents[sending->documents_len]);
        sending->pointers[sending->documents_len] = &sending->documents[sending->documents_len];
    }
    return 0;
}

static void sending_done(struct sending *sending)
{
    for (uint32_t i = 0; i < sending->documents_len; i++) {
        bson_destroy(&sending->documents[i]);
    }
    free(sending->documents);
    free((void *)sending->pointers);
    pd_mongodb_spool_batch_done(&sending->batch);
}

static void *run(void *context)
{
    struct sending sending = {.store = context, .slice = BULK_RECORDS};
    struct pd_error error = {0};
    uint64_t retry_ms = RETRY_MIN_MS;
    int err = sending_init(&sending);
    if (err) {
        pd_fail(&error, err, "%s", pd_error_text(err));
    }
    do {
        err = sending.documents_len ? work(&sending, &error) : err;
        judge(sending.store, err, &error);
    } while (rest(sending.store, err, &retry_ms));
    sending_done(&sending);
    return NULL;
}

/* ---- what the store asks of it ---- */

int pd_mongodb_sender_start(struct pd_mongo_store *store)
{
    int result = pthread_create(&store->sender, NULL, run, store);
    store->sender_runs = !result;
    return -result;
}

void pd_mongodb_sender_stop(struct pd_mongo_store *store)
{
    if (!store->sender_runs) {
        return;
    }
    uint64_t until_ns = pd_clock_monotonic_ns() + CLOSE_MS * PD_NS_PER_MS;
    pthread_mutex_lock(&store->lock);
    pthread_cond_broadcast(&store->changed);
    while (!store->sender_error && store->acknowledged < store->committed &&
           pd_clock_monotonic_ns() < until_ns) {
        wait_ms(store, 100);
    }
    store->stopping = true;
    pthread_cond_broadcast(&store->changed);
    pthread_mutex_unlock(&store->lock);
    pthread_join(store->sender, NULL);
    store->sender_runs = false;
}

int pd_mongodb_sender_wait(struct pd_mongo_store *store, uint64_t seq)
{
    uint64_t until_ns = pd_clock_monotonic_ns() + WAIT_MS * PD_NS_PER_MS;
    int err = 0;
    pthread_mutex_lock(&store->lock);
    pthread_cond_broadcast(&store->changed);
    while (!store->registered || store->acknowledged < seq) {
        err = store->sender_error;
        if (err || pd_clock_monotonic_ns() >= until_ns) {
            break;
        }
        wait_ms(store, 100);
    }
    if (!err && !store->registered) {
        err = -PD_E_UNAVAILABLE;
    }
    pthread_mutex_unlock(&store->lock);
    return err;
}

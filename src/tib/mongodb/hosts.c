/* SPDX-License-Identifier: Apache-2.0 */
/* The collection `hosts`: writers and how far each has got; how a new spool becomes a writer;
 * indexes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/grow.h"

#include "tib/mongodb/store.h"

#define WRITERS_MOST   100000u
#define ID_BYTES       16 /* "HHHHHHHH.WWWWW" and NUL */
#define REGISTER_TRIES 20
#define CODE_DUPLICATE 11000
#define STORE_DOCUMENT "store"

static const char *writer_id(uint32_t host, uint32_t writer, char text[ID_BYTES])
{
    snprintf(text, ID_BYTES, "%08x.%05x", host, writer & (PD_MONGO_WRITERS - 1));
    return text;
}

/* ---- reading ---- */

static bool text_member(const bson_t *document, const char *name, const char *form, char *ret_text,
                        size_t size_bytes)
{
    bson_iter_t at;
    const char *text;
    if (!bson_iter_init_find(&at, document, name) || !BSON_ITER_HOLDS_UTF8(&at)) {
        return false;
    }
    text = bson_iter_utf8(&at, NULL);
    if (strlen(text) != size_bytes - 1 || strspn(text, form) != size_bytes - 1) {
        return false;
    }
    memcpy(ret_text, text, size_bytes);
    return true;
}

static int writers_add(struct pd_mongo_writers *writers, const bson_t *document)
{
    uint64_t host = pd_mongodb_member(document, "host", UINT64_MAX);
    uint64_t writer = pd_mongodb_member(document, "writer", UINT64_MAX);
    uint64_t committed = pd_mongodb_member(document, "committed", UINT64_MAX);
    if (host > UINT32_MAX || writer >= PD_MONGO_WRITERS || committed > PD_MONGO_SEQ_MAX) {
        return -PD_E_CORRUPT;
    }
    if (writers->len == WRITERS_MOST) {
        return -PD_E_TOO_LARGE;
    }
    if (PD_GROW(writers->writers, writers->room, writers->len + 1)) {
        return -ENOMEM;
    }
    writers->writers[writers->len++] =
        (struct pd_mongo_writer){(uint32_t)host, (uint32_t)writer, committed, 0};
    return 0;
}

static int writer_order(const void *a, const void *b)
{
    const struct pd_mongo_writer *x = a, *y = b;
    if (x->host != y->host) {
        return x->host < y->host ? -1 : 1;
    }
    return (x->writer > y->writer) - (x->writer < y->writer);
}

static int writers_read(mongoc_cursor_t *cursor, struct pd_mongo_writers *writers)
{
    const bson_t *document;
    int error = 0;
    while (!error && mongoc_cursor_next(cursor, &document)) {
        bson_iter_t at;
        if (bson_iter_init_find(&at, document, "identity")) {
            error = text_member(document, "identity", "0123456789abcdef", writers->identity,
                                PD_MONGO_IDENTITY)
                        ? 0
                        : -PD_E_CORRUPT;
        } else {
            error = writers_add(writers, document);
        }
    }
    return error;
}

int pd_mongodb_writers_load(struct pd_mongo_client *client, bool host_only, uint32_t host,
                            struct pd_mongo_writers *ret_writers, struct pd_error *error)
{
    struct pd_mongo_writers writers = {0};
    bson_error_t mongo;
    bson_t *filter = host_only ? BCON_NEW("$or", "[", "{", "_id", BCON_UTF8(STORE_DOCUMENT), "}",
                                          "{", "host", BCON_INT64((int64_t)host), "}", "]")
                               : bson_new();
    bson_t *options = BCON_NEW("maxTimeMS", BCON_INT64(PD_MONGO_QUERY_MS));
    mongoc_cursor_t *cursor =
        mongoc_collection_find_with_opts(client->hosts, filter, options, NULL);
    int err = writers_read(cursor, &writers);
    if (!err && mongoc_cursor_error(cursor, &mongo)) {
        err = pd_mongodb_fail(client->server, &mongo, error);
    } else if (err) {
        pd_fail(error, err, "collection hosts: %s", pd_error_text(err));
    }
    mongoc_cursor_destroy(cursor);
    bson_destroy(options);
    bson_destroy(filter);
    if (err) {
        pd_mongodb_writers_done(&writers);
        return err;
    }
    if (writers.len) {
        qsort(writers.writers, writers.len, sizeof *writers.writers, writer_order);
    }
    *ret_writers = writers;
    return 0;
}

void pd_mongodb_writers_done(struct pd_mongo_writers *writers)
{
    free(writers->writers);
    *writers = (struct pd_mongo_writers){0};
}

/* ---- registration ---- */

/* Whoever comes first gives the store its identity. */
static int identify(struct pd_mongo_client *client, struct pd_error *error)
{
    uint64_t random;
    char identity[PD_MONGO_IDENTITY];
    bson_error_t mongo;
    if (getrandom(&random, sizeof random, 0) != sizeof random) {
        return pd_fail(error, -EIO, "no random numbers");
    }
    snprintf(identity, sizeof identity, "%016llx", (unsigned long long)random);
    bson_t *document = BCON_NEW("_id", BCON_UTF8(STORE_DOCUMENT), "identity", BCON_UTF8(identity));
    bool done = mongoc_collection_insert_one(client->hosts, document, NULL, NULL, &mongo);
    bson_destroy(document);
    return done || mongo.code == CODE_DUPLICATE ? 0
                                                : pd_mongodb_fail(client->server, &mongo, error);
}

static void read_registration(const bson_t *document, struct pd_mongo_registration *registration)
{
    registration->writer = (uint32_t)pd_mongodb_member(document, "writer", 0);
    registration->committed = pd_mongodb_member(document, "committed", 0);
    registration->removed = pd_mongodb_member(document, "removed", 0);
}

/* Documents of this host: which is ours, which numbers are taken, how much they hold. */
static int host_documents(struct pd_mongo_client *client, uint32_t host,
                          const struct pd_spool *spool, struct pd_mongo_registration *registration,
                          uint32_t *ret_free, bool *ret_found, struct pd_error *error)
{
    bson_t *filter = BCON_NEW("host", BCON_INT64((int64_t)host));
    mongoc_cursor_t *cursor = mongoc_collection_find_with_opts(client->hosts, filter, NULL, NULL);
    const bson_t *document;
    bson_error_t mongo;
    char identity[PD_SPOOL_IDENTITY];
    uint64_t removed = 0; /* by whichever writer of the host */
    int err = 0;
    *ret_free = 0;
    *ret_found = false;
    while (mongoc_cursor_next(cursor, &document)) {
        uint64_t writer = pd_mongodb_member(document, "writer", 0), stime, etime;
        uint64_t before = pd_mongodb_member(document, "first", 1) - 1;
        uint64_t committed = pd_mongodb_member(document, "committed", 0);
        removed += pd_mongodb_member(document, "removed", 0);
        registration->host_stored += committed > before ? committed - before : 0;
        stime = pd_mongodb_member(document, "min_stime_us", UINT64_MAX);
        etime = pd_mongodb_member(document, "max_etime_us", 0);
        if (stime < registration->min_stime_us) {
            registration->min_stime_us = stime;
        }
        if (etime > registration->max_etime_us) {
            registration->max_etime_us = etime;
        }
        if (writer >= *ret_free) {
            *ret_free = (uint32_t)writer + 1;
        }
        if (text_member(document, "spool", "0123456789abcdef", identity, sizeof identity) &&
            !strcmp(identity, spool->identity)) {
            read_registration(document, registration);
            *ret_found = true;
        }
    }
    registration->host_stored -=
        removed < registration->host_stored ? removed : registration->host_stored;
    if (mongoc_cursor_error(cursor, &mongo)) {
        err = pd_mongodb_fail(client->server, &mongo, error);
    }
    mongoc_cursor_destroy(cursor);
    bson_destroy(filter);
    return err;
}

static int writer_insert(struct pd_mongo_client *client, uint32_t host, uint32_t writer,
                         const struct pd_spool *spool, uint64_t front_seq, bool *ret_taken,
                         struct pd_error *error)
{
    char id[ID_BYTES];
    bson_error_t mongo;
    bson_t *document =
        BCON_NEW("_id", BCON_UTF8(writer_id(host, writer, id)), "host", BCON_INT64((int64_t)host),
                 "writer", BCON_INT64((int64_t)writer), "spool", BCON_UTF8(spool->identity),
                 "first", BCON_INT64((int64_t)front_seq), "committed",
                 BCON_INT64((int64_t)front_seq - 1), "removed", BCON_INT64(0));
    bool done = mongoc_collection_insert_one(client->hosts, document, NULL, NULL, &mongo);
    bson_destroy(document);
    *ret_taken = done;
    return done || mongo.code == CODE_DUPLICATE ? 0
                                                : pd_mongodb_fail(client->server, &mongo, error);
}

/* ---- indexes, and what the server can do ---- */

static bool index_create(struct pd_mongo_client *client, bson_t *keys, const char *name,
                         int32_t expire_s)
{
    bson_t index, array, document = BSON_INITIALIZER, command = BSON_INITIALIZER;
    BSON_APPEND_DOCUMENT(&document, "key", keys);
    BSON_APPEND_UTF8(&document, "name", name);
    if (expire_s >= 0) {
        BSON_APPEND_INT32(&document, "expireAfterSeconds", expire_s);
    }
    BSON_APPEND_UTF8(&command, "createIndexes", "records");
    BSON_APPEND_ARRAY_BEGIN(&command, "indexes", &array);
    BSON_APPEND_DOCUMENT_BEGIN(&array, "0", &index);
    bson_concat(&index, &document);
    bson_append_document_end(&array, &index);
    bson_append_array_end(&command, &array);
    bool done = mongoc_client_write_command_with_opts(client->client, client->server->database,
                                                      &command, NULL, NULL, NULL);
    bson_destroy(&command);
    bson_destroy(&document);
    bson_destroy(keys);
    return done;
}

bool pd_mongodb_has_min_max(struct pd_mongo_client *client)
{
    bson_t *pipeline =
        BCON_NEW("pipeline", "[", "{", "$limit", BCON_INT32(1), "}", "{", "$group", "{", "_id",
                 BCON_NULL, "least", "{", "$min", BCON_UTF8("$stime_us"), "}", "}", "}", "]");
    mongoc_cursor_t *cursor =
        mongoc_collection_aggregate(client->records, MONGOC_QUERY_NONE, pipeline, NULL, NULL);
    const bson_t *row;
    mongoc_cursor_next(cursor, &row);
    bool has = !mongoc_cursor_error(cursor, NULL);
    mongoc_cursor_destroy(cursor);
    bson_destroy(pipeline);
    return has;
}

/* A user that may not make indexes can still write: the operator made them (docs/mongodb.md). A
 * server that does not group with $min is FerretDB 1, which looks up nothing but _id by index and
 * would only pay for the others. */
static void indexes_create(struct pd_mongo_client *client,
                           struct pd_mongo_registration *registration)
{
    registration->ttl = index_create(client, BCON_NEW("expire", BCON_INT32(1)), "expire", 0);
    registration->min_max = pd_mongodb_has_min_max(client);
    if (!registration->min_max) {
        return;
    }
    index_create(client, BCON_NEW("host", BCON_INT32(1), "_id", BCON_INT32(1)), "host_id", -1);
    index_create(client, BCON_NEW("host", BCON_INT32(1), "etime_us", BCON_INT32(1)), "host_etime",
                 -1);
    index_create(client, BCON_NEW("links", BCON_INT32(1), "etime_us", BCON_INT32(1)), "link", -1);
    index_create(client,
                 BCON_NEW("src", BCON_INT32(1), "dst", BCON_INT32(1), "sport", BCON_INT32(1),
                          "dport", BCON_INT32(1)),
                 "flow", -1);
    index_create(client, BCON_NEW("dst", BCON_INT32(1), "etime_us", BCON_INT32(1)), "dst", -1);
    index_create(client, BCON_NEW("path", BCON_INT32(1)), "path", -1);
    index_create(client, BCON_NEW("bytes", BCON_INT32(-1)), "bytes", -1);
}

int pd_mongodb_register(struct pd_mongo_client *client, uint32_t host, const struct pd_spool *spool,
                        uint64_t front_seq, struct pd_mongo_registration *ret_registration,
                        struct pd_error *error)
{
    struct pd_mongo_registration registration;
    uint32_t next = 0;
    bool found = false, mine = false;
    int err = identify(client, error);
    for (unsigned i = 0; i < REGISTER_TRIES && !err && !found; i++) {
        registration = (struct pd_mongo_registration){.min_stime_us = UINT64_MAX};
        err = host_documents(client, host, spool, &registration, &next, &found, error);
        if (!err && !found && next >= PD_MONGO_WRITERS) {
            err = pd_fail(error, -PD_E_FULL, "too many spools have written for host %u", host);
        }
        if (!err && !found) {
            err = writer_insert(client, host, next, spool, front_seq, &mine, error);
        }
    }
    if (!err && !found) {
        err = pd_fail(error, -PD_E_BUSY, "other writers of host %u were always faster", host);
    }
    if (err) {
        return err;
    }
    indexes_create(client, &registration);
    *ret_registration = registration;
    return 0;
}

/* ---- progress ---- */

static void put_cursors(const struct pd_mongo_progress *progress, bson_t *set)
{
    bson_t array, pair;
    char key[8];
    BSON_APPEND_ARRAY_BEGIN(set, "cursors", &array);
    for (unsigned i = 0; i < progress->cursors_len; i++) {
        snprintf(key, sizeof key, "%u", i);
        BSON_APPEND_DOCUMENT_BEGIN(&array, key, &pair);
        BSON_APPEND_INT64(&pair, "key", (int64_t)progress->cursors[i].key);
        BSON_APPEND_INT64(&pair, "value", (int64_t)progress->cursors[i].value);
        bson_append_document_end(&array, &pair);
    }
    bson_append_array_end(set, &array);
}

int pd_mongodb_progress_put(struct pd_mongo_client *client,
                            const struct pd_mongo_progress *progress, struct pd_error *error)
{
    char id[ID_BYTES];
    bson_t set, update = BSON_INITIALIZER, reply;
    bson_error_t mongo;
    bson_t *which = BCON_NEW("_id", BCON_UTF8(writer_id(progress->host, progress->writer, id)));
    BSON_APPEND_DOCUMENT_BEGIN(&update, "$set", &set);
    BSON_APPEND_INT64(&set, "committed", (int64_t)progress->committed);
    BSON_APPEND_INT64(&set, "removed", (int64_t)progress->removed);
    if (progress->max_etime_us) {
        BSON_APPEND_INT64(&set, "min_stime_us", (int64_t)progress->min_stime_us);
        BSON_APPEND_INT64(&set, "max_etime_us", (int64_t)progress->max_etime_us);
    }
    if (progress->cursors_len) {
        put_cursors(progress, &set);
    }
    bson_append_document_end(&update, &set);
    bool done = mongoc_collection_update_one(client->hosts, which, &update, NULL, &reply, &mongo);
    bool matched = done && pd_mongodb_member(&reply, "matchedCount", 0) == 1;
    bson_destroy(&reply);
    bson_destroy(&update);
    bson_destroy(which);
    if (!done) {
        return pd_mongodb_fail(client->server, &mongo, error);
    }
    /* Somebody emptied the database: the spool registers anew. */
    return matched ? 0 : pd_fail(error, -PD_E_NOT_FOUND, "the database lost this writer");
}

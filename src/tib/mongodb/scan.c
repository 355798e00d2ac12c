/* SPDX-License-Identifier: Apache-2.0 */
/* Scans: match, projection, sort and limit are the server's; documents become records here, each
 * checked. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tib/mongodb/store.h"

#define BATCH 256

struct walk {
    struct pd_mongo_snapshot *snapshot;
    const struct pd_mongo_writers *writers;
    const struct pd_tib_filter *filter;
    enum pd_mongo_rows rows;
    int (*visit)(void *context, const struct pd_tib_record *records, size_t n);
    void *context;
    size_t len;
    struct pd_tib_record records[BATCH];
};

static int flush(struct walk *walk)
{
    size_t len = walk->len;
    walk->len = 0;
    return walk->visit(walk->context, walk->records, len);
}

/* A document that is none of ours is left out, and the answer says that it is not complete. */
static int take(struct walk *walk, const bson_t *document)
{
    struct pd_mongo_row row;
    struct pd_tib_record *record = &walk->records[walk->len];
    bool grouped = walk->rows != PD_MONGO_RECORDS;
    int err = grouped ? pd_mongodb_group_row(document, walk->rows == PD_MONGO_GROUPS, &row)
                      : pd_mongodb_row(document, &row);
    if (err) {
        atomic_fetch_add_explicit(&walk->snapshot->head.damaged, 1, memory_order_relaxed);
        return 0;
    }
    if (!grouped && !pd_mongodb_within(walk->writers, row.id)) {
        return 0;
    }
    if (row.has_path && (err = pd_mongodb_intern(walk->snapshot, &row.claim, &row.record))) {
        return err;
    }
    if (!grouped && !pd_tib_filter_matches(walk->filter, &row.record)) {
        return 0;
    }
    *record = row.record;
    if (++walk->len < BATCH && !record->extra_bytes) {
        return 0;
    }
    return flush(walk); /* extra bytes stay as long as the document */
}

int pd_mongodb_walk(struct pd_mongo_snapshot *snapshot, mongoc_cursor_t *cursor,
                    enum pd_mongo_rows rows, const struct pd_mongo_writers *writers,
                    const struct pd_tib_filter *filter,
                    int (*visit)(void *context, const struct pd_tib_record *records, size_t n),
                    void *context)
{
    struct walk *walk = malloc(sizeof *walk);
    const bson_t *document;
    bson_error_t mongo;
    int err = walk ? 0 : -ENOMEM;
    if (walk) {
        walk->snapshot = snapshot;
        walk->writers = writers;
        walk->filter = filter;
        walk->rows = rows;
        walk->visit = visit;
        walk->context = context;
        walk->len = 0;
    }
    while (!err && mongoc_cursor_next(cursor, &document)) {
        err = take(walk, document);
    }
    if (!err && mongoc_cursor_error(cursor, &mongo)) {
        struct pd_error error = {0};
        err = pd_mongodb_fail(&snapshot->store->server, &mongo, &error);
        pd_log(PD_LOG_DEBUG, "mongodb", NULL, "%s: %s", snapshot->store->server.place, error.text);
    }
    if (!err && walk->len) {
        err = visit(context, walk->records, walk->len);
    }
    mongoc_cursor_destroy(cursor);
    free(walk);
    return err;
}

static bson_t *options_new(const bson_t *sort, uint64_t limit)
{
    bson_t *options = BCON_NEW("projection", "{", "links", BCON_INT32(0), "first", BCON_INT32(0),
                               "last", BCON_INT32(0), "tags", BCON_INT32(0), "dscp", BCON_INT32(0),
                               "host", BCON_INT32(0), "expire", BCON_INT32(0), "}", "maxTimeMS",
                               BCON_INT64(PD_MONGO_QUERY_MS), "batchSize", BCON_INT32(10000));
    if (sort) {
        BSON_APPEND_DOCUMENT(options, "sort", sort);
    }
    if (limit) {
        BSON_APPEND_INT64(options, "limit", (int64_t)limit);
    }
    return options;
}

struct pd_tib_filter pd_mongodb_unexpired(const struct pd_mongo_snapshot *snapshot,
                                          const struct pd_tib_filter *filter)
{
    struct pd_tib_filter unexpired = *filter;
    if (unexpired.from_us < snapshot->oldest_us) {
        unexpired.from_us = snapshot->oldest_us;
    }
    return unexpired;
}

int pd_mongodb_scan_sorted(struct pd_mongo_snapshot *snapshot, const struct pd_tib_filter *filter,
                           const bson_t *sort, uint64_t limit,
                           int (*visit)(void *context, const struct pd_tib_record *records,
                                        size_t n),
                           void *context)
{
    struct pd_mongo_writers writers;
    struct pd_mongo_client client;
    bson_t match = BSON_INITIALIZER;
    struct pd_tib_filter unexpired = pd_mongodb_unexpired(snapshot, filter);
    int err = pd_mongodb_snapshot_writers(snapshot, filter->since, &writers);
    if (err) {
        return err;
    }
    if (pd_mongodb_match(&writers, &unexpired, &match) &&
        !(err = pd_mongodb_client_take(&snapshot->store->server, &client))) {
        bson_t *options = options_new(sort, limit);
        err = pd_mongodb_walk(
            snapshot, mongoc_collection_find_with_opts(client.records, &match, options, NULL),
            PD_MONGO_RECORDS, &writers, &unexpired, visit, context);
        bson_destroy(options);
        pd_mongodb_client_give(&client);
    }
    bson_destroy(&match);
    pd_mongodb_writers_done(&writers);
    return err;
}

int pd_mongodb_scan(struct pd_tib_snapshot *snapshot, const struct pd_tib_filter *filter,
                    int (*visit)(void *context, const struct pd_tib_record *records, size_t n),
                    void *context)
{
    return pd_mongodb_scan_sorted((struct pd_mongo_snapshot *)snapshot, filter, NULL, 0, visit,
                                  context);
}

/* ---- check ---- */

struct checking {
    void (*report)(void *context, const char *finding);
    void *context;
    bool damaged;
};

static void find_damage(struct checking *checking, const bson_t *document)
{
    struct pd_mongo_row row;
    bson_iter_t at;
    char text[200];
    if (!pd_mongodb_row(document, &row)) {
        return;
    }
    const char *id = bson_iter_init_find(&at, document, "_id") && BSON_ITER_HOLDS_UTF8(&at)
                         ? bson_iter_utf8(&at, NULL)
                         : "(no text)";
    snprintf(text, sizeof text, "records: document %.100s: a field is missing or wrong", id);
    checking->report(checking->context, text);
    checking->damaged = true;
}

static int check_documents(struct pd_mongo_store *store, struct checking *checking)
{
    struct pd_mongo_client client;
    const bson_t *document;
    bson_error_t mongo;
    int err = pd_mongodb_client_take(&store->server, &client);
    if (err) {
        return err;
    }
    bson_t *mine = bson_new();
    if (store->mode == PD_TIB_WRITE) {
        BSON_APPEND_INT64(mine, "host", store->host_id);
    }
    mongoc_cursor_t *cursor = mongoc_collection_find_with_opts(client.records, mine, NULL, NULL);
    while (mongoc_cursor_next(cursor, &document)) {
        find_damage(checking, document);
    }
    if (mongoc_cursor_error(cursor, &mongo)) {
        err = pd_mongodb_fail(&store->server, &mongo, NULL);
    }
    mongoc_cursor_destroy(cursor);
    bson_destroy(mine);
    pd_mongodb_client_give(&client);
    return err;
}

int pd_mongodb_check(struct pd_tib *tib, void (*report)(void *context, const char *finding),
                     void *context)
{
    struct pd_mongo_store *store = (struct pd_mongo_store *)tib;
    struct checking checking = {report, context, false};
    uint64_t damaged = 0;
    int err = store->spool ? pd_mongodb_spool_check(store->spool, &damaged) : 0;
    if (damaged) {
        report(context, "spool: entries whose checksum does not hold");
        checking.damaged = true;
    }
    err = err ? err : check_documents(store, &checking);
    return err ? err : checking.damaged ? -PD_E_CORRUPT : 0;
}

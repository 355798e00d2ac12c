/* SPDX-License-Identifier: Apache-2.0 */
/* Groups: $group where the server has $min and $max or times are not asked for, sort and limit for
 * single records; the rest is group.c of the stage. */
#include "tib/group.h"

#include <stdatomic.h>
#include <string.h>

#include "tib/mongodb/store.h"

/* The server's groups go through the same table, order and first k as scanned records do, together
 * with the live ones: a group of groups is a group. So what the server does is only ever to send
 * less, and the answer is exact on every server. To the table it looks like a scan of a store whose
 * records are the server's groups. */
struct pushed {
    struct pd_tib_snapshot head;
    struct pd_mongo_snapshot *snapshot;
    const struct pd_tib_grouping *grouping;
};

/* More is as good as all, and servers refuse what they take for negative. */
#define LIMIT_MOST (1u << 30)

static bool has_limit(const struct pd_tib_grouping *grouping)
{
    return grouping->top_len && grouping->top_len <= LIMIT_MOST;
}

static bool matches_live(const struct pd_tib_filter *filter, const struct pd_tib_grouping *grouping)
{
    for (size_t i = 0; i < grouping->live_len; i++) {
        if (pd_tib_filter_matches(filter, &grouping->live[i])) {
            return true;
        }
    }
    return false;
}

/* ---- order ---- */

static const char *const key_fields[] = {"src",  "dst",      "sport",    "dport", "proto",
                                         "path", "stime_us", "etime_us", "bytes", "pkts"};

/* As pd_tib_compare; `prefix` is "_id." where the first six are the key of a group. */
static void put_sort(enum pd_tib_order order, const char *prefix, bson_t *sort)
{
    const char *first = order == PD_TIB_ORDER_BYTES  ? "bytes"
                        : order == PD_TIB_ORDER_PKTS ? "pkts"
                                                     : "";
    if (*first) {
        BSON_APPEND_INT32(sort, first, -1);
    }
    for (size_t i = 0; i < sizeof key_fields / sizeof *key_fields; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s%s", i < 6 ? prefix : "", key_fields[i]);
        if (strcmp(name, first) != 0) {
            bson_append_int32(sort, name, -1, 1);
        }
    }
}

/* ---- groups ---- */

static const char *const keys_of[][7] = {
    [PD_TIB_BY_FLOW_PATH] = {"src", "dst", "sport", "dport", "proto", "path"},
    [PD_TIB_BY_FLOW] = {"src", "dst", "sport", "dport", "proto"},
    [PD_TIB_BY_SOURCE] = {"src"},
    [PD_TIB_BY_PATH] = {"path"},
};

static void put_accumulator(bson_t *group, const char *field, const char *operator)
{
    bson_t inner;
    char source[16];
    snprintf(source, sizeof source, "$%s", field);
    bson_append_document_begin(group, field, -1, &inner);
    bson_append_utf8(&inner, operator, - 1, source, -1);
    bson_append_document_end(group, &inner);
}

static void put_group(const struct pd_tib_grouping *grouping, bson_t *stage)
{
    bson_t group, key;
    char source[16];
    BSON_APPEND_DOCUMENT_BEGIN(stage, "$group", &group);
    BSON_APPEND_DOCUMENT_BEGIN(&group, "_id", &key);
    for (const char *const *field = keys_of[grouping->by]; *field; field++) {
        snprintf(source, sizeof source, "$%s", *field);
        bson_append_utf8(&key, *field, -1, source, -1);
    }
    bson_append_document_end(&group, &key);
    if (!grouping->without_times) {
        put_accumulator(&group, "stime_us", "$min");
        put_accumulator(&group, "etime_us", "$max");
    }
    put_accumulator(&group, "bytes", "$sum");
    put_accumulator(&group, "pkts", "$sum");
    bson_append_document_end(stage, &group);
}

/* Sums stop at PD_TIB_SUM_MAX before they are compared. */
static void put_cap(bson_t *stage)
{
    bson_t *cap = BCON_NEW("bytes", "{", "$min", "[", BCON_UTF8("$bytes"),
                           BCON_INT64((int64_t)PD_TIB_SUM_MAX), "]", "}", "pkts", "{", "$min", "[",
                           BCON_UTF8("$pkts"), BCON_INT64((int64_t)PD_TIB_SUM_MAX), "]", "}");
    BSON_APPEND_DOCUMENT(stage, "$addFields", cap);
    bson_destroy(cap);
}

static void put_top(const struct pd_tib_grouping *grouping, bson_t *stages)
{
    bson_t stage, sort;
    if (grouping->order != PD_TIB_ORDER_NONE) {
        BSON_APPEND_DOCUMENT_BEGIN(stages, "2", &stage);
        put_cap(&stage);
        bson_append_document_end(stages, &stage);
        BSON_APPEND_DOCUMENT_BEGIN(stages, "3", &stage);
        BSON_APPEND_DOCUMENT_BEGIN(&stage, "$sort", &sort);
        put_sort(grouping->order, "_id.", &sort);
        bson_append_document_end(&stage, &sort);
        bson_append_document_end(stages, &stage);
    }
    BSON_APPEND_DOCUMENT_BEGIN(stages, "4", &stage);
    BSON_APPEND_INT64(&stage, "$limit", (int64_t)grouping->top_len);
    bson_append_document_end(stages, &stage);
}

static bson_t *pipeline_new(const struct pd_tib_grouping *grouping, const bson_t *match, bool top)
{
    bson_t *pipeline = bson_new(), stages, stage;
    BSON_APPEND_ARRAY_BEGIN(pipeline, "pipeline", &stages);
    BSON_APPEND_DOCUMENT_BEGIN(&stages, "0", &stage);
    BSON_APPEND_DOCUMENT(&stage, "$match", match);
    bson_append_document_end(&stages, &stage);
    BSON_APPEND_DOCUMENT_BEGIN(&stages, "1", &stage);
    put_group(grouping, &stage);
    bson_append_document_end(&stages, &stage);
    if (top) {
        put_top(grouping, &stages);
    }
    bson_append_array_end(pipeline, &stages);
    return pipeline;
}

static bool server_has_min_max(struct pd_mongo_store *store)
{
    struct pd_mongo_client client;
    pthread_mutex_lock(&store->lock);
    bool known = store->registered || store->min_max_known;
    bool has = store->registered ? store->registration.min_max : store->min_max;
    pthread_mutex_unlock(&store->lock);
    if (known || pd_mongodb_client_take(&store->server, &client)) {
        return has;
    }
    has = pd_mongodb_has_min_max(&client);
    pd_mongodb_client_give(&client);
    pthread_mutex_lock(&store->lock);
    store->min_max = has;
    store->min_max_known = true;
    pthread_mutex_unlock(&store->lock);
    return has;
}

static int scan_groups(struct pushed *pushed, const struct pd_mongo_writers *writers,
                       const struct pd_tib_filter *filter,
                       int (*visit)(void *context, const struct pd_tib_record *records, size_t n),
                       void *context)
{
    struct pd_mongo_client client;
    bson_t match = BSON_INITIALIZER;
    struct pd_tib_filter unexpired = pd_mongodb_unexpired(pushed->snapshot, filter);
    /* The first k of sums need the server's $min as well, which caps them. */
    bool top = has_limit(pushed->grouping) && !matches_live(filter, pushed->grouping) &&
               server_has_min_max(pushed->snapshot->store);
    int err = 0;
    if (pd_mongodb_match(writers, &unexpired, &match) &&
        !(err = pd_mongodb_client_take(&pushed->snapshot->store->server, &client))) {
        bson_t *pipeline = pipeline_new(pushed->grouping, &match, top);
        bson_t *options =
            BCON_NEW("allowDiskUse", BCON_BOOL(true), "maxTimeMS", BCON_INT64(PD_MONGO_QUERY_MS));
        err = pd_mongodb_walk(
            pushed->snapshot,
            mongoc_collection_aggregate(client.records, MONGOC_QUERY_NONE, pipeline, options, NULL),
            pushed->grouping->without_times ? PD_MONGO_GROUPS_WITHOUT_TIMES : PD_MONGO_GROUPS,
            writers, filter, visit, context);
        bson_destroy(options);
        bson_destroy(pipeline);
        pd_mongodb_client_give(&client);
    }
    bson_destroy(&match);
    return err;
}

/* ---- what can be pushed ---- */

static int pushed_scan(struct pd_tib_snapshot *head, const struct pd_tib_filter *filter,
                       int (*visit)(void *context, const struct pd_tib_record *records, size_t n),
                       void *context)
{
    struct pushed *pushed = (struct pushed *)head;
    const struct pd_tib_grouping *grouping = pushed->grouping;
    struct pd_mongo_writers writers;
    int err = pd_mongodb_snapshot_writers(pushed->snapshot, filter->since, &writers);
    if (err) {
        return err;
    }
    bool few =
        writers.len <= PD_MONGO_WRITERS_ASKED; /* else the server does not know which count */
    if (grouping->by == PD_TIB_BY_RECORD && few && has_limit(grouping)) {
        bson_t sort = BSON_INITIALIZER;
        if (grouping->order != PD_TIB_ORDER_NONE) {
            put_sort(grouping->order, "", &sort);
        }
        err = pd_mongodb_scan_sorted(pushed->snapshot, filter, &sort, grouping->top_len, visit,
                                     context);
        bson_destroy(&sort);
    } else if (grouping->by != PD_TIB_BY_RECORD && !grouping->prorated && few &&
               server_has_min_max(pushed->snapshot->store)) { /* one without also sums wrongly */
        err = scan_groups(pushed, &writers, filter, visit, context);
    } else {
        err = pd_mongodb_scan_sorted(pushed->snapshot, filter, NULL, 0, visit, context);
    }
    pd_mongodb_writers_done(&writers);
    return err;
}

static const struct pd_tib_ops pushed_ops = {.scan = pushed_scan};

int pd_mongodb_group(struct pd_tib_snapshot *snapshot, const struct pd_tib_filter *filter,
                     const struct pd_tib_grouping *grouping,
                     int (*visit)(void *context, const struct pd_tib_record *groups, size_t n),
                     void *context)
{
    struct pushed pushed = {.head.ops = &pushed_ops,
                            .snapshot = (struct pd_mongo_snapshot *)snapshot,
                            .grouping = grouping};
    return pd_tib_group_scanned(&pushed.head, filter, grouping, visit, context);
}

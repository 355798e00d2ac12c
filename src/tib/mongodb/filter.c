/* SPDX-License-Identifier: Apache-2.0 */
/* Filters as matches that the server executes: the same meaning as pd_tib_filter_matches, in
 * operators that all servers have. */
#include <stdio.h>
#include <string.h>

#include "tib/mongodb/store.h"

static void match_addr(const struct pd_flow_match *flow, enum pd_flow_field field, const char *name,
                       const struct pd_addr *addr, bson_t *match)
{
    char text[PD_MONGO_ADDR_BYTES];
    if (flow->fields & field) {
        bson_append_utf8(match, name, -1, pd_mongodb_addr_text(addr, flow->id.ip_version, text),
                         -1);
    }
}

static void match_number(const struct pd_flow_match *flow, enum pd_flow_field field,
                         const char *name, int32_t number, bson_t *match)
{
    if (flow->fields & field) {
        bson_append_int32(match, name, -1, number);
    }
}

static void match_flow(const struct pd_flow_match *flow, bson_t *match)
{
    match_addr(flow, PD_FLOW_SRC_IP, "src", &flow->id.src, match);
    match_addr(flow, PD_FLOW_DST_IP, "dst", &flow->id.dst, match);
    match_number(flow, PD_FLOW_SRC_PORT, "sport", flow->id.src_port, match);
    match_number(flow, PD_FLOW_DST_PORT, "dport", flow->id.dst_port, match);
    match_number(flow, PD_FLOW_PROTOCOL, "proto", flow->id.protocol, match);
}

/* A wildcard is the beginning or the end of a link's text; the index serves the first. */
static void match_link(struct pd_link_match link, bson_t *match)
{
    char text[PD_LINK_TEXT_BYTES + 2];
    if (link.from && link.to) {
        BSON_APPEND_UTF8(match, "links", pd_link_format(link, text));
    } else if (link.from || link.to) {
        bson_t inner;
        snprintf(text, sizeof text, link.from ? "^%u-" : "-%u$", link.from ? link.from : link.to);
        BSON_APPEND_DOCUMENT_BEGIN(match, "links", &inner);
        BSON_APPEND_UTF8(&inner, "$regex", text);
        bson_append_document_end(match, &inner);
    }
}

/* Whatever is claimed of it: the text of its switches, and behind it at most '!' and the rest. Too
 * long a path is that of no record. */
static bool match_path(const struct pd_path *path, bson_t *match)
{
    const struct pd_claim exact = {.path = path};
    char text[PD_MONGO_PATH_BYTES];
    bson_t range;
    size_t len;
    if (path->len > PD_PATH_MAX) {
        return false;
    }
    pd_mongodb_path_text(&exact, text);
    text[8 * path->len] = '\0'; /* of no switches, the text is not empty */
    BSON_APPEND_DOCUMENT_BEGIN(match, "path", &range);
    BSON_APPEND_UTF8(&range, "$gte", text);
    len = strlen(text);
    memcpy(text + len, "\"", 2); /* the next sign after '!' */
    BSON_APPEND_UTF8(&range, "$lt", text);
    bson_append_document_end(match, &range);
    return true;
}

/* The origin that most have, 0, is not written. */
static void match_origins(uint32_t origins, bson_t *match)
{
    bool others = origins & 1u << PD_ORIGIN_TAGS;
    bson_t inner, list;
    char key[8];
    unsigned len = 0;
    BSON_APPEND_DOCUMENT_BEGIN(match, "origin", &inner);
    bson_append_array_begin(&inner, others ? "$nin" : "$in", -1, &list);
    for (int origin = 1; origin < PD_ORIGIN_COUNT; origin++) {
        if ((origins >> origin & 1) != others) {
            snprintf(key, sizeof key, "%u", len++);
            BSON_APPEND_INT32(&list, key, origin);
        }
    }
    bson_append_array_end(&inner, &list);
    bson_append_document_end(match, &inner);
}

static void match_bound(bson_t *match, const char *name, const char *operator, uint64_t bound)
{
    bson_t inner;
    bson_append_document_begin(match, name, -1, &inner);
    bson_append_int64(&inner, operator, - 1, bound < INT64_MAX ? (int64_t)bound : INT64_MAX);
    bson_append_document_end(match, &inner);
}

static void match_writer(const struct pd_mongo_writer *writer, bson_t *match)
{
    char after[PD_MONGO_ID_BYTES], last[PD_MONGO_ID_BYTES];
    bson_t range;
    BSON_APPEND_INT64(match, "host", writer->host);
    BSON_APPEND_DOCUMENT_BEGIN(match, "_id", &range);
    BSON_APPEND_UTF8(&range, "$gt",
                     pd_mongodb_id_text(
                         (struct pd_mongo_id){writer->host, writer->writer, writer->after}, after));
    BSON_APPEND_UTF8(
        &range, "$lte",
        pd_mongodb_id_text((struct pd_mongo_id){writer->host, writer->writer, writer->committed},
                           last));
    bson_append_document_end(match, &range);
}

static bool gives_records(const struct pd_mongo_writer *writer)
{
    return writer->after < writer->committed;
}

/* Returns how many writers can give records. */
static size_t match_writers(const struct pd_mongo_writers *writers, bson_t *match)
{
    size_t giving = 0, last = 0;
    for (size_t i = 0; i < writers->len; i++) {
        if (gives_records(&writers->writers[i])) {
            giving++;
            last = i;
        }
    }
    if (giving == 1) {
        match_writer(&writers->writers[last], match);
    }
    if (giving <= 1 || giving > PD_MONGO_WRITERS_ASKED) {
        return giving;
    }
    bson_t any, one;
    char key[8];
    unsigned index = 0;
    BSON_APPEND_ARRAY_BEGIN(match, "$or", &any);
    for (size_t i = 0; i < writers->len; i++) {
        if (!gives_records(&writers->writers[i])) {
            continue;
        }
        snprintf(key, sizeof key, "%u", index++);
        BSON_APPEND_DOCUMENT_BEGIN(&any, key, &one);
        match_writer(&writers->writers[i], &one);
        bson_append_document_end(&any, &one);
    }
    bson_append_array_end(match, &any);
    return giving;
}

bool pd_mongodb_match(const struct pd_mongo_writers *writers, const struct pd_tib_filter *filter,
                      bson_t *match)
{
    if (!match_writers(writers, match)) {
        return false;
    }
    match_flow(&filter->flow, match);
    match_link(filter->link, match);
    if (filter->path && !match_path(filter->path, match)) {
        return false;
    }
    if (filter->origins) {
        match_origins(filter->origins, match);
    }
    if (filter->from_us) {
        match_bound(match, "etime_us", "$gte", filter->from_us);
    }
    if (filter->to_us < UINT64_MAX) {
        match_bound(match, "stime_us", "$lte", filter->to_us);
    }
    return true;
}

bool pd_mongodb_within(const struct pd_mongo_writers *writers, struct pd_mongo_id id)
{
    size_t low = 0, high = writers->len;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct pd_mongo_writer *at = &writers->writers[middle];
        if (at->host == id.host && at->writer == id.writer) {
            return id.seq > at->after && id.seq <= at->committed;
        }
        if (at->host < id.host || (at->host == id.host && at->writer < id.writer)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

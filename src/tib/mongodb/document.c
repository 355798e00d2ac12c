/* SPDX-License-Identifier: Apache-2.0 */
/* Records as documents: the text forms of numbers, addresses and paths; writing; checked reading.
 */
#include "tib/mongodb/document.h"

#include <stdio.h>
#include <string.h>

#include "codec/marks.h"
#include "codec/tagging/mark.h"

#define SEQ_BITS 42

/* ---- text forms ---- */

static char *put_hex(char *at, uint64_t value, unsigned digits)
{
    static const char hex[] = "0123456789abcdef";
    for (unsigned i = digits; i--; value >>= 4) {
        at[i] = hex[value & 15];
    }
    return at + digits;
}

/* Exactly `digits` lower-case digits; NULL if they are not. */
static const char *get_hex(const char *at, unsigned digits, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (; digits; digits--, at++) {
        unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
                         : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a' + 10)
                                                    : 16;
        if (digit == 16) {
            return NULL;
        }
        value = value << 4 | digit;
    }
    *ret_value = value;
    return at;
}

const char *pd_mongodb_id_text(struct pd_mongo_id id, char text[PD_MONGO_ID_BYTES])
{
    char *at = put_hex(text, id.host, 8);
    *at++ = '-';
    at = put_hex(at, (uint64_t)id.writer << SEQ_BITS | id.seq, 16);
    *at = '\0';
    return text;
}

int pd_mongodb_id_parse(const char *text, struct pd_mongo_id *ret_id)
{
    uint64_t host, number;
    const char *at = get_hex(text, 8, &host);
    if (!at || *at++ != '-' || !(at = get_hex(at, 16, &number)) || *at ||
        number >> SEQ_BITS >= PD_MONGO_WRITERS) {
        return -PD_E_CORRUPT;
    }
    *ret_id = (struct pd_mongo_id){(uint32_t)host, (uint32_t)(number >> SEQ_BITS),
                                   number & PD_MONGO_SEQ_MAX};
    return 0;
}

const char *pd_mongodb_addr_text(const struct pd_addr *addr, uint8_t ip_version,
                                 char text[PD_MONGO_ADDR_BYTES])
{
    char *at = text;
    *at++ = (char)('0' + ip_version);
    for (unsigned i = 0; i < (ip_version == 4 ? 4 : 16); i++) {
        at = put_hex(at, addr->bytes[i], 2);
    }
    *at = '\0';
    return text;
}

static int addr_parse(const char *text, struct pd_addr *ret_addr, uint8_t *ret_ip_version)
{
    struct pd_addr addr = {{0}};
    const char *at = text + 1;
    uint64_t byte;
    if (*text != '4' && *text != '6') {
        return -PD_E_CORRUPT;
    }
    for (unsigned i = 0; i < (*text == '4' ? 4 : 16); i++) {
        if (!(at = get_hex(at, 2, &byte))) {
            return -PD_E_CORRUPT;
        }
        addr.bytes[i] = (uint8_t)byte;
    }
    *ret_addr = addr;
    *ret_ip_version = (uint8_t)(*text - '0');
    return *at ? -PD_E_CORRUPT : 0;
}

/* Behind the switches of a claim that is no exact path from tags: '!', which is less than any
 * digit, and all parts in the order that they are compared in. */
const char *pd_mongodb_path_text(const struct pd_claim *claim, char text[PD_MONGO_PATH_BYTES])
{
    const struct pd_mark *mark = &claim->mark;
    char *at = text;
    for (unsigned i = 0; i < claim->path->len; i++) {
        at = put_hex(at, claim->path->switches[i], 8);
    }
    if (!claim->path->len || pd_tib_claim_kept(claim)) {
        *at++ = '!';
        at = put_hex(at, claim->origin, 2);
        at = put_hex(at, claim->state, 2);
        at = put_hex(at, claim->candidates, 8);
        at = put_hex(at, mark->scheme, 2);
        for (unsigned i = 0; i < PD_MARK_BYTES; i++) {
            at = put_hex(at, mark->bytes[i], 2);
        }
        at = put_hex(at, mark->len, 2);
    }
    *at = '\0';
    return text;
}

/* Version 1 had the raw tags of infeasible trajectories there: 4 tags, their number, the DSCP. */
#define OLD_TAGS   4
#define OLD_DIGITS (4 * OLD_TAGS + 1 + 2)

static int tags_parse(const char *at, struct pd_claim *claim)
{
    uint64_t value = 0, len = 0;
    uint16_t vids[OLD_TAGS];
    for (unsigned i = 0; at && i < OLD_TAGS; i++) {
        at = get_hex(at, 4, &value);
        vids[i] = (uint16_t)value;
    }
    at = at ? get_hex(at, 1, &len) : NULL;
    at = at ? get_hex(at, 2, &value) : NULL;
    if (!at || *at || len > OLD_TAGS) {
        return -PD_E_CORRUPT;
    }
    claim->state = PD_CLAIM_INFEASIBLE;
    claim->mark = pd_tagging_mark(vids, (unsigned)len, (uint8_t)value);
    return 0;
}

static int claim_parse(const char *at, struct pd_claim *claim)
{
    uint64_t part[5], byte = 0;
    static const unsigned digits[] = {2, 2, 8, 2};
    for (unsigned i = 0; at && i < 4; i++) {
        at = get_hex(at, digits[i], &part[i]);
    }
    for (unsigned i = 0; at && i < PD_MARK_BYTES; i++) {
        at = get_hex(at, 2, &byte);
        claim->mark.bytes[i] = (uint8_t)byte;
    }
    at = at ? get_hex(at, 2, &part[4]) : NULL;
    if (!at || *at || part[0] >= PD_ORIGIN_COUNT || part[1] >= PD_CLAIM_STATE_COUNT ||
        part[4] > PD_MARK_BYTES || (!part[1] && !claim->path->len)) {
        return -PD_E_CORRUPT;
    }
    claim->origin = (uint8_t)part[0];
    claim->state = (uint8_t)part[1];
    claim->candidates = (uint32_t)part[2];
    claim->mark.scheme = (uint8_t)part[3];
    claim->mark.len = (uint8_t)part[4];
    return 0;
}

int pd_mongodb_path_parse(const char *text, struct pd_path *ret_path, struct pd_claim *ret_claim)
{
    struct pd_claim claim = {.path = ret_path};
    const char *at = text;
    uint64_t value;
    int error = 0;
    for (ret_path->len = 0; at && *at && *at != '!'; ret_path->len++) {
        if (ret_path->len == PD_PATH_MAX || !(at = get_hex(at, 8, &value))) {
            return -PD_E_CORRUPT;
        }
        ret_path->switches[ret_path->len] = (uint32_t)value;
    }
    if (*at == '!') {
        error = !ret_path->len && strlen(at + 1) == OLD_DIGITS ? tags_parse(at + 1, &claim)
                                                               : claim_parse(at + 1, &claim);
    }
    if (error || (!*at && !ret_path->len)) {
        return -PD_E_CORRUPT;
    }
    *ret_claim = claim;
    return 0;
}

/* ---- writing ---- */

static void put_links(const struct pd_path *path, bson_t *document)
{
    bson_t links;
    char key[8], link[PD_LINK_TEXT_BYTES];
    BSON_APPEND_ARRAY_BEGIN(document, "links", &links);
    for (unsigned i = 0; i + 1 < path->len; i++) {
        snprintf(key, sizeof key, "%u", i);
        pd_link_format((struct pd_link_match){path->switches[i], path->switches[i + 1]}, link);
        BSON_APPEND_UTF8(&links, key, link);
    }
    bson_append_array_end(document, &links);
}

/* For people: `path` has it too. */
static void put_mark(const struct pd_mark *mark, bson_t *document)
{
    struct pd_mark_field fields[PD_MARK_FIELDS_MAX];
    size_t len = pd_codec_mark_fields(mark, fields);
    bson_t list;
    char key[8];
    for (size_t i = 0; i < len; i++) {
        if (!fields[i].list) {
            bson_append_int32(document, fields[i].name, -1, (int32_t)fields[i].values[0]);
            continue;
        }
        bson_append_array_begin(document, fields[i].name, -1, &list);
        for (unsigned j = 0; j < fields[i].len; j++) {
            snprintf(key, sizeof key, "%u", j);
            BSON_APPEND_INT32(&list, key, (int32_t)fields[i].values[j]);
        }
        bson_append_array_end(document, &list);
    }
}

static void put_path(const struct pd_claim *claim, bson_t *document)
{
    char text[PD_MONGO_PATH_BYTES];
    const struct pd_path *path = claim->path;
    BSON_APPEND_UTF8(document, "path", pd_mongodb_path_text(claim, text));
    if (path->len) {
        put_links(path, document);
        BSON_APPEND_INT64(document, "first", path->switches[0]);
        BSON_APPEND_INT64(document, "last", path->switches[path->len - 1]);
    }
    put_mark(&claim->mark, document);
    if (claim->origin) {
        BSON_APPEND_INT32(document, "origin", claim->origin);
    }
}

/* What most records have none of. */
static void put_more(const struct pd_tib_record *record, bson_t *document)
{
    if (record->retransmissions) {
        BSON_APPEND_INT64(document, "retransmissions", record->retransmissions);
    }
    if (record->extra_bytes) {
        BSON_APPEND_BINARY(document, "extra", BSON_SUBTYPE_BINARY, record->extra,
                           record->extra_bytes);
    }
}

/* Sums and comparisons stay at PD_TIB_SUM_MAX; what a record had beyond is kept beside it. */
static void put_count(bson_t *document, const char *name, const char *whole, uint64_t count)
{
    BSON_APPEND_INT64(document, name, (int64_t)(count < PD_TIB_SUM_MAX ? count : PD_TIB_SUM_MAX));
    if (count > PD_TIB_SUM_MAX) {
        BSON_APPEND_INT64(document, whole, (int64_t)count);
    }
}

void pd_mongodb_document(const struct pd_tib_record *record, struct pd_mongo_id id,
                         uint64_t expire_us, bson_t *document)
{
    const struct pd_flow_id *flow = &record->flow;
    const struct pd_claim claim = pd_tib_claim(record);
    char text[PD_MONGO_ADDR_BYTES], id_text[PD_MONGO_ID_BYTES];
    BSON_APPEND_UTF8(document, "_id", pd_mongodb_id_text(id, id_text));
    BSON_APPEND_INT64(document, "host", id.host);
    BSON_APPEND_UTF8(document, "src", pd_mongodb_addr_text(&flow->src, flow->ip_version, text));
    BSON_APPEND_UTF8(document, "dst", pd_mongodb_addr_text(&flow->dst, flow->ip_version, text));
    BSON_APPEND_INT32(document, "sport", flow->src_port);
    BSON_APPEND_INT32(document, "dport", flow->dst_port);
    BSON_APPEND_INT32(document, "proto", flow->protocol);
    put_path(&claim, document);
    BSON_APPEND_INT64(document, "stime_us", (int64_t)record->stime_us);
    BSON_APPEND_INT64(document, "etime_us", (int64_t)record->etime_us);
    put_count(document, "bytes", "bytes_whole", record->bytes);
    put_count(document, "pkts", "pkts_whole", record->pkts);
    put_more(record, document);
    if (expire_us) {
        BSON_APPEND_DATE_TIME(document, "expire", (int64_t)(expire_us / 1000));
    }
}

/* ---- reading ---- */

int pd_mongodb_number(const bson_iter_t *at, uint64_t *ret_number)
{
    if (BSON_ITER_HOLDS_DOUBLE(at)) { /* a sum that outgrew 64 bits */
        double number = bson_iter_double(at);
        if (!(number >= 0)) {
            return -PD_E_CORRUPT;
        }
        *ret_number = number < (double)PD_TIB_SUM_MAX ? (uint64_t)number : PD_TIB_SUM_MAX;
        return 0;
    }
    if ((!BSON_ITER_HOLDS_INT32(at) && !BSON_ITER_HOLDS_INT64(at)) || bson_iter_as_int64(at) < 0) {
        return -PD_E_CORRUPT;
    }
    *ret_number = (uint64_t)bson_iter_as_int64(at);
    return 0;
}

uint64_t pd_mongodb_member(const bson_t *document, const char *name, uint64_t otherwise)
{
    bson_iter_t at;
    uint64_t number;
    return bson_iter_init_find(&at, document, name) && !pd_mongodb_number(&at, &number) ? number
                                                                                        : otherwise;
}

enum {
    HAS_ID = 1 << 0,
    HAS_SRC = 1 << 1,
    HAS_DST = 1 << 2,
    HAS_PATH = 1 << 3,
    HAS_STIME = 1 << 4,
    HAS_ETIME = 1 << 5,
    HAS_BYTES = 1 << 6,
    HAS_PKTS = 1 << 7,
    HAS_SPORT = 1 << 8,
    HAS_DPORT = 1 << 9,
    HAS_PROTO = 1 << 10,
    HAS_ALL = (1 << 11) - 1,
};

static int read_text(const bson_iter_t *at, unsigned field, struct pd_mongo_row *row)
{
    struct pd_flow_id *flow = &row->record.flow;
    uint8_t version = 0;
    int error;
    if (!BSON_ITER_HOLDS_UTF8(at)) {
        return -PD_E_CORRUPT;
    }
    const char *text = bson_iter_utf8(at, NULL);
    if (field == HAS_ID) {
        return pd_mongodb_id_parse(text, &row->id);
    }
    if (field == HAS_PATH) {
        row->has_path = true;
        return pd_mongodb_path_parse(text, &row->path, &row->claim);
    }
    error = addr_parse(text, field == HAS_SRC ? &flow->src : &flow->dst, &version);
    if (error || (flow->ip_version && flow->ip_version != version)) {
        return -PD_E_CORRUPT;
    }
    flow->ip_version = version;
    return 0;
}

static int read_number(const bson_iter_t *at, unsigned field, struct pd_mongo_row *row)
{
    struct pd_tib_record *record = &row->record;
    uint64_t number, limit = (UINT64_C(1) << 53) - 1;
    int error = pd_mongodb_number(at, &number);
    if (error) {
        return error;
    }
    switch (field) {
    case HAS_STIME: record->stime_us = number; break;
    case HAS_ETIME: record->etime_us = number; break;
    case HAS_BYTES: record->bytes = number; return 0;
    case HAS_PKTS: record->pkts = number; return 0;
    case HAS_SPORT: record->flow.src_port = (uint16_t)number, limit = UINT16_MAX; break;
    case HAS_DPORT: record->flow.dst_port = (uint16_t)number, limit = UINT16_MAX; break;
    default: record->flow.protocol = (uint8_t)number, limit = UINT8_MAX;
    }
    return number <= limit ? 0 : -PD_E_CORRUPT;
}

static const struct {
    const char *name;
    unsigned field;
    int (*read)(const bson_iter_t *at, unsigned field, struct pd_mongo_row *row);
} fields[] = {
    {"_id", HAS_ID, read_text},           {"src", HAS_SRC, read_text},
    {"dst", HAS_DST, read_text},          {"sport", HAS_SPORT, read_number},
    {"dport", HAS_DPORT, read_number},    {"proto", HAS_PROTO, read_number},
    {"path", HAS_PATH, read_text},        {"stime_us", HAS_STIME, read_number},
    {"etime_us", HAS_ETIME, read_number}, {"bytes", HAS_BYTES, read_number},
    {"pkts", HAS_PKTS, read_number},
};

static int read_extra(const bson_iter_t *at, struct pd_mongo_row *row)
{
    bson_subtype_t subtype;
    if (!BSON_ITER_HOLDS_BINARY(at)) {
        return -PD_E_CORRUPT;
    }
    bson_iter_binary(at, &subtype, &row->record.extra_bytes, &row->record.extra);
    return pd_tib_extra_valid(row->record.extra, row->record.extra_bytes) ? 0 : -PD_E_CORRUPT;
}

/* The whole counts come after the capped ones, and win. */
static int read_other(const bson_iter_t *at, struct pd_mongo_row *row)
{
    const char *key = bson_iter_key(at);
    bool bytes = !strcmp(key, "bytes_whole");
    if (!strcmp(key, "retransmissions")) {
        uint64_t number;
        if (pd_mongodb_number(at, &number) || number > UINT32_MAX) {
            return -PD_E_CORRUPT;
        }
        row->record.retransmissions = (uint32_t)number;
        return 0;
    }
    if (!strcmp(key, "extra")) {
        return read_extra(at, row);
    }
    if (!bytes && strcmp(key, "pkts_whole") != 0) {
        return 0; /* a field for the server or for people */
    }
    if (!BSON_ITER_HOLDS_INT64(at)) {
        return -PD_E_CORRUPT;
    }
    *(bytes ? &row->record.bytes : &row->record.pkts) = (uint64_t)bson_iter_int64(at);
    return 0;
}

static int read_fields(bson_iter_t *at, struct pd_mongo_row *row, unsigned *has)
{
    int error = 0;
    while (!error && bson_iter_next(at)) {
        const char *key = bson_iter_key(at);
        size_t i = 0, len = sizeof fields / sizeof *fields;
        while (i < len && strcmp(key, fields[i].name) != 0) {
            i++;
        }
        error = i < len ? fields[i].read(at, fields[i].field, row) : read_other(at, row);
        *has |= i < len ? fields[i].field : 0;
    }
    return error;
}

int pd_mongodb_row(const bson_t *document, struct pd_mongo_row *ret_row)
{
    bson_iter_t at;
    unsigned has = 0;
    memset(ret_row, 0, sizeof *ret_row);
    if (!bson_iter_init(&at, document) || read_fields(&at, ret_row, &has) || has != HAS_ALL) {
        return -PD_E_CORRUPT;
    }
    return 0;
}

int pd_mongodb_group_row(const bson_t *document, bool with_times, struct pd_mongo_row *ret_row)
{
    bson_iter_t at, inner;
    unsigned has = 0, needed = HAS_BYTES | HAS_PKTS | (with_times ? HAS_STIME | HAS_ETIME : 0);
    memset(ret_row, 0, sizeof *ret_row);
    if (!bson_iter_init(&at, document) || !bson_iter_next(&at) || !BSON_ITER_HOLDS_DOCUMENT(&at) ||
        !bson_iter_recurse(&at, &inner) || read_fields(&inner, ret_row, &has) ||
        read_fields(&at, ret_row, &has) || (has & needed) != needed) {
        return -PD_E_CORRUPT;
    }
    return 0;
}

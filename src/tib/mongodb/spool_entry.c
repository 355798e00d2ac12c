/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of the spool's entries. */
#include "tib/mongodb/spool_entry.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/grow.h"
#include "codec/tagging/mark.h"

#define OLD_TAGS 4

struct entry_header {
    uint64_t xxh3; /* of all that follows */
    uint32_t records;
    uint32_t cursors;
};
_Static_assert(sizeof(struct entry_header) == 16, "written as it is");

struct entry_record {
    struct pd_flow_id flow;
    uint64_t stime_us, etime_us, bytes, pkts;
    uint16_t len; /* so many switches follow, 4 bytes each */
    /* of version 1: raw tags, where there are no switches; else 0 */
    uint8_t old_tags_len, old_dscp;
    uint16_t old_tags[OLD_TAGS];
    uint32_t more; /* 1: struct entry_more follows the switches, and what it counts */
};
_Static_assert(sizeof(struct entry_record) == 88, "written as it is");

struct entry_more {
    uint8_t state, origin, scheme, mark_bytes;
    uint32_t candidates, retransmissions, extra_bytes;
    uint8_t mark[PD_MARK_BYTES];
};
_Static_assert(sizeof(struct entry_more) == 32, "written as it is");

#define RECORD_MOST_BYTES(record)                                                \
    (sizeof(struct entry_record) + 4 * PD_PATH_MAX + sizeof(struct entry_more) + \
     (record)->extra_bytes)

/* ---- writing ---- */

static int reserve(struct pd_spool *spool, size_t more_bytes)
{
    return PD_GROW(spool->buffer, spool->buffer_room, spool->buffer_bytes + more_bytes);
}

static void entry_begin(struct pd_spool *spool)
{
    spool->entry_at = spool->buffer_bytes;
    memset(spool->buffer + spool->entry_at, 0, PD_SPOOL_PREFIX + sizeof(struct entry_header));
    spool->buffer_bytes += PD_SPOOL_PREFIX + sizeof(struct entry_header);
    spool->entry_records = 0;
}

static void entry_end(struct pd_spool *spool, uint32_t cursors)
{
    uint8_t *at = spool->buffer + spool->entry_at;
    uint64_t bytes = spool->buffer_bytes - spool->entry_at - PD_SPOOL_PREFIX;
    struct entry_header header = {.records = htole32(spool->entry_records),
                                  .cursors = htole32(cursors)};
    memcpy(at, &bytes, sizeof bytes);
    memcpy(at + PD_SPOOL_PREFIX, &header, sizeof header);
}

static bool needs_more(const struct pd_tib_record *record)
{
    return record->claim || !record->path->len || record->retransmissions || record->extra_bytes;
}

static void put_more(struct pd_spool *spool, const struct pd_tib_record *record)
{
    const struct pd_claim claim = pd_tib_claim(record);
    struct entry_more raw = {.state = claim.state,
                             .origin = claim.origin,
                             .scheme = claim.mark.scheme,
                             .mark_bytes = claim.mark.len,
                             .candidates = htole32(claim.candidates),
                             .retransmissions = htole32(record->retransmissions),
                             .extra_bytes = htole32(record->extra_bytes)};
    memcpy(raw.mark, claim.mark.bytes, sizeof raw.mark);
    memcpy(spool->buffer + spool->buffer_bytes, &raw, sizeof raw);
    spool->buffer_bytes += sizeof raw;
    if (record->extra_bytes) {
        memcpy(spool->buffer + spool->buffer_bytes, record->extra, record->extra_bytes);
        spool->buffer_bytes += record->extra_bytes;
    }
}

int pd_mongodb_spool_add(struct pd_spool *spool, const struct pd_tib_record *record)
{
    const struct pd_path *path = record->path;
    int error =
        reserve(spool, RECORD_MOST_BYTES(record) + PD_SPOOL_PREFIX + sizeof(struct entry_header));
    if (error) {
        return error;
    }
    if (spool->entry_records == PD_SPOOL_ENTRY_RECORDS) {
        entry_end(spool, 0);
    }
    if (!spool->buffered || spool->entry_records == PD_SPOOL_ENTRY_RECORDS) {
        entry_begin(spool);
    }
    struct entry_record raw = {
        .flow = record->flow,
        .stime_us = htole64(record->stime_us),
        .etime_us = htole64(record->etime_us),
        .bytes = htole64(record->bytes),
        .pkts = htole64(record->pkts),
        .len = htole16((uint16_t)path->len),
        .more = htole32(needs_more(record)),
    };
    raw.flow.src_port = htole16(raw.flow.src_port);
    raw.flow.dst_port = htole16(raw.flow.dst_port);
    memcpy(spool->buffer + spool->buffer_bytes, &raw, sizeof raw);
    spool->buffer_bytes += sizeof raw;
    for (unsigned i = 0; i < path->len; i++, spool->buffer_bytes += 4) {
        uint32_t node = htole32(path->switches[i]);
        memcpy(spool->buffer + spool->buffer_bytes, &node, sizeof node);
    }
    if (raw.more) {
        put_more(spool, record);
    }
    spool->entry_records++;
    spool->buffered++;
    return 0;
}

int pd_mongodb_spool_buffer_end(struct pd_spool *spool)
{
    unsigned cursors = spool->cursors_changed ? spool->cursors_len : 0;
    int error = reserve(spool, cursors * sizeof *spool->cursors);
    if (error) {
        return error;
    }
    for (unsigned i = 0; i < cursors; i++) {
        struct pd_spool_cursor raw = {htole64(spool->cursors[i].key),
                                      htole64(spool->cursors[i].value)};
        memcpy(spool->buffer + spool->buffer_bytes, &raw, sizeof raw);
        spool->buffer_bytes += sizeof raw;
    }
    entry_end(spool, cursors);
    return 0;
}

static uint64_t entry_hash(const uint8_t *entry, size_t len)
{
    return XXH3_64bits(entry + sizeof(uint64_t), len - sizeof(uint64_t));
}

uint64_t pd_mongodb_spool_entry_seal(struct pd_spool *spool, size_t at,
                                     struct pd_spool_entry_view *ret_view)
{
    uint8_t *entry = spool->buffer + at + PD_SPOOL_PREFIX;
    struct entry_header header;
    uint64_t len, hash;
    memcpy(&len, spool->buffer + at, sizeof len);
    memcpy(&header, entry, sizeof header);
    hash = htole64(entry_hash(entry, len));
    memcpy(entry, &hash, sizeof hash);
    *ret_view = (struct pd_spool_entry_view){le32toh(header.records), le32toh(header.cursors)};
    return len;
}

/* ---- reading ---- */

bool pd_mongodb_spool_entry_holds(const MDB_val *value)
{
    uint64_t hash;
    if (value->mv_size < sizeof(struct entry_header)) {
        return false;
    }
    memcpy(&hash, value->mv_data, sizeof hash);
    return le64toh(hash) == entry_hash(value->mv_data, value->mv_size);
}

static const uint8_t *more_read(const uint8_t *at, const uint8_t *end, struct pd_spool_batch *batch,
                                uint32_t to)
{
    struct pd_tib_record *record = &batch->records[to];
    struct pd_claim *claim = &batch->claims[to];
    struct entry_more raw;
    if ((size_t)(end - at) < sizeof raw) {
        return NULL;
    }
    memcpy(&raw, at, sizeof raw);
    at += sizeof raw;
    uint32_t extra_bytes = le32toh(raw.extra_bytes);
    if (raw.state >= PD_CLAIM_STATE_COUNT || raw.origin >= PD_ORIGIN_COUNT ||
        raw.mark_bytes > PD_MARK_BYTES || (size_t)(end - at) < extra_bytes ||
        !pd_tib_extra_valid(at, extra_bytes)) {
        return NULL;
    }
    claim->state = raw.state;
    claim->origin = raw.origin;
    claim->candidates = le32toh(raw.candidates);
    claim->mark = (struct pd_mark){.scheme = raw.scheme, .len = raw.mark_bytes};
    memcpy(claim->mark.bytes, raw.mark, sizeof raw.mark);
    record->retransmissions = le32toh(raw.retransmissions);
    if (extra_bytes) {
        batch->extras[to] = malloc(extra_bytes);
        if (!batch->extras[to]) {
            return NULL;
        }
        memcpy(batch->extras[to], at, extra_bytes);
        record->extra = batch->extras[to];
        record->extra_bytes = extra_bytes;
    }
    return at + extra_bytes;
}

/* What version 1 kept of an infeasible trajectory. */
static bool old_read(const struct entry_record *raw, struct pd_claim *claim)
{
    uint16_t vids[OLD_TAGS];
    for (unsigned i = 0; i < OLD_TAGS; i++) {
        vids[i] = le16toh(raw->old_tags[i]);
    }
    claim->state = claim->path->len ? PD_CLAIM_EXACT : PD_CLAIM_INFEASIBLE;
    if (!claim->path->len && raw->old_tags_len <= OLD_TAGS) {
        claim->mark = pd_tagging_mark(vids, raw->old_tags_len, raw->old_dscp);
    }
    return raw->old_tags_len <= OLD_TAGS;
}

/* Record `to` of the batch. Returns where the next one begins; NULL: it does not fit into what is
 * there. */
static const uint8_t *record_read(const uint8_t *at, const uint8_t *end,
                                  struct pd_spool_batch *batch, uint32_t to)
{
    struct pd_path *path = &batch->paths[to];
    struct entry_record raw;
    if ((size_t)(end - at) < sizeof raw) {
        return NULL;
    }
    memcpy(&raw, at, sizeof raw);
    at += sizeof raw;
    path->len = le16toh(raw.len);
    if (path->len > PD_PATH_MAX || (size_t)(end - at) < 4u * path->len) {
        return NULL;
    }
    for (unsigned i = 0; i < path->len; i++, at += 4) {
        memcpy(&path->switches[i], at, 4);
        path->switches[i] = le32toh(path->switches[i]);
    }
    raw.flow.src_port = le16toh(raw.flow.src_port);
    raw.flow.dst_port = le16toh(raw.flow.dst_port);
    batch->records[to] = (struct pd_tib_record){.flow = raw.flow,
                                                .path = path,
                                                .stime_us = le64toh(raw.stime_us),
                                                .etime_us = le64toh(raw.etime_us),
                                                .bytes = le64toh(raw.bytes),
                                                .pkts = le64toh(raw.pkts)};
    batch->claims[to] = (struct pd_claim){.path = path};
    free(batch->extras[to]);
    batch->extras[to] = NULL;
    if (raw.more) {
        at = more_read(at, end, batch, to);
    } else if (!old_read(&raw, &batch->claims[to])) {
        return NULL;
    }
    batch->records[to].claim = pd_tib_claim_kept(&batch->claims[to]);
    return at;
}

static bool records_read(const MDB_val *value, uint64_t records, struct pd_spool_batch *batch)
{
    struct entry_header header;
    const uint8_t *at = value->mv_data, *end = at + value->mv_size;
    if (!pd_mongodb_spool_entry_holds(value)) {
        return false;
    }
    memcpy(&header, at, sizeof header);
    uint32_t cursors = le32toh(header.cursors);
    if (le32toh(header.records) != records || cursors > PD_TIB_CURSORS) {
        return false;
    }
    at += sizeof header;
    for (uint32_t i = 0; i < records; i++) {
        uint32_t to = batch->len + i;
        if (!(at = record_read(at, end, batch, to))) {
            return false;
        }
    }
    if ((size_t)(end - at) != cursors * sizeof *batch->cursors) {
        return false;
    }
    batch->len += (uint32_t)records;
    for (uint32_t i = 0; i < cursors; i++, at += sizeof *batch->cursors) {
        memcpy(&batch->cursors[i], at, sizeof *batch->cursors);
        batch->cursors[i] = (struct pd_spool_cursor){le64toh(batch->cursors[i].key),
                                                     le64toh(batch->cursors[i].value)};
    }
    if (cursors) {
        batch->cursors_len = cursors;
    }
    return true;
}

bool pd_mongodb_spool_entry_read(const MDB_val *value, uint64_t seq, uint64_t end,
                                 struct pd_spool_batch *batch)
{
    uint64_t records = end - seq + 1;
    /* Numbers are counted from the first: after a damaged entry a new batch begins. */
    if (batch->damaged || (batch->len && batch->len + records > batch->room)) {
        return false;
    }
    if (records > batch->room || !records_read(value, records, batch)) {
        if (batch->len) {
            return false;
        }
        batch->damaged = records;
    }
    return true;
}

int pd_mongodb_spool_batch_init(struct pd_spool_batch *batch, uint32_t room)
{
    *batch = (struct pd_spool_batch){.room = room};
    batch->records = calloc(room, sizeof *batch->records);
    batch->paths = calloc(room, sizeof *batch->paths);
    batch->claims = calloc(room, sizeof *batch->claims);
    batch->extras = calloc(room, sizeof *batch->extras);
    if (batch->records && batch->paths && batch->claims && batch->extras) {
        return 0;
    }
    pd_mongodb_spool_batch_done(batch);
    return -ENOMEM;
}

void pd_mongodb_spool_batch_done(struct pd_spool_batch *batch)
{
    for (uint32_t i = 0; batch->extras && i < batch->room; i++) {
        free(batch->extras[i]);
    }
    free(batch->records);
    free(batch->paths);
    free(batch->claims);
    free((void *)batch->extras);
    *batch = (struct pd_spool_batch){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of the spool's entries. */
#include "tib/mongodb/spool_entry.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

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
    uint8_t tags_len, dscp;
    uint16_t tags[PD_RAW_TAGS_MAX];
    uint32_t zero;
};
_Static_assert(sizeof(struct entry_record) == 88, "written as it is");

#define RECORD_MOST_BYTES (sizeof(struct entry_record) + 4 * PD_PATH_MAX)

/* ---- writing ---- */

static int reserve(struct pd_spool *spool, size_t more_bytes)
{
    size_t room = spool->buffer_room ? spool->buffer_room : 65536;
    while (room < spool->buffer_bytes + more_bytes) {
        room *= 2;
    }
    if (room == spool->buffer_room) {
        return 0;
    }
    uint8_t *grown = realloc(spool->buffer, room);
    if (!grown) {
        return -ENOMEM;
    }
    spool->buffer = grown;
    spool->buffer_room = room;
    return 0;
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

int pd_spool_add(struct pd_spool *spool, const struct pd_tib_record *record)
{
    const struct pd_path *path = record->path;
    int error = reserve(spool, RECORD_MOST_BYTES + PD_SPOOL_PREFIX + sizeof(struct entry_header));
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
        .len = htole16(path->len),
        .tags_len = path->tags_len,
        .dscp = path->dscp,
    };
    raw.flow.src_port = htole16(raw.flow.src_port);
    raw.flow.dst_port = htole16(raw.flow.dst_port);
    for (unsigned i = 0; i < PD_RAW_TAGS_MAX; i++) {
        raw.tags[i] = htole16(path->tags[i]);
    }
    memcpy(spool->buffer + spool->buffer_bytes, &raw, sizeof raw);
    spool->buffer_bytes += sizeof raw;
    for (unsigned i = 0; i < path->len; i++, spool->buffer_bytes += 4) {
        uint32_t node = htole32(path->switches[i]);
        memcpy(spool->buffer + spool->buffer_bytes, &node, sizeof node);
    }
    spool->entry_records++;
    spool->buffered++;
    return 0;
}

int pd_spool_buffer_end(struct pd_spool *spool)
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

uint64_t pd_spool_entry_seal(struct pd_spool *spool, size_t at,
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

bool pd_spool_entry_holds(const MDB_val *value)
{
    uint64_t hash;
    if (value->mv_size < sizeof(struct entry_header)) {
        return false;
    }
    memcpy(&hash, value->mv_data, sizeof hash);
    return le64toh(hash) == entry_hash(value->mv_data, value->mv_size);
}

/* Returns where the next one begins; NULL: it does not fit into what is there. */
static const uint8_t *record_read(const uint8_t *at, const uint8_t *end,
                                  struct pd_tib_record *record, struct pd_path *path)
{
    struct entry_record raw;
    if ((size_t)(end - at) < sizeof raw) {
        return NULL;
    }
    memcpy(&raw, at, sizeof raw);
    at += sizeof raw;
    *path = (struct pd_path){.len = le16toh(raw.len), .tags_len = raw.tags_len, .dscp = raw.dscp};
    if (path->len > PD_PATH_MAX || path->tags_len > PD_RAW_TAGS_MAX ||
        (size_t)(end - at) < 4u * path->len) {
        return NULL;
    }
    for (unsigned i = 0; i < PD_RAW_TAGS_MAX; i++) {
        path->tags[i] = le16toh(raw.tags[i]);
    }
    for (unsigned i = 0; i < path->len; i++, at += 4) {
        memcpy(&path->switches[i], at, 4);
        path->switches[i] = le32toh(path->switches[i]);
    }
    raw.flow.src_port = le16toh(raw.flow.src_port);
    raw.flow.dst_port = le16toh(raw.flow.dst_port);
    *record = (struct pd_tib_record){
        raw.flow,         path, le64toh(raw.stime_us), le64toh(raw.etime_us), le64toh(raw.bytes),
        le64toh(raw.pkts)};
    return at;
}

static bool records_read(const MDB_val *value, uint64_t records, struct pd_spool_batch *batch)
{
    struct entry_header header;
    const uint8_t *at = value->mv_data, *end = at + value->mv_size;
    if (!pd_spool_entry_holds(value)) {
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
        if (!(at = record_read(at, end, &batch->records[to], &batch->paths[to]))) {
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

bool pd_spool_entry_read(const MDB_val *value, uint64_t seq, uint64_t end,
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

int pd_spool_batch_init(struct pd_spool_batch *batch, uint32_t room)
{
    *batch = (struct pd_spool_batch){.room = room};
    batch->records = calloc(room, sizeof *batch->records);
    batch->paths = calloc(room, sizeof *batch->paths);
    if (batch->records && batch->paths) {
        return 0;
    }
    pd_spool_batch_done(batch);
    return -ENOMEM;
}

void pd_spool_batch_done(struct pd_spool_batch *batch)
{
    free(batch->records);
    free(batch->paths);
    *batch = (struct pd_spool_batch){0};
}

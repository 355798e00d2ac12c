/* SPDX-License-Identifier: Apache-2.0 */
/* Partial results, the reading end: whatever another server sends, no item is believed before all
 * of it was checked. */
#include <stdlib.h>
#include <string.h>

#include "codec/marks.h"
#include "query/blocks.h"
#include "query/partial.h"
#include "query/partial_item.h"
#include "tib/budget.h"

#define MORE 1 /* the item is not whole yet */

struct pd_partial_reader {
    struct pd_partial_handler handler;
    struct pd_tib_budget *budget;
    struct pd_path_blocks paths;
    struct pd_tib_record last;
    struct pd_partial_end end;
    bool begun, ended;
    int error;
    size_t kept_len; /* of an item that was not whole */
    uint8_t kept[PD_PARTIAL_ITEM_MAX_BYTES];
};

/* An item's bytes, as far as they have come. A read past them sets `more`, a value that cannot be
 * sets `wrong`; both give 0. */
struct cursor {
    const uint8_t *at, *end;
    bool more, wrong;
};

static const uint8_t *take_bytes(struct cursor *cursor, size_t len)
{
    if ((size_t)(cursor->end - cursor->at) < len) {
        cursor->more = true;
        cursor->at = cursor->end;
        return NULL;
    }
    cursor->at += len;
    return cursor->at - len;
}

static uint64_t take_number(struct cursor *cursor, uint64_t most)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t *byte = take_bytes(cursor, 1);
        if (!byte) {
            return 0;
        }
        number |= (uint64_t)(*byte & 0x7f) << shift;
        if (*byte & 0x80) {
            continue;
        }
        if (number > most || (shift == 63 && *byte > 1)) {
            break;
        }
        return number;
    }
    cursor->wrong = true;
    return 0;
}

static int state(const struct cursor *cursor)
{
    return cursor->wrong ? -PD_E_SYNTAX : cursor->more ? MORE : 0;
}

/* ---- paths ---- */

static void set_path(const struct pd_partial_reader *reader, uint64_t number,
                     struct pd_tib_record *group)
{
    const struct pd_claim *claim = number ? pd_path_blocks_at(&reader->paths, number - 1) : NULL;

    group->path = claim ? claim->path : NULL;
    group->claim = claim ? pd_tib_claim_kept(claim) : NULL;
}

static void take_claim(struct cursor *cursor, struct pd_claim *claim)
{
    const uint8_t *bytes;

    claim->state = (uint8_t)take_number(cursor, PD_CLAIM_STATE_COUNT - 1);
    claim->origin = (uint8_t)take_number(cursor, PD_ORIGIN_COUNT - 1);
    claim->candidates = (uint32_t)take_number(cursor, UINT32_MAX);
    claim->mark.scheme = (uint8_t)take_number(cursor, UINT8_MAX);
    claim->mark.len = (uint8_t)take_number(cursor, PD_MARK_BYTES);
    bytes = take_bytes(cursor, claim->mark.len);
    if (bytes) {
        memcpy(claim->mark.bytes, bytes, claim->mark.len);
        cursor->wrong |= !cursor->more && pd_codec_mark_check(&claim->mark);
    }
}

static int read_path(struct pd_partial_reader *reader, struct cursor *cursor)
{
    struct pd_path path;
    struct pd_claim claim = {.path = &path};
    const struct pd_claim *kept;
    uint64_t head = take_number(cursor, 2 * PD_PATH_MAX + 1);
    bool gaps = false;

    path.len = (uint32_t)head / 2;
    for (unsigned i = 0; i < path.len; i++) {
        path.switches[i] = (uint32_t)take_number(cursor, UINT32_MAX);
        gaps |= !cursor->more && !path.switches[i];
    }
    if (head % 2) {
        take_claim(cursor, &claim);
    }
    cursor->wrong |= !cursor->more && ((gaps && claim.state != PD_CLAIM_PARTIAL) ||
                                       (!path.len && claim.state == PD_CLAIM_EXACT));
    int err = state(cursor);
    return err ? err : pd_query_path_blocks_add(&reader->paths, reader->budget, &claim, &kept);
}

/* ---- groups ---- */

static void take_addr(struct cursor *cursor, uint8_t ip_version, struct pd_addr *ret_addr)
{
    size_t len = ip_version == 6 ? 16 : 4;
    const uint8_t *bytes = take_bytes(cursor, len);
    *ret_addr = (struct pd_addr){{0}};
    if (bytes) {
        memcpy(ret_addr, bytes, len);
    }
}

static uint16_t take_port(struct cursor *cursor)
{
    const uint8_t *bytes = take_bytes(cursor, 2);
    return bytes ? (uint16_t)(bytes[0] << 8 | bytes[1]) : 0;
}

/* The duration stands in etime_us until the item is whole. */
static void take_field(const struct pd_partial_reader *reader, struct cursor *cursor,
                       enum pd_partial_field field, struct pd_tib_record *group)
{
    struct pd_flow_id *flow = &group->flow;
    switch (field) {
    case PD_PARTIAL_IP_VERSION:
        flow->ip_version = (uint8_t)take_number(cursor, 6);
        cursor->wrong |= flow->ip_version && flow->ip_version != 4 && flow->ip_version != 6;
        break;
    case PD_PARTIAL_SRC: take_addr(cursor, flow->ip_version, &flow->src); break;
    case PD_PARTIAL_DST: take_addr(cursor, flow->ip_version, &flow->dst); break;
    case PD_PARTIAL_SRC_PORT: flow->src_port = take_port(cursor); break;
    case PD_PARTIAL_DST_PORT: flow->dst_port = take_port(cursor); break;
    case PD_PARTIAL_PROTOCOL: flow->protocol = (uint8_t)take_number(cursor, UINT8_MAX); break;
    case PD_PARTIAL_PATH: set_path(reader, take_number(cursor, reader->paths.len), group); break;
    case PD_PARTIAL_RETRANSMISSIONS:
        group->retransmissions = (uint32_t)take_number(cursor, UINT32_MAX);
        break;
    case PD_PARTIAL_STIME:
        group->stime_us += (uint64_t)pd_partial_unzigzag(take_number(cursor, UINT64_MAX));
        break;
    case PD_PARTIAL_DURATION: group->etime_us = take_number(cursor, PD_TIB_SUM_MAX); break;
    case PD_PARTIAL_BYTES: group->bytes = take_number(cursor, PD_TIB_SUM_MAX); break;
    case PD_PARTIAL_PKTS: group->pkts = take_number(cursor, PD_TIB_SUM_MAX); break;
    case PD_PARTIAL_FIELD_COUNT: break;
    }
}

/* IPv4 addresses have nothing behind their four bytes, also where only the version was sent. */
static bool addr_fits(const struct pd_addr *addr, uint8_t ip_version)
{
    static const uint8_t zero[12];
    return ip_version == 6 || !memcmp(addr->bytes + 4, zero, sizeof zero);
}

static int read_group(struct pd_partial_reader *reader, struct cursor *cursor)
{
    struct pd_tib_record group = reader->last;
    unsigned mask = (unsigned)take_number(cursor, (1u << PD_PARTIAL_FIELD_COUNT) - 1);
    group.etime_us -= group.stime_us;
    for (unsigned field; mask; mask ^= 1u << field) {
        field = 31u - (unsigned)__builtin_clz(mask);
        take_field(reader, cursor, (enum pd_partial_field)field, &group);
    }
    int err = state(cursor);
    if (err) {
        return err;
    }
    group.etime_us += group.stime_us;
    if (group.stime_us > PD_TIB_SUM_MAX || group.etime_us > PD_TIB_SUM_MAX ||
        !addr_fits(&group.flow.src, group.flow.ip_version) ||
        !addr_fits(&group.flow.dst, group.flow.ip_version)) {
        return -PD_E_SYNTAX;
    }
    reader->last = group;
    return reader->handler.group(reader->handler.context, &group);
}

/* ---- other items ---- */

static int read_sums(struct pd_partial_reader *reader, struct cursor *cursor)
{
    struct pd_query_sums sums = {
        .key = take_number(cursor, UINT64_MAX),
    };
    sums.bytes = take_number(cursor, PD_TIB_SUM_MAX);
    sums.pkts = take_number(cursor, PD_TIB_SUM_MAX);
    sums.groups = take_number(cursor, PD_TIB_SUM_MAX);
    int err = state(cursor);
    return err ? err : reader->handler.sums(reader->handler.context, &sums);
}

/* The words of another server: what is not printable is replaced. */
static int read_missing(struct pd_partial_reader *reader, struct cursor *cursor)
{
    char reason[PD_PARTIAL_REASON_BYTES];
    uint64_t host = take_number(cursor, UINT32_MAX);
    size_t len = (size_t)take_number(cursor, sizeof reason - 1);
    const uint8_t *bytes = take_bytes(cursor, len);
    int err = state(cursor);
    if (!err && !host) {
        err = -PD_E_SYNTAX; /* nobody has this ID */
    }
    if (err) {
        return err;
    }
    for (size_t i = 0; i < len; i++) {
        reason[i] = (char)(bytes[i] < ' ' || bytes[i] > '~' ? '?' : bytes[i]);
    }
    reason[len] = '\0';
    return reader->handler.missing(reader->handler.context, host, reason);
}

static int read_end(struct pd_partial_reader *reader, struct cursor *cursor)
{
    struct pd_partial_end end = {.complete = take_number(cursor, 1) != 0};
    end.asked = take_number(cursor, UINT32_MAX);
    end.answered = take_number(cursor, end.asked);
    end.critical_us = take_number(cursor, PD_TIB_SUM_MAX);
    end.bytes = take_number(cursor, PD_TIB_SUM_MAX);
    int err = state(cursor);
    if (err) {
        return err;
    }
    reader->end = end;
    reader->ended = true;
    return 0;
}

static int read_head(struct pd_partial_reader *reader, struct cursor *cursor)
{
    const uint8_t *magic = take_bytes(cursor, 4);
    if (magic && memcmp(magic, PD_PARTIAL_MAGIC, 4)) {
        return -PD_E_SYNTAX;
    }
    uint64_t version = take_number(cursor, UINT64_MAX);
    int err = state(cursor);
    if (err) {
        return err;
    }
    reader->begun = true;
    return version == PD_PARTIAL_VERSION ? 0 : -PD_E_VERSION;
}

static int read_item(struct pd_partial_reader *reader, struct cursor *cursor)
{
    if (!reader->begun) {
        return read_head(reader, cursor);
    }
    if (reader->ended) {
        return -PD_E_SYNTAX;
    }
    switch (*take_bytes(cursor, 1)) {
    case PD_PARTIAL_ITEM_PATH: return read_path(reader, cursor);
    case PD_PARTIAL_ITEM_GROUP: return read_group(reader, cursor);
    case PD_PARTIAL_ITEM_SUMS: return read_sums(reader, cursor);
    case PD_PARTIAL_ITEM_MISSING: return read_missing(reader, cursor);
    case PD_PARTIAL_ITEM_END: return read_end(reader, cursor);
    default: return -PD_E_SYNTAX;
    }
}

/* ---- the reader ---- */

struct pd_partial_reader *pd_query_partial_reader_new(const struct pd_partial_handler *handler,
                                                      struct pd_tib_budget *budget)
{
    struct pd_partial_reader *reader = calloc(1, sizeof *reader);
    if (reader) {
        reader->handler = *handler;
        reader->budget = budget;
    }
    return reader;
}

void pd_query_partial_reader_free(struct pd_partial_reader *reader)
{
    if (!reader) {
        return;
    }
    pd_query_path_blocks_done(&reader->paths);
    free(reader);
}

/* Reads whole items; *ret_used bytes of them. */
static int read_items(struct pd_partial_reader *reader, const uint8_t *bytes, size_t len,
                      size_t *ret_used)
{
    size_t used = 0;
    int err = 0;
    while (!err && used < len) {
        struct cursor cursor = {.at = bytes + used, .end = bytes + len};
        err = read_item(reader, &cursor);
        if (!err) {
            used = (size_t)(cursor.at - bytes);
        }
    }
    *ret_used = used;
    return err == MORE ? 0 : err;
}

/* First the item that was begun, with what it lacks; then the rest from where it came. */
static int feed(struct pd_partial_reader *reader, const uint8_t *bytes, size_t len)
{
    size_t used = 0;
    while (reader->kept_len && len) {
        size_t old_len = reader->kept_len, room = sizeof reader->kept - old_len;
        size_t more = len < room ? len : room;
        memcpy(reader->kept + old_len, bytes, more);
        int err = read_items(reader, reader->kept, old_len + more, &used);
        if (err) {
            return err;
        }
        if (!used && more == room) {
            return -PD_E_SYNTAX; /* longer than any item */
        }
        reader->kept_len = used ? 0 : old_len + more;
        /* What was taken of the new bytes; the rest is read again below. */
        size_t taken = used ? used - old_len : more;
        bytes += taken;
        len -= taken;
    }
    int err = read_items(reader, bytes, len, &used);
    if (err) {
        return err;
    }
    if (len - used > sizeof reader->kept) {
        return -PD_E_SYNTAX;
    }
    if (len > used) {
        memcpy(reader->kept, bytes + used, len - used);
        reader->kept_len = len - used;
    }
    return 0;
}

int pd_query_partial_feed(struct pd_partial_reader *reader, const void *bytes, size_t len)
{
    if (!reader->error) {
        reader->error = feed(reader, bytes, len);
    }
    return reader->error;
}

int pd_query_partial_ended(const struct pd_partial_reader *reader, struct pd_partial_end *ret_end)
{
    if (reader->error) {
        return reader->error;
    }
    if (!reader->ended) {
        return -PD_E_TRUNCATED;
    }
    *ret_end = reader->end;
    return 0;
}

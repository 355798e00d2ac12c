/* SPDX-License-Identifier: Apache-2.0 */
/* Partial results, the writing end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/partial.h"
#include "query/partial_item.h"
#include "tib/budget.h"
#include "tib/group.h"

#define BUFFER_BYTES 16384u

struct pd_partial_writer {
    const struct pd_query_sink *sink;
    struct pd_tib_budget *budget;
    struct pd_tib_paths paths;
    struct pd_tib_record last; /* group */
    uint32_t last_path;        /* its path's number + 1; 0: none */
    int error;
    size_t len;
    uint8_t buffer[BUFFER_BYTES];
};

/* ---- bytes ---- */

static void flush(struct pd_partial_writer *writer)
{
    if (writer->len && !writer->error) {
        writer->error =
            writer->sink->write(writer->sink->context, (const char *)writer->buffer, writer->len);
    }
    writer->len = 0;
}

/* Room for an item, that put_… may fill. */
static void begin_item(struct pd_partial_writer *writer, enum pd_partial_kind kind)
{
    if (writer->len > BUFFER_BYTES - PD_PARTIAL_ITEM_MAX_BYTES) {
        flush(writer);
    }
    writer->buffer[writer->len++] = (uint8_t)kind;
}

static void put_bytes(struct pd_partial_writer *writer, const void *bytes, size_t len)
{
    memcpy(writer->buffer + writer->len, bytes, len);
    writer->len += len;
}

static void put_number(struct pd_partial_writer *writer, uint64_t number)
{
    for (; number >= 0x80; number >>= 7) {
        writer->buffer[writer->len++] = (uint8_t)(number | 0x80);
    }
    writer->buffer[writer->len++] = (uint8_t)number;
}

static void put_port(struct pd_partial_writer *writer, uint16_t port)
{
    writer->buffer[writer->len++] = (uint8_t)(port >> 8);
    writer->buffer[writer->len++] = (uint8_t)port;
}

/* ---- paths ---- */

/* Even: an exact path from tags. */
static void put_path(struct pd_partial_writer *writer, const struct pd_tib_record *record)
{
    const struct pd_claim claim = pd_tib_claim(record);
    const struct pd_path *path = record->path;
    bool plain = path->len && !record->claim;

    begin_item(writer, PD_PARTIAL_ITEM_PATH);
    put_number(writer, 2u * path->len + !plain);
    for (unsigned i = 0; i < path->len; i++) {
        put_number(writer, path->switches[i]);
    }
    if (plain) {
        return;
    }
    put_number(writer, claim.state);
    put_number(writer, claim.origin);
    put_number(writer, claim.candidates);
    put_number(writer, claim.mark.scheme);
    put_number(writer, claim.mark.len);
    put_bytes(writer, claim.mark.bytes, claim.mark.len);
}

/* Number + 1 of a record's path, which is sent when it is new; 0 for none. */
static int number_path(struct pd_partial_writer *writer, const struct pd_tib_record *record,
                       uint32_t *ret_number)
{
    uint32_t known = writer->paths.len, number;
    *ret_number = 0;
    if (!record->path) {
        return 0;
    }
    int error = pd_tib_paths_number(&writer->paths, writer->budget, record, &number);
    if (error) {
        return error;
    }
    if (number == known) {
        put_path(writer, record);
    }
    *ret_number = number + 1;
    return 0;
}

/* ---- groups ---- */

static unsigned differing(const struct pd_partial_writer *writer, const struct pd_tib_record *group,
                          uint32_t path)
{
    const struct pd_tib_record *last = &writer->last;
    const struct pd_flow_id *now = &group->flow, *old = &last->flow;
    unsigned mask = 0;
    mask |= (unsigned)(now->ip_version != old->ip_version) << PD_PARTIAL_IP_VERSION;
    mask |= (unsigned)(memcmp(&now->src, &old->src, sizeof now->src) != 0) << PD_PARTIAL_SRC;
    mask |= (unsigned)(memcmp(&now->dst, &old->dst, sizeof now->dst) != 0) << PD_PARTIAL_DST;
    mask |= (unsigned)(now->src_port != old->src_port) << PD_PARTIAL_SRC_PORT;
    mask |= (unsigned)(now->dst_port != old->dst_port) << PD_PARTIAL_DST_PORT;
    mask |= (unsigned)(now->protocol != old->protocol) << PD_PARTIAL_PROTOCOL;
    mask |= (unsigned)(path != writer->last_path) << PD_PARTIAL_PATH;
    mask |= (unsigned)(group->stime_us != last->stime_us) << PD_PARTIAL_STIME;
    mask |= (unsigned)(group->etime_us - group->stime_us != last->etime_us - last->stime_us)
            << PD_PARTIAL_DURATION;
    mask |= (unsigned)(group->bytes != last->bytes) << PD_PARTIAL_BYTES;
    mask |= (unsigned)(group->pkts != last->pkts) << PD_PARTIAL_PKTS;
    mask |= (unsigned)(group->retransmissions != last->retransmissions)
            << PD_PARTIAL_RETRANSMISSIONS;
    return mask;
}

static void put_field(struct pd_partial_writer *writer, enum pd_partial_field field,
                      const struct pd_tib_record *group, uint32_t path)
{
    const struct pd_flow_id *flow = &group->flow;
    size_t addr_bytes = flow->ip_version == 6 ? 16 : 4;
    switch (field) {
    case PD_PARTIAL_IP_VERSION: put_number(writer, flow->ip_version); break;
    case PD_PARTIAL_SRC: put_bytes(writer, &flow->src, addr_bytes); break;
    case PD_PARTIAL_DST: put_bytes(writer, &flow->dst, addr_bytes); break;
    case PD_PARTIAL_SRC_PORT: put_port(writer, flow->src_port); break;
    case PD_PARTIAL_DST_PORT: put_port(writer, flow->dst_port); break;
    case PD_PARTIAL_PROTOCOL: put_number(writer, flow->protocol); break;
    case PD_PARTIAL_PATH: put_number(writer, path); break;
    case PD_PARTIAL_STIME:
        put_number(writer, pd_partial_zigzag((int64_t)(group->stime_us - writer->last.stime_us)));
        break;
    case PD_PARTIAL_DURATION: put_number(writer, group->etime_us - group->stime_us); break;
    case PD_PARTIAL_BYTES: put_number(writer, group->bytes); break;
    case PD_PARTIAL_PKTS: put_number(writer, group->pkts); break;
    case PD_PARTIAL_RETRANSMISSIONS: put_number(writer, group->retransmissions); break;
    case PD_PARTIAL_FIELD_COUNT: break;
    }
}

static int put_group(struct pd_partial_writer *writer, const struct pd_tib_record *group)
{
    uint32_t path;
    int error = number_path(writer, group, &path);
    if (error) {
        return error;
    }
    unsigned mask = differing(writer, group, path);
    begin_item(writer, PD_PARTIAL_ITEM_GROUP);
    put_number(writer, mask);
    for (unsigned field = PD_PARTIAL_FIELD_COUNT; field-- > 0;) {
        if (mask >> field & 1) {
            put_field(writer, (enum pd_partial_field)field, group, path);
        }
    }
    writer->last = *group;
    writer->last_path = path;
    return writer->error;
}

/* ---- the writer ---- */

int pd_query_partial_begin(const struct pd_query_sink *sink, struct pd_tib_budget *budget,
                           struct pd_partial_writer **ret_writer)
{
    struct pd_partial_writer *writer = calloc(1, sizeof *writer);
    if (!writer) {
        return -ENOMEM;
    }
    writer->sink = sink;
    writer->budget = budget;
    put_bytes(writer, PD_PARTIAL_MAGIC, 4);
    put_number(writer, PD_PARTIAL_VERSION);
    *ret_writer = writer;
    return 0;
}

int pd_query_partial_put_groups(struct pd_partial_writer *writer,
                                const struct pd_tib_record *groups, size_t n)
{
    int error = writer->error;
    for (size_t i = 0; i < n && !error; i++) {
        error = put_group(writer, &groups[i]);
    }
    return error;
}

int pd_query_partial_put_sums(struct pd_partial_writer *writer, const struct pd_query_sums *sums,
                              size_t n)
{
    for (size_t i = 0; i < n && !writer->error; i++) {
        begin_item(writer, PD_PARTIAL_ITEM_SUMS);
        put_number(writer, sums[i].key);
        put_number(writer, sums[i].bytes);
        put_number(writer, sums[i].pkts);
        put_number(writer, sums[i].groups);
    }
    return writer->error;
}

int pd_query_partial_put_missing(struct pd_partial_writer *writer, uint64_t host,
                                 const char *reason)
{
    size_t len = strnlen(reason, PD_PARTIAL_REASON_BYTES - 1);
    begin_item(writer, PD_PARTIAL_ITEM_MISSING);
    put_number(writer, host);
    put_number(writer, len);
    put_bytes(writer, reason, len);
    return writer->error;
}

int pd_query_partial_finish(struct pd_partial_writer *writer, const struct pd_partial_end *end)
{
    begin_item(writer, PD_PARTIAL_ITEM_END);
    put_number(writer, end->complete);
    put_number(writer, end->asked);
    put_number(writer, end->answered);
    put_number(writer, end->critical_us);
    put_number(writer, end->bytes);
    flush(writer);
    return writer->error;
}

static int put_item_group(void *writer, const struct pd_tib_record *group)
{
    return pd_query_partial_put_groups(writer, group, 1);
}

static int put_item_sums(void *writer, const struct pd_query_sums *sums)
{
    return pd_query_partial_put_sums(writer, sums, 1);
}

struct pd_items pd_query_partial_items(struct pd_partial_writer *writer)
{
    return (struct pd_items){writer, put_item_group, put_item_sums};
}

bool pd_query_partial_stopped(const struct pd_partial_writer *writer)
{
    return writer->error != 0;
}

void pd_query_partial_writer_free(struct pd_partial_writer *writer)
{
    if (!writer) {
        return;
    }
    pd_tib_paths_done(&writer->paths);
    free(writer);
}

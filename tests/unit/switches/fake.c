/* SPDX-License-Identifier: Apache-2.0 */
/* A scripted switch, written from the specification and not from the code that it is to test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake.h"

static uint64_t get(const uint8_t *at, unsigned bytes)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < bytes; i++) {
        number = number << 8 | at[i];
    }
    return number;
}

void fake_init(struct fake *fake, uint64_t datapath_id)
{
    *fake = (struct fake){.datapath_id = datapath_id, .version = OF_VERSION};
    size_t start = of_begin(&fake->out, OF_HELLO, 1);
    of_end(&fake->out, start);
}

void fake_done(struct fake *fake)
{
    of_buffer_done(&fake->in);
    of_buffer_done(&fake->out);
    free(fake->flows);
}

/* ---- flow table */

static struct fake_flow *find(struct fake *fake, const struct fake_flow *like)
{
    for (size_t i = 0; i < fake->flows_len; i++) {
        struct fake_flow *flow = &fake->flows[i];
        if (flow->table == like->table && flow->priority == like->priority &&
            flow->match_bytes == like->match_bytes &&
            !memcmp(flow->match, like->match, like->match_bytes)) {
            return flow;
        }
    }
    return NULL;
}

static void add_flow(struct fake *fake, const struct fake_flow *flow)
{
    struct fake_flow *old = find(fake, flow);
    if (!old) {
        fake->flows = realloc(fake->flows, (fake->flows_len + 1) * sizeof *fake->flows);
        assert_non_null(fake->flows);
        old = &fake->flows[fake->flows_len++];
    }
    *old = *flow;
}

static void delete_flow(struct fake *fake, const struct fake_flow *like, uint64_t cookie,
                        uint64_t mask)
{
    struct fake_flow *flow = find(fake, like);
    if (flow && !((flow->cookie ^ cookie) & mask)) {
        *flow = fake->flows[--fake->flows_len];
    }
}

static void hear_flow_mod(struct fake *fake, const uint8_t *m, size_t bytes)
{
    struct fake_flow flow = {.cookie = get(m + 8, 8), .table = m[24]};
    size_t match = get(m + 50, 2), padded = (match + 7) / 8 * 8;
    flow.idle_timeout = (uint16_t)get(m + 26, 2);
    flow.priority = (uint16_t)get(m + 30, 2);
    flow.match_bytes = (uint16_t)(match - 4);
    flow.instructions_bytes = (uint16_t)(bytes - 48 - padded);
    assert_int_equal(get(m + 48, 2), 1);
    assert_true(match >= 4 && 48 + padded <= bytes);
    if (flow.match_bytes > sizeof flow.match ||
        flow.instructions_bytes > sizeof flow.instructions) {
        return; /* the deletion of a flow that damage on the way made up */
    }
    memcpy(flow.match, m + 52, flow.match_bytes);
    memcpy(flow.instructions, m + 48 + padded, flow.instructions_bytes);
    fake->additions += m[25] == 0;
    fake->deletions += m[25] == 4;
    if (fake->refuses_changes) {
        size_t start = of_begin(&fake->out, OF_ERROR, (uint32_t)get(m + 4, 4));
        of_write_number(&fake->out, 5, 2); /* OFPET_FLOW_MOD_FAILED */
        of_write_number(&fake->out, 1, 2); /* OFPFMFC_TABLE_FULL */
        of_end(&fake->out, start);
    } else if (m[25] == 0) {
        add_flow(fake, &flow);
    } else {
        assert_int_equal(m[25], 4);
        delete_flow(fake, &flow, get(m + 8, 8), get(m + 16, 8));
    }
}

/* ---- statistics */

/* The same match, said differently: fields from the last to the first, each with a mask of ones. */
static uint16_t mix_match(const struct fake_flow *flow, uint8_t mixed[1024])
{
    size_t ends[32] = {0}, len = 0, bytes = 0;
    for (size_t at = 0; at < flow->match_bytes; at += 4U + flow->match[at + 3]) {
        ends[len++] = at;
    }
    while (len-- > 0) {
        const uint8_t *field = flow->match + ends[len];
        size_t body = field[3];
        memcpy(mixed + bytes, field, 4 + body);
        if (!(field[2] & 1)) {
            mixed[bytes + 2] |= 1;
            mixed[bytes + 3] = (uint8_t)(2 * body);
            memset(mixed + bytes + 4 + body, 0xff, body);
            bytes += body;
        }
        bytes += 4 + body;
    }
    return (uint16_t)bytes;
}

/* Two instructions at most: the second one first. */
static void write_instructions(struct of_buffer *out, const struct fake_flow *flow, bool mixes)
{
    size_t first = flow->instructions_bytes ? get(flow->instructions + 2, 2) : 0;
    if (mixes) {
        of_write_bytes(out, flow->instructions + first, flow->instructions_bytes - first);
    }
    of_write_bytes(out, flow->instructions, mixes ? first : flow->instructions_bytes);
}

static void write_flow(struct fake *fake, const struct fake_flow *flow)
{
    uint8_t mixed[1024];
    uint16_t match_bytes = fake->mixes ? mix_match(flow, mixed) : flow->match_bytes;
    size_t start = fake->out.bytes;
    of_write(&fake->out, 2);
    of_write_number(&fake->out, flow->table, 1);
    of_write(&fake->out, 1 + 8);
    of_write_number(&fake->out, flow->priority, 2);
    of_write_number(&fake->out, flow->idle_timeout, 2);
    of_write(&fake->out, 2 + 2 + 4);
    of_write_number(&fake->out, flow->cookie, 8);
    of_write(&fake->out, 16);
    of_write_number(&fake->out, 1, 2);
    of_write_number(&fake->out, 4U + match_bytes, 2);
    of_write_bytes(&fake->out, fake->mixes ? mixed : flow->match, match_bytes);
    of_pad8(&fake->out, start);
    write_instructions(&fake->out, flow, fake->mixes);
    size_t bytes = fake->out.bytes - start;
    fake->out.data[start] = (uint8_t)(bytes >> 8);
    fake->out.data[start + 1] = (uint8_t)bytes;
}

static void answer_flows(struct fake *fake, uint32_t xid, uint8_t table)
{
    unsigned per_part = fake->flows_per_part ? fake->flows_per_part : 2;
    size_t i = 0;
    do {
        size_t start = of_begin(&fake->out, OF_MULTIPART_REPLY, xid), flags = fake->out.bytes + 2;
        of_write_number(&fake->out, 1, 2);
        of_write(&fake->out, 6);
        for (unsigned n = 0; n < per_part && i < fake->flows_len; n++, i++) {
            if (fake->flows[i].table == table) {
                write_flow(fake, &fake->flows[i]);
            }
        }
        fake->out.data[flags + 1] = i < fake->flows_len || fake->never_ends;
        of_end(&fake->out, start);
    } while (i < fake->flows_len);
}

/* ---- messages */

static void answer_features(struct fake *fake, uint32_t xid)
{
    size_t start = of_begin(&fake->out, OF_FEATURES_REPLY, xid);
    of_write_number(&fake->out, fake->datapath_id, 8);
    of_write(&fake->out, 5);
    of_write_number(&fake->out, fake->auxiliary, 1);
    of_write(&fake->out, 10);
    of_end(&fake->out, start);
}

static void hear_message(struct fake *fake, const uint8_t *m, size_t bytes)
{
    uint32_t xid = (uint32_t)get(m + 4, 4);
    size_t start;
    assert_int_equal(m[0], OF_VERSION);
    fake->requests++;
    switch (m[1]) {
    case OF_FEATURES_REQUEST: answer_features(fake, xid); break;
    case OF_ECHO_REQUEST:
        fake->echoes++;
        start = of_begin(&fake->out, OF_ECHO_REPLY, xid);
        of_end(&fake->out, start);
        break;
    case OF_FLOW_MOD: hear_flow_mod(fake, m, bytes); break;
    case OF_MULTIPART_REQUEST:
        assert_int_equal(bytes, 56);
        if (!fake->mute) {
            answer_flows(fake, xid, m[16]);
        }
        break;
    case OF_BARRIER_REQUEST:
        start = of_begin(&fake->out, OF_BARRIER_REPLY, xid);
        of_end(&fake->out, start);
        break;
    case OF_PACKET_OUT:
        fake->packet_outs++;
        fake->packet_out_bytes = bytes < sizeof fake->packet_out ? bytes : sizeof fake->packet_out;
        memcpy(fake->packet_out, m, fake->packet_out_bytes);
        break;
    default: break;
    }
}

void fake_hear(struct fake *fake, const uint8_t *data, size_t bytes)
{
    size_t at = 0;
    of_write_bytes(&fake->in, data, bytes);
    while (fake->in.bytes - at >= 8 && get(fake->in.data + at + 2, 2) <= fake->in.bytes - at) {
        size_t message = get(fake->in.data + at + 2, 2);
        assert_true(message >= 8);
        hear_message(fake, fake->in.data + at, message);
        at += message;
    }
    fake->in.bytes -= at;
    if (at) {
        memmove(fake->in.data, fake->in.data + at, fake->in.bytes);
    }
}

void fake_packet_in(struct fake *fake, uint32_t in_port, const uint8_t *frame, size_t bytes)
{
    size_t start = of_begin(&fake->out, OF_PACKET_IN, 0);
    of_write_number(&fake->out, OF_NO_BUFFER, 4);
    of_write_number(&fake->out, bytes, 2);
    of_write_number(&fake->out, 1, 1);
    of_write(&fake->out, 1 + 8);
    of_write_number(&fake->out, 1, 2);
    of_write_number(&fake->out, 12, 2);
    of_write_number(&fake->out, 0x80000004, 4);
    of_write_number(&fake->out, in_port, 4);
    of_write(&fake->out, 4 + 2);
    of_write_bytes(&fake->out, frame, bytes);
    of_end(&fake->out, start);
}

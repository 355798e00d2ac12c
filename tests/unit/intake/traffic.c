/* SPDX-License-Identifier: Apache-2.0 */
/* Test traffic, written without the project's parser, so that both can be wrong
 * only in different ways. */
#include "traffic.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FIRST_NS UINT64_C(1700000000123456789)

/* ---- building frames
 * ---------------------------------------------------------------------------
 */

struct builder {
    uint8_t *data;
    size_t at;
};

static void put(struct builder *builder, const void *bytes, size_t n)
{
    memcpy(builder->data + builder->at, bytes, n);
    builder->at += n;
}

static void put8(struct builder *builder, unsigned value)
{
    builder->data[builder->at++] = (uint8_t)value;
}

static void put16(struct builder *builder, unsigned value)
{
    put8(builder, value >> 8);
    put8(builder, value);
}

static unsigned below(unsigned n)
{
    return (unsigned)random() % n;
}

/* Outermost first on the wire: the last one pushed. */
static void put_tags(struct builder *builder, const struct sum *flow)
{
    static const uint16_t types[] = {0x8100, 0x88a8, 0x9100};

    for (unsigned i = flow->tags_len; i-- > 0;) {
        put16(builder, types[below(3)]);
        put16(builder, below(8) << 13 | flow->tags[i]);
    }
}

static unsigned transport_bytes(const struct sum *flow)
{
    return flow->flow.protocol == 6 ? 20 : 8;
}

static void put_transport(struct builder *builder, const struct sum *flow, unsigned payload)
{
    if (flow->flow.protocol == 1 || flow->flow.protocol == 58) {
        put(builder, (const uint8_t[]){8, 0, 1, 2, 3, 4, 5, 6}, 8);
        return;
    }
    put16(builder, flow->flow.src_port);
    put16(builder, flow->flow.dst_port);
    if (flow->flow.protocol == 6) {
        put(builder, (const uint8_t[]){0, 0, 0, 1, 0, 0, 0, 1, 0x50}, 9);
        put8(builder, below(20) ? 0x10 : 0x11); /* ACK, now and then with FIN */
        put(builder, (const uint8_t[]){1, 1, 0, 0, 0, 0}, 6);
    } else {
        put16(builder, 8 + payload);
        put16(builder, 0);
    }
}

/* Returns the bytes of the IP packet. */
static unsigned put_packet(struct builder *builder, const struct sum *flow, unsigned dscp,
                           unsigned payload)
{
    const unsigned tos = dscp << 2 | below(4);
    const unsigned l4_bytes = transport_bytes(flow) + payload;
    const bool is_ipv4 = flow->flow.ip_version == 4;

    if (is_ipv4) {
        put16(builder, 0x0800);
        put8(builder, 0x45);
        put8(builder, tos);
        put16(builder, 20 + l4_bytes);
        put(builder, (const uint8_t[]){0, 1, 0, 0, 64, flow->flow.protocol, 0, 0}, 8);
        put(builder, flow->flow.src.bytes, 4);
        put(builder, flow->flow.dst.bytes, 4);
    } else {
        put16(builder, 0x86dd);
        put16(builder, 0x6000U | tos << 4);
        put16(builder, 0);
        put16(builder, l4_bytes);
        put8(builder, flow->flow.protocol);
        put8(builder, 64);
        put(builder, flow->flow.src.bytes, 16);
        put(builder, flow->flow.dst.bytes, 16);
    }
    put_transport(builder, flow, payload);
    memset(builder->data + builder->at, 0, payload);
    builder->at += payload;
    return (is_ipv4 ? 20 : 40) + l4_bytes;
}

static void put_addresses(struct builder *builder)
{
    put(builder, (const uint8_t[]){2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}, 12);
}

/* A frame for no flow: five tags, another protocol, a wrong version, an
 * impossible header length, a length too long. */
static void make_bad(struct frame *frame)
{
    struct builder builder = {frame->data, 0};
    const unsigned kind = below(5);

    put_addresses(&builder);
    for (unsigned i = 0; kind == 0 && i < 5; i++) {
        put16(&builder, 0x8100);
        put16(&builder, 7);
    }
    put16(&builder, kind == 1 ? 0x1234 : 0x0800);
    put8(&builder, kind == 2 ? 0x55 : kind == 3 ? 0x43 : 0x45);
    put8(&builder, 0);
    put16(&builder, kind == 4 ? 1000 : 60);
    for (unsigned i = 0; i < 56; i++) {
        put8(&builder, kind == 1 ? below(256) : 6);
    }
    frame->bytes = (uint16_t)builder.at;
}

/* ---- flows
 * -------------------------------------------------------------------------------------
 */

static void make_flow(struct sum *flow, unsigned n, bool use_dscp)
{
    static const uint8_t protocols[] = {6, 6, 17, 1};

    memset(flow, 0, sizeof(*flow));
    flow->flow.ip_version = n % 3 ? 4 : 6;
    flow->flow.protocol = protocols[below(4)];
    for (unsigned i = 0; i < (n % 3 ? 4U : 16U); i++) {
        flow->flow.src.bytes[i] = (uint8_t)(below(255) + 1);
        flow->flow.dst.bytes[i] = (uint8_t)(below(255) + 1);
    }
    if (flow->flow.protocol == 1 && flow->flow.ip_version == 6) {
        flow->flow.protocol = 58;
    } else if (flow->flow.protocol != 1) {
        flow->flow.src_port = (uint16_t)(1024 + n);
        flow->flow.dst_port = (uint16_t)below(65536);
    }
    flow->tags_len = (uint8_t)below(PD_PACKET_TAGS_MAX + 1);
    for (unsigned i = 0; i < flow->tags_len; i++) {
        flow->tags[i] = (uint16_t)(1 + below(4094));
    }
    flow->dscp = (uint8_t)(use_dscp ? below(64) : 0);
}

static void make_good(struct frame *frame, const struct sum *flow, struct traffic *traffic)
{
    /* Where the codec does not use the DSCP, others do. */
    const unsigned dscp = traffic->use_dscp ? flow->dscp : below(64);
    struct builder builder = {frame->data, 0};
    struct sum one = *flow;

    put_addresses(&builder);
    put_tags(&builder, flow);
    one.pkts = 1;
    one.bytes = put_packet(&builder, flow, dscp, below(1400));
    sums_add(&traffic->expected, &one);
    if (below(2)) { /* padding is no part of the packet */
        memset(frame->data + builder.at, 0xff, 6);
        builder.at += 6;
    }
    frame->bytes = (uint16_t)builder.at;
}

void traffic_make(struct traffic *traffic, unsigned seed, size_t frames, bool use_dscp)
{
    struct sum flows[200];
    uint64_t time_ns = FIRST_NS;

    print_message("seed %u\n", seed);
    srandom(seed);
    memset(traffic, 0, sizeof(*traffic));
    for (unsigned i = 0; i < 200; i++) {
        make_flow(&flows[i], i, use_dscp);
    }
    traffic->use_dscp = use_dscp;
    traffic->frames = calloc(frames, sizeof(*traffic->frames));
    assert_non_null(traffic->frames);
    traffic->len = frames;
    for (size_t i = 0; i < frames; i++) {
        struct frame *frame = &traffic->frames[i];

        time_ns += below(5000000);
        frame->time_ns = time_ns;
        if (i % 7 == 6) {
            make_bad(frame);
        } else {
            make_good(frame, &flows[below(200)], traffic);
            traffic->good++;
        }
    }
}

void traffic_free(struct traffic *traffic)
{
    free(traffic->frames);
}

/* ---- sums
 * --------------------------------------------------------------------------------------
 */

static bool same_key(const struct sum *a, const struct sum *b)
{
    return !memcmp(&a->flow, &b->flow, sizeof(a->flow)) &&
           !memcmp(a->tags, b->tags, sizeof(a->tags)) && a->tags_len == b->tags_len &&
           a->dscp == b->dscp;
}

static struct sum *find(const struct sums *sums, const struct sum *key)
{
    for (size_t i = 0; i < sums->len; i++) {
        if (same_key(&sums->of[i], key)) {
            return (struct sum *)&sums->of[i];
        }
    }
    return NULL;
}

void sums_add(struct sums *sums, const struct sum *one)
{
    struct sum *there = find(sums, one);

    if (there) {
        there->pkts += one->pkts;
        there->bytes += one->bytes;
        return;
    }
    assert_true(sums->len < FLOWS_MAX);
    sums->of[sums->len++] = *one;
}

void sums_assert_equal(const struct sums *got, const struct sums *expected)
{
    for (size_t i = 0; i < expected->len; i++) {
        const struct sum *wanted = &expected->of[i];
        const struct sum *found = find(got, wanted);

        if (!found) {
            fail_msg("flow %zu (protocol %u, %u tags) is missing", i, wanted->flow.protocol,
                     wanted->tags_len);
            return;
        }
        assert_int_equal(found->pkts, wanted->pkts);
        assert_int_equal(found->bytes, wanted->bytes);
    }
    assert_int_equal(got->len, expected->len);
}

/* ---- files
 * -------------------------------------------------------------------------------------
 */

static FILE *create(const char *path)
{
    FILE *out = fopen(path, "wb");

    assert_non_null(out);
    return out;
}

static size_t finish(FILE *out)
{
    const long bytes = ftell(out);

    assert_false(ferror(out));
    assert_int_equal(fclose(out), 0);
    return (size_t)bytes;
}

size_t traffic_write_pcap(const struct traffic *traffic, const char *path)
{
    const uint32_t head[] = {0xa1b23c4d, 0x00040002, 0, 0, 65535, 1};
    FILE *out = create(path);

    fwrite(head, sizeof(head), 1, out);
    for (size_t i = 0; i < traffic->len; i++) {
        const struct frame *frame = &traffic->frames[i];
        const uint32_t record[] = {(uint32_t)(frame->time_ns / 1000000000),
                                   (uint32_t)(frame->time_ns % 1000000000), frame->bytes,
                                   frame->bytes};

        fwrite(record, sizeof(record), 1, out);
        fwrite(frame->data, frame->bytes, 1, out);
    }
    return finish(out);
}

static void write_block(FILE *out, uint32_t type, const void *body, uint32_t body_bytes,
                        const void *more, uint32_t more_bytes)
{
    static const uint8_t zeros[4];
    const uint32_t padding = -more_bytes & 3;
    const uint32_t bytes = 12 + body_bytes + more_bytes + padding;

    fwrite(&type, 4, 1, out);
    fwrite(&bytes, 4, 1, out);
    fwrite(body, body_bytes, 1, out);
    fwrite(more, 1, more_bytes, out);
    fwrite(zeros, 1, padding, out);
    fwrite(&bytes, 4, 1, out);
}

size_t traffic_write_pcapng(const struct traffic *traffic, const char *path)
{
    const uint32_t section[] = {0x1a2b3c4d, 1, UINT32_MAX, UINT32_MAX};
    /* Ethernet, no snap length; option if_tsresol (9): 10^-9; end of options */
    const uint32_t interface[] = {1, 0, 0x00010009, 9, 0};
    FILE *out = create(path);

    write_block(out, 0x0a0d0d0a, section, sizeof(section), "", 0);
    write_block(out, 1, interface, sizeof(interface), "", 0);
    for (size_t i = 0; i < traffic->len; i++) {
        const struct frame *frame = &traffic->frames[i];
        const uint32_t packet[] = {0, (uint32_t)(frame->time_ns >> 32), (uint32_t)frame->time_ns,
                                   frame->bytes, frame->bytes};

        write_block(out, 6, packet, sizeof(packet), frame->data, frame->bytes);
    }
    return finish(out);
}

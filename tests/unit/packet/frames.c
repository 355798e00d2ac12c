/* SPDX-License-Identifier: Apache-2.0 */
/* Builds frames byte by byte and lists one of each kind, good and bad. */
#include "frames.h"

#include <string.h>

static void put(struct frame *frame, const void *bytes, size_t len)
{
    memcpy(frame->bytes + frame->len, bytes, len);
    frame->len += len;
}

static void put8(struct frame *frame, unsigned value)
{
    frame->bytes[frame->len++] = (uint8_t)value;
}

static void put16(struct frame *frame, unsigned value)
{
    put8(frame, value >> 8);
    put8(frame, value);
}

static void put32(struct frame *frame, uint32_t value)
{
    put16(frame, value >> 16);
    put16(frame, value & 0xffff);
}

static void fill(struct frame *frame, size_t len, uint8_t value)
{
    memset(frame->bytes + frame->len, value, len);
    frame->len += len;
}

uint16_t frame_ipv4_checksum(const uint8_t *ip)
{
    uint32_t total = 0;
    for (unsigned i = 0; i < (ip[0] & 0x0fU) * 4; i += 2) {
        total += i == 10 ? 0 : (uint32_t)(ip[i] << 8 | ip[i + 1]);
    }
    while (total >> 16) {
        total = (total & 0xffff) + (total >> 16);
    }
    return (uint16_t)~total;
}

static void put_ethernet(struct frame *frame, const struct frame_spec *spec)
{
    put(frame, "\x02\x00\x00\x00\x00\x0a\x02\x00\x00\x00\x00\x0b", 12);
    for (unsigned i = spec->tags_len; i-- > 0;) {
        put16(frame, spec->tag_types[i] ? spec->tag_types[i] : 0x8100);
        put16(frame, spec->tags[i] | i << 13); /* a priority as well, which is no part of the tag */
    }
    put16(frame, spec->flow.ip_version == 4 ? 0x0800 : 0x86dd);
    frame->ip_at = frame->len;
}

static size_t transport_bytes(const struct frame_spec *spec)
{
    switch (spec->flow.protocol) {
    case 6: return 20;
    case 17: return 8;
    case 132: return 12;
    default: return 4;
    }
}

static void put_transport(struct frame *frame, const struct frame_spec *spec)
{
    frame->transport_at = frame->len;
    size_t bytes = transport_bytes(spec);
    fill(frame, bytes + spec->payload_bytes, 0x5a);
    uint8_t *transport = frame->bytes + frame->transport_at;
    if (bytes > 4) {
        transport[0] = (uint8_t)(spec->flow.src_port >> 8);
        transport[1] = (uint8_t)spec->flow.src_port;
        transport[2] = (uint8_t)(spec->flow.dst_port >> 8);
        transport[3] = (uint8_t)spec->flow.dst_port;
    }
    if (bytes == 20) {
        transport[12] = 5 << 4;
        transport[13] = spec->tcp_flags;
    }
}

static void put_ipv4(struct frame *frame, const struct frame_spec *spec)
{
    size_t header_bytes = 20 + 4U * spec->option_words;
    frame->ip_bytes = header_bytes + transport_bytes(spec) + spec->payload_bytes;
    put8(frame, (unsigned)(4 << 4 | header_bytes / 4));
    put8(frame, (unsigned)(spec->dscp << 2 | spec->ecn));
    put16(frame, (unsigned)frame->ip_bytes);
    put16(frame, 0x1234);
    put16(frame, spec->fragment);
    put8(frame, 64);
    put8(frame, spec->flow.protocol);
    put16(frame, 0);
    put(frame, spec->flow.src.bytes, 4);
    put(frame, spec->flow.dst.bytes, 4);
    fill(frame, 4U * spec->option_words, 1);
    uint16_t checksum = frame_ipv4_checksum(frame->bytes + frame->ip_at);
    frame->bytes[frame->ip_at + 10] = (uint8_t)(checksum >> 8);
    frame->bytes[frame->ip_at + 11] = (uint8_t)checksum;
    put_transport(frame, spec);
}

static void put_extension(struct frame *frame, const struct frame_spec *spec, unsigned i)
{
    uint8_t kind = spec->extensions[i];
    put8(frame, i + 1 < spec->extensions_len ? spec->extensions[i + 1] : spec->flow.protocol);
    if (kind == 44) {
        put8(frame, 0);
        put16(frame, spec->fragment);
        put32(frame, 7);
        return;
    }
    unsigned units = spec->extension_units + (kind == 51); /* AH has 12 bytes at least */
    put8(frame, units);
    size_t len = 6 + (kind == 51 ? 4U : 8U) * units;
    if (kind == 0 &&
        frame->ip_bytes - 40 > UINT16_MAX) { /* jumbo payload, behind a Pad1 and a PadN */
        put(frame, "\x00\x01\x02\x00\x00\x00\xc2\x04", 8);
        put32(frame, (uint32_t)(frame->ip_bytes - 40));
        len -= 12;
    }
    fill(frame, len, 0);
}

static void put_ipv6(struct frame *frame, const struct frame_spec *spec)
{
    size_t payload_bytes = transport_bytes(spec) + spec->payload_bytes;
    for (unsigned i = 0; i < spec->extensions_len; i++) {
        bool counted = spec->extensions[i] != 44;
        bool in_words = spec->extensions[i] == 51;
        payload_bytes +=
            8 + (counted ? (in_words ? 4U : 8U) * (spec->extension_units + in_words) : 0);
    }
    frame->ip_bytes = 40 + payload_bytes;
    put32(frame, 6U << 28 | (uint32_t)(spec->dscp << 2 | spec->ecn) << 20 | 0xabcde);
    put16(frame, payload_bytes > UINT16_MAX ? 0 : (unsigned)payload_bytes);
    put8(frame, spec->extensions_len ? spec->extensions[0] : spec->flow.protocol);
    put8(frame, 64);
    put(frame, spec->flow.src.bytes, 16);
    put(frame, spec->flow.dst.bytes, 16);
    for (unsigned i = 0; i < spec->extensions_len; i++) {
        put_extension(frame, spec, i);
    }
    put_transport(frame, spec);
}

void frame_build(const struct frame_spec *spec, struct frame *ret_frame)
{
    ret_frame->len = 0;
    put_ethernet(ret_frame, spec);
    if (spec->flow.ip_version == 4) {
        put_ipv4(ret_frame, spec);
    } else {
        put_ipv6(ret_frame, spec);
    }
    fill(ret_frame, spec->padding_bytes, 0);
}

void frame_build_bad(const struct frame_bad *bad, struct frame *ret_frame)
{
    frame_build(&bad->spec, ret_frame);
    memcpy(ret_frame->bytes + ret_frame->ip_at + bad->from_ip_at, bad->bytes, bad->bytes_len);
    ret_frame->len -= bad->cut_bytes;
}

#define V4(protocol_, ports)                                                                   \
    {                                                                                          \
        {{10, 1, 1, 2}}, {{10, 2, 1, 3}}, (ports) ? 4660 : 0, (ports) ? 443 : 0, protocol_, 4, \
        {                                                                                      \
            0                                                                                  \
        }                                                                                      \
    }
#define V6(protocol_, ports)                                                              \
    {                                                                                     \
        {{0xfd, 0, 0, 0, 0, 1, 0, 1, [15] = 2}}, {{0xfd, 0, 0, 0, 0, 2, 0, 1, [15] = 3}}, \
            (ports) ? 4660 : 0, (ports) ? 443 : 0, protocol_, 6,                          \
        {                                                                                 \
            0                                                                             \
        }                                                                                 \
    }

/* 64 KiB of payload behind a hop-by-hop header with room for the jumbo option. */
#define JUMBO(name_)                                                             \
    {                                                                            \
        .name = name_, .flow = V6(6, 1), .extensions = {0}, .extensions_len = 1, \
        .extension_units = 1, .payload_bytes = 65600,                            \
    }

const struct frame_spec frame_good[] = {
    {.name = "tcp", .flow = V4(6, 1), .tcp_flags = 0x12},
    {.name = "tcp-padded", .flow = V4(6, 1), .tcp_flags = 0x10, .padding_bytes = 6},
    {.name = "udp-empty-padded", .flow = V4(17, 1), .padding_bytes = 18},
    {.name = "sctp", .flow = V4(132, 1), .payload_bytes = 16},
    {.name = "icmp", .flow = V4(1, 0), .payload_bytes = 60},
    {.name = "gre", .flow = V4(47, 0), .payload_bytes = 60},
    {.name = "esp", .flow = V4(50, 0), .payload_bytes = 60},
    {.name = "one-tag", .flow = V4(6, 1), .tags = {9}, .tags_len = 1, .tcp_flags = 0x11},
    {.name = "two-tags", .flow = V4(6, 1), .tags = {9, 14}, .tags_len = 2},
    {.name = "four-tags", .flow = V4(17, 1), .tags = {0, 4095, 1, 2048}, .tags_len = 4},
    {.name = "802.1ad", .flow = V4(6, 1), .tags = {9, 14}, .tag_types = {0, 0x88a8}, .tags_len = 2},
    {.name = "old-qinq",
     .flow = V6(6, 1),
     .tags = {9, 14},
     .tag_types = {0, 0x9100},
     .tags_len = 2},
    {.name = "dscp-ecn", .flow = V4(6, 1), .tags = {33}, .tags_len = 1, .dscp = 62, .ecn = 3},
    {.name = "dscp-all-ones", .flow = V4(17, 1), .dscp = 63, .ecn = 1},
    {.name = "options", .flow = V4(6, 1), .option_words = 10, .tcp_flags = 4},
    {.name = "first-fragment", .flow = V4(17, 1), .fragment = 0x2000, .payload_bytes = 1472},
    {.name = "later-fragment", .flow = V4(17, 1), .fragment = 0x20b9, .payload_bytes = 1472},
    {.name = "last-fragment", .flow = V4(6, 1), .fragment = 0x0001, .tcp_flags = 0x11},
    {.name = "segments-merged", .flow = V4(6, 1), .payload_bytes = 65495, .tcp_flags = 0x18},
    {.name = "v6-tcp", .flow = V6(6, 1), .tags = {5}, .tags_len = 1, .tcp_flags = 0x10},
    {.name = "v6-dscp-ecn", .flow = V6(17, 1), .dscp = 41, .ecn = 2},
    {.name = "v6-icmp", .flow = V6(58, 0), .payload_bytes = 60},
    {.name = "v6-esp", .flow = V6(50, 0), .extensions = {0}, .extensions_len = 1},
    {.name = "v6-none", .flow = V6(59, 0), .extensions = {60}, .extensions_len = 1},
    {.name = "v6-all-extensions",
     .flow = V6(6, 1),
     .extensions = {0, 60, 43, 44, 51, 60, 139, 140},
     .extensions_len = 8,
     .extension_units = 3,
     .tcp_flags = 0x19},
    {.name = "v6-mobility", .flow = V6(59, 0), .extensions = {135}, .extensions_len = 1},
    {.name = "v6-first-fragment",
     .flow = V6(17, 1),
     .extensions = {44},
     .extensions_len = 1,
     .fragment = 0x0001,
     .payload_bytes = 1000},
    {.name = "v6-later-fragment",
     .flow = V6(17, 1),
     .extensions = {0, 44},
     .extensions_len = 2,
     .fragment = 0x05a9,
     .payload_bytes = 1000},
    {.name = "v6-jumbogram",
     .flow = V6(6, 1),
     .extensions = {0},
     .extensions_len = 1,
     .extension_units = 1,
     .payload_bytes = 65600,
     .tags = {7},
     .tags_len = 1},
    {.name = NULL},
};

#define BAD(name_, flow_) .spec = {.name = name_, .flow = flow_, .payload_bytes = 12}

const struct frame_bad frame_bad[] = {
    {.spec = {.name = "five-tags", .flow = V4(6, 1), .tags_len = 5},
     .verdict = PD_PACKET_TOO_MANY_TAGS},
    {BAD("arp", V4(6, 1)), .from_ip_at = (size_t)-2, {0x08, 0x06}, 2, .verdict = PD_PACKET_NOT_IP},
    {BAD("length-of-802.3", V4(6, 1)),
     .from_ip_at = (size_t)-2,
     {0x00, 0x26},
     2,
     .verdict = PD_PACKET_NOT_IP},
    {BAD("v4-is-v6", V4(6, 1)), 0, {0x65}, 1, .verdict = PD_PACKET_BAD_VERSION},
    {BAD("v6-is-v4", V6(6, 1)), 0, {0x45}, 1, .verdict = PD_PACKET_BAD_VERSION},
    {BAD("v4-header-16", V4(6, 1)), 0, {0x44}, 1, .verdict = PD_PACKET_BAD_HEADER_LEN},
    {BAD("v4-length-0", V4(6, 1)), 2, {0, 0}, 2, .verdict = PD_PACKET_BAD_TOTAL_LEN},
    {BAD("v4-length-19", V4(6, 1)), 2, {0, 19}, 2, .verdict = PD_PACKET_BAD_TOTAL_LEN},
    {BAD("v4-header-beyond-length", V4(6, 1)),
     0,
     {0x46, 0, 0, 20},
     4,
     .verdict = PD_PACKET_BAD_TOTAL_LEN},
    {BAD("v4-length-beyond-frame", V4(6, 1)), 2, {0, 53}, 2, .verdict = PD_PACKET_BAD_TOTAL_LEN},
    {BAD("v4-no-room-for-ports", V4(17, 1)), 2, {0, 23}, 2, .verdict = PD_PACKET_BAD_TOTAL_LEN},
    {BAD("v4-cut-on-the-wire", V4(6, 1)), .cut_bytes = 1, .verdict = PD_PACKET_BAD_TOTAL_LEN},
    {BAD("v4-cut-in-header", V4(6, 1)), .cut_bytes = 33, .verdict = PD_PACKET_TRUNCATED},
    {BAD("v6-length-beyond-frame", V6(6, 1)), 4, {0, 33}, 2, .verdict = PD_PACKET_BAD_TOTAL_LEN},
    {BAD("v6-no-room-for-ports", V6(132, 1)), 4, {0, 3}, 2, .verdict = PD_PACKET_BAD_TOTAL_LEN},
    {BAD("v6-cut-in-header", V6(6, 1)), .cut_bytes = 33, .verdict = PD_PACKET_TRUNCATED},
    {.spec = {.name = "v6-extension-beyond-length",
              .flow = V6(6, 1),
              .extensions = {60},
              .extensions_len = 1},
     41,
     {4},
     1,
     .verdict = PD_PACKET_BAD_TOTAL_LEN},
    {.spec = {.name = "v6-short-authentication",
              .flow = V6(6, 1),
              .extensions = {51},
              .extensions_len = 1},
     41,
     {0},
     1,
     .verdict = PD_PACKET_BAD_HEADER_LEN},
    {.spec = {.name = "v6-nine-extensions",
              .flow = V6(6, 1),
              .extensions = {60, 60, 60, 60, 60, 60, 60, 60, 60},
              .extensions_len = 9},
     .verdict = PD_PACKET_TOO_MANY_HEADERS},
    {.spec = {.name = "v6-length-0-without-jumbo",
              .flow = V6(6, 1),
              .extensions = {0},
              .extensions_len = 1},
     4,
     {0, 0},
     2,
     .verdict = PD_PACKET_BAD_TOTAL_LEN},
    {.spec = JUMBO("v6-jumbo-too-small"),
     50,
     {0x00, 0x00, 0xff, 0xff},
     4,
     .verdict = PD_PACKET_BAD_TOTAL_LEN},
    {.spec = JUMBO("v6-jumbo-beyond-frame"),
     50,
     {0xff, 0xff, 0xff, 0xff},
     4,
     .verdict = PD_PACKET_BAD_TOTAL_LEN},
    {.spec = JUMBO("v6-jumbo-option-of-5"), 49, {0x05}, 1, .verdict = PD_PACKET_BAD_TOTAL_LEN},
    {.spec = JUMBO("v6-jumbo-option-of-6"), 49, {0x06}, 1, .verdict = PD_PACKET_BAD_TOTAL_LEN},
    {.spec = JUMBO("v6-jumbo-option-of-0"),
     48,
     {0xc2, 0x00, 0x01, 0x04, 0, 0, 0, 0},
     8,
     .verdict = PD_PACKET_BAD_TOTAL_LEN},
    {.spec = JUMBO("v6-option-beyond-header"),
     43,
     {0x01, 0xff},
     2,
     .verdict = PD_PACKET_BAD_HEADER_LEN},
    {.spec = {.name = NULL}},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Parser and strip on random and spoiled frames, against a slow parser of other design. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "frames.h"
#include "tests/shared/random.h"

enum { ROUNDS = 200000 };

static struct frame frame;
static struct random rnd;

static unsigned below(unsigned limit)
{
    return (unsigned)random_below(&rnd, limit);
}

static int seed(void **state)
{
    (void)state;
    rnd.state = test_seed();
    return 0;
}

/* ---- the slow parser: absolute offsets, big-endian fields of any width ----------------------- */

struct view {
    const uint8_t *bytes;
    uint64_t captured, wire;
    uint64_t end; /* of the IP packet */
    enum pd_packet_verdict verdict;
};

/* The field's value, or 0 and a verdict if any of its bytes is not there. */
static uint64_t field(struct view *view, uint64_t at, unsigned len)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < len && view->verdict == PD_PACKET_OK; i++) {
        if (at + len > view->end) {
            view->verdict = PD_PACKET_BAD_TOTAL_LEN;
        } else if (at + len > view->captured) {
            view->verdict = PD_PACKET_TRUNCATED;
        } else {
            value = value << 8 | view->bytes[at + i];
        }
    }
    return value;
}

static void refuse(struct view *view, bool wrong, enum pd_packet_verdict verdict)
{
    if (wrong && view->verdict == PD_PACKET_OK) {
        view->verdict = verdict;
    }
}

static void address(struct view *view, uint64_t at, unsigned len, struct pd_addr *addr)
{
    for (unsigned i = 0; i < len; i++) {
        addr->bytes[i] = (uint8_t)field(view, at + i, 1);
    }
}

static uint64_t slow_ipv4(struct view *view, uint64_t ip, struct pd_packet *packet)
{
    field(view, ip, 20);
    refuse(view, field(view, ip, 1) / 16 != 4, PD_PACKET_BAD_VERSION);
    uint64_t header = field(view, ip, 1) % 16 * 4, total = field(view, ip + 2, 2);
    refuse(view, header < 20, PD_PACKET_BAD_HEADER_LEN);
    refuse(view, total < header || ip + total > view->wire, PD_PACKET_BAD_TOTAL_LEN);
    field(view, ip + 20, (unsigned)(header >= 20 ? header - 20 : 0));
    packet->mark = pd_tags_set_dscp(packet->mark, (uint8_t)(field(view, ip + 1, 1) / 4));
    packet->later_fragment = field(view, ip + 6, 2) % 8192 != 0;
    packet->flow.protocol = (uint8_t)field(view, ip + 9, 1);
    packet->ip_bytes = (uint32_t)total;
    address(view, ip + 12, 4, &packet->flow.src);
    address(view, ip + 16, 4, &packet->flow.dst);
    view->end = ip + total;
    return ip + header;
}

static uint64_t slow_jumbo(struct view *view, uint64_t at)
{
    uint64_t end = at + 8 + 8 * field(view, at + 1, 1);
    field(view, at, (unsigned)(end - at));
    for (at += 2; at < end && view->verdict == PD_PACKET_OK;) {
        uint64_t kind = field(view, at, 1);
        uint64_t len = kind == 0 ? 1 : at + 1 < end ? 2 + field(view, at + 1, 1) : 1000;
        refuse(view, at + len > end, PD_PACKET_BAD_HEADER_LEN);
        if (kind == 0xc2 && len == 6 && view->verdict == PD_PACKET_OK &&
            field(view, at + 2, 4) > 65535) {
            return field(view, at + 2, 4);
        }
        at += len;
    }
    refuse(view, true, PD_PACKET_BAD_TOTAL_LEN);
    return 0;
}

static uint64_t slow_ipv6(struct view *view, uint64_t ip, struct pd_packet *packet)
{
    uint64_t at = ip + 40;
    field(view, ip, 40);
    refuse(view, field(view, ip, 1) / 16 != 6, PD_PACKET_BAD_VERSION);
    uint64_t payload = field(view, ip + 4, 2), next = field(view, ip + 6, 1);
    if (payload == 0 && next == 0) {
        payload = slow_jumbo(view, at);
    }
    refuse(view, at + payload > view->wire || 40 + payload > UINT32_MAX, PD_PACKET_BAD_TOTAL_LEN);
    packet->mark = pd_tags_set_dscp(packet->mark, (uint8_t)(field(view, ip, 4) >> 22 & 63));
    packet->ip_bytes = (uint32_t)(40 + payload);
    address(view, ip + 8, 16, &packet->flow.src);
    address(view, ip + 24, 16, &packet->flow.dst);
    view->end = at + payload;
    for (unsigned n = 1; memchr("\0\x2b\x2c\x33\x3c\x87\x8b\x8c", (int)next, 8); n++) {
        refuse(view, n > PD_PACKET_EXTENSIONS_MAX, PD_PACKET_TOO_MANY_HEADERS);
        if (view->verdict != PD_PACKET_OK || packet->later_fragment) {
            break;
        }
        field(view, at, 8); /* what does not fit the IP packet says so, wherever the capture ends */
        uint64_t units = field(view, at + 1, 1);
        uint64_t len = next == 44 ? 8 : next == 51 ? 4 * (units + 2) : 8 * (units + 1);
        refuse(view, next == 51 && len < 12, PD_PACKET_BAD_HEADER_LEN);
        field(view, at, (unsigned)len);
        packet->later_fragment = next == 44 && field(view, at + 2, 2) / 8 != 0;
        next = field(view, at, 1);
        at += len;
    }
    packet->flow.protocol = (uint8_t)next;
    return at;
}

static enum pd_packet_verdict slow_parse(const uint8_t *bytes, size_t captured, size_t wire,
                                         struct pd_packet *packet)
{
    struct view view = {bytes, captured, wire > captured ? wire : captured, UINT64_MAX, 0};
    uint64_t at = 12;
    uint16_t outermost_first[PD_PACKET_TAGS_MAX] = {0};
    *packet = (struct pd_packet){0};
    field(&view, 0, 14);
    uint64_t type = field(&view, at, 2);
    while ((type == 0x8100 || type == 0x88a8 || type == 0x9100) && view.verdict == PD_PACKET_OK) {
        refuse(&view, packet->tags_len == PD_PACKET_TAGS_MAX, PD_PACKET_TOO_MANY_TAGS);
        field(&view, at + 2, 4);
        if (view.verdict == PD_PACKET_OK) {
            outermost_first[packet->tags_len++] = (uint16_t)(field(&view, at + 2, 2) % 4096);
        }
        at += 4;
        type = field(&view, at, 2);
    }
    struct pd_tags tags = {.len = packet->tags_len};
    for (unsigned i = 0; i < packet->tags_len; i++) {
        tags.vids[packet->tags_len - 1 - i] = outermost_first[i];
    }
    packet->mark = pd_tags_pack(&tags);
    packet->ip_offset = (uint16_t)(at + 2);
    refuse(&view, type != 0x0800 && type != 0x86dd, PD_PACKET_NOT_IP);
    packet->flow.ip_version = type == 0x0800 ? 4 : 6;
    at = type == 0x0800 ? slow_ipv4(&view, at + 2, packet) : slow_ipv6(&view, at + 2, packet);
    uint8_t protocol = packet->flow.protocol;
    if (!packet->later_fragment && (protocol == 6 || protocol == 17 || protocol == 132)) {
        field(&view, at, 4);
        packet->flow.src_port = (uint16_t)field(&view, at, 2);
        packet->flow.dst_port = (uint16_t)field(&view, at + 2, 2);
        if (protocol == 6 && at + 14 <= view.end && at + 14 <= view.captured) {
            packet->tcp_flags = (uint8_t)field(&view, at + 13, 1);
        }
    }
    return view.verdict;
}

/* ---- random frames --------------------------------------------------------------------------- */

static unsigned good_len(void)
{
    unsigned len = 0;
    while (frame_good[len].name) {
        len++;
    }
    return len;
}

static void random_spec(struct frame_spec *spec)
{
    *spec = frame_good[below(good_len())];
    spec->tags_len = below(FRAME_TAGS_MAX);
    for (unsigned i = 0; i < spec->tags_len; i++) {
        static const uint16_t types[] = {0x8100, 0x88a8, 0x9100};
        spec->tags[i] = (uint16_t)below(4096);
        spec->tag_types[i] = types[below(3)];
    }
    spec->dscp = (uint8_t)below(64);
    spec->ecn = (uint8_t)below(4);
    spec->payload_bytes = below(20) ? below(300) : spec->payload_bytes;
    spec->padding_bytes = below(2) * below(50);
}

static void spoil(void)
{
    static const uint8_t telling[] = {0,  1,  6,  17,  43,  44,   50,   51,
                                      58, 59, 60, 132, 135, 0x45, 0xc2, 255};
    unsigned headers = (unsigned)(frame.len < 150 ? frame.len : 150);
    for (unsigned n = below(4); n > 0; n--) {
        frame.bytes[12 + below(headers - 12)] =
            below(2) ? (uint8_t)random_next(&rnd) : telling[below(sizeof telling)];
    }
}

static void agrees_with_the_slow_parser(void **state)
{
    (void)state;
    unsigned seen[PD_PACKET_VERDICT_COUNT] = {0};
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct frame_spec spec;
        random_spec(&spec);
        frame_build(&spec, &frame);
        spoil();
        size_t captured = below(4) ? frame.len : below((unsigned)frame.len + 1);
        size_t wire = below(4) ? frame.len : captured + below(2) * below(2000);
        struct pd_packet fast, slow;
        uint8_t *copy = malloc(captured ? captured : 1);
        assert_non_null(copy);
        memcpy(copy, frame.bytes, captured);
        enum pd_packet_verdict verdict = pd_packet_parse(copy, captured, wire, &fast);
        assert_int_equal(verdict, slow_parse(copy, captured, wire, &slow));
        if (verdict == PD_PACKET_OK) {
            assert_memory_equal(&fast, &slow, offsetof(struct pd_packet, ip_offset) + 2);
        }
        seen[verdict]++;
        free(copy);
    }
    for (unsigned i = 0; i < PD_PACKET_VERDICT_COUNT; i++) { /* the test did reach everything */
        assert_true(seen[i] > 0);
    }
}

/* What strip must leave: MAC addresses, then the inner EtherType and the IP packet, with only the
 * DSCP and the IPv4 checksum changed. */
static void assert_stripped(const uint8_t *before, const uint8_t *after, size_t after_len,
                            const struct pd_packet *packet, bool clear_dscp)
{
    size_t removed = 4U * packet->tags_len, ip = packet->ip_offset - removed;
    assert_int_equal(after_len, frame.len - removed);
    assert_memory_equal(after, before, 12);
    assert_memory_equal(after + 12, before + packet->ip_offset - 2, 2);
    uint8_t expected[FRAME_BYTES_MAX];
    memcpy(expected, before + packet->ip_offset, after_len - ip);
    if (clear_dscp && packet->flow.ip_version == 4) {
        expected[1] &= 3;
        uint16_t checksum = frame_ipv4_checksum(expected);
        expected[10] = (uint8_t)(checksum >> 8);
        expected[11] = (uint8_t)checksum;
    } else if (clear_dscp) {
        expected[0] = 0x60;
        expected[1] &= 0x3f;
    }
    assert_memory_equal(after + ip, expected, after_len - ip);
}

static void strip_takes_tags_and_dscp_off(void **state)
{
    (void)state;
    static uint8_t before[FRAME_BYTES_MAX];
    for (unsigned i = 0; i < ROUNDS / 4; i++) {
        struct frame_spec spec;
        struct pd_packet packet, again;
        bool clear_dscp = below(2);
        random_spec(&spec);
        frame_build(&spec, &frame);
        if (pd_packet_parse(frame.bytes, frame.len, frame.len, &packet) != PD_PACKET_OK) {
            continue;
        }
        memcpy(before, frame.bytes, frame.len);
        size_t removed = pd_packet_strip(frame.bytes, &packet, clear_dscp);
        const uint8_t *after = frame.bytes + removed;
        size_t after_len = frame.len - removed;
        assert_stripped(before, after, after_len, &packet, clear_dscp);
        assert_int_equal(pd_packet_parse(after, after_len, after_len, &again), PD_PACKET_OK);
        assert_memory_equal(&again.flow, &packet.flow, sizeof again.flow);
        assert_int_equal(again.tags_len, 0);
        assert_int_equal(again.ip_bytes, packet.ip_bytes);
        assert_int_equal(pd_tags_dscp(again.mark), clear_dscp ? 0 : pd_tags_dscp(packet.mark));
    }
}

/* Every DSCP, ECN and a sweep over checksums: 0 and all ones are the corners of RFC 1624. */
static void checksums_stay_right_at_their_corners(void **state)
{
    (void)state;
    struct frame_spec spec = frame_good[0];
    for (unsigned id = 0; id < 0x10000; id++) {
        struct pd_packet packet;
        spec.dscp = (uint8_t)(id % 64);
        spec.ecn = (uint8_t)(id / 64 % 4);
        frame_build(&spec, &frame);
        uint8_t *ip = frame.bytes + frame.ip_at;
        ip[4] = (uint8_t)(id >> 8);
        ip[5] = (uint8_t)id;
        uint16_t checksum = frame_ipv4_checksum(ip);
        ip[10] = (uint8_t)(checksum >> 8);
        ip[11] = (uint8_t)checksum;
        assert_int_equal(pd_packet_parse(frame.bytes, frame.len, frame.len, &packet), PD_PACKET_OK);
        pd_packet_strip(frame.bytes, &packet, true);
        assert_int_equal(ip[1], spec.ecn);
        assert_int_equal(ip[10] << 8 | ip[11], frame_ipv4_checksum(ip));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_slow_parser),
        cmocka_unit_test(strip_takes_tags_and_dscp_off),
        cmocka_unit_test(checksums_stay_right_at_their_corners),
    };
    return cmocka_run_group_tests_name("packet/random", tests, seed, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Parser on frames made by hand, at every snap length; also writes the seeds of the fuzz target. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"

static struct frame frame;

/* Parses a copy of exactly these bytes, so that a sanitizer sees each one read beyond. */
static enum pd_packet_verdict parse(size_t captured, size_t wire, struct pd_packet *ret_packet)
{
    uint8_t *copy = malloc(captured ? captured : 1);
    assert_non_null(copy);
    memcpy(copy, frame.bytes, captured);
    enum pd_packet_verdict verdict = pd_packet_parse(copy, captured, wire, ret_packet);
    free(copy);
    return verdict;
}

static bool is_later_fragment(const struct frame_spec *spec)
{
    return spec->flow.ip_version == 4 ? (spec->fragment & 0x1fff) != 0 : spec->fragment >> 3 != 0;
}

static void assert_reads_back(const struct frame_spec *spec, const struct pd_packet *packet)
{
    struct pd_flow_id flow = spec->flow;
    bool later = is_later_fragment(spec);
    if (later) {
        flow.src_port = flow.dst_port = 0;
    }
    assert_memory_equal(&packet->flow, &flow, sizeof flow);
    assert_int_equal(packet->tags_len, spec->tags_len);
    const struct pd_tags tags = pd_tags_unpack(packet->mark);
    assert_int_equal(tags.len, spec->tags_len);
    for (unsigned i = 0; i < PD_PACKET_TAGS_MAX; i++) {
        assert_int_equal(tags.vids[i], i < spec->tags_len ? spec->tags[i] : 0);
    }
    assert_int_equal(tags.dscp, spec->dscp);
    assert_true(packet->mark == pd_tags_pack(&tags));
    assert_int_equal(packet->later_fragment, later);
    assert_int_equal(packet->ip_bytes, frame.ip_bytes);
    assert_int_equal(packet->ip_offset, frame.ip_at);
}

static void good_frames_read_back(void **state)
{
    (void)state;
    for (const struct frame_spec *spec = frame_good; spec->name; spec++) {
        struct pd_packet packet;
        frame_build(spec, &frame);
        if (parse(frame.len, frame.len, &packet) != PD_PACKET_OK) {
            fail_msg("%s is refused", spec->name);
        }
        assert_reads_back(spec, &packet);
        assert_int_equal(packet.tcp_flags, is_later_fragment(spec) ? 0 : spec->tcp_flags);
    }
}

/* Whatever the capture keeps: the flow is told right, or not at all. */
static void snap_length_truncates(void **state)
{
    (void)state;
    for (const struct frame_spec *spec = frame_good; spec->name; spec++) {
        frame_build(spec, &frame);
        bool ports = spec->flow.src_port && !is_later_fragment(spec);
        size_t needed = frame.transport_at + (ports ? 4 : 0);
        for (size_t captured = 0; captured <= frame.len && captured < 300; captured++) {
            struct pd_packet packet;
            memset(&packet, 0xee, sizeof packet);
            struct pd_packet untouched = packet;
            enum pd_packet_verdict verdict = parse(captured, frame.len, &packet);
            if (captured < needed) {
                assert_int_equal(verdict, PD_PACKET_TRUNCATED);
                assert_memory_equal(&packet, &untouched, sizeof packet);
                continue;
            }
            assert_int_equal(verdict, PD_PACKET_OK);
            assert_reads_back(spec, &packet);
            bool flags = ports && captured >= frame.transport_at + 14;
            assert_int_equal(packet.tcp_flags, flags ? spec->tcp_flags : 0);
        }
    }
}

static void bad_frames_are_refused(void **state)
{
    (void)state;
    for (const struct frame_bad *bad = frame_bad; bad->spec.name; bad++) {
        struct pd_packet packet;
        memset(&packet, 0xee, sizeof packet);
        struct pd_packet untouched = packet;
        frame_build_bad(bad, &frame);
        enum pd_packet_verdict verdict = parse(frame.len, frame.len, &packet);
        if (verdict != bad->verdict) {
            fail_msg("%s: %s instead of %s", bad->spec.name, pd_packet_verdict_id(verdict),
                     pd_packet_verdict_id(bad->verdict));
        }
        assert_memory_equal(&packet, &untouched, sizeof packet);
    }
}

/* A capture file's word for the wire length may be too small, never too large for what is there. */
static void wire_length_may_lie(void **state)
{
    (void)state;
    struct pd_packet packet;
    frame_build(&frame_good[0], &frame);
    assert_int_equal(parse(frame.len, 0, &packet), PD_PACKET_OK);
    assert_int_equal(parse(frame.len, SIZE_MAX, &packet), PD_PACKET_OK);
    assert_reads_back(&frame_good[0], &packet);
}

static void verdicts_have_names(void **state)
{
    (void)state;
    assert_string_equal(pd_packet_verdict_id(PD_PACKET_TOO_MANY_TAGS), "too_many_tags");
    assert_string_equal(pd_packet_verdict_text(PD_PACKET_NOT_IP), "neither IPv4 nor IPv6");
    for (unsigned i = 0; i < PD_PACKET_VERDICT_COUNT; i++) {
        assert_true(strlen(pd_packet_verdict_id((enum pd_packet_verdict)i)) > 0);
        assert_true(strlen(pd_packet_verdict_text((enum pd_packet_verdict)i)) > 0);
    }
}

/* The form of the fuzz target's inputs: see tests/fuzz/packet/frames.c. */
static int write_seed(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file) {
        perror(path);
        return 1;
    }
    uint8_t head[4] = {3, 1, (uint8_t)(frame.len >> 8), (uint8_t)frame.len};
    size_t written = fwrite(head, sizeof head, 1, file) + fwrite(frame.bytes, frame.len, 1, file);
    return fclose(file) || written != 2;
}

/* Tags of a tenant lie inside the link tags: they are no part of the mark, and stay. */
static void link_tags_of_their_own_type(void **state)
{
    (void)state;
    struct frame_spec spec = {.name = "tenant",
                              .flow = {.protocol = 6, .ip_version = 4},
                              .tags = {100, 9, 14},
                              .tag_types = {0x8100, 0x88a8, 0x88a8},
                              .tags_len = 3};
    struct pd_packet packet;
    frame_build(&spec, &frame);
    assert_int_equal(pd_packet_parse(frame.bytes, frame.len, frame.len, &packet), PD_PACKET_OK);
    assert_int_equal(packet.tags_len, 3);
    pd_packet_select(frame.bytes, 0x88a8, &packet);
    assert_int_equal(packet.tags_len, 2);
    assert_true(packet.mark == pd_tags_push(pd_tags_push(0, 9), 14));
    size_t cut = pd_packet_strip(frame.bytes, &packet, false);
    assert_int_equal(cut, 8);
    assert_int_equal(pd_packet_parse(frame.bytes + cut, frame.len - cut, frame.len - cut, &packet),
                     PD_PACKET_OK);
    assert_int_equal(packet.tags_len, 1);
    assert_int_equal(pd_tags_vid(packet.mark, 0), 100);
    pd_packet_select(frame.bytes + cut, 0x88a8, &packet);
    assert_int_equal(packet.tags_len, 0);
    assert_true(packet.mark == 0);
}

static int write_corpus(const char *folder)
{
    int failed = 0;
    for (const struct frame_spec *spec = frame_good; spec->name; spec++) {
        struct frame_spec small = *spec;
        small.payload_bytes = small.payload_bytes < 200 ? small.payload_bytes : 200;
        frame_build(&small, &frame);
        failed |= write_seed(folder, spec->name);
    }
    for (const struct frame_bad *bad = frame_bad; bad->spec.name; bad++) {
        frame_build_bad(bad, &frame);
        failed |= frame.len < 2000 ? write_seed(folder, bad->spec.name) : 0;
    }
    return failed;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--write-corpus") == 0) {
        return write_corpus(argv[2]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(link_tags_of_their_own_type), cmocka_unit_test(good_frames_read_back),
        cmocka_unit_test(snap_length_truncates),       cmocka_unit_test(bad_frames_are_refused),
        cmocka_unit_test(wire_length_may_lie),         cmocka_unit_test(verdicts_have_names),
    };
    return cmocka_run_group_tests_name("packet/parse", tests, NULL, NULL);
}

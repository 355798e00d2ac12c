/* SPDX-License-Identifier: Apache-2.0 */
/* Packet IDs, hops and digests of frames. The expected numbers were computed apart, from the words
 * of docs/formats/pint.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "packet/lookup3.h"
#include "packet/sample.h"

struct sample {
    const char *name;
    const char *hex;
    uint32_t seed;
    uint32_t packet_id;
    unsigned hops;
    uint16_t tci;
    unsigned service_tags;
};

static const struct sample samples[] = {
    {"tcp",
     "02000000000202000000000108004500002b002600003f0665a10a0101020a0201029c40005000001c49000000015"
     "010ffff00000000000000",
     0x7u, 0xb99f46e4u, 1, 0x0000, 0},
    {"tcp_tagged",
     "02000000000202000000000188a8fabc8100000a08004500002b002600003f0665a10a0101020a0201029c4000500"
     "0001c49000000015010ffff00000000000000",
     0x7u, 0xb99f46e4u, 1, 0xfabc, 1},
    {"two_tags",
     "02000000000202000000000188a8fabc88a8123408004500002b002600003f0665a10a0101020a0201029c4000500"
     "0001c49000000015010ffff00000000000000",
     0x7u, 0xb99f46e4u, 1, 0x1234, 2},
    {"udp_0",
     "02000000000202000000000108004500001c00420000801124890a0101020a0201029c40003500080000", 0x9u,
     0x060ada8au, 0, 0x0000, 0},
    {"udp_3",
     "02000000000202000000000108004500001f00420000801124860a0101020a0201029c400035000b0000000000",
     0x9u, 0x060ada8au, 0, 0x0000, 0},
    {"udp_12",
     "020000000002020000000001080045000028004200008011247d0a0101020a0201029c40003500140000000000000"
     "000000900000000",
     0x9u, 0x70140f86u, 0, 0x0000, 0},
    {"first_fragment",
     "02000000000202000000000108004500002800422000fe11a67c0a0101020a0201029c40003500140000000000000"
     "000000900000000",
     0x9u, 0x7ce2aa53u, 1, 0x0000, 0},
    {"dont_fragment",
     "02000000000202000000000108004500002800424000fe11a67c0a0101020a0201029c40003500140000000000000"
     "000000900000000",
     0x9u, 0x70140f86u, 1, 0x0000, 0},
    {"udp6",
     "02000000000202000000000186dd600000000010113cfd000000000100010000000000000002fd000000000200010"
     "0000000000000029c400035001000000000000000000009",
     0x9u, 0xbdc9fbefu, 4, 0x0000, 0},
    {"tcp6",
     "02000000000202000000000186dd6000000000140641fd000000000100010000000000000002fd000000000200010"
     "0000000000000029c400050000032e9000000015010ffff00000000",
     0x9u, 0xa9a10ba2u, 63, 0x0000, 0},
    {"tcp6_hop_by_hop",
     "02000000000202000000000186dd60000000001c0041fd000000000100010000000000000002fd000000000200010"
     "00000000000000206000104000000009c400050000032e9000000015010ffff00000000",
     0x9u, 0xa9a10ba2u, 63, 0x0000, 0},
    {"tcp6_fragment",
     "02000000000202000000000186dd60000000001c2c41fd000000000100010000000000000002fd000000000200010"
     "00000000000000206000001000000099c400050000032e9000000015010ffff00000000",
     0x9u, 0xe076daf9u, 63, 0x0000, 0},
    {"tcp6_atomic_fragment",
     "02000000000202000000000186dd60000000001c2c41fd000000000100010000000000000002fd000000000200010"
     "00000000000000206000000000000099c400050000032e9000000015010ffff00000000",
     0x9u, 0xa9a10ba2u, 63, 0x0000, 0},
    {"icmp",
     "02000000000202000000000108004500002b002600003f0165a10a0101020a0201029c40005000001c49000000015"
     "010ffff00000000000000",
     0xffffffffu, 0xa14bb887u, 1, 0x0000, 0},
};

/* Exactly as many bytes as there are, so that a sanitizer sees each one read beyond. */
static uint8_t *frame_of(const struct sample *sample, size_t *ret_bytes)
{
    const size_t bytes = strlen(sample->hex) / 2;
    uint8_t *frame = malloc(bytes);

    assert_non_null(frame);
    for (size_t i = 0; i < bytes; i++) {
        const char two[] = {sample->hex[2 * i], sample->hex[2 * i + 1], 0};
        frame[i] = (uint8_t)strtoul(two, NULL, 16);
    }
    *ret_bytes = bytes;
    return frame;
}

static void frames_have_their_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct pd_packet packet;
        size_t bytes;
        uint16_t tci;
        uint8_t *frame = frame_of(&samples[i], &bytes);
        assert_int_equal(pd_packet_parse(frame, bytes, bytes, &packet), PD_PACKET_OK);
        if (pd_packet_id(frame, bytes, &packet, samples[i].seed) != samples[i].packet_id) {
            fail_msg("%s: packet ID", samples[i].name);
        }
        assert_int_equal(pd_packet_hops(pd_packet_ttl(frame, &packet)), samples[i].hops);
        assert_int_equal(pd_packet_service_tags(frame, &packet, &tci), samples[i].service_tags);
        assert_int_equal(tci, samples[i].tci);
        free(frame);
    }
}

/* What a snap length cut off reads as 0, and nothing is read beyond it. */
static void cut_frames_are_read_within(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        size_t bytes;
        uint8_t *frame = frame_of(&samples[i], &bytes);
        for (size_t captured = bytes; captured-- > 0;) {
            struct pd_packet packet;
            uint8_t *cut = malloc(captured + !captured);
            memcpy(cut, frame, captured);
            if (pd_packet_parse(cut, captured, bytes, &packet) == PD_PACKET_OK) {
                pd_packet_id(cut, captured, &packet, 1);
            }
            free(cut);
        }
        free(frame);
    }
}

static void ttls_give_hops(void **state)
{
    (void)state;
    assert_int_equal(pd_packet_hops(64), 0);
    assert_int_equal(pd_packet_hops(63), 1);
    assert_int_equal(pd_packet_hops(65), 63);
    assert_int_equal(pd_packet_hops(128), 0);
    assert_int_equal(pd_packet_hops(129), 126);
    assert_int_equal(pd_packet_hops(255), 0);
    assert_int_equal(pd_packet_hops(0), 64);
}

/* Values of Bob Jenkins' own lookup3.c. */
static void lookup3_is_the_published_one(void **state)
{
    static const uint32_t words[] = {0x0a010102, 0x0a020102, 6u << 16 | 1, 0, 40000u << 16 | 80,
                                     1,          1};
    (void)state;
    assert_int_equal(pd_lookup3(0, words, 1), 0x978295ce);
    assert_int_equal(pd_lookup3(0, words, 2), 0xe94ae363);
    assert_int_equal(pd_lookup3(2, words, 3), 0x8eeddae0);
    assert_int_equal(pd_lookup3(0, words, 4), 0x95b69818);
    assert_int_equal(pd_lookup3(2, words, 6), 0xc843a3be);
    assert_int_equal(pd_lookup3(0, words, 7), 0xd90cdeec);
    assert_int_equal(pd_lookup3_1(0, words[0]), 0x978295ce);
    assert_int_equal(pd_lookup3_2(0, words[0], words[1]), 0xe94ae363);
    assert_int_equal(pd_lookup3_3(2, words[0], words[1], words[2]), 0x8eeddae0);
    assert_int_equal(pd_lookup3_4(0, words[0], words[1], words[2], words[3]), 0x95b69818);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_have_their_numbers),
        cmocka_unit_test(cut_frames_are_read_within),
        cmocka_unit_test(ttls_give_hops),
        cmocka_unit_test(lookup3_is_the_published_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

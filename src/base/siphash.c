/* SPDX-License-Identifier: Apache-2.0 */
/* SipHash-2-4, as its authors describe it. */
#include "base/siphash.h"

struct state {
    uint64_t v0, v1, v2, v3;
};

static uint64_t le64(const uint8_t *bytes, size_t len)
{
    uint64_t word = 0;
    for (size_t i = 0; i < len; i++) {
        word |= (uint64_t)bytes[i] << 8 * i;
    }
    return word;
}

static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static void turn(struct state *s, int rounds)
{
    while (rounds--) {
        s->v0 += s->v1;
        s->v1 = rotate(s->v1, 13) ^ s->v0;
        s->v0 = rotate(s->v0, 32);
        s->v2 += s->v3;
        s->v3 = rotate(s->v3, 16) ^ s->v2;
        s->v0 += s->v3;
        s->v3 = rotate(s->v3, 21) ^ s->v0;
        s->v2 += s->v1;
        s->v1 = rotate(s->v1, 17) ^ s->v2;
        s->v2 = rotate(s->v2, 32);
    }
}

static void take(struct state *s, uint64_t word)
{
    s->v3 ^= word;
    turn(s, 2);
    s->v0 ^= word;
}

uint64_t pd_siphash(const uint8_t key[PD_SIPHASH_KEY_BYTES], const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    uint64_t k0 = le64(key, 8), k1 = le64(key + 8, 8);
    struct state s = {k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
                      k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)};
    size_t left = len;
    for (; left >= 8; at += 8, left -= 8) {
        take(&s, le64(at, 8));
    }
    take(&s, le64(at, left) | (uint64_t)len << 56);
    s.v2 ^= 0xff;
    turn(&s, 4);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

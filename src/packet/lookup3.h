/* SPDX-License-Identifier: Apache-2.0 */
/* Jenkins' lookup3: the hash that switches and receivers of PINT agree on. */
#ifndef PD_PACKET_LOOKUP3_H
#define PD_PACKET_LOOKUP3_H

#include <stddef.h>
#include <stdint.h>

/* `hashword` of Bob Jenkins' lookup3.c (public domain, 2006), as DPDK's rte_jhash_32b has it. It
 * adds, XORs and shifts alone, so that a switch's pipeline can compute it, and it is not linear as
 * CRCs are: which words collide depends on all of them. J(0; 0x0a010102, 0x0a020102) =
 * 0xe94ae363.
 *
 * Thread safety: pure. */

#define PD_LOOKUP3_START 0xdeadbeefu

/* Macros, since they also work on vectors of words (codec/pint/draws.c). */
#define PD_LOOKUP3_ROTATED(x, bits) ((x) << (bits) | (x) >> (32 - (bits)))

/* The rounds that end it, on three variables; the value is in c. */
#define PD_LOOKUP3_FINISH(a, b, c)                       \
    do {                                                 \
        (c) = ((c) ^ (b)) - PD_LOOKUP3_ROTATED((b), 14); \
        (a) = ((a) ^ (c)) - PD_LOOKUP3_ROTATED((c), 11); \
        (b) = ((b) ^ (a)) - PD_LOOKUP3_ROTATED((a), 25); \
        (c) = ((c) ^ (b)) - PD_LOOKUP3_ROTATED((b), 16); \
        (a) = ((a) ^ (c)) - PD_LOOKUP3_ROTATED((c), 4);  \
        (b) = ((b) ^ (a)) - PD_LOOKUP3_ROTATED((a), 14); \
        (c) = ((c) ^ (b)) - PD_LOOKUP3_ROTATED((b), 24); \
    } while (0)

struct pd_lookup3 {
    uint32_t a, b, c;
};

static inline struct pd_lookup3 pd_lookup3_begin(size_t words, uint32_t start)
{
    const uint32_t first = PD_LOOKUP3_START + (uint32_t)(words << 2) + start;
    return (struct pd_lookup3){first, first, first};
}

/* Takes three words in; more follow. */
static inline void pd_lookup3_mix(struct pd_lookup3 *h, uint32_t x, uint32_t y, uint32_t z)
{
    uint32_t a = h->a + x, b = h->b + y, c = h->c + z;

    a = (a - c) ^ PD_LOOKUP3_ROTATED(c, 4);
    c += b;
    b = (b - a) ^ PD_LOOKUP3_ROTATED(a, 6);
    a += c;
    c = (c - b) ^ PD_LOOKUP3_ROTATED(b, 8);
    b += a;
    a = (a - c) ^ PD_LOOKUP3_ROTATED(c, 16);
    c += b;
    b = (b - a) ^ PD_LOOKUP3_ROTATED(a, 19);
    a += c;
    c = (c - b) ^ PD_LOOKUP3_ROTATED(b, 4);
    b += a;
    *h = (struct pd_lookup3){a, b, c};
}

/* The last one to three words, missing ones 0; the value. */
static inline uint32_t pd_lookup3_end(struct pd_lookup3 h, uint32_t x, uint32_t y, uint32_t z)
{
    uint32_t a = h.a + x, b = h.b + y, c = h.c + z;

    PD_LOOKUP3_FINISH(a, b, c);
    return c;
}

/* J(start; words…), at least one word. */
static inline uint32_t pd_lookup3(uint32_t start, const uint32_t *words, size_t len)
{
    struct pd_lookup3 h = pd_lookup3_begin(len, start);

    for (; len > 3; len -= 3, words += 3) {
        pd_lookup3_mix(&h, words[0], words[1], words[2]);
    }
    return pd_lookup3_end(h, words[0], len > 1 ? words[1] : 0, len > 2 ? words[2] : 0);
}

/* The lengths that PINT's formulas have. */
static inline uint32_t pd_lookup3_1(uint32_t start, uint32_t x)
{
    return pd_lookup3_end(pd_lookup3_begin(1, start), x, 0, 0);
}

static inline uint32_t pd_lookup3_2(uint32_t start, uint32_t x, uint32_t y)
{
    return pd_lookup3_end(pd_lookup3_begin(2, start), x, y, 0);
}

static inline uint32_t pd_lookup3_3(uint32_t start, uint32_t x, uint32_t y, uint32_t z)
{
    return pd_lookup3_end(pd_lookup3_begin(3, start), x, y, z);
}

static inline uint32_t pd_lookup3_4(uint32_t start, uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
    struct pd_lookup3 h = pd_lookup3_begin(4, start);

    pd_lookup3_mix(&h, x, y, z);
    return pd_lookup3_end(h, w, 0, 0);
}

#endif

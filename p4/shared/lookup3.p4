// SPDX-License-Identifier: Apache-2.0
// Jenkins' lookup3 in steps that any target has: `hashword` over words of 32 bits.
#ifndef SHARED_LOOKUP3_P4
#define SHARED_LOOKUP3_P4

/* The state is m.a, m.b and m.c; J_BEGIN, then J_MIX for each three words that others follow, then
 * J_END; the value is m.c. One operation a statement: compilers have been seen to get nested ones
 * wrong. J(0; 0x0a010102, 0x0a020102) = 0xe94ae363. */

#define J_ROTATED(x, n, rest) \
    m.t = m.x << n; \
    m.u = m.x >> rest; \
    m.t = m.t | m.u;

// `start` is 0xdeadbeef + 4 * words + what the formula adds to the seed.
#define J_BEGIN(start) \
    m.a = m.seed + start; \
    m.b = m.a; \
    m.c = m.a;

#define J_MIX(x, y, z) \
    m.a = m.a + x; \
    m.b = m.b + y; \
    m.c = m.c + z; \
    m.a = m.a - m.c; J_ROTATED(c, 4, 28) m.a = m.a ^ m.t; m.c = m.c + m.b; \
    m.b = m.b - m.a; J_ROTATED(a, 6, 26) m.b = m.b ^ m.t; m.a = m.a + m.c; \
    m.c = m.c - m.b; J_ROTATED(b, 8, 24) m.c = m.c ^ m.t; m.b = m.b + m.a; \
    m.a = m.a - m.c; J_ROTATED(c, 16, 16) m.a = m.a ^ m.t; m.c = m.c + m.b; \
    m.b = m.b - m.a; J_ROTATED(a, 19, 13) m.b = m.b ^ m.t; m.a = m.a + m.c; \
    m.c = m.c - m.b; J_ROTATED(b, 4, 28) m.c = m.c ^ m.t; m.b = m.b + m.a;

// The last words have been added to the state.
#define J_END \
    m.c = m.c ^ m.b; J_ROTATED(b, 14, 18) m.c = m.c - m.t; \
    m.a = m.a ^ m.c; J_ROTATED(c, 11, 21) m.a = m.a - m.t; \
    m.b = m.b ^ m.a; J_ROTATED(a, 25, 7) m.b = m.b - m.t; \
    m.c = m.c ^ m.b; J_ROTATED(b, 16, 16) m.c = m.c - m.t; \
    m.a = m.a ^ m.c; J_ROTATED(c, 4, 28) m.a = m.a - m.t; \
    m.b = m.b ^ m.a; J_ROTATED(a, 14, 18) m.b = m.b - m.t; \
    m.c = m.c ^ m.b; J_ROTATED(b, 24, 8) m.c = m.c - m.t;

#endif

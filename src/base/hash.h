/* SPDX-License-Identifier: Apache-2.0 */
/* The 64-bit hash of flow IDs and paths: for tables and Bloom filters, not against an adversary.
 * And numbers that look random, from a seed. */
#ifndef PD_BASE_HASH_H
#define PD_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Hash of `len` bytes, len a multiple of 4. The value is stored in files: it is the same in every
 * process, release and byte order of the machine. Inputs are bytes as they lie in memory on
 * little-endian machines. */
uint64_t pd_hash(const void *bytes, size_t len);

/* Mixes a 64-bit value: each bit of the input changes each bit of the result with probability near
 * one half. */
static inline uint64_t pd_hash_mix(uint64_t x)
{
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

/* The next number of SplitMix64 (Steele, Lea, Flood 2014): one addition and a mix. Any state is a
 * good start; each state has numbers of its own. */
static inline uint64_t pd_splitmix64(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

#endif

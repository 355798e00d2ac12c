/* SPDX-License-Identifier: Apache-2.0 */
/* The 64-bit hash of flow IDs and paths: for tables and Bloom filters, not against an adversary. */
#ifndef PD_BASE_HASH_H
#define PD_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Hash of `len` bytes, len a multiple of 4. The value is stored in files: it is the same in every process, release and
 * byte order of the machine. Inputs are bytes as they lie in memory on little-endian machines. */
uint64_t pd_hash(const void *bytes, size_t len);

/* Mixes a 64-bit value: each bit of the input changes each bit of the result with probability near one half. */
static inline uint64_t pd_hash_mix(uint64_t x)
{
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The 64-bit hash of flow IDs and paths. */
#include "base/hash.h"

#include <endian.h>
#include <string.h>

/* One multiplication and rotation per word, and a full mix at the end: flow IDs are five words. */
uint64_t pd_hash(const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    uint64_t hash = len * UINT64_C(0x9e3779b97f4a7c15);
    for (; len >= 8; at += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = (hash ^ pd_hash_mix(le64toh(word))) * UINT64_C(0x9fb21c651e98df25);
        hash = hash << 29 | hash >> 35;
    }
    if (len >= 4) {
        uint32_t word;
        memcpy(&word, at, 4);
        hash = (hash ^ le32toh(word)) * UINT64_C(0x9fb21c651e98df25);
    }
    return pd_hash_mix(hash);
}

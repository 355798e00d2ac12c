/* SPDX-License-Identifier: Apache-2.0 */
/* The items of partial results, byte by byte (docs/formats/partial-result.md): what writer and
 * reader share. */
#ifndef PD_QUERY_PARTIAL_ITEM_H
#define PD_QUERY_PARTIAL_ITEM_H

#include <stdint.h>

#define PD_PARTIAL_MAGIC "PDPR"

/* An item begins with its kind. */
enum pd_partial_kind {
    PD_PARTIAL_ITEM_PATH = 'P',
    PD_PARTIAL_ITEM_GROUP = 'G',
    PD_PARTIAL_ITEM_SUMS = 'S',
    PD_PARTIAL_ITEM_MISSING = 'M',
    PD_PARTIAL_ITEM_END = 'E'
};

/* Fields of a group; bit n of its mask: field n is sent, else it is that of the group before (0
 * before the first). They are sent from the last to the first, so that the family stands before the
 * addresses, and those that differ in nearly every group share the mask's first byte. */
#define PD_PARTIAL_FIELDS(X) \
    X(SRC)                   \
    X(DST)                   \
    X(SRC_PORT)              \
    X(DST_PORT)              \
    X(PATH)                  \
    X(BYTES)                 \
    X(PKTS)                  \
    X(DURATION)              \
    X(STIME)                 \
    X(PROTOCOL)              \
    X(IP_VERSION)            \
    X(RETRANSMISSIONS)

enum pd_partial_field {
#define X(name) PD_PARTIAL_##name,
    PD_PARTIAL_FIELDS(X)
#undef X
        PD_PARTIAL_FIELD_COUNT
};

/* Signed differences as small numbers: 0, -1, 1, -2 … */
static inline uint64_t pd_partial_zigzag(int64_t difference)
{
    return (uint64_t)difference << 1 ^ -(uint64_t)(difference < 0);
}
static inline int64_t pd_partial_unzigzag(uint64_t number)
{
    return (int64_t)(number >> 1 ^ -(number & 1));
}

#endif

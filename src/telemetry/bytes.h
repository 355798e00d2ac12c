/* SPDX-License-Identifier: Apache-2.0 */
/* Big-endian numbers from bytes, through a cursor that knows its end. */
#ifndef PD_TELEMETRY_BYTES_H
#define PD_TELEMETRY_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pd_bytes {
    const uint8_t *at;
    size_t left;
};

/* The next `bytes`, or NULL when there are fewer. */
static inline const uint8_t *pd_bytes_take(struct pd_bytes *from, size_t bytes)
{
    const uint8_t *at = from->at;
    if (from->left < bytes) {
        return NULL;
    }
    from->at += bytes;
    from->left -= bytes;
    return at;
}

/* A number of 1 to 8 bytes. */
static inline uint64_t pd_bytes_number(const uint8_t *at, size_t bytes)
{
    uint64_t number = 0;
    while (bytes--) {
        number = number << 8 | *at++;
    }
    return number;
}

static inline void pd_bytes_put(uint8_t *at, size_t bytes, uint64_t number)
{
    while (bytes--) {
        at[bytes] = (uint8_t)number;
        number >>= 8;
    }
}

#endif

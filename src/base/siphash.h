/* SPDX-License-Identifier: Apache-2.0 */
/* SipHash-2-4: a keyed hash that nobody without the key can make. */
#ifndef PD_BASE_SIPHASH_H
#define PD_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

#define PD_SIPHASH_KEY_BYTES 16

/* Aumasson, Bernstein 2012. Pure. */
uint64_t pd_siphash(const uint8_t key[PD_SIPHASH_KEY_BYTES], const void *bytes, size_t len);

#endif

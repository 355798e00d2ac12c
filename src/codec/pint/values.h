/* SPDX-License-Identifier: Apache-2.0 */
/* What a digest tells of the values that hops measured, before it is known which switches they are.
 */
#ifndef PD_CODEC_PINT_VALUES_H
#define PD_CODEC_PINT_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "codec/pint/draws.h"

/* Paper 002, sections 4.1 and 4.3: of a dynamic query the hop that wrote last is known from the
 * packet ID, a query by packet speaks of the path as a whole. Thread safety: pure. */

struct pd_pint_code_at {
    uint8_t query; /* of the plan */
    uint8_t hop;   /* number from the TTL, from 1; 0: of the whole path */
    uint16_t code;
};

/* Codes of a digest whose packet has these draws, over all hops that it came; returns how many
 * there are. */
size_t pd_pint_values(const struct pd_pint_plan *plan, const struct pd_pint_draw *draw,
                      uint16_t digest, struct pd_pint_code_at ret_codes[PD_PINT_BITS_MAX]);

#endif

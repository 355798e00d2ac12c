/* SPDX-License-Identifier: Apache-2.0 */
/* The reference encoder of PINT: a frame crosses a list of switches, as test fabrics must do it. */
#ifndef PD_CODEC_PINT_ENCODE_H
#define PD_CODEC_PINT_ENCODE_H

#include "codec/pint/formulas.h"
#include "packet/packet.h"

/* Executes pd_pint_switch at each switch. A digest that a host put on the frame never counts: its
 * tags of TPID 0x88a8 are taken off, or its DSCP is cleared, before the first switch.
 *
 * Thread safety: pure. */

struct pd_pint_crossing {
    uint32_t packet_id;
    int set;         /* index, -1: none */
    uint16_t digest; /* as it arrives */
    bool looped;     /* reported and dropped by this switch, as this hop */
    uint32_t sw, hop;
    size_t frame_bytes; /* as it arrives */
};

/* `frame` has been parsed as `packet`; `path` is a list of switch IDs. `values` has for each query
 * of the plan one value a switch, NULL: none (then 0). Writes the frame as it arrives into
 * `ret_frame`, which has room for 4 bytes more than `bytes`. -PD_E_VALUE with the reason when the
 * TTL does not last. */
int pd_pint_encode(const struct pd_pint_plan *plan, const uint8_t *frame, size_t bytes,
                   const struct pd_packet *packet, const uint32_t *path, size_t len,
                   const uint64_t *const *values, uint8_t *ret_frame,
                   struct pd_pint_crossing *ret_crossing, struct pd_error *error);

/* The digest that a received frame carries: false when it has none or, with tags, more than one. */
bool pd_pint_digest(const struct pd_pint_plan *plan, const uint8_t *frame,
                    const struct pd_packet *packet, uint16_t *ret_digest);

#endif

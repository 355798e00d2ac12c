/* SPDX-License-Identifier: Apache-2.0 */
/* Which hops write, for several packets at once: what a receiver works out from each digest first.
 */
#ifndef PD_CODEC_PINT_DRAWS_H
#define PD_CODEC_PINT_DRAWS_H

#include "codec/pint/formulas.h"

/* The draws of paper 002 (sections 4.1 and 4.2) depend on the packet alone: set, layer, and for
 * each hop whether it writes. So those of several packets, of any flows, stand side by side in
 * vectors; hop by hop for one packet, most of a vector is empty on paths of data centres.
 *
 * Thread safety: pure. */

#define PD_PINT_DRAWS_MAX 8 /* packets at once */

/* Of one packet that came over hops 1 to n. */
struct pd_pint_draw {
    int set;       /* index, -1: none */
    uint8_t hops;  /* of the packet */
    uint16_t last; /* bit f: the last writer wins, and is alone in `writers` */
    /* of each static or dynamic field of the set: hop i is bit i - 1 */
    struct pd_pint_hops writers[PD_PINT_BITS_MAX];
};

/* `hops` of each packet, at most PD_PINT_HOPS_MAX; `len` 1 to PD_PINT_DRAWS_MAX. */
void pd_pint_draw(const struct pd_pint_plan *plan, const uint32_t *packet_ids, const uint32_t *hops,
                  unsigned len, struct pd_pint_draw *ret_draws);

/* The clue of field `f` of the set, as pd_pint_clue has it; first_hop + len - 1 are the hops of the
 * draw. */
void pd_pint_drawn_clue(const struct pd_pint_plan *plan, const struct pd_pint_draw *draw,
                        unsigned f, uint32_t packet_id, uint16_t digest, unsigned first_hop,
                        unsigned len, struct pd_pint_clue *ret_clue);

#endif

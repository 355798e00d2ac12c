/* SPDX-License-Identifier: Apache-2.0 */
/* Shares: which queries go on a packet together, and on how many packets. Internal to codec/pint.
 */
#ifndef PD_CODEC_PINT_SHARES_H
#define PD_CODEC_PINT_SHARES_H

#include <stdint.h>

#include "codec/pint/plan.h"

/* Paper 002, section 3.4. A set of queries fits if its bits do; each query asks for a share of the
 * packets. The least number of packets for all of them is a linear program over all sets that fit,
 * solved exactly with columns made as needed. Pure. */

struct pd_pint_request {
    unsigned bits;    /* of all instances */
    double frequency; /* 0 to 1 */
};

/* Weights, of PD_PINT_ONE, so that each request gets its frequency within 1 / PD_PINT_ONE. Returns
 * 0 with the sets, or -PD_E_FULL with the index of a request that does not fit beside the others,
 * and of how many packets they would need one. */
int pd_pint_shares(const struct pd_pint_request *requests, unsigned len, unsigned bits,
                   struct pd_pint_set *ret_sets, unsigned *ret_sets_len, unsigned *ret_misfit,
                   double *ret_needed);

#endif

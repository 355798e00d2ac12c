/* SPDX-License-Identifier: Apache-2.0 */
/* What ECMP offers between two switches: where a way has a gap. */
#ifndef PD_LOCALISE_GAPS_H
#define PD_LOCALISE_GAPS_H

#include "localise/network.h"

/* Internal to localise/. One thread. */

struct pd_localise_gap {
    uint32_t from, to; /* indexes of switches */
    struct pd_localise_hop *hops;
    uint32_t hops_len, slots_len;
};

/* From the ones kept, or worked out. Valid until the next call. -PD_E_NOT_FOUND: there is no way.
 * -ENOMEM. */
int pd_localise_gap_find(struct pd_localise_network *network, uint32_t from, uint32_t to,
                         const struct pd_localise_gap **ret_gap);
void pd_localise_gaps_done(struct pd_localise_network *network);

#endif

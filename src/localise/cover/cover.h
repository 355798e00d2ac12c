/* SPDX-License-Identifier: Apache-2.0 */
/* The localisers `binary` and `integer`: covers of flows that suffered by links. */
#ifndef PD_LOCALISE_COVER_COVER_H
#define PD_LOCALISE_COVER_COVER_H

#include "localise/groups.h"
#include "localise/network.h"

/* Paper 003, section 5.3. A signature is the set of links that a flow which suffered may have
 * crossed, access links among them. (3) asks for the fewest links of which each signature holds
 * one. (4) asks for numbers p of packets dropped by each link, so that each flow's losses c are
 * explained, A p >= c, and none twice, |p| = |c|, with the fewest links above 0. Any cover can be
 * given such numbers: each flow's losses to one link of it that explains the flow. So the fewest
 * links of (4) are those of (3), and p is made that way: to the link that explains most.
 *
 * Internal to the folder. One thread. */

struct pd_cover {
    const struct pd_localise_groups *signatures;
    const struct pd_localise_index *index; /* of links */
    uint32_t links_len;
};

/* Algorithm 2: again and again the link that most flows not yet explained may have crossed, the
 * smaller number where two tie. Fills `ret_named` (room for links_len). 0 or -ENOMEM. */
int pd_cover_greedy(const struct pd_cover *cover, uint32_t *ret_named, size_t *ret_len);

/* The fewest links. Begins with a cover in `named`, and ends with the smallest one found within
 * `limit_ns`; *ret_proved: there is none smaller. 0 or -ENOMEM. */
int pd_cover_search(const struct pd_cover *cover, uint64_t limit_ns, uint32_t *named, size_t *len,
                    bool *ret_proved);

#endif

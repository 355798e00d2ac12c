/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `votes`: what its parts share. */
#ifndef PD_LOCALISE_VOTES_PRIVATE_H
#define PD_LOCALISE_VOTES_PRIVATE_H

#include "localise/groups.h"
#include "localise/network.h"

/* Paper 003, section 5.1 and Algorithm 1:
 * - a flow that suffered casts one vote, 1/h for each of the h links of its path, both access links
 *   among them; a position that is not known keeps its share, split over the links that ECMP offers
 *   there; several paths share the vote evenly;
 * - the link with the most votes is named among those that at least `min_flows` flows not yet
 *   explained cross, until it has less than `threshold` of all votes as they stand: a link that was
 *   named keeps those it was named with. Closer than VOTES_TIE is a tie: smaller IDs first;
 * - then its votes are taken back. `exact`: those of all flows over it. `ecmp`: the paper's
 *   estimate, v(k) −= v(l)·P(k | l) under uniform racks and ECMP, not below 0. `none`: nothing is.
 * Deviations from the paper: `exact` is the default, and `min_flows` is 2, since one flow that lost
 * one packet is no ranking. "1 % of the votes cast" is read as of those that stand: of the votes
 * first cast, seven failures of which one is heavy are found to a quarter.
 *
 * `of` switches: the same votes for the switches of a path.
 *
 * Internal to the folder. One thread. */

#define VOTES_TIE 1e-9

/* Chance that a flow which crosses `link` crosses each other one: racks and hosts drawn evenly,
 * ECMP hop by hop. `ret_given` has an element for each link. 0 or -ENOMEM. */
int pd_votes_given(const struct pd_localise_network *network, uint32_t link, double *ret_given);

#endif

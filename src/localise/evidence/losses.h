/* SPDX-License-Identifier: Apache-2.0 */
/* The loss model of `evidence`: how probable what was seen is, given a loss rate for each link. */
#ifndef PD_LOCALISE_EVIDENCE_LOSSES_H
#define PD_LOCALISE_EVIDENCE_LOSSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Link l drops each packet with probability p_l. A flow that sent n packets over the links of a
 * path loses a Poisson number of them with mean n · Σ p_l. So the log likelihood of all that was
 * seen is, up to a constant,
 *
 *     Σ over groups  R_g · log(Σ_l w_gl p_l)   −   Σ over links  p_l N_l
 *
 * with R_g the retransmissions of the flows of one group (same links, same hosts), w_gl the share
 * of its packets that crosses link l (1 where a flow has one path), N_l all packets that crossed
 * link l. Flows that did not suffer are in N_l alone: this is the evidence that clears links, and
 * it costs no memory. The maximum is found by expectation-maximisation: p_l ← p_l · (Σ_g R_g w_gl /
 * Σ_m w_gm p_m) / N_l, which never leaves p ≥ 0 and never gets worse.
 *
 * All counts fade, so that a link that was repaired, or became faulty later, is judged by what is
 * new. One thread. */

struct pd_losses_group {
    uint64_t key;
    double lost;    /* R: retransmissions */
    uint32_t first; /* of its members */
    uint32_t links_len;
};

struct pd_losses_member {
    uint32_t link;
    double weight;
};

struct pd_losses {
    double *sent; /* N, per link: packets that crossed it */
    double *rate; /* p, the estimate, per link */
    double *work; /* of one step, per link */
    size_t links_len, links_room;
    struct pd_losses_group *groups;
    size_t groups_len, groups_room;
    struct pd_losses_member *members;
    size_t members_len, members_room;
    uint32_t *slots; /* number + 1 of a group, by key */
    size_t slots_len;
    double deviation; /* Σ r²/n over observations with losses, for the dispersion */
    double flows;     /* observations */
};

void pd_losses_done(struct pd_losses *losses); /* works on zeroed memory */

/* Links 0 … links_len-1 exist now. 0 or -ENOMEM. */
int pd_losses_reserve(struct pd_losses *losses, size_t links_len);

/* Adds `lost` packets of a flow that sent `sent`, to the group of this key, made from these links
 * if it is new; weights are shares. 0, -ENOMEM, or -PD_E_FULL when there are too many groups. */
int pd_losses_add(struct pd_losses *losses, uint64_t key, const struct pd_losses_member *links,
                  size_t len, double sent, double lost);

/* Everything counts `keep` (0 … 1) of what it did; groups with nothing left go. */
void pd_losses_fade(struct pd_losses *losses, double keep);

/* Improves `rate` (one per link) by `steps` steps. `fixed` keeps its rate; UINT32_MAX: none does.
 */
void pd_losses_fit(struct pd_losses *losses, double *rate, unsigned steps, uint32_t fixed);

double pd_losses_likelihood(const struct pd_losses *losses, const double *rate);

/* How much more the counts scatter than a Poisson number would: at least 1. Losses come in bursts
 * where queues overflow. */
double pd_losses_dispersion(const struct pd_losses *losses);

#endif

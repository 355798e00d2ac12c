/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence` on evidence without a clock: what is kept of rows, and how probable it
 * is. */
#ifndef PD_LOCALISE_EVIDENCE_MODEL_H
#define PD_LOCALISE_EVIDENCE_MODEL_H

#include "localise/groups.h"
#include "localise/network.h"

/* Link l passes a packet with probability exp(−θ_l). A healthy link has the noise θ0, which is
 * estimated with all the rest; a faulty one has a θ of its own. Rows say three things:
 *
 * - n packets took a way and k of them were lost (a counted path, a flow whose packets are known):
 *   (n − k)·log e^(−x) + k·log(1 − e^(−x)), with x = Σ w θ over its links and w the chance that a
 *   packet crosses each (1 where the path is known, the share of a path of several, what ECMP
 * offers in a gap). Those that passed add up per link (`passed`), so that rows without losses cost
 * no memory; rows with losses are groups;
 * - a flow suffered, and nobody knows how many did not (`blind`): conditioned on having suffered,
 *   k·log(x / Σ u θ), with u what each link carries under uniform racks and ECMP (`usual`);
 * - nothing is said by a row without losses whose packets are not known.
 *
 * A set of faulty links is judged by its posterior. Before anything is seen one link of all is
 * expected to be faulty, and the logarithm of its θ is as likely anywhere between θ0 and certain
 * loss; the likelihood is integrated over θ (Laplace). So no rate and no threshold is typed in:
 * what is named is more probable than not.
 *
 * Internal to the folder. One thread. */

struct pd_evidence_model {
    const struct pd_localise_network *network;
    struct pd_localise_groups lossy, blind; /* members are links with their w */
    double *passed;                         /* by link: packets that crossed it and were not lost */
    double *crossed;                        /* by link: losses of rows that crossed it, w·k */
    double *usual; /* by link, when there are blind rows: flows that cross it */
    double blind_lost;
    /* Of the row at hand. */
    double *share;
    uint32_t *touched;
    struct pd_localise_member *members;
    /* The solution: by link θ, and whether it is named. */
    double *theta;
    bool *is_faulty;
    double *odds; /* by link: log posterior odds that it is faulty, given the others */
    double noise; /* θ0 */
    double confidence;
    uint32_t named_len;
};

/* 0 or -ENOMEM. */
int pd_evidence_model_new(const struct pd_localise_network *network,
                          struct pd_evidence_model **ret_model);
void pd_evidence_model_free(struct pd_evidence_model *model); /* NULL is fine */

/* 0, -ENOMEM, or -PD_E_FULL. */
int pd_evidence_model_take(struct pd_evidence_model *model, const struct pd_localise_row *row);

/* usual.c: flows over each link under uniform racks and ECMP. 0 or -ENOMEM. */
int pd_evidence_model_usual(struct pd_evidence_model *model);

/* search.c: the most probable set of faulty links that a local search finds. 0 or -ENOMEM. */
int pd_evidence_model_search(struct pd_evidence_model *model);

/* detects.c: the least loss that would have been named on each link of a tier, as JSON. */
json_t *pd_evidence_model_detects(const struct pd_evidence_model *model);

#endif

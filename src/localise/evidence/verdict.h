/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: from the model to a verdict. */
#ifndef PD_LOCALISE_EVIDENCE_VERDICT_H
#define PD_LOCALISE_EVIDENCE_VERDICT_H

#include "localise/evidence/model.h"

/* Internal to the folder. One thread. */

/* What a verdict points to. Zeroed memory is empty. */
struct pd_evidence_answer {
    struct pd_verdict_link *links, *ranking;
};

/* Searches, and makes the verdict. 0 or -ENOMEM. */
int pd_evidence_conclude(struct pd_evidence_model *model, struct pd_evidence_answer *answer,
                         struct pd_verdict *ret_verdict);
/* False: too many losses do not tell which of several paths they hit. */
bool pd_evidence_can_be_certain(const struct pd_evidence_model *model);
void pd_evidence_answer_done(struct pd_evidence_answer *answer);

void pd_evidence_cause(const struct pd_evidence_model *model, const struct pd_localise_row *row,
                       struct pd_cause *ret_cause);
/* "kind", "faults", "switches", "hosts", "alternatives", "loss" and "detects" into the answer. */
void pd_evidence_describe(const struct pd_evidence_model *model, const struct pd_verdict *verdict,
                          json_t *answer);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* One store's part in a query: its groups, asked for as the plan says, and the words for what
 * fails. */
#ifndef PD_QUERY_RUN_H
#define PD_QUERY_RUN_H

#include "query/plan.h"

/* A snapshot (NULL: none) and the records of the trajectory memory. */
struct pd_run_store {
    struct pd_tib_snapshot *snapshot;
    const struct pd_tib_record *live;
    size_t live_len;
};

/* Gives the groups that the store has for this query to `visit`. `ordered`: as the answer wants
 * them; where not, they come in any order and are cut to the first k only where these are all it
 * takes. *complete becomes false where the store is damaged. Errors as of pd_tib_group. */
int pd_query_run_visit(const struct pd_query *query, const struct pd_query_plan *plan,
                       const struct pd_run_store *store, bool ordered,
                       int (*visit)(void *context, const struct pd_tib_record *groups, size_t n),
                       void *context, bool *complete);

/* Passes items on and notes sums that are at their end. */
struct pd_run_giving {
    const struct pd_items *items;
    bool capped;
    bool stopped; /* by who got them */
};
struct pd_items pd_query_run_noted(struct pd_run_giving *giving);

/* Puts the failure into words and returns its code. */
int pd_query_run_fail(const struct pd_query *query, int err, struct pd_error *error);

#endif

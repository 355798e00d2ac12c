/* SPDX-License-Identifier: Apache-2.0 */
/* Collections: items of one query, added up in bounded memory and given out again. */
#ifndef PD_QUERY_COLLECT_H
#define PD_QUERY_COLLECT_H

#include <stdbool.h>

#include "query/plan.h"
#include "tib/group.h"

/* The first k of all flows are among twice k kept: as soon as there are more, the least are
 * dropped, and what is less than the k-th from then on comes in only to be added to a flow that is
 * there. Paths are not copied. One thread. */

struct pd_collect {
    const struct pd_query *query;
    struct pd_query_plan plan;
    struct pd_tib_budget budget;
    struct pd_tib_groups groups; /* by `plan.kind` one of these four */
    struct pd_tib_top top;
    struct pd_query_fold fold;
    struct pd_tib_record total;
    bool has_total;
    bool complete;        /* no sum was capped that cannot be seen in the items */
    uint64_t floor;       /* bytes or packets of the k-th flow, once others were dropped */
    uint64_t most_groups; /* before the least are dropped */
};

void pd_query_collect_init(struct pd_collect *collect, const struct pd_query *query);
void pd_query_collect_done(struct pd_collect *collect);

/* A group of the store, as pd_tib_group gives it. -PD_E_TOO_LARGE, -ENOMEM. */
int pd_query_collect_local(struct pd_collect *collect, const struct pd_tib_record *group);

/* Items of this query. */
int pd_query_collect_group(struct pd_collect *collect, const struct pd_tib_record *group);
int pd_query_collect_sums(struct pd_collect *collect, const struct pd_query_sums *sums);

/* Gives everything out, once. `ordered`: as the answer wants it, sorted and the first k; else as it
 * lies, for another merge. */
int pd_query_collect_give(struct pd_collect *collect, bool ordered, const struct pd_items *items);

#endif

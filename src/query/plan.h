/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: how each query asks the store, and what of it is merged between hosts. */
#ifndef PD_QUERY_PLAN_H
#define PD_QUERY_PLAN_H

#include <stdbool.h>

#include "query/fold.h"
#include "query/query.h"

/* A query is one line of a table. The store groups its records (`local_by`); what comes out is
 * reduced to what one host tells another, its items: groups, one total or sums by a small key.
 * Items of several hosts merge into items of the same kind, and the answer is written from items,
 * wherever they came from: so that one host's answer and that of a thousand are the same text.
 *
 * Fields that an item does not need are 0 in it, so they cost no bytes on the way. */

enum pd_query_plan_kind {
    PD_PLAN_GROUPS,  /* one for each key of `by`, added up where hosts share it */
    PD_PLAN_RECORDS, /* single records */
    PD_PLAN_TOTAL,   /* at most one group, of everything */
    PD_PLAN_SUMS     /* struct pd_query_sums, not in the store's terms */
};

struct pd_query_plan {
    /* Distinct flows: one sum, since a flow's records lie at one host. */
    enum pd_query_plan_kind kind;
    enum pd_tib_by local_by; /* distinct: stands in the query, as `by` */
    enum pd_tib_by by;       /* GROUPS */
    enum pd_tib_order order; /* of the answer; `top`: stands in the query */
    bool top;                /* the answer has the first k only */
    bool prunable;           /* and the first k of each host are all it takes */
    bool times, counts;      /* items have stime and etime; bytes and packets */
};

/* Where items go; a non-zero return ends the giving with that value. */
struct pd_items {
    void *context;
    int (*group)(void *context, const struct pd_tib_record *group);
    int (*sums)(void *context, const struct pd_query_sums *sums);
};

/* A query over one store for who asks in this process: its items, in the order and number of the
 * answer, as pd_query_run would write them. Paths are the snapshot's or those of live records. What
 * `items` returned, or as pd_query_run. */
int pd_query_run_items(const struct pd_query *query, struct pd_tib_snapshot *snapshot,
                       const struct pd_tib_record *live, size_t live_len,
                       const struct pd_items *items, bool *ret_complete, struct pd_error *error);

/* The table's line, with what stands in the query filled in. */
struct pd_query_plan pd_query_plan_of(const struct pd_query *query);
/* Does each item of the answer say from where its path is known? */
bool pd_query_plan_tells_origin(const struct pd_query *query);

/* Whether a group of the store is an item of the query: conformance wants those that break a rule,
 * and those that cannot be judged. */
bool pd_query_plan_wants(const struct pd_query *query, const struct pd_tib_record *group);

/* SUMS: adds a group of the store. *complete becomes false where a sum had reached its end before.
 */
int pd_query_plan_fold(const struct pd_query *query, struct pd_query_fold *fold,
                       const struct pd_tib_record *group, bool *complete);

/* The group without what an item does not need. */
struct pd_tib_record pd_query_plan_item(const struct pd_query_plan *plan,
                                        const struct pd_tib_record *group);

/* Whether something that another host sent can be an item of this query. */
bool pd_query_plan_fits_group(const struct pd_query *query, const struct pd_query_plan *plan,
                              const struct pd_tib_record *group);
bool pd_query_plan_fits_sums(const struct pd_query *query, const struct pd_query_plan *plan,
                             const struct pd_query_sums *sums);

#endif

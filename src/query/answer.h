/* SPDX-License-Identifier: Apache-2.0 */
/* Answers: the text of every query, written from its items wherever they came from. */
#ifndef PD_QUERY_ANSWER_H
#define PD_QUERY_ANSWER_H

#include <jansson.h>

#include "query/plan.h"
#include "query/rows/out.h"

/* Usage: pd_query_answer_begin → pd_query_answer_group or pd_query_answer_sums, in the order and
 * number of the answer → pd_query_answer_end → pd_query_answer_done. One thread. */

struct pd_query_answer {
    const struct pd_query *query;
    struct pd_tib_budget *budget;
    bool complete;
    const struct pd_path *last_path;  /* listed by getPaths */
    const struct pd_mark **set_aside; /* getPaths: infeasible trajectories */
    size_t set_aside_len, set_aside_room;
    struct pd_tib_record total; /* getCount, getDuration */
    uint64_t items;             /* groups that came */
    uint64_t infeasible;        /* conformance: flows that could not be judged */
    struct pd_rows_out out;
};

/* `budget` pays for what has to wait for the end; paths must stay until then. */
void pd_query_answer_begin(struct pd_query_answer *answer, const struct pd_query *query,
                           enum pd_query_form form, struct pd_tib_budget *budget,
                           const struct pd_query_sink *sink);

/* For struct pd_items, with the answer as their context. What the sink returned, -PD_E_TOO_LARGE or
 * -ENOMEM. */
int pd_query_answer_group(void *answer, const struct pd_tib_record *group);
int pd_query_answer_sums(void *answer, const struct pd_query_sums *sums);

/* The members behind the rows: what is left of the query's own, then the token (NULL: none), those
 * of `extra` (an object, NULL: none), and "complete", which is false when `complete` is or a sum
 * that was written is capped; *ret_complete is what was said. */
int pd_query_answer_end(struct pd_query_answer *answer, const char *token, const json_t *extra,
                        bool complete, bool *ret_complete);
void pd_query_answer_done(struct pd_query_answer *answer);

#endif

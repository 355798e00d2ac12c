/* SPDX-License-Identifier: Apache-2.0 */
/* What this host itself has to a question: a snapshot of its records for a query. */
#ifndef PD_AGENT_LOCAL_H
#define PD_AGENT_LOCAL_H

#include "agent/agent.h"
#include "agent/snapshot.h"
#include "base/error.h"
#include "http/answer.h"
#include "query/question.h"

/* Thread safety: any number of threads at once. Who is asked by many takes a turn first
 * (agent->query_turns). */

/* The snapshot alone or, for a live query, the exact snapshot of store and trajectory memory;
 * pd_agent_snapshot_free. Errors in words. */
int pd_agent_local_open(struct pd_agent *agent, const struct pd_query *query,
                        struct pd_agent_snapshot **ret_snapshot, struct pd_error *error);

/* Its answer in JSON. Counts answers that are not complete. `answer`: empty, where the sink writes
 * to; it may be given the bytes of an answer before instead (response_cache.h). NULL: each is made
 * anew. */
int pd_agent_local_answer(struct pd_agent *agent, const struct pd_query *query,
                          enum pd_query_form form, const struct pd_query_sink *sink,
                          struct pd_answer *answer, struct pd_error *error);

/* Its own groups, as a partial result. `begun_ns`: pd_clock_thread_ns when the work on it began. */
int pd_agent_local_partial(struct pd_agent *agent, const struct pd_query *query, uint64_t begun_ns,
                           const struct pd_query_sink *sink, struct pd_error *error);

/* Each record that matches, one way or the other, as a question asks for them (query/question.h).
 * Errors in words. */
int pd_agent_local_scan(struct pd_agent *agent, const struct pd_question_scan *scan,
                        int (*visit)(void *visitor, const struct pd_tib_record *records, size_t n),
                        void *visitor, bool *ret_complete, struct pd_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* getTraces: flows that suffered, and the way that each took. */
#ifndef PD_QUERY_TRACES_H
#define PD_QUERY_TRACES_H

#include "query/question.h"
#include "tib/record.h"
#include "trace/trace.h"

/* An entry of the table of questions over records of origin `trace` (src/trace), those of the epoch
 * that is not over among them: "what hurt host 21 last night" is asked of its own TIB. Answers of
 * several hosts are one list, each trace with its "host".
 *
 * Thread safety: pure functions. */

#define PD_TRACES_NAME "getTraces"

extern const struct pd_question pd_query_question_traces;

/* As a row of the answer; NULL without memory. */
json_t *pd_query_trace_json(const struct pd_trace *trace);

/* The trace of a record. -PD_E_NOT_FOUND: it has none; -PD_E_CORRUPT. */
int pd_query_trace_of_record(const struct pd_tib_record *record, struct pd_trace *ret_trace);

#endif

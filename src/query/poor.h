/* SPDX-License-Identifier: Apache-2.0 */
/* getPoorTCPFlows: a question to a host's TCP monitor instead of its records. */
#ifndef PD_QUERY_POOR_H
#define PD_QUERY_POOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "query/question.h"

/* An entry of the table of questions: its rows come from the kernel, and nothing of them is added
 * up. Answers of several hosts are their flows in one list, each with its
 * "host"; docs/api/openapi.json has the members.
 *
 * Thread safety: pure functions. */

#define PD_POOR_NAME      "getPoorTCPFlows"
#define PD_POOR_THRESHOLD 3 /* retransmissions in a row, when nothing is said */

struct pd_poor_question {
    uint64_t threshold; /* 0: every flow that is known */
    uint64_t from_us;   /* wall time; 0: any */
    bool has_from;
};

extern const struct pd_question pd_query_question_poor;

/* ---- shared with sufferingFlows, whose answers have the same members beside "flows" ---- */

void pd_query_poor_merge_members(json_t *all, const json_t *one);
void pd_query_poor_leave_out(json_t *all, uint64_t flows); /* that had no room */
int pd_query_poor_finish(struct pd_question_run *run, struct pd_error *error);

#endif

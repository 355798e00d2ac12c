/* SPDX-License-Identifier: Apache-2.0 */
/* pathSums: what came on each path in a span of time, as sums that merge. */
#ifndef PD_QUERY_PATH_SUMS_H
#define PD_QUERY_PATH_SUMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "query/question.h"

/* Receivers' half of the evidence for localisers (apps/join.h). Which flows suffered is known to
 * their senders alone; what all others sent matters as a sum for each path only. So the question
 * names the flows that suffered, by hashes, and gets for all others sums, and for these rows:
 *
 *   {"paths":{"1,9,17,11,3":[PKTS,BYTES,BEGAN],…}, "sources":{"10.1.1.2":[PKTS,BYTES,BEGAN],…},
 *    "receivers":{"10.2.1.2":[PKTS,BYTES,BEGAN],…},
 *    "flows":[["10.1.1.2","10.2.1.2",SRC_PORT,DST_PORT,PROTOCOL,"1,9,17,11,3",PKTS,BYTES],…],
 *    "flows_seen":N, "left_out":N, "complete":true}
 *
 * BEGAN are records that begin within the span, a flow each but for slices of long ones; an agent
 * from before that was counted does not say. "sources" and "receivers" have the links of hosts,
 * which paths have not. A hash that two flows
 * share makes a row of the other one, too: as true as its part of a sum. "flows_seen" is of all
 * flows that carried data in the span: those in sums and those with rows, whatever sample was asked
 * for. A host counts a flow once, on however many paths its packets came; since a flow has one
 * receiver, hosts' numbers add up. Above PD_DISTINCT_MAX flows of a host it is an estimate
 * (distinct.h).
 *
 * What counts: TCP that carries data; losses of acknowledgements and of other protocols are seen by
 * nobody, so that their packets clear no link. A datapath may count many segments as one large
 * packet: it counts as many as its bytes need. A record counts with the packets that fell into the
 * span by its receiver's clock, as if they had come evenly, rounded so that spans that follow each
 * other sum up to all of them. A flow that is named has a row from records beside the span as
 * well, with no packets.
 *
 * Thread safety: pure functions. */

#define PD_PATH_SUMS_NAME      "pathSums"
#define PD_PATH_SUMS_APART_MAX 100000u           /* hashes of one question */
#define PD_PATH_SUMS_SLACK_US  UINT64_C(5000000) /* by which clocks may differ */

/* "apart": eight hexadecimal digits for each flow, ascending. "below": only flows with a smaller
 * hash count, here and there: an even sample of them. */
uint32_t pd_query_path_sums_hash(const struct pd_flow_id *flow);

extern const struct pd_question pd_query_question_path_sums;

/* path_sums_merge.c: of the entry. */
int pd_query_path_sums_check(const struct pd_question_run *run, const json_t *answer,
                             const struct pd_question_hosts *hosts, struct pd_error *error);
int pd_query_path_sums_merge(struct pd_question_run *run, uint32_t host, bool alone, json_t *answer,
                             struct pd_error *error);
int pd_query_path_sums_finish(struct pd_question_run *run, struct pd_error *error);

#endif

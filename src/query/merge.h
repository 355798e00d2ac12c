/* SPDX-License-Identifier: Apache-2.0 */
/* Merges: what several hosts know of one query becomes one answer, or one partial result for the
 * next host up the tree. */
#ifndef PD_QUERY_MERGE_H
#define PD_QUERY_MERGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "query/partial.h"
#include "query/query.h"
#include "query/rows/out.h"

/* A merge holds groups or sums (query/plan.h says which a query merges by), copies the paths it
 * keeps, and so depends on nothing that was put in. Its memory is bounded by the answer and not by
 * the number of hosts: of topFlows and topRecords it keeps about twice k, of others one row per
 * group. The answer equals, byte by byte, that of one store with all records. topFlows and distinct
 * flows rest on this: the records of a flow lie at one host, that of its destination. Beyond
 * query->memory_bytes: -PD_E_TOO_LARGE.
 *
 * A child's answer counts wholly or not at all: it is verified before (pd_query_partial_verify),
 * then merged from the start. When merging fails half-way all the same (no memory), the merge must
 * be given up.
 *
 * `since` is refused: a token belongs to one host, and a merged answer has none.
 *
 * Usage:   pd_query_merge_new → pd_query_merge_local? → (pd_query_partial_verify,
 * pd_query_merge_partial, pd_query_merge_rows?)… → pd_query_merge_json or pd_query_merge_write,
 * once → pd_query_merge_free A leaf that has no children to ask needs none of it: pd_query_run
 * (JSON), pd_query_run_partial. Thread safety: one thread at a time. */

struct pd_query_merge;

/* A host that did not answer. */
struct pd_partial_missing {
    uint32_t host;
    const char *reason;
    uint64_t since_us; /* wall time from which on it has been silent; 0: not known */
};

/* Bytes of a child's answer from the beginning: > 0 how many were read, 0 at the end, < 0 an error
 * to return. */
struct pd_partial_source {
    void *context;
    ssize_t (*read)(void *context, void *buffer, size_t size);
    /* Hears each host that is listed as missing; may be NULL. Non-zero ends the reading with that
     * value. */
    int (*missing)(void *context, uint32_t host, const char *reason);
};

/* 0, or -PD_E_VALUE where the answers of several hosts to this query cannot be merged (since). */
int pd_query_mergeable(const struct pd_query *query, struct pd_error *error);

/* As pd_query_mergeable; -ENOMEM. `query` is copied. */
int pd_query_merge_new(const struct pd_query *query, struct pd_query_merge **ret_merge,
                       struct pd_error *error);
void pd_query_merge_free(struct pd_query_merge *merge); /* NULL is fine */

/* This host's own groups, as pd_query_run would take them. Snapshot and live records can go
 * afterwards. */
int pd_query_merge_local(struct pd_query_merge *merge, struct pd_tib_snapshot *snapshot,
                         const struct pd_tib_record *live, size_t live_len, struct pd_error *error);

/* A child's answer, verified before; *ret_end is what its end said. */
int pd_query_merge_partial(struct pd_query_merge *merge, const struct pd_partial_source *source,
                           struct pd_partial_end *ret_end, struct pd_error *error);

/* Whether rows are known as soon as one host has told them: no other one adds to them. */
bool pd_query_merge_rows_early(const struct pd_query *query);

/* Gives the rows out that were merged so far and forgets them, in NDJSON or as events, of a query
 * whose rows come early. pd_query_merge_json, in the same form and sink, gives the rest. Returns as
 * that does. */
int pd_query_merge_rows(struct pd_query_merge *merge, enum pd_query_form form,
                        const struct pd_query_sink *sink, struct pd_error *error);

/* Hosts are missing that no child has told of: the answer is not complete. */
void pd_query_merge_incomplete(struct pd_query_merge *merge);

/* The answer. `extra`: members (an object, may be NULL) that stand before "complete", which comes
 * last. Returns as pd_query_run. */
int pd_query_merge_json(struct pd_query_merge *merge, enum pd_query_form form, const json_t *extra,
                        const struct pd_query_sink *sink, bool *ret_complete,
                        struct pd_error *error);

/* The same for who asks in this process: its items, in the order and number of the answer. Paths
 * stay as long as the merge. What `items` returned, or as pd_query_merge_json. */
int pd_query_merge_give(struct pd_query_merge *merge, const struct pd_items *items,
                        bool *ret_complete, struct pd_error *error);

/* The partial result for the next host up. `end`: hosts asked and answered, and bytes, of this host
 * and all below; critical_us the largest of those below, to which the processor time of this thread
 * since `begun_ns` (pd_clock_thread_ns) is added. "complete" is false as soon as the merge or
 * end->complete says so. */
int pd_query_merge_write(struct pd_query_merge *merge, const struct pd_partial_end *end,
                         const struct pd_partial_missing *missing, size_t missing_len,
                         uint64_t begun_ns, const struct pd_query_sink *sink,
                         struct pd_error *error);

/* The same for a leaf: the groups of one store go straight out, one host asked and answered. */
int pd_query_run_partial(const struct pd_query *query, struct pd_tib_snapshot *snapshot,
                         const struct pd_tib_record *live, size_t live_len, uint64_t begun_ns,
                         const struct pd_query_sink *sink, bool *ret_complete,
                         struct pd_error *error);

/* Reads a child's whole answer and keeps nothing of it: every item is valid, of the kind and shape
 * that this query merges, no more of them than were asked for; the end is there and its hosts add
 * up: at least one asked, missing ones listed = asked - answered, and none where it says complete.
 * -PD_E_SYNTAX, -PD_E_VERSION, -PD_E_TRUNCATED, -PD_E_VALUE (of another query, or sums that do not
 * add up), -PD_E_TOO_LARGE, or what the source returned. The words say what is wrong, not who sent
 * it. */
int pd_query_partial_verify(const struct pd_query *query, const struct pd_partial_source *source,
                            struct pd_partial_end *ret_end, struct pd_error *error);

#endif

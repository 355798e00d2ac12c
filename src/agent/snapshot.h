/* SPDX-License-Identifier: Apache-2.0 */
/* The exact snapshot that a live query sees: a snapshot of the TIB and the live records that belong
 * to it. */
#ifndef PD_AGENT_SNAPSHOT_H
#define PD_AGENT_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/model.h"
#include "query/query.h"
#include "tib/record.h"
#include "trace/trace.h"
#include "trajectory/record.h"

/* Made in three steps by three threads, one after the other: the asker makes it, the intake thread
 * copies the live records between two polls, the store thread commits what came before, opens the
 * snapshot and decodes the copies. So every packet is in it once: either stored or live.
 *
 * Thread safety: belongs to whoever holds it; it is handed on through the mailbox and the queue of
 * the pipeline. */

/* A claim with room for its path. */
struct pd_way {
    struct pd_claim claim; /* its path is `path` */
    struct pd_path path;
};

struct pd_item_extra;

struct pd_agent_snapshot {
    struct pd_query query; /* a copy: the asker may have given up */
    struct pd_trajectory_record *records;
    size_t records_len, records_size;
    struct pd_item_extra **extras; /* of the records, where the query asks for them; NULL: none */
    size_t extras_size;
    struct pd_way *ways; /* distinct ones of the rows */
    struct pd_tib_record *rows;
    size_t rows_len, rows_size;
    struct pd_agent_trace_row **traces; /* of further rows */
    size_t traces_len, traces_size;
    struct pd_tib_snapshot *tib;
    int error; /* what went wrong on the way; 0 */
    enum {
        PD_AGENT_SNAPSHOT_WAITING,
        PD_AGENT_SNAPSHOT_DONE,
        PD_AGENT_SNAPSHOT_GIVEN_UP
    } state; /* under the mailbox's lock */
};

struct pd_agent_snapshot *pd_agent_snapshot_new(
    const struct pd_query *query);                               /* NULL without memory */
void pd_agent_snapshot_free(struct pd_agent_snapshot *snapshot); /* NULL is fine */

/* Intake thread: keeps a copy of a live record whose flow ID and times match the query, with its
 * further columns. */
void pd_agent_snapshot_add(struct pd_agent_snapshot *snapshot,
                           const struct pd_trajectory_record *record, const uint8_t *extra,
                           uint32_t extra_bytes);

/* Store thread: the copies become rows with paths; those that do not match the query go. */
void pd_agent_snapshot_decode(struct pd_agent_snapshot *snapshot, struct pd_resolver *resolver);

/* Times, counts and flow ID of a record of the trajectory memory as the TIB stores them. */
struct pd_tib_record pd_agent_snapshot_row(const struct pd_trajectory_record *record,
                                           const struct pd_claim *claim);

/* A trace as the TIB stores it: the record points into the rest. */
struct pd_agent_trace_row {
    struct pd_tib_record record;
    struct pd_claim claim;
    struct pd_path path;
    uint8_t extra[PD_TRACE_EXTRA_BYTES_MAX];
};
void pd_agent_trace_row(const struct pd_trace *trace, struct pd_agent_trace_row *ret_row);

/* One more row: a trace that is not stored yet. */
void pd_agent_snapshot_trace(void *snapshot, const struct pd_trace *trace);

/* The path of a record. When its tags fit none or a host is unknown (then the error says which),
 * the claim is infeasible and has the mark. */
int pd_agent_snapshot_path(struct pd_resolver *resolver, const struct pd_trajectory_record *record,
                           struct pd_way *ret_way);

#endif

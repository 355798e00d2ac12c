/* SPDX-License-Identifier: Apache-2.0 */
/* The exact picture that a live query sees: a snapshot of the TIB and the live records that belong
 * to it. */
#ifndef PD_AGENT_PICTURE_H
#define PD_AGENT_PICTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/model.h"
#include "query/query.h"
#include "tib/tib.h"
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

struct pd_picture {
    struct pd_query query; /* a copy: the asker may have given up */
    struct pd_trajectory_record *records;
    size_t records_len, records_size;
    struct pd_way *ways; /* distinct ones of the rows */
    struct pd_tib_record *rows;
    size_t rows_len;
    struct pd_tib_snapshot *snapshot;
    int error; /* what went wrong on the way; 0 */
    enum {
        PD_PICTURE_WAITING,
        PD_PICTURE_DONE,
        PD_PICTURE_GIVEN_UP
    } state; /* under the mailbox's lock */
};

struct pd_picture *pd_picture_new(const struct pd_query *query); /* NULL without memory */
void pd_picture_free(struct pd_picture *picture);                /* NULL is fine */

/* Intake thread: keeps a copy of a live record whose flow ID and times match the query. */
void pd_picture_add(struct pd_picture *picture, const struct pd_trajectory_record *record);

/* Store thread: the copies become rows with paths; those that do not match the query go. */
void pd_picture_decode(struct pd_picture *picture, struct pd_resolver *resolver);

/* Times, counts and flow ID of a record of the trajectory memory as the TIB stores them. */
struct pd_tib_record pd_picture_row(const struct pd_trajectory_record *record,
                                    const struct pd_claim *claim);

/* The path of a record. When its tags fit none or a host is unknown (then the error says which),
 * the claim is infeasible and has the mark. */
int pd_picture_path(struct pd_resolver *resolver, const struct pd_trajectory_record *record,
                    struct pd_way *ret_way);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The bounded queue between the intake thread and the store thread. */
#ifndef PD_AGENT_QUEUE_H
#define PD_AGENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "intake/intake.h"
#include "trace/trace.h"
#include "trajectory/record.h"

/* First in, first out, with records and marks in one order: whoever pops a mark has seen every
 * record before it. That order is what makes the snapshot of a live query exact and "finished"
 * true. A full queue blocks the pusher, so nothing is lost here; with a live intake the kernel's
 * ring then absorbs, and counts what it cannot.
 *
 * Batches under one mutex cost a few ns a record; nothing lock-free was needed.
 *
 * Thread safety: any thread may push, one pops. */

enum pd_item_kind {
    PD_ITEM_RECORD,
    PD_ITEM_POSITION, /* up to here a source has given its records */
    PD_ITEM_SNAPSHOT, /* commit, take the snapshot, decode the live records */
    PD_ITEM_TRACE,    /* a trace of an epoch that is over */
    PD_ITEM_MODEL,    /* take over another topology */
    PD_ITEM_ENDED,    /* the intake has ended: commit, then tell */
    PD_ITEM_STOP,     /* commit and leave */
};

/* Further columns of a record (tib/record.h), on their way to the store. */
struct pd_item_extra {
    uint32_t bytes_len;
    uint8_t bytes[];
};

struct pd_item {
    enum pd_item_kind kind;
    union {
        struct {
            struct pd_trajectory_record record;
            struct pd_item_extra *extra; /* the popper's from then on; NULL: none */
            bool kept;                   /* its source keeps it until it is stored */
        };
        struct pd_item_position {
            uint64_t key, position;
        } position;
        struct pd_agent_snapshot *snapshot;
        struct pd_trace *trace; /* the popper's from then on */
        struct pd_model *model; /* the popper's from then on */
        struct pd_item_end {
            enum pd_intake_state state;
            unsigned member; /* of the set of intakes */
            bool last;       /* none is left */
        } end;               /* of ENDED */
    };
};

struct pd_queue;

/* A copy, or NULL: there are none, or no memory. */
struct pd_item_extra *pd_agent_item_extra_new(const uint8_t *bytes, uint32_t len);

int pd_agent_queue_new(size_t len, struct pd_queue **ret_queue); /* 0 or -ENOMEM */
void pd_agent_queue_free(struct pd_queue *queue); /* NULL is fine; drops what is in it */

/* Blocks while there is no room; returns how often it had to wait. */
unsigned pd_agent_queue_push(struct pd_queue *queue, const struct pd_item *items, size_t n);

/* Up to `max` items; waits for the first one until `deadline_ns` (monotonic), then returns 0. */
size_t pd_agent_queue_pop(struct pd_queue *queue, struct pd_item *ret_items, size_t max,
                          uint64_t deadline_ns);

size_t pd_agent_queue_len(struct pd_queue *queue);

#endif

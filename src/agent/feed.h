/* SPDX-License-Identifier: Apache-2.0 */
/* The feed of records to installed queries: first packets of flows and finished records, from the
 * intake thread to the one that watches. */
#ifndef PD_AGENT_FEED_H
#define PD_AGENT_FEED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fleet/installation.h"
#include "trajectory/record.h"

/* A ring with one writer that never waits and takes no lock: when it is full the record is dropped
 * here (it goes its way to the TIB all the same) and counted. It lies beside the queue to the store
 * because a commit, which may take many milliseconds, must not stand between a first packet and its
 * alarm.
 *
 * What nobody wants costs one load for each new or finished record, and nothing for a packet.
 *
 * Thread safety: give and flush: the intake thread. take: one thread. The rest: any. */

#define PD_FEED_LEN   32768 /* a power of 2: a third of a second of 100,000 flows/s */
#define PD_FEED_BATCH 64    /* at most so many wait for a flush */

struct pd_feed_item {
    uint64_t trigger; /* NEW_FLOW or EVICTED */
    struct pd_trajectory_record record;
};

struct pd_feed {
    atomic_uint wanted; /* bits 1 << trigger; relaxed: one record more or less does not matter */
    struct pd_feed_item *items;
    uint64_t write; /* the writer's: items ever written; up to PD_FEED_BATCH more than `written` */
    uint64_t read_known;                          /* the writer's: `read` as it was last seen */
    _Alignas(64) _Atomic uint64_t written;        /* release: pairs with the acquire of take */
    _Alignas(64) _Atomic uint64_t read;           /* release: pairs with the acquire of give */
    atomic_bool asleep;                           /* sequentially consistent, with `written` */
    int wake_fd;                                  /* wakes the taker */
    _Alignas(64) _Atomic uint64_t given, dropped; /* counters; relaxed */
};

int pd_agent_feed_init(struct pd_feed *feed); /* 0 or -errno */
void pd_agent_feed_done(struct pd_feed *feed);

static inline bool pd_feed_wanted(const struct pd_feed *feed, enum pd_trigger trigger)
{
    return feed && atomic_load_explicit(&feed->wanted, memory_order_relaxed) & 1U << trigger;
}

/* Of the triggers in `mask` records are wanted from now on. */
void pd_agent_feed_want(struct pd_feed *feed, unsigned mask);

/* The writer: one record that is wanted; then, when it has no more for now, flush. */
void pd_agent_feed_give(struct pd_feed *feed, enum pd_trigger trigger,
                        const struct pd_trajectory_record *record);
void pd_agent_feed_flush(struct pd_feed *feed); /* NULL is fine */

/* Up to `max` items; sleeps for the first one until `deadline_ns` (monotonic) or until somebody
 * wakes, then returns 0. */
size_t pd_agent_feed_take(struct pd_feed *feed, struct pd_feed_item *ret_items, size_t max,
                          uint64_t deadline_ns);
void pd_agent_feed_wake(struct pd_feed *feed);

#endif

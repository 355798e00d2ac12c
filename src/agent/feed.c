/* SPDX-License-Identifier: Apache-2.0 */
/* A ring with one writer and one taker, and an eventfd for the taker's sleep. */
#include "agent/feed.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

int pd_agent_feed_init(struct pd_feed *feed)
{
    memset(feed, 0, sizeof *feed);
    feed->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (feed->wake_fd < 0) {
        return -errno;
    }
    /* Not zeroed: a feed that nobody wants takes no memory. */
    feed->items = malloc(PD_FEED_LEN * sizeof *feed->items);
    return feed->items ? 0 : -ENOMEM;
}

void pd_agent_feed_done(struct pd_feed *feed)
{
    if (feed->wake_fd >= 0) {
        close(feed->wake_fd);
    }
    free(feed->items);
    feed->items = NULL;
    feed->wake_fd = -1;
}

void pd_agent_feed_want(struct pd_feed *feed, unsigned mask)
{
    atomic_store_explicit(&feed->wanted, mask, memory_order_relaxed);
}

/* There is one writer: no locked addition is needed. */
static void count(_Atomic uint64_t *counter)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

void pd_agent_feed_give(struct pd_feed *feed, enum pd_trigger trigger,
                        const struct pd_trajectory_record *record)
{
    struct pd_feed_item *item = &feed->items[feed->write % PD_FEED_LEN];

    if (feed->write - feed->read_known == PD_FEED_LEN) {
        feed->read_known = atomic_load_explicit(&feed->read, memory_order_acquire);
    }
    if (feed->write - feed->read_known == PD_FEED_LEN) {
        count(&feed->dropped);
        return;
    }
    item->trigger = trigger;
    item->record = *record;
    feed->write++;
    count(&feed->given);
    if (feed->write - atomic_load_explicit(&feed->written, memory_order_relaxed) >= PD_FEED_BATCH) {
        pd_agent_feed_flush(feed);
    }
}

/* Either the taker sees what was written before it falls asleep, or it is seen asleep here: both
 * sides store first and load then, in one order for all (sequentially consistent). */
void pd_agent_feed_flush(struct pd_feed *feed)
{
    if (!feed || feed->write == atomic_load_explicit(&feed->written, memory_order_relaxed)) {
        return;
    }
    atomic_store(&feed->written, feed->write);
    if (atomic_load(&feed->asleep) && atomic_exchange(&feed->asleep, false)) {
        pd_agent_feed_wake(feed);
    }
}

void pd_agent_feed_wake(struct pd_feed *feed)
{
    eventfd_write(feed->wake_fd, 1);
}

static void sleep_until(struct pd_feed *feed, uint64_t read, uint64_t deadline_ns)
{
    struct pollfd wake = {.fd = feed->wake_fd, .events = POLLIN};
    uint64_t now_ns = pd_clock_monotonic_ns();
    uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    struct timespec left = {(time_t)(left_ns / PD_NS_PER_S), (long)(left_ns % PD_NS_PER_S)};
    eventfd_t wakes;

    atomic_store(&feed->asleep, true);
    if (atomic_load(&feed->written) == read && ppoll(&wake, 1, &left, NULL) > 0) {
        eventfd_read(feed->wake_fd, &wakes);
    }
    atomic_store(&feed->asleep, false);
}

size_t pd_agent_feed_take(struct pd_feed *feed, struct pd_feed_item *ret_items, size_t max,
                          uint64_t deadline_ns)
{
    uint64_t at = atomic_load_explicit(&feed->read, memory_order_relaxed);
    size_t n = 0;

    if (atomic_load_explicit(&feed->written, memory_order_acquire) == at) {
        sleep_until(feed, at, deadline_ns);
    }
    for (uint64_t end = atomic_load_explicit(&feed->written, memory_order_acquire);
         n < max && at != end; at++) {
        ret_items[n++] = feed->items[at % PD_FEED_LEN];
    }
    atomic_store_explicit(&feed->read, at, memory_order_release);
    return n;
}

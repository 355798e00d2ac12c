/* SPDX-License-Identifier: Apache-2.0 */
/* The mailbox: askers take turns, and each waits a bounded time. */
#include "agent/mailbox.h"

#include <errno.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/wait.h"

#define WAIT_NS (5 * PD_NS_PER_S) /* longest wait of a live query */

void pd_agent_mailbox_init(struct pd_agent_mailbox *mailbox)
{
    *mailbox = (struct pd_agent_mailbox){0};
    pd_wait_init(&mailbox->changed);
    pthread_mutex_init(&mailbox->lock, NULL);
}

void pd_agent_mailbox_done(struct pd_agent_mailbox *mailbox)
{
    pthread_mutex_destroy(&mailbox->lock);
    pthread_cond_destroy(&mailbox->changed);
}

/* Waits until no snapshot is under way, then puts this one into the mailbox. */
static int post(struct pd_agent_mailbox *mailbox, struct pd_agent_snapshot *snapshot,
                uint64_t deadline_ns)
{
    while (mailbox->busy && !mailbox->closed) {
        if (!pd_wait_until(&mailbox->changed, &mailbox->lock, deadline_ns)) {
            break;
        }
    }
    if (mailbox->busy || mailbox->closed) {
        return -PD_E_BUSY;
    }
    mailbox->busy = true;
    mailbox->waiting = snapshot;
    return 0;
}

static int await(struct pd_agent_mailbox *mailbox, struct pd_agent_snapshot *snapshot,
                 uint64_t deadline_ns)
{
    while (snapshot->state == PD_AGENT_SNAPSHOT_WAITING) {
        if (!pd_wait_until(&mailbox->changed, &mailbox->lock, deadline_ns)) {
            break;
        }
    }
    if (snapshot->state == PD_AGENT_SNAPSHOT_DONE) {
        return 0;
    }
    snapshot->state = PD_AGENT_SNAPSHOT_GIVEN_UP; /* the store thread frees it */
    return -PD_E_BUSY;
}

int pd_agent_mailbox_ask(struct pd_agent_mailbox *mailbox, struct pd_agent_snapshot *snapshot,
                         int wake_fd, bool *ret_ours)
{
    uint64_t deadline_ns = pd_clock_monotonic_ns() + WAIT_NS;
    int err;

    pthread_mutex_lock(&mailbox->lock);
    err = post(mailbox, snapshot, deadline_ns);
    *ret_ours = true;
    if (!err) {
        eventfd_write(wake_fd, 1);
        err = await(mailbox, snapshot, deadline_ns);
        *ret_ours = !err;
    }
    pthread_mutex_unlock(&mailbox->lock);
    return err;
}

struct pd_agent_snapshot *pd_agent_mailbox_take(struct pd_agent_mailbox *mailbox)
{
    struct pd_agent_snapshot *snapshot;

    pthread_mutex_lock(&mailbox->lock);
    snapshot = mailbox->waiting;
    mailbox->waiting = NULL;
    pthread_mutex_unlock(&mailbox->lock);
    return snapshot;
}

void pd_agent_mailbox_hand_back(struct pd_agent_mailbox *mailbox,
                                struct pd_agent_snapshot *snapshot)
{
    bool given_up;

    pthread_mutex_lock(&mailbox->lock);
    given_up = snapshot->state == PD_AGENT_SNAPSHOT_GIVEN_UP;
    if (!given_up) {
        snapshot->state = PD_AGENT_SNAPSHOT_DONE;
    }
    mailbox->busy = false;
    pthread_cond_broadcast(&mailbox->changed);
    pthread_mutex_unlock(&mailbox->lock);
    if (given_up) {
        pd_agent_snapshot_free(snapshot);
    }
}

void pd_agent_mailbox_close(struct pd_agent_mailbox *mailbox)
{
    pthread_mutex_lock(&mailbox->lock);
    mailbox->closed = true;
    pthread_cond_broadcast(&mailbox->changed);
    pthread_mutex_unlock(&mailbox->lock);
}

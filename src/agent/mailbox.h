/* SPDX-License-Identifier: Apache-2.0 */
/* How a live query reaches the threads of the pipeline: one snapshot at a time is asked for, made
 * on its way through them, and handed back. */
#ifndef PD_AGENT_MAILBOX_H
#define PD_AGENT_MAILBOX_H

#include <pthread.h>
#include <stdbool.h>

#include "agent/snapshot.h"

/*     asker                       intake thread              store thread
 *     pd_agent_mailbox_ask  ->    pd_agent_mailbox_take  ->  pd_agent_mailbox_hand_back
 *
 * An asker that has waited for too long gives up: the snapshot is then the store thread's to free.
 *
 * Thread safety: its lock is of all of it and of the state of the snapshot under way. It is held
 * inside no other lock, and no other one inside it. */
struct pd_agent_mailbox {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct pd_agent_snapshot *waiting; /* for the intake thread */
    bool busy; /* a snapshot is under way: waiting, in the queue, or being worked on */
    bool closed;
};

void pd_agent_mailbox_init(struct pd_agent_mailbox *mailbox);
void pd_agent_mailbox_done(struct pd_agent_mailbox *mailbox);

/* Asker: puts the snapshot in, wakes the intake thread by its eventfd and waits, 5 seconds at most.
 * 0: it is made; -PD_E_BUSY: there was no time, or the pipeline stops. The snapshot is the caller's
 * again, but for *ret_ours false. */
int pd_agent_mailbox_ask(struct pd_agent_mailbox *mailbox, struct pd_agent_snapshot *snapshot,
                         int wake_fd, bool *ret_ours);

/* Intake thread: what is to be made, or NULL. */
struct pd_agent_snapshot *pd_agent_mailbox_take(struct pd_agent_mailbox *mailbox);

/* Store thread: back to the asker, if it still waits. */
void pd_agent_mailbox_hand_back(struct pd_agent_mailbox *mailbox,
                                struct pd_agent_snapshot *snapshot);

void pd_agent_mailbox_close(struct pd_agent_mailbox *mailbox); /* nobody asks from now on */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* From the intake to the TIB: the daemon's two threads of work, and the exact snapshot of both for
 * live queries. */
#ifndef PD_AGENT_PIPELINE_H
#define PD_AGENT_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/alarms/alarms.h"
#include "agent/counters.h"
#include "agent/digests.h"
#include "agent/feed.h"
#include "agent/model.h"
#include "agent/samples.h"
#include "agent/snapshot.h"
#include "intake/set.h"
#include "tib/tib.h"

/*     intake thread                     store thread
 *     pd_intake_poll -> sink -> queue -> decode -> pd_tib_append -> pd_tib_commit
 *
 * A live query puts a snapshot into the mailbox and wakes the intake thread, which copies the live
 * records between two polls and sends the snapshot down the queue as a mark; the store thread,
 * having seen every record before the mark, commits and opens the snapshot. One snapshot is under
 * way at a time; each asker waits a bounded time.
 *
 * Locks: the mailbox's and the status's, never one inside the other, nor inside the queue's.
 *
 * Usage: open, start, then status and snapshot from any thread; stop; free. */

struct pd_pipeline_config {
    struct pd_option_list intakes;         /* "pcap:FILE", …, or "none" */
    struct pd_intake_config intake_config; /* use_dscp and wake_fd are set here */
    /* The options of a kind of intake; NULL: none are set. */
    const void *(*intake_options)(void *context, const struct pd_intake_ops *ops);
    void *intake_options_context;
    struct pd_model *model; /* the pipeline's once open has returned 0 */
    struct pd_tib *tib;     /* these three outlive the pipeline */
    struct pd_alarms *alarms;
    struct pd_agent_counters *counters;
    struct pd_digests *digests; /* NULL: there is no telemetry plan. It outlives the pipeline */
    struct pd_agent_samples *samples; /* NULL: no codec has samples. It outlives the pipeline */
    struct pd_feed *feed; /* of installed queries; NULL: none. It outlives the pipeline, too */
};

/* What the threads did so far; a copy. */
struct pd_pipeline_status {
    unsigned intakes_len;
    struct pd_intake_named {
        const char *spec;               /* outlives the pipeline */
        struct pd_intake_status status; /* "finished" and "failed" only once all is stored */
    } intakes[PD_INTAKES_MAX];
    struct pd_intake_status intake; /* all of them as one; `kind` NULL: there is none */
    struct pd_resolver_counters decoder;
    char topology[64];
    char codec[64];
    uint32_t switches, hosts;
    size_t queue_len;
};

struct pd_pipeline;

/* Opens the intakes. On failure nothing is left behind and `error` holds one line. */
int pd_agent_pipeline_open(const struct pd_pipeline_config *config,
                           struct pd_pipeline **ret_pipeline, struct pd_error *error);

/* Starts both threads. 0 or -errno. */
int pd_agent_pipeline_start(struct pd_pipeline *pipeline);

/* Becomes readable when the last intake has ended and all of it is stored. */
int pd_agent_pipeline_ended_fd(const struct pd_pipeline *pipeline);

void pd_agent_pipeline_status(struct pd_pipeline *pipeline, struct pd_pipeline_status *ret_status);

/* Progress for a watchdog: monotonic time at which the slower of both threads was last seen at
 * work. */
uint64_t pd_agent_pipeline_alive_ns(const struct pd_pipeline *pipeline);

/* The exact snapshot for a live query, within a bounded time. -PD_E_BUSY when that was not enough,
 * or what failed. */
int pd_agent_pipeline_snapshot(struct pd_pipeline *pipeline, const struct pd_query *query,
                               struct pd_agent_snapshot **ret_snapshot);

/* A trace to be stored; a copy is made. 0 or -ENOMEM: it is lost. */
int pd_agent_pipeline_trace(struct pd_pipeline *pipeline, const struct pd_trace *trace);

/* Takes over another topology (owned from then on, whatever is returned). -PD_E_UNSUPPORTED when
 * its codec uses other parts of the packet than the one in force: that would need another intake.
 */
int pd_agent_pipeline_model(struct pd_pipeline *pipeline, struct pd_model *model,
                            struct pd_error *error);

/* Ends the intake, stores what the trajectory memory holds, commits, and ends both threads. */
void pd_agent_pipeline_stop(struct pd_pipeline *pipeline);

void pd_agent_pipeline_free(struct pd_pipeline *pipeline); /* after stop; NULL is fine */

#endif

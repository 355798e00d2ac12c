/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the tracer, shared by its thread (tracer.c) and by what it does to a flow (ask.c).
 */
#ifndef PD_TRACE_TRACER_STATE_H
#define PD_TRACE_TRACER_STATE_H

#include <pthread.h>

#include "trace/bucket.h"
#include "trace/flows.h"
#include "trace/tracer.h"
#include "trace/wire.h"

#define PD_TRACER_QUEUE_MAX 1024u

/* A retransmission that waits for the thread. */
struct pd_trace_event {
    struct pd_flow_id flow;
    struct pd_monitor_loss loss; /* its flow is the one above */
};

struct pd_tracer {
    struct pd_tracer_config config;
    uint8_t key[PD_SIPHASH_KEY_BYTES];
    int wake_fd;
    bool started;
    pthread_t thread;

    pthread_mutex_t queue_lock; /* of these */
    struct pd_trace_event *queue;
    uint32_t queue_len;
    bool stopping;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t done;  /* a trace is over */
    struct pd_trace_wire wire;
    struct pd_trace_resolver resolver;
    struct pd_trace_bucket bucket;
    struct pd_trace_flows flows;
    double rate;
    unsigned ttl_max;
    uint64_t due_ns; /* monotonic: when a flow has work at the earliest; UINT64_MAX: none has */
};

uint64_t pd_tracer_epoch(const struct pd_tracer *tracer, uint64_t wall_us);

/* ---- all with the lock held ---- */

/* A flow of this host; `loss` NULL: by hand. *ret_flow: its trace of this epoch, being made or made
 * before. -PD_E_UNKNOWN_HOST, -PD_E_TOO_MANY, -ENOMEM; each counted. */
int pd_tracer_begin(struct pd_tracer *tracer, const struct pd_trace_header *header,
                    const struct pd_monitor_loss *loss, struct pd_trace_flow **ret_flow);

/* What has come, and what is due. */
void pd_tracer_take_answers(struct pd_tracer *tracer);
void pd_tracer_work_due(struct pd_tracer *tracer, uint64_t now_ns);

#endif

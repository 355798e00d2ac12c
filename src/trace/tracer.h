/* SPDX-License-Identifier: Apache-2.0 */
/* The tracer: flows of this host that suffer are traced, once an epoch and no oftener than routers
 * can bear. */
#ifndef PD_TRACE_TRACER_H
#define PD_TRACE_TRACER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "monitor/monitor.h"
#include "topology/topology.h"
#include "trace/resolver.h"
#include "trace/trace.h"

/* Paper 003, section 4. The TCP monitor tells of each retransmission; the flow is traced at once
 * unless it was in this epoch (30 s, at multiples of 30 s of wall time), and nothing is done while
 * nothing is lost. All probes of a trace leave together. Whoever is silent is asked twice more,
 * 20 ms apart; 20 ms later the trace is over, and what comes then is late.
 *
 * A trace is given away a second after its epoch, when it is known what the receiver had already
 * (DSACK): a flow that only seemed to lose packets then has 0 retransmissions, which is no vote.
 *
 * No probe goes to an address of no rack of the topology. What is not traced is counted.
 *
 * Thread safety: one thread of its own ("pd-trace"); every function may be called from any thread,
 * but new, start, stop and free by one. `lock` is taken before the monitor's; what the monitor
 * tells goes through a queue with a lock of its own, and waits for nobody. */

#define PD_TRACER_COUNTERS(X)                                                              \
    X(traces, "flows traced")                                                              \
    X(sent, "probes sent")                                                                 \
    X(unsent, "probes that could not be sent")                                             \
    X(answered, "probes answered in time")                                                 \
    X(late, "answers after the end of their trace")                                        \
    X(doubled, "answers that came twice")                                                  \
    X(forged, "answers that quote a traced flow, but no probe")                            \
    X(foreign, "ICMP errors about other packets")                                          \
    X(cached, "retransmissions of flows that were traced in the epoch")                    \
    X(limited, "retransmissions of flows not traced: the rate was reached")                \
    X(unresolved, "flows not traced: their server is not known, or in no rack")            \
    X(unknown_addrs, "answers from addresses that no switch has")                          \
    X(inconsistent, "traces of no path: neighbours in the trace are none in the topology") \
    X(early_ends, "traces that end before the destination's rack")                         \
    X(withdrawn, "traces of flows that had lost nothing: the receiver had it all (DSACK)")

struct pd_tracer_counters {
#define X(name, help) _Atomic uint64_t name;
    PD_TRACER_COUNTERS(X)
#undef X
};

struct pd_tracer_config {
    const struct pd_topology *topology; /* outlives the tracer, or its next one */
    struct pd_monitor *monitor;         /* followed; NULL: nobody tells, in tests */
    const char *resolver;               /* "none" */
    double rate;                        /* traces a second; 0: as t_max allows */
    double t_max;                       /* answers a second of a router */
    uint64_t epoch_s;
    /* An epoch is over: one of its traces, with the lock held. */
    void (*keep)(void *context, const struct pd_trace *trace);
    void *context;
};

struct pd_tracer;

/* Opens the sockets, in the network namespace of the calling thread. -EPERM: no CAP_NET_RAW. */
int pd_tracer_new(const struct pd_tracer_config *config, struct pd_tracer **ret_tracer,
                  struct pd_error *error);
int pd_tracer_start(struct pd_tracer *tracer); /* 0 or -errno */
/* Gives away what it has, and ends the thread. Once, or not at all. */
void pd_tracer_stop(struct pd_tracer *tracer);
void pd_tracer_free(struct pd_tracer *tracer); /* NULL is fine */

/* Another topology, from now on; the one before is not used any more when this returns. */
int pd_tracer_topology(struct pd_tracer *tracer, const struct pd_topology *topology,
                       struct pd_error *error);

/* A retransmission; for pd_monitor_follow. `context`: the tracer. */
void pd_tracer_hear(void *context, const struct pd_monitor_loss *loss);

/* By hand: traces a flow of this host now, or gives the trace of this epoch. Waits for it, a second
 * at most. -PD_E_UNKNOWN_HOST: nobody knows its server; -PD_E_TOO_MANY: the rate; -PD_E_DEADLINE.
 */
int pd_tracer_trace(struct pd_tracer *tracer, const struct pd_flow_id *flow,
                    struct pd_trace *ret_trace, struct pd_error *error);

/* Nothing is given away, and nothing traced, until it is let go: whoever looks at what was given
 * away, too, sees each trace once. */
void pd_tracer_hold(struct pd_tracer *tracer);
void pd_tracer_let_go(struct pd_tracer *tracer);

/* While it is held: traces that were not given away yet and match, each until `visit` returns. */
void pd_tracer_visit(struct pd_tracer *tracer, const struct pd_flow_match *match, uint64_t from_us,
                     uint64_t to_us, void (*visit)(void *context, const struct pd_trace *trace),
                     void *context);

double pd_tracer_rate(struct pd_tracer *tracer);
extern struct pd_tracer_counters pd_tracer_counters; /* of the process: there is one tracer */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The TCP monitor: which connections of this host have to send again, how often and since when. */
#ifndef PD_MONITOR_MONITOR_H
#define PD_MONITOR_MONITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "monitor/reading.h"

/* Paper 000, section 3.2 (active monitoring): the end host watches its TCP connections and tells
 * when one does poorly. The paper polls; here the kernel tells of each retransmission (source
 * `bpf`), and where that is not to be had its counters are read (source `inet_diag`), the sockets
 * only when the counter of all retransmissions has moved. Connections of the network namespace that
 * the monitor is opened in are seen, no others; IPv4 in IPv6 sockets is IPv4. Those that never got
 * past the SYN are seen as well.
 *
 * All is bounded: of more connections than the table holds, those that matter least are forgotten,
 * and counted. Events that the kernel had no room for are counted, and then all sockets are read
 * once, since whose counters are totals.
 *
 * Thread safety: one thread of its own ("pd-tcp") works and calls subscribers; every function may
 * be called from any thread, open and close by one. */

enum pd_monitor_source {
    PD_MONITOR_NONE,
    PD_MONITOR_BPF,
    PD_MONITOR_INET_DIAG,
    PD_MONITOR_AUTO, /* bpf, and inet_diag where it is not to be had */
};

const char *pd_monitor_source_id(enum pd_monitor_source source); /* "inet_diag" */
int pd_monitor_source_parse(const char *text,
                            enum pd_monitor_source *ret_source); /* or -PD_E_VALUE */

#define PD_MONITOR_HISTORY 8 /* moments of retransmissions that a flow remembers one by one */

/* A connection. Times are wall time; 0: never, or before the monitor began. */
struct pd_monitor_flow {
    struct pd_flow_id flow; /* source: this host */
    enum pd_monitor_state state;
    bool closed;              /* `state` is the one before */
    uint32_t retransmissions; /* in all, as the kernel counts */
    uint32_t consecutive;     /* since something was acknowledged that was not before */
    uint32_t recent;          /* since the time that was asked for */
    uint32_t duplicates;      /* that the receiver reported: these were not lost */
    uint32_t empty;           /* that carried no data: SYN and FIN */
    uint32_t timeouts;
    uint32_t backoff;
    uint32_t srtt_us;
    uint32_t rto_us;
    uint32_t flow_label; /* of what it sends now; 0: not known */
    uint8_t traffic_class;
    uint32_t cwnd_pkts;
    uint32_t mss_bytes;
    uint32_t pkts_out; /* sent and not acknowledged */
    uint64_t bytes_acked;
    uint64_t throughput_bps;
    uint64_t first_us; /* the monitor first heard of it */
    uint64_t last_us;  /* and last */
    uint64_t last_retransmission_us;
    uint64_t opened_us; /* the handshake was over */
    uint64_t closed_us;
};

struct pd_monitor_alarm {
    const struct pd_monitor_flow *flow; /* `recent`: within the period */
    uint64_t period_ms;
};

/* Called when retransmissions within a period reach the limit, at most once a second for each flow,
 * and at most PD_MONITOR_REPEATS_PER_S again a second in all. It must not wait, and asks the
 * monitor nothing. */
typedef void pd_monitor_hear(void *context, const struct pd_monitor_alarm *alarm);

/* Something was sent again. What routers may hash of the packet that was lost: its DSCP, and its
 * flow label, since Linux draws a new one after a timeout. */
struct pd_monitor_loss {
    const struct pd_flow_id *flow;
    uint64_t time_ns;         /* monotonic */
    uint32_t retransmissions; /* new ones */
    uint32_t total;           /* of the connection */
    uint32_t duplicates;      /* what the receiver had already (DSACK), of the connection */
    uint32_t srtt_us;
    uint32_t flow_label;
    bool has_label;
    uint8_t traffic_class;
    bool half_open; /* the handshake is not over */
};

/* Called for each, under the same rules. */
typedef void pd_monitor_hear_loss(void *context, const struct pd_monitor_loss *loss);

struct pd_monitor_config {
    enum pd_monitor_source source;
    uint64_t period_ms;             /* 0: 200 */
    uint32_t alarm_retransmissions; /* within a period; 0: no alarms */
    uint32_t flows_max;             /* 0: PD_MONITOR_FLOWS_MAX */
    uint32_t ring_bytes; /* of events from the kernel, a power of two from a page on; 0: 256 KiB */
    /* The first subscriber, which misses nothing; NULL: there is none yet. */
    pd_monitor_hear *alarm;
    void *context;
};

#define PD_MONITOR_FLOWS_MAX     32768
#define PD_MONITOR_CLOSED_NS     UINT64_C(120000000000) /* closed connections are kept so long */
#define PD_MONITOR_PERIOD_MS     200
#define PD_MONITOR_REPEATS_PER_S 50
#define PD_MONITOR_LISTED_MAX    131072 /* connections of one answer */

#define PD_MONITOR_COUNTERS(X)                                                              \
    X(events, "events that the kernel told of")                                             \
    X(events_lost, "events that were lost: the ring was full")                              \
    X(events_refused, "events and sockets that made no sense")                              \
    X(resyncs, "times that all sockets were read because events had been lost")             \
    X(dumps, "times that all sockets were read")                                            \
    X(dumps_failed, "of these, failed")                                                     \
    X(sockets_read, "sockets read in dumps and one by one")                                 \
    X(retransmissions, "retransmissions seen")                                              \
    X(alarms, "flows with too many retransmissions in a period, at most one a second each") \
    X(flows_forgotten, "connections forgotten early: the table was full")

struct pd_monitor_stat {
    enum pd_monitor_source source; /* that runs */
    char reason[200];              /* why not the better one, "" when it is the best */
#define X(name, text) uint64_t name;
    PD_MONITOR_COUNTERS(X)
#undef X
    uint64_t flows;    /* in the table now */
    uint64_t since_us; /* all has been seen since then */
};

/* Which connections are wanted. */
struct pd_monitor_request {
    /* poor: so many consecutive retransmissions, or as many and never past the SYN; 0: every
     * connection that is known */
    uint32_t threshold;
    /* 0: any; else those with a retransmission (threshold 0: heard of) then or later; with at least
     * threshold of these it is poor, too */
    uint64_t from_us;
};

struct pd_monitor_list {
    struct pd_monitor_flow *flows; /* in no order */
    size_t len;
    bool complete; /* all sockets could be read, and all had room */
    struct pd_monitor_stat stat;
};

struct pd_monitor;

/* Opens the source in the network namespace of the calling thread and starts. PD_MONITOR_AUTO takes
 * none rather than failing. -PD_E_UNSUPPORTED, -EPERM … */
int pd_monitor_open(const struct pd_monitor_config *config, struct pd_monitor **ret_monitor,
                    struct pd_error *error);
void pd_monitor_close(struct pd_monitor *monitor); /* NULL is fine */

#define PD_MONITOR_SUBSCRIBERS_MAX 8u

/* One more hears of alarms from now on, each in the order in which they came. 0 or -PD_E_FULL. */
int pd_monitor_subscribe(struct pd_monitor *monitor, pd_monitor_hear *alarm, void *context);
/* One more hears of each retransmission. Likewise. */
int pd_monitor_follow(struct pd_monitor *monitor, pd_monitor_hear_loss *loss, void *context);
/* Those with this context hear no more; when it returns none of them is being told. Not from a
 * subscriber. */
void pd_monitor_unsubscribe(struct pd_monitor *monitor, const void *context);

void pd_monitor_stat(struct pd_monitor *monitor, struct pd_monitor_stat *ret_stat);

/* Reads again what is asked for, as far as it is still open. 0 or -ENOMEM. */
int pd_monitor_list(struct pd_monitor *monitor, const struct pd_monitor_request *request,
                    struct pd_monitor_list *ret_list);
void pd_monitor_list_done(struct pd_monitor_list *list);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel said about one TCP connection at one moment: the form that all sources of the
 * monitor give. */
#ifndef PD_MONITOR_READING_H
#define PD_MONITOR_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/flow_id.h"

/* Counters are the kernel's own totals of the connection, not differences: a reading that is lost
 * costs a moment, never a count. */

// clang-format off
#define PD_MONITOR_STATES(X)          \
    X(ESTABLISHED, 1, "established")  \
    X(SYN_SENT, 2, "syn_sent")        \
    X(SYN_RECV, 3, "syn_recv")        \
    X(FIN_WAIT1, 4, "fin_wait1")      \
    X(FIN_WAIT2, 5, "fin_wait2")      \
    X(CLOSED, 7, "closed")            \
    X(CLOSE_WAIT, 8, "close_wait")    \
    X(LAST_ACK, 9, "last_ack")        \
    X(CLOSING, 11, "closing")
// clang-format on

/* The kernel's numbers. What waits for late packets only (TIME_WAIT) is closed here. */
enum pd_monitor_state {
#define X(name, number, text) PD_MONITOR_##name = (number),
    PD_MONITOR_STATES(X)
#undef X
};

const char *pd_monitor_state_id(
    enum pd_monitor_state state); /* "established"; NULL: none of them */

enum pd_monitor_reading_kind {
    PD_MONITOR_SAMPLE,         /* how it stands: a socket of a dump */
    PD_MONITOR_RETRANSMISSION, /* at the moment of one */
    PD_MONITOR_CHANGE,         /* the state has changed */
};

struct pd_monitor_reading {
    enum pd_monitor_reading_kind kind;
    enum pd_monitor_state state; /* of a closed one: before */
    bool closed;
    bool is_empty; /* what was sent again carried no data: a SYN or a FIN */
    bool has_info; /* what follows `retransmissions` is set; a half-open connection has none */
    struct pd_flow_id flow; /* source: this host */
    uint64_t cookie;        /* the kernel's number of the connection; 0: it has none */
    uint64_t time_ns;       /* monotonic */
    uint32_t retransmissions;
    uint32_t outstanding; /* of these, not acknowledged yet; UINT32_MAX: not known */
    uint32_t timeouts;    /* UINT32_MAX: this kernel does not count them */
    uint32_t unanswered;  /* timeouts since the last acknowledgement */
    uint32_t backoff;
    uint32_t srtt_us;
    uint32_t rto_us; /* 0: not known */
    uint32_t cwnd_pkts;
    uint32_t mss_bytes;
    uint32_t pkts_out;
    uint32_t duplicates; /* that the receiver reported (DSACK): these were not lost */
    uint64_t bytes_acked;
    /* What routers may hash beside the addresses and ports, of packets sent from now on. */
    bool has_label; /* IPv6: the label is known */
    uint8_t traffic_class;
    uint32_t flow_label;
    uint64_t throughput_bps; /* bits a second, as the kernel last measured its rate of delivery */
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the program in the kernel writes into the ring, and the monitor reads. */
#ifndef PD_MONITOR_BPF_EVENT_H
#define PD_MONITOR_BPF_EVENT_H

#include <linux/types.h>

/* Included by both sides of one build, so it needs no version. Numbers are in the machine's order,
 * addresses in the network's. */

#define PD_EVENT_RETRANSMISSION 1
#define PD_EVENT_SYN_ACK        2 /* of a half-open connection: no figures of its own */
#define PD_EVENT_OPENED         3
#define PD_EVENT_CLOSED         4 /* `state` is the one before */

#define PD_EVENT_NO_TIMEOUTS    0xffffffffU /* this kernel does not count them */

struct pd_monitor_event {
    __u64 time_ns; /* monotonic */
    __u64 cookie;
    __u64 bytes_acked;
    __u8 src[16]; /* IPv4: the first four */
    __u8 dst[16];
    __u16 src_port;
    __u16 dst_port;
    __u8 kind;
    __u8 family; /* AF_INET, AF_INET6 */
    __u8 state;
    __u8 unanswered;
    __u32 retransmissions;
    __u32 outstanding;
    __u32 timeouts;
    __u32 srtt_us;
    __u32 cwnd_pkts;
    __u32 mss_bytes;
    __u32 pkts_out;
    __u32 delivered_pkts; /* and how long that took: the last measurement of the rate */
    __u32 delivered_us;
    __u16 backoff;
    __u16 empty;      /* what was sent again carried no data: a SYN or a FIN */
    __u32 duplicates; /* that the receiver reported (DSACK) */
    __u32 txhash;     /* that flow labels are made of; 0: none */
    __u32 flow_label; /* that the socket asked for; 0: none */
    __u16 tos;        /* of IPv4, and of IPv6 */
    __u16 traffic_class;
};
_Static_assert(sizeof(struct pd_monitor_event) == 120, "no padding: both sides see the same");

#endif

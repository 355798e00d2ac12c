/* SPDX-License-Identifier: Apache-2.0 */
/* Senders that suffer and the receiver that they have in common: what incast and outcast are told
 * from. */
#ifndef PD_APPS_SENDERS_H
#define PD_APPS_SENDERS_H

#include "apps/flows.h"
#include "apps/window.h"

/* Paper 000, section 4.6: alarms POOR_PERF are grouped by destination; of the one that most sources
 * complain about, the receiver is asked for bytes and paths, and senders for what their TCP saw.
 * Alarm times are of many clocks and only choose the receiver; what happened at once is read off
 * the receiver's records, which have one clock.
 *
 * A TCP flow that carries next to nothing but acknowledgements, and did not complain, is no sender
 * and left aside. */

#define PD_APP_SENDERS_MAX 4096
#define PD_APP_ALARMS_MOST 10000
#define PD_APP_SKEW_US     UINT64_C(5000000) /* that clocks may be apart */
/* An agent tells of the same alarm at least once in this time. */
#define PD_APP_AGAIN_US      UINT64_C(60000000)
#define PD_APP_ACK_BYTES     150  /* mean of a packet: below, a flow is one of acknowledgements */
#define PD_APP_TELLING_PKTS  32   /* that a flow of fewer lost none of them tells nothing */
#define PD_APP_SENDERS_LEAST "10" /* as in the paper */

struct pd_app_sender {
    struct pd_addr addr;
    uint32_t host;          /* 0: not known */
    struct pd_flow_id flow; /* the largest */
    struct pd_path path;    /* of most of its bytes */
    /* the switch before the last: which input port of the last switch it comes by; 0: it is in that
     * rack, at a port of its own */
    uint32_t port;
    uint64_t flows, bytes, path_bytes;
    uint64_t flows_telling;             /* of flows: long enough, or one that suffers */
    uint64_t flows_suffering;           /* of those: an alarm or a retransmission in the window */
    double flow_bps;                    /* mean of its flows, from their first packet on */
    uint64_t alarms;                    /* in the window */
    uint64_t recent;                    /* retransmissions in the window, as far as its TCP tells */
    bool suffers;                       /* either */
    uint64_t retransmissions, timeouts; /* that its TCP counted; 0: none, or not known */
    double tcp_bps;                     /* as its TCP sees it; 0: not known */
};

struct pd_app_receiver {
    struct pd_addr addr;
    uint8_t ip_version; /* 0: there is none that anybody complains about */
    uint32_t host;
    uint32_t tor; /* its switch; 0: not known, or one of several */
    struct pd_app_window window;
    struct pd_app_sender *senders; /* by address */
    size_t senders_len;
    uint64_t sources;   /* different ones that sent alarms about it, also those without records */
    uint64_t suffering; /* of senders */
    bool traced;        /* asked for: on networks that tag nothing paths are those of traces */
    uint64_t pathless;  /* of these: nothing tells their path */
    uint64_t flows_telling, flows_suffering; /* of all senders */
    uint64_t at_once; /* most flows that overlap in time, by the receiver's clock */
    double total_bps; /* over its access link, in the time that flows ran */
    double flowing_s; /* that time */
};

/* Alarms of the window and the minute before: agents tell of what goes on at least once a minute.
 * The destination of the alarm that started the run has precedence. 0, also when there is none:
 * ip_version is 0 then. */
int pd_app_receiver_find(const struct pd_app_call *call, struct pd_report *report,
                         struct pd_app_receiver *ret_receiver, struct pd_error *error);
/* The report when fewer than `least` sources complain, with the hosts that could not have. */
int pd_app_receiver_spare(const struct pd_app_call *call, struct pd_report *report,
                          const struct pd_app_receiver *receiver, uint64_t least,
                          struct pd_error *error);
/* Its senders: from its records, and from their TCP. */
int pd_app_receiver_ask(const struct pd_app_call *call, struct pd_report *report,
                        struct pd_app_receiver *receiver, struct pd_error *error);
void pd_app_receiver_done(struct pd_app_receiver *receiver); /* works on zeroed memory */

/* Share of the access link that was in use: 0 … , -1 when its capacity is not known (argument
 * link_mbps, or the world's). */
double pd_app_receiver_use(const struct pd_app_call *call, const struct pd_app_receiver *receiver);

/* Three quarters of the flows that tell anything suffer. On any busy network each sender loses
 * something to each receiver within some seconds, but in few of its flows; behind a queue that is
 * full, in most of them. */
bool pd_app_receiver_most_suffer(const struct pd_app_receiver *receiver);

/* results.senders, results.tree; the flows that suffer, the switch and the access link stay the
 * caller's to name. */
void pd_app_receiver_show(const struct pd_app_receiver *receiver, struct pd_report *report);

#endif

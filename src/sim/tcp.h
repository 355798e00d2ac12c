/* SPDX-License-Identifier: Apache-2.0 */
/* A sender's TCP at the level of packets: window, selective acknowledgements, timer. */
#ifndef PD_SIM_TCP_H
#define PD_SIM_TCP_H

#include <stdbool.h>
#include <stdint.h>

/* Transmissions are counted (`order`), and the receiver acknowledges each. One is lost when three
 * later ones were acknowledged (64 when packets are sprayed and overtake each other), or when
 * nothing was acknowledged for the retransmission timeout, 200 ms, doubled each time. Which bytes a
 * packet holds does not matter: a loss means that one more packet is to be sent. Reno: slow start
 * from 10, which also ends when the round trip has grown by a millisecond (in the spirit of
 * HyStart, Ha and Rhee 2008, without which a flow floods the queues when it starts); halved once a
 * window of losses; at most PD_TCP_WINDOW_MAX packets in flight, which stands for the receive
 * window. After PD_TCP_TIMEOUTS_MAX timeouts on end the connection is given up. One thread. */

#define PD_TCP_RING         2048 /* transmissions that are kept in mind */
#define PD_TCP_WINDOW_MAX   256
#define PD_TCP_TIMEOUTS_MAX 6
#define PD_TCP_RTO_US       200000u

struct pd_sim_tcp {
    uint64_t left; /* packets not yet acknowledged and not in flight */
    uint32_t in_flight;
    uint32_t first;    /* oldest transmission that is neither acknowledged nor lost */
    uint32_t next;     /* order of the next one */
    uint32_t greatest; /* acknowledged, + 1 */
    uint32_t recovery; /* losses before this one do not halve the window again */
    uint32_t reordering;
    uint32_t timeouts; /* on end */
    uint32_t least_rtt_us;
    double window;
    double threshold;  /* of slow start */
    uint64_t heard_ns; /* last acknowledgement, or the first packet in flight */
    uint8_t acked[PD_TCP_RING / 8];
};

void pd_sim_tcp_init(struct pd_sim_tcp *tcp, uint64_t pkts, bool sprayed, uint64_t now_ns);

/* Whether the window has room for what there is to send. */
static inline bool pd_sim_tcp_has_room(const struct pd_sim_tcp *tcp)
{
    return tcp->left && tcp->in_flight < (uint32_t)tcp->window &&
           tcp->next - tcp->first < PD_TCP_RING;
}

/* May another packet go out? Then it counts as sent. */
bool pd_sim_tcp_may_send(struct pd_sim_tcp *tcp, uint64_t now_ns, uint32_t *ret_order);

/* An acknowledgement. Returns how many packets it shows to be lost: they will be retransmitted. */
uint32_t pd_sim_tcp_acked(struct pd_sim_tcp *tcp, uint32_t order, uint64_t now_ns, uint32_t rtt_us);

/* To be called now and then. Returns how many packets have timed out. */
uint32_t pd_sim_tcp_timer(struct pd_sim_tcp *tcp, uint64_t now_ns);

static inline bool pd_sim_tcp_is_done(const struct pd_sim_tcp *tcp)
{
    return (!tcp->left && !tcp->in_flight) || tcp->timeouts > PD_TCP_TIMEOUTS_MAX;
}

#endif

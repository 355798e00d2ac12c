/* SPDX-License-Identifier: Apache-2.0 */
/* A sender's TCP at the level of packets. */
#include "sim/tcp.h"

#include <string.h>

#define RTO_NS (PD_TCP_RTO_US * UINT64_C(1000))

enum { WINDOW_FIRST = 10, REORDERING = 3, REORDERING_SPRAYED = 64, RTT_GROWN_US = 1000 };

void pd_sim_tcp_init(struct pd_sim_tcp *tcp, uint64_t pkts, bool sprayed, uint64_t now_ns)
{
    *tcp = (struct pd_sim_tcp){.left = pkts,
                               .reordering = sprayed ? REORDERING_SPRAYED : REORDERING,
                               .window = WINDOW_FIRST,
                               .threshold = PD_TCP_WINDOW_MAX,
                               .least_rtt_us = UINT32_MAX,
                               .heard_ns = now_ns};
}

static bool is_acked(const struct pd_sim_tcp *tcp, uint32_t order)
{
    return tcp->acked[order % PD_TCP_RING / 8] >> order % 8 & 1;
}

bool pd_sim_tcp_may_send(struct pd_sim_tcp *tcp, uint64_t now_ns, uint32_t *ret_order)
{
    if (!pd_sim_tcp_has_room(tcp)) {
        return false;
    }
    uint32_t order = tcp->next++;
    tcp->acked[order % PD_TCP_RING / 8] &= (uint8_t) ~(1u << order % 8);
    if (!tcp->in_flight) {
        tcp->heard_ns = now_ns;
    }
    tcp->in_flight++;
    tcp->left--;
    *ret_order = order;
    return true;
}

static void lose(struct pd_sim_tcp *tcp, uint32_t order)
{
    tcp->left++;
    tcp->in_flight--;
    if ((int32_t)(order - tcp->recovery) < 0) {
        return;
    }
    tcp->threshold = tcp->window / 2 < 2 ? 2 : tcp->window / 2;
    tcp->window = tcp->threshold;
    tcp->recovery = tcp->next;
}

static void open_window(struct pd_sim_tcp *tcp, uint32_t rtt_us)
{
    tcp->least_rtt_us = rtt_us < tcp->least_rtt_us ? rtt_us : tcp->least_rtt_us;
    if (rtt_us > tcp->least_rtt_us + RTT_GROWN_US && tcp->window < tcp->threshold) {
        tcp->threshold = tcp->window;
    }
    tcp->window += tcp->window < tcp->threshold ? 1 : 1 / tcp->window;
    if (tcp->window > PD_TCP_WINDOW_MAX) {
        tcp->window = PD_TCP_WINDOW_MAX;
    }
}

uint32_t pd_sim_tcp_acked(struct pd_sim_tcp *tcp, uint32_t order, uint64_t now_ns, uint32_t rtt_us)
{
    uint32_t lost = 0;
    if (order - tcp->first >= tcp->next - tcp->first || is_acked(tcp, order)) {
        return 0; /* was taken for lost */
    }
    tcp->acked[order % PD_TCP_RING / 8] |= (uint8_t)(1u << order % 8);
    tcp->in_flight--;
    tcp->heard_ns = now_ns;
    tcp->timeouts = 0;
    open_window(tcp, rtt_us);
    if ((int32_t)(order + 1 - tcp->greatest) > 0) {
        tcp->greatest = order + 1;
    }
    for (; tcp->first != tcp->next; tcp->first++) {
        if (is_acked(tcp, tcp->first)) {
            continue;
        }
        if ((int32_t)(tcp->greatest - tcp->first) <= (int32_t)tcp->reordering) {
            break;
        }
        lose(tcp, tcp->first);
        lost++;
    }
    return lost;
}

uint32_t pd_sim_tcp_timer(struct pd_sim_tcp *tcp, uint64_t now_ns)
{
    uint32_t lost = tcp->in_flight;
    if (!lost || now_ns - tcp->heard_ns < RTO_NS << tcp->timeouts) {
        return 0;
    }
    tcp->left += tcp->in_flight;
    tcp->in_flight = 0;
    tcp->first = tcp->greatest = tcp->recovery = tcp->next;
    tcp->threshold = tcp->window / 2 < 2 ? 2 : tcp->window / 2;
    tcp->window = 1;
    tcp->timeouts++;
    tcp->heard_ns = now_ns;
    return lost;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A sender's HPCC. */
#include "sim/hpcc.h"

#include <string.h>

void pd_sim_hpcc_init(struct pd_sim_hpcc *hpcc, const struct pd_sim_hpcc_base *base)
{
    *hpcc =
        (struct pd_sim_hpcc){.window_bytes = base->most_bytes, .reference_bytes = base->most_bytes};
}

/* The queue is the lesser of two, so that a burst that has passed does not count. */
static double port_used(const struct pd_sim_hpcc_port *old, const struct pd_sim_hpcc_port *now,
                        double bytes_ns, double rtt_ns)
{
    uint64_t queue = now->queue_bytes < old->queue_bytes ? now->queue_bytes : old->queue_bytes;
    double gap_ns = (double)(now->at_ns - old->at_ns);

    return (double)queue / (bytes_ns * rtt_ns) +
           (double)(now->sent_bytes - old->sent_bytes) / gap_ns / bytes_ns;
}

double pd_sim_hpcc_measure(struct pd_sim_hpcc *hpcc, const struct pd_sim_hpcc_base *base,
                           const struct pd_sim_hpcc_port *ports, const double *bytes_ns,
                           uint32_t len)
{
    double most = 0, gap_ns = 0;

    for (uint32_t i = 0; hpcc->heard && len == hpcc->ports_len && i < len; i++) {
        if (ports[i].at_ns <= hpcc->ports[i].at_ns) {
            return hpcc->used; /* overtaken by one that was sent later */
        }
        double used = port_used(&hpcc->ports[i], &ports[i], bytes_ns[i], base->rtt_ns);
        if (used > most) {
            most = used;
            gap_ns = (double)(ports[i].at_ns - hpcc->ports[i].at_ns);
        }
    }
    gap_ns = gap_ns > base->rtt_ns ? base->rtt_ns : gap_ns;
    hpcc->used += (most - hpcc->used) * (gap_ns / base->rtt_ns);
    memcpy(hpcc->ports, ports, len * sizeof *ports);
    hpcc->ports_len = (uint8_t)len;
    hpcc->heard = true;
    return hpcc->used;
}

void pd_sim_hpcc_react(struct pd_sim_hpcc *hpcc, const struct pd_sim_hpcc_base *base, double used,
                       uint32_t order, uint32_t next)
{
    double window = base->most_bytes;

    if (used > 0) {
        window = hpcc->reference_bytes * PD_HPCC_TARGET / used + PD_HPCC_INCREASE_BYTES;
    }
    hpcc->window_bytes = window < base->most_bytes ? window : base->most_bytes;
    if ((int32_t)(order - hpcc->renew_from) >= 0) {
        hpcc->reference_bytes = hpcc->window_bytes;
        hpcc->renew_from = next;
    }
}

void pd_sim_hpcc_sent(struct pd_sim_hpcc *hpcc, const struct pd_sim_hpcc_base *base, double bytes,
                      uint64_t now_ns)
{
    uint64_t gap_ns = (uint64_t)(bytes * base->rtt_ns / hpcc->window_bytes);

    hpcc->next_ns = (hpcc->next_ns > now_ns ? hpcc->next_ns : now_ns) + gap_ns;
}

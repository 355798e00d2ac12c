/* SPDX-License-Identifier: Apache-2.0 */
/* Two hash chains and a list of traced flows. */
#include "trace/flows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int pd_trace_flows_init(struct pd_trace_flows *flows)
{
    *flows = (struct pd_trace_flows){0};
    for (unsigned key = 0; key < PD_TRACE_KEYS; key++) {
        flows->heads[key] = calloc(PD_TRACE_FLOWS_MAX, sizeof(void *));
        if (!flows->heads[key]) {
            pd_trace_flows_done(flows);
            return -ENOMEM;
        }
    }
    return 0;
}

void pd_trace_flows_done(struct pd_trace_flows *flows)
{
    while (flows->first) {
        pd_trace_flows_drop_first(flows);
    }
    for (unsigned key = 0; key < PD_TRACE_KEYS; key++) {
        free(flows->heads[key]);
        flows->heads[key] = NULL;
    }
}

static const struct pd_flow_id *key_of(const struct pd_trace_flow *flow, unsigned key)
{
    return key == PD_TRACE_BY_FLOW ? &flow->flow : &flow->header.flow;
}

static struct pd_trace_flow **head_of(const struct pd_trace_flows *flows, unsigned key,
                                      const struct pd_flow_id *id, uint64_t epoch)
{
    uint64_t hash = pd_flow_id_hash(id) + epoch;

    return &flows->heads[key][(hash ^ hash >> 32) % PD_TRACE_FLOWS_MAX];
}

struct pd_trace_flow *pd_trace_flows_find(const struct pd_trace_flows *flows, enum pd_trace_key key,
                                          const struct pd_flow_id *id, uint64_t epoch)
{
    struct pd_trace_flow *at = *head_of(flows, key, id, epoch);

    while (at && (at->epoch != epoch || !pd_flow_id_equal(key_of(at, key), id))) {
        at = at->chains[key];
    }
    return at;
}

struct pd_trace_flow *pd_trace_flows_add(struct pd_trace_flows *flows, const struct pd_flow_id *id,
                                         const struct pd_trace_header *header, uint64_t epoch,
                                         unsigned hops_len)
{
    struct pd_trace_flow *flow;

    if (flows->len == PD_TRACE_FLOWS_MAX ||
        !(flow = calloc(1, sizeof *flow + hops_len * sizeof flow->hops[0]))) {
        return NULL;
    }
    flow->flow = *id;
    flow->header = *header;
    flow->epoch = epoch;
    flow->hops_len = hops_len;
    for (unsigned key = 0; key < PD_TRACE_KEYS; key++) {
        struct pd_trace_flow **head = head_of(flows, key, key_of(flow, key), epoch);
        flow->chains[key] = *head;
        *head = flow;
    }
    if (flows->len++) {
        flows->last->next = flow;
    } else {
        flows->first = flow;
    }
    flows->last = flow;
    return flow;
}

void pd_trace_flows_drop_first(struct pd_trace_flows *flows)
{
    struct pd_trace_flow *flow = flows->first;

    for (unsigned key = 0; key < PD_TRACE_KEYS; key++) {
        struct pd_trace_flow **link = head_of(flows, key, key_of(flow, key), flow->epoch);
        while (*link != flow) {
            link = &(*link)->chains[key];
        }
        *link = flow->chains[key];
    }
    flows->first = flow->next;
    flows->len--;
    free(flow);
}

void pd_trace_flow_tell(const struct pd_trace_flow *flow, const struct pd_topology *topology,
                        uint64_t epoch_s, struct pd_trace *ret_trace)
{
    uint32_t had = flow->duplicates - flow->duplicates_before;
    unsigned len = flow->hops_len;

    while (len && !flow->hops[len - 1].answered) {
        len--;
    }
    *ret_trace = (struct pd_trace){
        .flow = flow->flow,
        .dip = flow->header.flow.dst,
        .dip_port = flow->header.flow.dst_port,
        .traffic_class = flow->header.traffic_class,
        .flow_label = flow->header.flow_label,
        .time_us = flow->time_us,
        .last_us = flow->last_us,
        .epoch_us = flow->epoch * epoch_s * 1000000,
        .retransmissions = flow->lost > had ? flow->lost - had : 0,
        .hops_len = len,
    };
    memcpy(ret_trace->hops, flow->hops, len * sizeof flow->hops[0]);
    pd_trace_way_find(topology, &flow->header.flow, flow->hops, flow->hops_len, &ret_trace->way);
}

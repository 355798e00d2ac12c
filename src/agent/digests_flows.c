/* SPDX-License-Identifier: Apache-2.0 */
/* A table of chains; a hand goes round and drops what is old. */
#include "agent/digests_flows.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define FORGET_NS   (120 * PD_NS_PER_S)
#define SWEEP_STEPS 4 /* buckets looked at for each record that leaves */

/* What is left has met no path. */
static void counts_done(struct pd_digests_flows *flows, struct pd_telemetry_counts *counts)
{
    uint64_t samples = 0;

    for (uint32_t i = 0; i < counts->room; i++) {
        samples += counts->cells[i].count;
    }
    if (samples) {
        pd_count(&flows->counters->values_without_path, samples);
    }
    pd_telemetry_counts_clear(counts, &flows->counts_left);
}

static void flow_free(struct pd_digests_flows *flows, struct pd_digests_flow *flow)
{
    for (size_t r = 0; r < PD_PINT_RECORDS_MAX; r++) {
        counts_done(flows, &flow->parts[r].counts);
    }
    pd_pint_flow_free(flow->state);
    free(flow);
    flows->len--;
}

void pd_agent_digests_flows_forget(struct pd_digests_flows *flows)
{
    for (uint32_t b = 0; b < PD_DIGESTS_BUCKETS; b++) {
        while (flows->buckets[b]) {
            struct pd_digests_flow *flow = flows->buckets[b];
            flows->buckets[b] = flow->next;
            flow_free(flows, flow);
        }
    }
}

struct pd_digests_flow **pd_agent_digests_bucket(struct pd_digests_flows *flows,
                                                 const struct pd_flow_id *id)
{
    return &flows->buckets[pd_flow_id_hash(id) & (PD_DIGESTS_BUCKETS - 1)];
}

struct pd_digests_flow *pd_agent_digests_flow_in(struct pd_digests_flow *flow,
                                                 const struct pd_flow_id *id, uint64_t mark)
{
    while (flow && (flow->mark != mark || !pd_flow_id_equal(&flow->id, id))) {
        flow = flow->next;
    }
    return flow;
}

struct pd_digests_flow *pd_agent_digests_flow(struct pd_digests_flows *flows,
                                              const struct pd_flow_id *id, uint64_t mark)
{
    return pd_agent_digests_flow_in(*pd_agent_digests_bucket(flows, id), id, mark);
}

/* A linear look: once for each new flow, and hosts of a topology that names them are few beside its
 * flows. */
static uint32_t host_of(const struct pd_topology *topology, const struct pd_flow_id *id)
{
    for (uint32_t h = 0; h < topology->hosts_len; h++) {
        const struct pd_host *host = &topology->hosts[h];
        for (uint32_t a = 0; a < host->addrs_len; a++) {
            if (host->ip_versions[a] == id->ip_version &&
                !memcmp(&host->addrs[a], &id->dst, sizeof id->dst)) {
                return host->id;
            }
        }
    }
    return 0;
}

struct pd_digests_flow *pd_agent_digests_flow_add(struct pd_digests_flows *flows,
                                                  const struct pd_flow_id *id, uint64_t mark)
{
    const uint32_t src = pd_topology_tor_alone(flows->topology, &id->src, id->ip_version);
    const uint32_t dst = pd_topology_tor_alone(flows->topology, &id->dst, id->ip_version);
    struct pd_digests_flow *flow = flows->len < flows->max ? calloc(1, sizeof *flow) : NULL;

    if (!flow || pd_pint_flow_new(flows->receiver, src, dst, &flow->state)) {
        free(flow);
        return NULL;
    }
    flow->id = *id;
    flow->mark = mark;
    flow->host = host_of(flows->topology, id);
    flow->next = *pd_agent_digests_bucket(flows, id);
    *pd_agent_digests_bucket(flows, id) = flow;
    flows->len++;
    return flow;
}

void pd_agent_digests_flows_sweep(struct pd_digests_flows *flows)
{
    for (unsigned i = 0; i < SWEEP_STEPS; i++) {
        struct pd_digests_flow **at = &flows->buckets[flows->hand++ & (PD_DIGESTS_BUCKETS - 1)];
        while (*at) {
            struct pd_digests_flow *flow = *at;
            if (flow->last_ns + FORGET_NS < flows->newest_ns) {
                *at = flow->next;
                flow_free(flows, flow);
            } else {
                at = &flow->next;
            }
        }
    }
}

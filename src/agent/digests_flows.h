/* SPDX-License-Identifier: Apache-2.0 */
/* The flows that digests come of: a hash table, bounded, of those with a packet lately. */
#ifndef PD_AGENT_DIGESTS_FLOWS_H
#define PD_AGENT_DIGESTS_FLOWS_H

#include "agent/counters.h"
#include "codec/pint/flow.h"
#include "telemetry/counts.h"

/* What went one way since the last record, and what was measured there since the last record with
 * a path. */
struct pd_digests_part {
    uint64_t pkts, bytes, first_ns, last_ns;
    struct pd_telemetry_counts counts;
};

struct pd_digests_flow {
    struct pd_digests_flow *next;
    struct pd_flow_id id;
    uint64_t mark; /* of another codec, 0 without one */
    uint32_t host; /* ID of the receiver; 0: not in the topology */
    struct pd_pint_flow *state;
    uint64_t last_ns;
    size_t record; /* of its last packet */
    struct pd_digests_part parts[PD_PINT_RECORDS_MAX];
};

#define PD_DIGESTS_BUCKETS 65536 /* a power of 2 */

/* Flows without a packet for two minutes are forgotten. Thread safety: one thread. */
struct pd_digests_flows {
    const struct pd_topology *topology;
    struct pd_pint_receiver *receiver;  /* of the plan at hand */
    struct pd_agent_counters *counters; /* values_without_path */
    uint64_t len, max;                  /* flows */
    uint64_t newest_ns;                 /* time of the newest frame */
    uint32_t hand;                      /* of the sweep */
    size_t counts_left;                 /* bytes for what hops measured, of all flows */
    struct pd_digests_flow *buckets[PD_DIGESTS_BUCKETS];
};

/* Where the flow stands or would stand: what pd_agent_digests_flow_in searches. */
struct pd_digests_flow **pd_agent_digests_bucket(struct pd_digests_flows *flows,
                                                 const struct pd_flow_id *id);
/* The flow, or NULL. */
struct pd_digests_flow *pd_agent_digests_flow_in(struct pd_digests_flow *bucket,
                                                 const struct pd_flow_id *id, uint64_t mark);
struct pd_digests_flow *pd_agent_digests_flow(struct pd_digests_flows *flows,
                                              const struct pd_flow_id *id, uint64_t mark);
/* A flow that is not there yet. NULL: no room, or no memory. */
struct pd_digests_flow *pd_agent_digests_flow_add(struct pd_digests_flows *flows,
                                                  const struct pd_flow_id *id, uint64_t mark);

/* Some buckets at a time: flows without a packet for long go. */
void pd_agent_digests_flows_sweep(struct pd_digests_flows *flows);
void pd_agent_digests_flows_forget(struct pd_digests_flows *flows); /* all of them */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The flows that were traced in this epoch, or could not be. */
#ifndef PD_TRACE_FLOWS_H
#define PD_TRACE_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/flow_id.h"
#include "trace/probe.h"
#include "trace/trace.h"

/* A bounded hash table by flow and epoch, and by the flow as it is on the wire, which answers
 * quote. Thread safety: none; the tracer's lock is held. */

#define PD_TRACE_FLOWS_MAX 4096u

enum pd_trace_state {
    PD_TRACE_ASKING, /* probes are on their way */
    PD_TRACE_DONE,
    PD_TRACE_REFUSED, /* its server is not known */
};

enum pd_trace_key { PD_TRACE_BY_FLOW, PD_TRACE_BY_WIRE, PD_TRACE_KEYS };

struct pd_trace_flow {
    struct pd_trace_flow *chains[PD_TRACE_KEYS], *next; /* next: in the order of arrival */
    struct pd_flow_id flow;
    struct pd_trace_header header;
    enum pd_trace_state state;
    unsigned rounds; /* of probes that were sent */
    uint64_t epoch;
    uint64_t time_us, last_us; /* wall time: first probe, last retransmission */
    uint64_t begun_ns, due_ns; /* monotonic: first probe, next round or the end */
    uint32_t lost, duplicates_before, duplicates;
    unsigned hops_len; /* TTLs that are probed */
    struct pd_trace_hop hops[];
};

struct pd_trace_flows {
    struct pd_trace_flow **heads[PD_TRACE_KEYS]; /* PD_TRACE_FLOWS_MAX of each */
    struct pd_trace_flow *first, *last;
    uint32_t len;
};

int pd_trace_flows_init(struct pd_trace_flows *flows); /* 0 or -ENOMEM */
void pd_trace_flows_done(struct pd_trace_flows *flows);

struct pd_trace_flow *pd_trace_flows_find(const struct pd_trace_flows *flows, enum pd_trace_key key,
                                          const struct pd_flow_id *flow, uint64_t epoch);
/* NULL: no room, or no memory. All but flow, header and epoch is zero. */
struct pd_trace_flow *pd_trace_flows_add(struct pd_trace_flows *flows,
                                         const struct pd_flow_id *flow,
                                         const struct pd_trace_header *header, uint64_t epoch,
                                         unsigned hops_len);
/* The first in order goes. */
void pd_trace_flows_drop_first(struct pd_trace_flows *flows);

/* As it is told: hops up to the last answer, and the way through this topology. */
void pd_trace_flow_tell(const struct pd_trace_flow *flow, const struct pd_topology *topology,
                        uint64_t epoch_s, struct pd_trace *ret_trace);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A flow's state at the receiver: digests come in, records of paths come out. */
#ifndef PD_CODEC_PINT_FLOW_H
#define PD_CODEC_PINT_FLOW_H

#include "codec/pint/search.h"

/* Paper 002, sections 4.2 and 7. A record is one way that the flow's packets took. It begins
 * undecided; with one simple path left it is decided, and known when besides each hop of the path
 * has been covered by enough bits of digests. A digest that contradicts a known path belongs to
 * another record: one whose known path fits, else one that is still searched for, else a new one.
 *
 * When no walk of the topology fits, the digests are solved without neighbours: the walk that comes
 * out is not in the file (miscabled). At the same time a new search begins with the packet that
 * contradicted, since the path may have changed before it was known.
 *
 * A receiver and its flows belong to one thread. What searches hold is bounded; a flow without room
 * stays undecided and is counted. */

#define PD_PINT_RECORDS_MAX 16 /* of a flow; packets beyond are counted to the last one */

#define PD_PINT_STATES(X)                                                                 \
    X(UNDECIDED, "undecided", "several paths fit the digests")                            \
    X(DECIDED, "decided", "one path fits")                                                \
    X(KNOWN, "known", "one path fits, and each of its hops is covered by enough digests") \
    X(MISCABLED, "miscabled", "the walk taken is none of the topology")                   \
    X(INFEASIBLE, "infeasible", "no walk fits")

enum pd_pint_state {
#define X(name, id, text) PD_PINT_##name,
    PD_PINT_STATES(X)
#undef X
        PD_PINT_STATE_COUNT
};
const char *pd_pint_state_id(enum pd_pint_state state);

struct pd_pint_receiver_config {
    const struct pd_topology *topology;
    const struct pd_pint_plan *plan;
    enum pd_pint_method method;
    bool no_topology;    /* each hop is one of all switches, as in the paper */
    unsigned known_bits; /* of digests that cover each hop of a known path; 0: 20 */
    size_t room_bytes;   /* of trellises and of all flows' searches, each; 0: 256 MiB */
};

#define PD_PINT_COUNTERS(X)                                            \
    X(samples, "digests that were taken")                              \
    X(samples_full, "digests left out: the flow's search had so many") \
    X(flows_full, "flows without a search: no room")                   \
    X(records_full, "packets beyond the records that a flow may have") \
    X(changes, "paths that were left for another one")                 \
    X(miscabled, "walks taken that the topology does not have")        \
    X(infeasible, "records that nothing fits")

struct pd_pint_counters {
#define X(name, text) uint64_t name;
    PD_PINT_COUNTERS(X)
#undef X
};

struct pd_pint_receiver;

int pd_pint_receiver_new(const struct pd_pint_receiver_config *config,
                         struct pd_pint_receiver **ret_receiver);
void pd_pint_receiver_free(struct pd_pint_receiver *receiver); /* NULL is fine; after its flows */
const struct pd_pint_counters *pd_pint_receiver_counters(const struct pd_pint_receiver *receiver);

/* One way that packets of a flow took. */
struct pd_pint_record {
    enum pd_pint_state state;
    uint32_t hops;            /* by which the TTL was lowered */
    uint64_t candidates;      /* paths that fit; 1 from decided on; UINT64_MAX: not counted */
    struct pd_pint_path path; /* len 0 until decided */
    uint64_t first_packet;    /* of the flow's, from 1 */
    uint64_t pkts;
    uint64_t decided_at, known_at; /* packets of the flow until then; 0: never */
};

struct pd_pint_flow;

/* Racks as indexes of switches; PD_NONE where the address belongs to none. */
int pd_pint_flow_new(struct pd_pint_receiver *receiver, uint32_t src, uint32_t dst,
                     struct pd_pint_flow **ret_flow);
void pd_pint_flow_free(struct pd_pint_flow *flow); /* NULL is fine */

/* Counts a packet and learns from its digest. `draw`: the packet's, over these hops (NULL: none was
 * made). *ret_record: number of the record it is counted to. 0 or -ENOMEM (then the packet is
 * counted, its digest is not). */
int pd_pint_flow_add(struct pd_pint_flow *flow, uint32_t packet_id, uint16_t digest, uint32_t hops,
                     const struct pd_pint_draw *draw, size_t *ret_record);

/* No packet will follow: draws the last conclusions. 0 or -ENOMEM. */
int pd_pint_flow_end(struct pd_pint_flow *flow);

/* Brings what the next packet of the flow is likely to ask for into the cache. */
void pd_pint_flow_prefetch(const struct pd_pint_flow *flow);
uint64_t pd_pint_flow_pkts(const struct pd_pint_flow *flow);
size_t pd_pint_flow_records(const struct pd_pint_flow *flow);
const struct pd_pint_record *pd_pint_flow_record(const struct pd_pint_flow *flow, size_t number);

#endif

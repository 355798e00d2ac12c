/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the level of packets share: its state, and the wheel of events. */
#ifndef PD_SIM_PACKETS_H
#define PD_SIM_PACKETS_H

#include <string.h>

#include "sim/levels.h"
#include "sim/ports.h"
#include "sim/tcp.h"

/* Time is in nanoseconds from the start. Events (a packet arrives at the next port, an
 * acknowledgement at its sender) stand in a wheel of buckets of 1024 ns; within a bucket they come
 * in the order in which they were put there. All packets are full ones, so that a queue is one
 * number, when its link is free again: a packet joins it, or is dropped when more than the buffer
 * waits. A host's own link queues without loss, as its stack would hold the sender back.
 * Acknowledgements take no room on links and are not lost; they arrive a fixed time after the
 * packet.
 *
 * Retransmission timers and new flows are looked after every millisecond.
 *
 * Where a scenario names a transport, an overhead or telemetry (transport.h), packets have bytes:
 * acknowledgements cross the ports of the way back (they are still not dropped), a packet that
 * leaves a queue is an event, at which the switch measures and writes, flows start when they start,
 * and buckets are shorter than half a packet. */

#define BUCKETS_BITS 16
#define BUCKETS      (1u << BUCKETS_BITS)
#define NONE         UINT32_MAX

enum pd_sim_packet_kind { DATA, ACK, START, PACE }; /* the last two: timers of a flow */

/* One packet on its way, or its acknowledgement on the way back. */
struct pd_sim_packet {
    uint64_t at_ns;
    uint64_t came_ns; /* to the port where it waits */
    uint32_t flow;
    uint32_t born;  /* of the flow that took this place in the table: others' packets are ignored */
    uint32_t order; /* the sender's count of transmissions */
    uint32_t next;
    uint32_t sent_us; /* by its sender */
    uint32_t id;      /* of digests */
    uint16_t hop;     /* links behind it, on the way that it goes */
    uint16_t route;
    uint16_t digest;
    uint8_t mark; /* of meters */
    uint8_t kind;
    bool waiting; /* until at_ns, in a queue */
};

struct pd_sim_packet_flow {
    struct pd_sim_tcp tcp;
    struct pd_sim_hpcc hpcc;
    uint32_t born;
    uint32_t rtt_us; /* of the last acknowledgement */
};

struct pd_sim_packets {
    struct pd_sim_world *world;
    uint64_t now_ns;
    uint64_t tick_ns;  /* next look at timers and arrivals */
    uint64_t *free_ns; /* per link: when it has sent what waits */
    struct pd_sim_transport transport;
    struct pd_sim_port *ports; /* per link; NULL: packets take no room */
    const struct pd_pint_plan *plan;
    struct pd_pint_plan *own_plan; /* of hpcc-pint, where the scenario has none */
    double rtt_ns;                 /* of the longest way, when nothing waits */
    unsigned bucket_bits;
    struct pd_sim_packet *packets;
    struct pd_sim_hpcc_port (*told)[PD_ROUTE_LINKS_MAX]; /* per packet; NULL: no INT */
    uint32_t told_room;
    uint32_t packets_len, unused; /* list of those not in use */
    uint32_t heads[BUCKETS], tails[BUCKETS];
    uint32_t births;
    bool full; /* memory ran out */
};

static inline struct pd_sim_packet_flow *pd_sim_packet_state(const struct pd_sim_flow *flow)
{
    return flow->state;
}

/* What so many bytes take on a link. */
static inline double pd_sim_packet_ns(const struct pd_sim_packets *level, double bytes,
                                      uint32_t link)
{
    return bytes * 8e3 /
           pd_sim_net_mbps(&level->world->net, link, level->world->scenario->link_mbps);
}

/* A packet or a timer, to come at that time. */
static inline void pd_sim_packet_post(struct pd_sim_packets *level, uint32_t number, uint64_t at_ns)
{
    uint64_t horizon_ns = level->now_ns + ((uint64_t)(BUCKETS - 2) << level->bucket_bits);
    uint64_t due_ns =
        at_ns < horizon_ns ? at_ns : horizon_ns; /* later ones are posted again then */
    uint32_t bucket = (uint32_t)(due_ns >> level->bucket_bits) & (BUCKETS - 1);
    level->packets[number].at_ns = at_ns;
    level->packets[number].next = NONE;
    if (level->heads[bucket] == NONE) {
        level->heads[bucket] = number;
    } else {
        level->packets[level->tails[bucket]].next = number;
    }
    level->tails[bucket] = number;
}

static inline void pd_sim_packet_drop(struct pd_sim_packets *level, uint32_t number)
{
    level->packets[number].next = level->unused;
    level->unused = number;
}

/* A packet or a timer of the flow, now; NULL: memory ran out. */
struct pd_sim_packet *pd_sim_packet_take(struct pd_sim_packets *level,
                                         const struct pd_sim_flow *flow,
                                         enum pd_sim_packet_kind kind, uint32_t *ret_number);

/* ---- packet_ports.c */

/* Passes the port of its next link, or joins what waits there; false when it is dropped. */
bool pd_sim_packet_pass(struct pd_sim_packets *level, uint32_t number);
/* Its turn has come there; false when it is lost on the link. */
bool pd_sim_packet_leave(struct pd_sim_packets *level, uint32_t number);

/* ---- packet_senders.c */

/* A flow of the table begins; at its own time where packets take room. */
void pd_sim_packet_begin(struct pd_sim_packets *level, struct pd_sim_flow *flow);
/* An acknowledgement, or a timer of the flow, which is over. */
void pd_sim_packet_acknowledge(struct pd_sim_packets *level, uint32_t number,
                               struct pd_sim_flow *flow);
void pd_sim_packet_wake(struct pd_sim_packets *level, uint32_t number, struct pd_sim_flow *flow);
/* Sends what may be sent. */
void pd_sim_packet_pump(struct pd_sim_packets *level, struct pd_sim_flow *flow);

#endif

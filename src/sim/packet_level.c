/* SPDX-License-Identifier: Apache-2.0 */
/* The level of packets: each one passes each queue of its route; senders run a small TCP. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "sim/packets.h"

#define NS          1e9
#define TICK_NS     UINT64_C(1000000)
#define BUCKET_BITS 10

static void free_level(void *context)
{
    struct pd_sim_packets *level = context;
    free(level->free_ns);
    free(level->ports);
    free(level->own_plan);
    free(level->told);
    free(level->packets);
    free(level);
}

/* ---- packets that take room */

static double find_rtt(const struct pd_sim_packets *level)
{
    const struct pd_sim_net *net = &level->world->net;
    const struct pd_sim_transport *transport = &level->transport;
    uint32_t links = pd_sim_net_farthest(net) + 2;

    return links *
           (2.0 * transport->hop_ns +
            pd_sim_packet_ns(level, PD_SIM_MTU_BYTES + pd_sim_transport_ack(transport, links), 0));
}

static int make_room(struct pd_sim_packets *level)
{
    const struct pd_sim_scenario *scenario = level->world->scenario;
    double packet_ns = pd_sim_packet_ns(level, PD_SIM_MTU_BYTES, 0);

    level->ports = calloc(level->world->net.links_len, sizeof *level->ports);
    level->rtt_ns = find_rtt(level);
    while (level->bucket_bits > 3 && 2 << level->bucket_bits > packet_ns) {
        level->bucket_bits--;
    }
    level->plan = scenario->plan;
    if (!level->plan && level->transport.kind == PD_SIM_HPCC_PINT) {
        level->plan = level->own_plan = pd_sim_hpcc_plan();
        return level->ports && level->plan ? 0 : -ENOMEM;
    }
    return level->ports ? 0 : -ENOMEM;
}

static int new_level(struct pd_sim_world *world, void **ret_level)
{
    struct pd_sim_packets *level = calloc(1, sizeof *level);
    if (!level) {
        return -ENOMEM;
    }
    level->world = world;
    level->transport = world->scenario->transport;
    level->bucket_bits = BUCKET_BITS;
    level->free_ns = calloc(world->net.links_len, sizeof *level->free_ns);
    level->unused = NONE;
    memset(level->heads, 0xff, sizeof level->heads);
    if (!level->free_ns || (level->transport.roomy && make_room(level))) {
        free_level(level);
        return -ENOMEM;
    }
    *ret_level = level;
    return 0;
}

/* ---- packets */

static int grow(struct pd_sim_packets *level)
{
    uint32_t len = level->packets_len;
    if (len > UINT32_MAX / 8 || PD_GROW(level->packets, len, len ? (size_t)len + 1 : 4096)) {
        return -ENOMEM;
    }
    if (level->transport.kind == PD_SIM_HPCC_INT && PD_GROW(level->told, level->told_room, len)) {
        return -ENOMEM;
    }
    struct pd_sim_packet *packets = level->packets;
    for (uint32_t i = level->packets_len; i < len; i++) {
        packets[i].next = i + 1 < len ? i + 1 : level->unused;
    }
    level->unused = level->packets_len;
    level->packets_len = len;
    return 0;
}

/* A packet or a timer of the flow, now; NULL: memory ran out. */
struct pd_sim_packet *pd_sim_packet_take(struct pd_sim_packets *level,
                                         const struct pd_sim_flow *flow,
                                         enum pd_sim_packet_kind kind, uint32_t *ret_number)
{
    if (level->unused == NONE && grow(level)) {
        level->full = true;
        return NULL;
    }
    uint32_t number = level->unused;
    struct pd_sim_packet *packet = &level->packets[number];
    level->unused = packet->next;
    *packet = (struct pd_sim_packet){.at_ns = level->now_ns,
                                     .flow = (uint32_t)(flow - level->world->flows.table),
                                     .born = pd_sim_packet_state(flow)->born,
                                     .sent_us = (uint32_t)(level->now_ns / 1000),
                                     .kind = (uint8_t)kind};
    *ret_number = number;
    return packet;
}

/* ---- what happens to a packet */

/* At the receiver. */
static void turn_back(struct pd_sim_packets *level, struct pd_sim_packet *packet,
                      struct pd_sim_route *route)
{
    route->pkts++;
    packet->kind = ACK;
    packet->hop = 0;
    if (level->world->digests &&
        pd_sim_digests_take(level->world->digests, packet->flow, packet->route,
                            route->route.path.len, packet->id, packet->digest)) {
        level->full = true;
    }
    if (!level->ports) { /* it is there a fixed time later */
        packet->hop = (uint16_t)route->route.links_len;
        packet->at_ns += (uint64_t)route->route.links_len * level->transport.hop_ns;
    }
}

static void arrive(struct pd_sim_packets *level, uint32_t number)
{
    struct pd_sim_packet *packet = &level->packets[number];
    struct pd_sim_flow *flow = &level->world->flows.table[packet->flow];
    if (!flow->used || !flow->live || pd_sim_packet_state(flow)->born != packet->born) {
        pd_sim_packet_drop(level, number);
        return;
    }
    if (packet->kind == START || packet->kind == PACE) {
        pd_sim_packet_wake(level, number, flow);
        return;
    }
    if (packet->waiting) {
        if (!pd_sim_packet_leave(level, number)) {
            pd_sim_packet_drop(level, number);
        }
        return;
    }
    struct pd_sim_route *route = &flow->routes[packet->route];
    if (packet->hop == route->route.links_len) {
        if (packet->kind == ACK) {
            pd_sim_packet_acknowledge(level, number, flow);
            return;
        }
        turn_back(level, packet, route);
        if (!level->ports) {
            pd_sim_packet_post(level, number, packet->at_ns);
            return;
        }
    }
    if (packet->kind == DATA) {
        pd_sim_meters_pass(level->world->meters, &flow->id, &route->route, packet->hop - 1U, 1,
                           packet->at_ns, &packet->mark);
    }
    if (!pd_sim_packet_pass(level, number)) {
        pd_sim_packet_drop(level, number);
    }
}

/* ---- time */

/* Timers of all flows, then the flows that start in the next millisecond. */
static int tick(struct pd_sim_packets *level)
{
    struct pd_sim_flows *flows = &level->world->flows;
    struct pd_sim_flow *flow;
    int err;
    for (uint32_t i = 0; i < flows->order_len; i++) {
        flow = &flows->table[flows->order[i]];
        if (!flow->live) {
            continue;
        }
        uint32_t timed_out = pd_sim_tcp_timer(&pd_sim_packet_state(flow)->tcp, level->now_ns);
        flow->retransmissions += timed_out;
        flow->consecutive += timed_out;
        flow->timeouts += timed_out > 0;
        if (pd_sim_tcp_is_done(&pd_sim_packet_state(flow)->tcp)) {
            flow->live = false; /* given up */
        } else if (timed_out) {
            pd_sim_packet_pump(level, flow);
        }
    }
    level->tick_ns += TICK_NS;
    while (!(err = pd_sim_flows_next(flows, (double)level->tick_ns / NS, &flow)) && flow) {
        pd_sim_packet_begin(level, flow);
    }
    return err;
}

static void run_bucket(struct pd_sim_packets *level)
{
    uint64_t turn = level->now_ns >> level->bucket_bits;
    uint32_t bucket = (uint32_t)turn & (BUCKETS - 1);
    while (level->heads[bucket] != NONE) {
        uint32_t number = level->heads[bucket];
        uint64_t at_ns = level->packets[number].at_ns;
        level->heads[bucket] = level->packets[number].next;
        if (at_ns >> level->bucket_bits > turn) {
            pd_sim_packet_post(level, number, at_ns);
            continue;
        }
        level->now_ns = at_ns > level->now_ns ? at_ns : level->now_ns;
        arrive(level, number);
    }
}

static int advance(void *context, double until_s)
{
    struct pd_sim_packets *level = context;
    uint64_t until_ns = (uint64_t)(until_s * NS), step = UINT64_C(1) << level->bucket_bits;
    while (level->now_ns < until_ns) {
        int err = level->now_ns >= level->tick_ns ? tick(level) : 0;
        err = err ? err : pd_sim_meters_until(level->world->meters, level->now_ns);
        if (err || level->full) {
            return -ENOMEM;
        }
        run_bucket(level);
        level->now_ns = (level->now_ns & ~(step - 1)) + step;
    }
    return 0;
}

static void look(const void *context, const struct pd_sim_flow *flow, struct pd_sim_sender *sender)
{
    const struct pd_sim_packet_flow *state = pd_sim_packet_state(flow);
    (void)context;
    sender->backoff = state->tcp.timeouts;
    sender->srtt_us = state->rtt_us;
    sender->rto_us = PD_TCP_RTO_US << state->tcp.timeouts;
    sender->cwnd_pkts = (uint32_t)state->tcp.window;
}

const struct pd_sim_level_ops pd_sim_packet_level = {
    .flow_bytes = sizeof(struct pd_sim_packet_flow),
    .new = new_level,
    .free = free_level,
    .advance = advance,
    .look = look,
};

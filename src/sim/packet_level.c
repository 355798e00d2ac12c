/* SPDX-License-Identifier: Apache-2.0 */
/* The level of packets: each one passes each queue of its route; senders run a small TCP. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "sim/levels.h"
#include "sim/tcp.h"

/* Time is in nanoseconds from the start. Events (a packet arrives at the next port, an
 * acknowledgement at its sender) stand in a wheel of buckets of 1024 ns; within a bucket they come
 * in the order in which they were put there. All packets are full ones and take the same time on a
 * link, so that a queue is one number, when its link is free again: a packet joins it, or is
 * dropped when more than the buffer waits. A host's own link queues without loss, as its stack
 * would hold the sender back. Acknowledgements take no room on links and are not lost; they arrive
 * a fixed time after the packet.
 *
 * Retransmission timers and new flows are looked after every millisecond. */

#define NS           1e9
#define TICK_NS      UINT64_C(1000000)
#define HOP_NS       10000 /* processing and propagation */
#define BUCKET_BITS  10
#define BUCKETS_BITS 16
#define BUCKETS      (1u << BUCKETS_BITS)
#define NONE         UINT32_MAX

/* One packet on its way, or its acknowledgement on the way back (hop == ACK). */
struct packet {
    uint64_t at_ns;
    uint32_t flow;
    uint32_t born;  /* of the flow that took this place in the table: others' packets are ignored */
    uint32_t order; /* the sender's count of transmissions */
    uint32_t next;
    uint32_t sent_us; /* by its sender */
    uint16_t hop;
    uint16_t route;
    uint8_t mark; /* of meters */
};
enum { ACK = UINT16_MAX };

struct flow_state {
    struct pd_sim_tcp tcp;
    uint32_t born;
    uint32_t rtt_us; /* of the last acknowledgement */
};

struct level {
    struct pd_sim_world *world;
    uint64_t now_ns;
    uint64_t tick_ns;  /* next look at timers and arrivals */
    uint64_t *free_ns; /* per link: when it has sent what waits */
    struct packet *packets;
    uint32_t packets_len, unused; /* list of those not in use */
    uint32_t heads[BUCKETS], tails[BUCKETS];
    uint32_t births;
    bool full; /* memory ran out */
};

static void free_level(void *context)
{
    struct level *level = context;
    free(level->free_ns);
    free(level->packets);
    free(level);
}

static int new_level(struct pd_sim_world *world, void **ret_level)
{
    struct level *level = calloc(1, sizeof *level);
    if (!level) {
        return -ENOMEM;
    }
    level->world = world;
    level->free_ns = calloc(world->net.links_len, sizeof *level->free_ns);
    level->unused = NONE;
    memset(level->heads, 0xff, sizeof level->heads);
    if (!level->free_ns) {
        free_level(level);
        return -ENOMEM;
    }
    *ret_level = level;
    return 0;
}

static struct flow_state *state_of(const struct pd_sim_flow *flow)
{
    return flow->state;
}

/* ---- packets and the wheel */

static int grow(struct level *level)
{
    uint32_t len = level->packets_len;
    if (len > UINT32_MAX / 8 || PD_GROW(level->packets, len, len ? (size_t)len + 1 : 4096)) {
        return -ENOMEM;
    }
    struct packet *packets = level->packets;
    for (uint32_t i = level->packets_len; i < len; i++) {
        packets[i].next = i + 1 < len ? i + 1 : level->unused;
    }
    level->unused = level->packets_len;
    level->packets_len = len;
    return 0;
}

static void post(struct level *level, uint32_t number, uint64_t at_ns)
{
    uint64_t horizon_ns = level->now_ns + ((uint64_t)(BUCKETS - 2) << BUCKET_BITS);
    uint64_t due_ns =
        at_ns < horizon_ns ? at_ns : horizon_ns; /* later ones are posted again then */
    uint32_t bucket = (uint32_t)(due_ns >> BUCKET_BITS) & (BUCKETS - 1);
    level->packets[number].at_ns = at_ns;
    level->packets[number].next = NONE;
    if (level->heads[bucket] == NONE) {
        level->heads[bucket] = number;
    } else {
        level->packets[level->tails[bucket]].next = number;
    }
    level->tails[bucket] = number;
}

static void drop(struct level *level, uint32_t number)
{
    level->packets[number].next = level->unused;
    level->unused = number;
}

/* ---- what happens to a packet */

/* Passes the port of one link; false when it is dropped there. */
static bool pass_port(struct level *level, uint32_t number, uint32_t link)
{
    struct pd_sim_world *world = level->world;
    struct packet *packet = &level->packets[number];
    uint64_t now = packet->at_ns, ready = level->free_ns[link] > now ? level->free_ns[link] : now;
    uint64_t packet_ns = (uint64_t)(PD_SIM_MTU_BYTES * 8e3 /
                                    pd_sim_net_mbps(&world->net, link, world->scenario->link_mbps));
    bool up = pd_sim_net_is_up(&world->net, link);
    if (!up && ready - now > packet_ns * world->scenario->buffer_pkts) {
        world->totals.lost_queue++;
        return false;
    }
    level->free_ns[link] = ready + packet_ns;
    world->totals.packet_hops += !up;
    packet->hop++;
    if (pd_sim_net_drops(&world->net, link, &world->flows.table[packet->flow].id, &world->random)) {
        world->totals.lost_fault++;
        return false;
    }
    post(level, number, ready + packet_ns + HOP_NS);
    return true;
}

static void pump(struct level *level, struct pd_sim_flow *flow);

static void acknowledge(struct level *level, uint32_t number, struct pd_sim_flow *flow)
{
    uint32_t order = level->packets[number].order;
    uint64_t now = level->packets[number].at_ns;
    uint32_t rtt_us = (uint32_t)(now / 1000) - level->packets[number].sent_us;
    drop(level, number);
    uint32_t lost = pd_sim_tcp_acked(&state_of(flow)->tcp, order, now, rtt_us);
    flow->retransmissions += lost;
    flow->consecutive = lost;
    flow->acked_pkts++;
    state_of(flow)->rtt_us = rtt_us;
    if (pd_sim_tcp_is_done(&state_of(flow)->tcp)) {
        flow->live = false;
    } else {
        pump(level, flow);
    }
}

static void arrive(struct level *level, uint32_t number)
{
    struct packet *packet = &level->packets[number];
    struct pd_sim_flow *flow = &level->world->flows.table[packet->flow];
    if (!flow->used || !flow->live || state_of(flow)->born != packet->born) {
        drop(level, number);
        return;
    }
    if (packet->hop == ACK) {
        acknowledge(level, number, flow);
        return;
    }
    struct pd_sim_route *route = &flow->routes[packet->route];
    if (packet->hop == route->route.links_len) {
        route->pkts++;
        packet->hop = ACK;
        post(level, number, packet->at_ns + (uint64_t)route->route.links_len * HOP_NS);
        return;
    }
    pd_sim_meters_pass(level->world->meters, &flow->id, &route->route, packet->hop - 1U, 1,
                       packet->at_ns, &packet->mark);
    if (!pass_port(level, number, route->route.links[packet->hop])) {
        drop(level, number);
    }
}

/* ---- senders */

/* For a packet that is sprayed. */
static uint16_t draw_route(struct pd_sim_world *world, const struct pd_sim_flow *flow)
{
    if (!world->net.weighs) {
        return (uint16_t)pd_sim_random_below(&world->random, flow->routes_len);
    }
    double at = pd_sim_random_share(&world->random);
    uint32_t route = 0;
    while (route + 1 < flow->routes_len && (at -= flow->routes[route].route.share) >= 0) {
        route++;
    }
    return (uint16_t)route;
}

static void send_one(struct level *level, struct pd_sim_flow *flow, uint32_t order)
{
    struct flow_state *state = state_of(flow);
    if (level->unused == NONE && grow(level)) {
        level->full = true;
        return;
    }
    uint32_t number = level->unused;
    struct packet *packet = &level->packets[number];
    level->unused = packet->next;
    *packet = (struct packet){.at_ns = level->now_ns,
                              .flow = (uint32_t)(flow - level->world->flows.table),
                              .born = state->born,
                              .order = order,
                              .sent_us = (uint32_t)(level->now_ns / 1000)};
    if (flow->routes_len > 1) {
        packet->route = draw_route(level->world, flow);
    }
    if (!pass_port(level, number, flow->routes[packet->route].route.links[0])) {
        drop(level, number);
    }
}

static void pump(struct level *level, struct pd_sim_flow *flow)
{
    uint32_t order;
    while (!level->full && pd_sim_tcp_may_send(&state_of(flow)->tcp, level->now_ns, &order)) {
        send_one(level, flow, order);
    }
}

/* Timers of all flows, then the flows that start in the next millisecond. */
static int tick(struct level *level)
{
    struct pd_sim_flows *flows = &level->world->flows;
    struct pd_sim_flow *flow;
    int err;
    for (uint32_t i = 0; i < flows->order_len; i++) {
        flow = &flows->table[flows->order[i]];
        if (!flow->live) {
            continue;
        }
        uint32_t timed_out = pd_sim_tcp_timer(&state_of(flow)->tcp, level->now_ns);
        flow->retransmissions += timed_out;
        flow->consecutive += timed_out;
        flow->timeouts += timed_out > 0;
        if (pd_sim_tcp_is_done(&state_of(flow)->tcp)) {
            flow->live = false;
        } else if (timed_out) {
            pump(level, flow);
        }
    }
    level->tick_ns += TICK_NS;
    while (!(err = pd_sim_flows_next(flows, (double)level->tick_ns / NS, &flow)) && flow) {
        pd_sim_tcp_init(&state_of(flow)->tcp, flow->total_pkts, flow->routes_len > 1,
                        level->now_ns);
        state_of(flow)->born = ++level->births;
        pump(level, flow);
    }
    return err;
}

static void run_bucket(struct level *level)
{
    uint64_t turn = level->now_ns >> BUCKET_BITS;
    uint32_t bucket = (uint32_t)turn & (BUCKETS - 1);
    while (level->heads[bucket] != NONE) {
        uint32_t number = level->heads[bucket];
        uint64_t at_ns = level->packets[number].at_ns;
        level->heads[bucket] = level->packets[number].next;
        if (at_ns >> BUCKET_BITS > turn) {
            post(level, number, at_ns);
            continue;
        }
        level->now_ns = at_ns > level->now_ns ? at_ns : level->now_ns;
        arrive(level, number);
    }
}

static int advance(void *context, double until_s)
{
    struct level *level = context;
    uint64_t until_ns = (uint64_t)(until_s * NS), step = UINT64_C(1) << BUCKET_BITS;
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
    const struct flow_state *state = state_of(flow);
    (void)context;
    sender->backoff = state->tcp.timeouts;
    sender->srtt_us = state->rtt_us;
    sender->rto_us = PD_TCP_RTO_US << state->tcp.timeouts;
    sender->cwnd_pkts = (uint32_t)state->tcp.window;
}

const struct pd_sim_level_ops pd_sim_packet_level = {
    .flow_bytes = sizeof(struct flow_state),
    .new = new_level,
    .free = free_level,
    .advance = advance,
    .look = look,
};

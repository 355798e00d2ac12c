/* SPDX-License-Identifier: Apache-2.0 */
/* The level of packets: each one passes each queue of its route; senders run a small TCP. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
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

#define NS           1e9
#define TICK_NS      UINT64_C(1000000)
#define BUCKET_BITS  10
#define BUCKETS_BITS 16
#define BUCKETS      (1u << BUCKETS_BITS)
#define NONE         UINT32_MAX

enum kind { DATA, ACK, START, PACE }; /* the last two: timers of a flow */

/* One packet on its way, or its acknowledgement on the way back. */
struct packet {
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

struct flow_state {
    struct pd_sim_tcp tcp;
    struct pd_sim_hpcc hpcc;
    uint32_t born;
    uint32_t rtt_us; /* of the last acknowledgement */
};

struct level {
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
    struct packet *packets;
    struct pd_sim_hpcc_port (*told)[PD_ROUTE_LINKS_MAX]; /* per packet; NULL: no INT */
    uint32_t packets_len, unused;                        /* list of those not in use */
    uint32_t heads[BUCKETS], tails[BUCKETS];
    uint32_t births;
    bool full; /* memory ran out */
};

static void free_level(void *context)
{
    struct level *level = context;
    free(level->free_ns);
    free(level->ports);
    free(level->own_plan);
    free(level->told);
    free(level->packets);
    free(level);
}

/* ---- packets that take room */

static double full_ns(const struct level *level, double bytes, uint32_t link)
{
    return bytes * 8e3 /
           pd_sim_net_mbps(&level->world->net, link, level->world->scenario->link_mbps);
}

static double find_rtt(const struct level *level)
{
    const struct pd_sim_net *net = &level->world->net;
    const struct pd_sim_transport *transport = &level->transport;
    uint32_t links = pd_sim_net_farthest(net) + 2;

    return links * (2.0 * transport->hop_ns +
                    full_ns(level, PD_SIM_MTU_BYTES + pd_sim_transport_ack(transport, links), 0));
}

static int make_room(struct level *level)
{
    const struct pd_sim_scenario *scenario = level->world->scenario;
    double packet_ns = full_ns(level, PD_SIM_MTU_BYTES, 0);

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
    struct level *level = calloc(1, sizeof *level);
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
    if (level->transport.kind == PD_SIM_HPCC_INT) {
        void *told = realloc(level->told, len * sizeof *level->told);
        if (!told) {
            return -ENOMEM;
        }
        level->told = told;
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

static void drop(struct level *level, uint32_t number)
{
    level->packets[number].next = level->unused;
    level->unused = number;
}

/* ---- what happens to a packet */

static const struct pd_sim_route *route_of(const struct level *level, const struct packet *packet)
{
    return &level->world->flows.table[packet->flow].routes[packet->route];
}

/* The link that a packet takes next. */
static uint32_t link_of(const struct level *level, const struct packet *packet)
{
    const struct pd_sim_net_route *route = &route_of(level, packet)->route;

    return packet->kind == DATA
               ? route->links[packet->hop]
               : pd_links_reverse(route->links[route->links_len - 1U - packet->hop]);
}

static double bytes_of(const struct level *level, const struct packet *packet)
{
    if (packet->kind == DATA) {
        return PD_SIM_MTU_BYTES + pd_sim_transport_overhead(&level->transport, packet->hop);
    }
    return pd_sim_transport_ack(&level->transport, route_of(level, packet)->route.path.len);
}

/* A switch that sends the packet on measures its port, and writes. */
static void measure(struct level *level, uint32_t number, uint32_t link, double bytes)
{
    struct packet *packet = &level->packets[number];
    double left_ns = full_ns(level, bytes, link), ahead_ns;
    struct pd_sim_leaving leaving = {.now_ns = packet->at_ns,
                                     .came_ns = packet->came_ns,
                                     .bytes = bytes,
                                     .bytes_ns = bytes / left_ns};

    ahead_ns = (double)(packet->at_ns - packet->came_ns);
    left_ns = (double)(level->free_ns[link] - packet->at_ns) - left_ns;
    leaving.met_bytes = ahead_ns * leaving.bytes_ns;
    leaving.queue_bytes = left_ns > 0 ? left_ns * leaving.bytes_ns : 0;
    const struct pd_sim_hpcc_port told =
        pd_sim_port_leave(&level->ports[link], &leaving, level->rtt_ns);
    if (packet->kind != DATA || !packet->hop) {
        return;
    }
    if (level->told) {
        level->told[number][packet->hop - 1] = told;
    }
    if (level->plan) {
        const struct pd_sim_net_route *route = &route_of(level, packet)->route;
        const struct pd_sim_hop hop = {
            packet->id, route->path.switches[packet->hop - 1], packet->hop,
            pd_links_port(level->world->net.topology,
                          pd_links_reverse(route->links[packet->hop - 1]))};
        pd_sim_digest(level->plan, &hop, &leaving, &level->ports[link], &packet->digest);
    }
}

/* Out on a link; false when it is lost there. */
static bool leave(struct level *level, uint32_t number, uint32_t link, uint64_t packet_ns)
{
    struct pd_sim_world *world = level->world;
    struct packet *packet = &level->packets[number];

    packet->waiting = false;
    if (packet->kind == DATA) {
        world->totals.packet_hops += !pd_sim_net_is_up(&world->net, link);
    }
    packet->hop++;
    if (packet->kind == DATA &&
        pd_sim_net_drops(&world->net, link, &world->flows.table[packet->flow].id, &world->random)) {
        world->totals.lost_fault++;
        return false;
    }
    post(level, number, packet->at_ns + packet_ns + level->transport.hop_ns);
    return true;
}

static bool leave_queue(struct level *level, uint32_t number)
{
    const struct packet *packet = &level->packets[number];
    uint32_t link = link_of(level, packet);
    double bytes = bytes_of(level, packet);

    measure(level, number, link, bytes);
    return leave(level, number, link, (uint64_t)full_ns(level, bytes, link));
}

/* Passes the port of its next link, or joins what waits there; false when it is dropped. */
static bool pass_port(struct level *level, uint32_t number)
{
    struct pd_sim_world *world = level->world;
    struct packet *packet = &level->packets[number];
    uint32_t link = link_of(level, packet);
    uint64_t now = packet->at_ns, ready = level->free_ns[link] > now ? level->free_ns[link] : now;
    uint64_t packet_ns =
        (uint64_t)full_ns(level, level->ports ? bytes_of(level, packet) : PD_SIM_MTU_BYTES, link);

    if (packet->kind == DATA && !pd_sim_net_is_up(&world->net, link) &&
        ready - now > packet_ns * world->scenario->buffer_pkts) {
        world->totals.lost_queue++;
        return false;
    }
    level->free_ns[link] = ready + packet_ns;
    packet->came_ns = now;
    if (!level->ports) {
        packet->at_ns = ready;
        return leave(level, number, link, packet_ns);
    }
    packet->waiting = true;
    packet->at_ns = ready;
    if (ready == now) {
        return leave_queue(level, number);
    }
    post(level, number, ready);
    return true;
}

static void pump(struct level *level, struct pd_sim_flow *flow);

/* What an acknowledgement tells HPCC; negative: nothing. */
static double hear(struct level *level, uint32_t number, struct pd_sim_flow *flow,
                   const struct pd_sim_hpcc_base *base)
{
    const struct packet *packet = &level->packets[number];
    const struct pd_sim_net_route *route = &flow->routes[packet->route].route;
    double rates[PD_ROUTE_LINKS_MAX];

    if (level->transport.kind == PD_SIM_HPCC_PINT) {
        return pd_sim_digest_used(level->plan, packet->id, packet->digest);
    }
    for (uint32_t i = 1; i < route->links_len; i++) {
        rates[i - 1] = 1 / full_ns(level, 1, route->links[i]);
    }
    return pd_sim_hpcc_measure(&state_of(flow)->hpcc, base, level->told[number], rates,
                               route->links_len - 1);
}

static struct pd_sim_hpcc_base base_of(const struct level *level, const struct pd_sim_flow *flow)
{
    return (struct pd_sim_hpcc_base){
        level->rtt_ns, level->rtt_ns / full_ns(level, 1, flow->routes[0].route.links[0])};
}

static double window_of(const struct pd_sim_hpcc *hpcc)
{
    double window = hpcc->window_bytes / PD_SIM_MTU_BYTES;

    return window < 1 ? 1 : window;
}

/* After tcp.h has taken the acknowledgement, whose window does not count. */
static void steer(struct level *level, uint32_t number, struct pd_sim_flow *flow)
{
    struct flow_state *state = state_of(flow);
    const struct pd_sim_hpcc_base base = base_of(level, flow);
    double used = hear(level, number, flow, &base);

    if (used >= 0) {
        pd_sim_hpcc_react(&state->hpcc, &base, used, level->packets[number].order, state->tcp.next);
    }
    state->tcp.window = window_of(&state->hpcc);
}

static void end_flow(struct level *level, struct pd_sim_flow *flow)
{
    flow->live = false;
    flow->ended_ns = level->now_ns;
}

static void acknowledge(struct level *level, uint32_t number, struct pd_sim_flow *flow)
{
    uint32_t order = level->packets[number].order;
    uint64_t now = level->packets[number].at_ns;
    uint32_t rtt_us = (uint32_t)(now / 1000) - level->packets[number].sent_us;
    uint32_t lost = pd_sim_tcp_acked(&state_of(flow)->tcp, order, now, rtt_us);
    if (level->transport.kind != PD_SIM_TCP) {
        steer(level, number, flow);
    }
    drop(level, number);
    flow->retransmissions += lost;
    flow->consecutive = lost;
    flow->acked_pkts++;
    state_of(flow)->rtt_us = rtt_us;
    if (pd_sim_tcp_is_done(&state_of(flow)->tcp)) {
        end_flow(level, flow);
    } else {
        pump(level, flow);
    }
}

/* At the receiver. */
static void turn_back(struct level *level, struct packet *packet, struct pd_sim_route *route)
{
    route->pkts++;
    packet->kind = ACK;
    packet->hop = 0;
    if (!level->ports) { /* it is there a fixed time later */
        packet->hop = (uint16_t)route->route.links_len;
        packet->at_ns += (uint64_t)route->route.links_len * level->transport.hop_ns;
    }
}

static void time_out(struct level *level, uint32_t number, struct pd_sim_flow *flow)
{
    drop(level, number);
    state_of(flow)->hpcc.paced = false;
    pump(level, flow);
}

static void arrive(struct level *level, uint32_t number)
{
    struct packet *packet = &level->packets[number];
    struct pd_sim_flow *flow = &level->world->flows.table[packet->flow];
    if (!flow->used || !flow->live || state_of(flow)->born != packet->born) {
        drop(level, number);
        return;
    }
    if (packet->kind == START || packet->kind == PACE) {
        time_out(level, number, flow);
        return;
    }
    if (packet->waiting) {
        if (!leave_queue(level, number)) {
            drop(level, number);
        }
        return;
    }
    struct pd_sim_route *route = &flow->routes[packet->route];
    if (packet->hop == route->route.links_len) {
        if (packet->kind == ACK) {
            acknowledge(level, number, flow);
            return;
        }
        turn_back(level, packet, route);
        if (!level->ports) {
            post(level, number, packet->at_ns);
            return;
        }
    }
    if (packet->kind == DATA) {
        pd_sim_meters_pass(level->world->meters, &flow->id, &route->route, packet->hop - 1U, 1,
                           packet->at_ns, &packet->mark);
    }
    if (!pass_port(level, number)) {
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

/* A packet or a timer of the flow, now; NULL: memory ran out. */
static struct packet *take(struct level *level, const struct pd_sim_flow *flow, enum kind kind,
                           uint32_t *ret_number)
{
    if (level->unused == NONE && grow(level)) {
        level->full = true;
        return NULL;
    }
    uint32_t number = level->unused;
    struct packet *packet = &level->packets[number];
    level->unused = packet->next;
    *packet = (struct packet){.at_ns = level->now_ns,
                              .flow = (uint32_t)(flow - level->world->flows.table),
                              .born = state_of(flow)->born,
                              .sent_us = (uint32_t)(level->now_ns / 1000),
                              .kind = (uint8_t)kind};
    *ret_number = number;
    return packet;
}

static void set_timer(struct level *level, const struct pd_sim_flow *flow, enum kind kind,
                      uint64_t at_ns)
{
    uint32_t number;

    if (take(level, flow, kind, &number)) {
        post(level, number, at_ns);
    }
}

static void send_one(struct level *level, struct pd_sim_flow *flow, uint32_t order)
{
    uint32_t number;
    struct packet *packet = take(level, flow, DATA, &number);
    if (!packet) {
        return;
    }
    packet->order = order;
    packet->id = level->plan ? pd_sim_packet_id(level->plan, &flow->id, order) : 0;
    if (flow->routes_len > 1) {
        packet->route = draw_route(level->world, flow);
    }
    if (!pass_port(level, number)) {
        drop(level, number);
    }
}

static double wire_bytes(const struct level *level)
{
    return PD_SIM_MTU_BYTES + pd_sim_transport_overhead(&level->transport, 0);
}

static void wake_later(struct level *level, struct pd_sim_flow *flow, uint64_t at_ns, bool granted)
{
    state_of(flow)->hpcc.paced = true;
    state_of(flow)->hpcc.granted = granted;
    set_timer(level, flow, PACE, at_ns);
}

/* HPCC: whether the next packet may leave; if not, a timer will see to it. Its own rate holds it
 * back, or the host's link, which flows take in turns, a packet each, so that none waits behind
 * another one's window. */
static bool is_held(struct level *level, struct pd_sim_flow *flow)
{
    struct pd_sim_hpcc *hpcc = &state_of(flow)->hpcc;
    uint32_t link = flow->routes[0].route.links[0];
    struct pd_sim_port *port = &level->ports[link];
    uint64_t packet_ns = (uint64_t)full_ns(level, wire_bytes(level), link);

    if (hpcc->paced || !pd_sim_tcp_has_room(&state_of(flow)->tcp)) {
        return true;
    }
    if (hpcc->granted) {
        hpcc->granted = false;
        return false;
    }
    if (hpcc->next_ns > level->now_ns) {
        wake_later(level, flow, hpcc->next_ns, false);
        return true;
    }
    if (port->promised_ns > level->now_ns) {
        wake_later(level, flow, port->promised_ns, true);
        port->promised_ns += packet_ns;
        return true;
    }
    port->promised_ns = level->now_ns + packet_ns;
    return false;
}

static void pump_paced(struct level *level, struct pd_sim_flow *flow)
{
    struct flow_state *state = state_of(flow);
    const struct pd_sim_hpcc_base base = base_of(level, flow);
    uint32_t order;

    while (!level->full && !is_held(level, flow) &&
           pd_sim_tcp_may_send(&state->tcp, level->now_ns, &order)) {
        send_one(level, flow, order);
        pd_sim_hpcc_sent(&state->hpcc, &base, wire_bytes(level), level->now_ns);
    }
}

static void pump(struct level *level, struct pd_sim_flow *flow)
{
    uint32_t order;

    if (level->transport.kind != PD_SIM_TCP) {
        pump_paced(level, flow);
        return;
    }
    while (!level->full && pd_sim_tcp_may_send(&state_of(flow)->tcp, level->now_ns, &order)) {
        send_one(level, flow, order);
    }
}

static void begin(struct level *level, struct pd_sim_flow *flow)
{
    struct flow_state *state = state_of(flow);
    uint64_t at_ns = level->ports ? flow->begun_ns : level->now_ns;

    pd_sim_tcp_init(&state->tcp, flow->total_pkts, flow->routes_len > 1, at_ns);
    state->born = ++level->births;
    if (level->transport.kind != PD_SIM_TCP) {
        const struct pd_sim_hpcc_base base = base_of(level, flow);
        pd_sim_hpcc_init(&state->hpcc, &base);
        state->tcp.window = window_of(&state->hpcc);
    }
    if (at_ns > level->now_ns) {
        set_timer(level, flow, START, at_ns);
    } else {
        pump(level, flow);
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
            flow->live = false; /* given up */
        } else if (timed_out) {
            pump(level, flow);
        }
    }
    level->tick_ns += TICK_NS;
    while (!(err = pd_sim_flows_next(flows, (double)level->tick_ns / NS, &flow)) && flow) {
        begin(level, flow);
    }
    return err;
}

static void run_bucket(struct level *level)
{
    uint64_t turn = level->now_ns >> level->bucket_bits;
    uint32_t bucket = (uint32_t)turn & (BUCKETS - 1);
    while (level->heads[bucket] != NONE) {
        uint32_t number = level->heads[bucket];
        uint64_t at_ns = level->packets[number].at_ns;
        level->heads[bucket] = level->packets[number].next;
        if (at_ns >> level->bucket_bits > turn) {
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

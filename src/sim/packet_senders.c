/* SPDX-License-Identifier: Apache-2.0 */
/* The level of packets: senders, their acknowledgements and timers. */
#include "sim/packets.h"

static struct pd_sim_hpcc_base base_of(const struct pd_sim_packets *level,
                                       const struct pd_sim_flow *flow)
{
    return (struct pd_sim_hpcc_base){
        level->rtt_ns, level->rtt_ns / pd_sim_packet_ns(level, 1, flow->routes[0].route.links[0])};
}

static double window_of(const struct pd_sim_hpcc *hpcc)
{
    double window = hpcc->window_bytes / PD_SIM_MTU_BYTES;

    return window < 1 ? 1 : window;
}

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

static void set_timer(struct pd_sim_packets *level, const struct pd_sim_flow *flow,
                      enum pd_sim_packet_kind kind, uint64_t at_ns)
{
    uint32_t number;

    if (pd_sim_packet_take(level, flow, kind, &number)) {
        pd_sim_packet_post(level, number, at_ns);
    }
}

static void send_one(struct pd_sim_packets *level, struct pd_sim_flow *flow, uint32_t order)
{
    uint32_t number;
    struct pd_sim_packet *packet = pd_sim_packet_take(level, flow, DATA, &number);
    if (!packet) {
        return;
    }
    packet->order = order;
    packet->id = level->plan ? pd_sim_packet_id(level->plan, &flow->id, order) : 0;
    if (flow->routes_len > 1) {
        packet->route = draw_route(level->world, flow);
    }
    if (!pd_sim_packet_pass(level, number)) {
        pd_sim_packet_drop(level, number);
    }
}

static double wire_bytes(const struct pd_sim_packets *level)
{
    return PD_SIM_MTU_BYTES + pd_sim_transport_overhead(&level->transport, 0);
}

static void wake_later(struct pd_sim_packets *level, struct pd_sim_flow *flow, uint64_t at_ns,
                       bool granted)
{
    pd_sim_packet_state(flow)->hpcc.paced = true;
    pd_sim_packet_state(flow)->hpcc.granted = granted;
    set_timer(level, flow, PACE, at_ns);
}

/* HPCC: whether the next packet may leave; if not, a timer will see to it. Its own rate holds it
 * back, or the host's link, which flows take in turns, a packet each, so that none waits behind
 * another one's window. */
static bool is_held(struct pd_sim_packets *level, struct pd_sim_flow *flow)
{
    struct pd_sim_hpcc *hpcc = &pd_sim_packet_state(flow)->hpcc;
    uint32_t link = flow->routes[0].route.links[0];
    struct pd_sim_port *port = &level->ports[link];
    uint64_t packet_ns = (uint64_t)pd_sim_packet_ns(level, wire_bytes(level), link);

    if (hpcc->paced || !pd_sim_tcp_has_room(&pd_sim_packet_state(flow)->tcp)) {
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

static void pump_paced(struct pd_sim_packets *level, struct pd_sim_flow *flow)
{
    struct pd_sim_packet_flow *state = pd_sim_packet_state(flow);
    const struct pd_sim_hpcc_base base = base_of(level, flow);
    uint32_t order;

    while (!level->full && !is_held(level, flow) &&
           pd_sim_tcp_may_send(&state->tcp, level->now_ns, &order)) {
        send_one(level, flow, order);
        pd_sim_hpcc_sent(&state->hpcc, &base, wire_bytes(level), level->now_ns);
    }
}

void pd_sim_packet_pump(struct pd_sim_packets *level, struct pd_sim_flow *flow)
{
    uint32_t order;

    if (level->transport.kind != PD_SIM_TCP) {
        pump_paced(level, flow);
        return;
    }
    while (!level->full &&
           pd_sim_tcp_may_send(&pd_sim_packet_state(flow)->tcp, level->now_ns, &order)) {
        send_one(level, flow, order);
    }
}

void pd_sim_packet_begin(struct pd_sim_packets *level, struct pd_sim_flow *flow)
{
    struct pd_sim_packet_flow *state = pd_sim_packet_state(flow);
    uint64_t at_ns = level->ports ? flow->begun_ns : level->now_ns;

    pd_sim_tcp_init(&state->tcp, flow->total_pkts, flow->routes_len > 1, at_ns);
    state->born = ++level->births;
    if (level->world->digests &&
        pd_sim_digests_begin(level->world->digests, (uint32_t)(flow - level->world->flows.table),
                             flow)) {
        level->full = true;
    }
    if (level->transport.kind != PD_SIM_TCP) {
        const struct pd_sim_hpcc_base base = base_of(level, flow);
        pd_sim_hpcc_init(&state->hpcc, &base);
        state->tcp.window = window_of(&state->hpcc);
    }
    if (at_ns > level->now_ns) {
        set_timer(level, flow, START, at_ns);
    } else {
        pd_sim_packet_pump(level, flow);
    }
}

/* ---- acknowledgements */

/* What an acknowledgement tells HPCC; negative: nothing. */
static double hear(struct pd_sim_packets *level, uint32_t number, struct pd_sim_flow *flow,
                   const struct pd_sim_hpcc_base *base)
{
    const struct pd_sim_packet *packet = &level->packets[number];
    const struct pd_sim_net_route *route = &flow->routes[packet->route].route;
    double rates[PD_ROUTE_LINKS_MAX];

    if (level->transport.kind == PD_SIM_HPCC_PINT) {
        return pd_sim_digest_used(level->plan, packet->id, packet->digest);
    }
    for (uint32_t i = 1; i < route->links_len; i++) {
        rates[i - 1] = 1 / pd_sim_packet_ns(level, 1, route->links[i]);
    }
    return pd_sim_hpcc_measure(&pd_sim_packet_state(flow)->hpcc, base, level->told[number], rates,
                               route->links_len - 1);
}

/* After tcp.h has taken the acknowledgement, whose window does not count. */
static void steer(struct pd_sim_packets *level, uint32_t number, struct pd_sim_flow *flow)
{
    struct pd_sim_packet_flow *state = pd_sim_packet_state(flow);
    const struct pd_sim_hpcc_base base = base_of(level, flow);
    double used = hear(level, number, flow, &base);

    if (used >= 0) {
        pd_sim_hpcc_react(&state->hpcc, &base, used, level->packets[number].order, state->tcp.next);
    }
    state->tcp.window = window_of(&state->hpcc);
}

static void end_flow(struct pd_sim_packets *level, struct pd_sim_flow *flow)
{
    flow->live = false;
    flow->ended_ns = level->now_ns;
}

void pd_sim_packet_acknowledge(struct pd_sim_packets *level, uint32_t number,
                               struct pd_sim_flow *flow)
{
    uint32_t order = level->packets[number].order;
    uint64_t now = level->packets[number].at_ns;
    uint32_t rtt_us = (uint32_t)(now / 1000) - level->packets[number].sent_us;
    uint32_t lost = pd_sim_tcp_acked(&pd_sim_packet_state(flow)->tcp, order, now, rtt_us);
    if (level->transport.kind != PD_SIM_TCP) {
        steer(level, number, flow);
    }
    pd_sim_packet_drop(level, number);
    flow->retransmissions += lost;
    flow->consecutive = lost;
    flow->acked_pkts++;
    pd_sim_packet_state(flow)->rtt_us = rtt_us;
    if (pd_sim_tcp_is_done(&pd_sim_packet_state(flow)->tcp)) {
        end_flow(level, flow);
    } else {
        pd_sim_packet_pump(level, flow);
    }
}

void pd_sim_packet_wake(struct pd_sim_packets *level, uint32_t number, struct pd_sim_flow *flow)
{
    pd_sim_packet_drop(level, number);
    pd_sim_packet_state(flow)->hpcc.paced = false;
    pd_sim_packet_pump(level, flow);
}

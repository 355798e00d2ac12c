/* SPDX-License-Identifier: Apache-2.0 */
/* The level of packets: queues of ports, and what switches measure and write there. */
#include "sim/packets.h"

static const struct pd_sim_route *route_of(const struct pd_sim_packets *level,
                                           const struct pd_sim_packet *packet)
{
    return &level->world->flows.table[packet->flow].routes[packet->route];
}

/* The link that a packet takes next. */
static uint32_t link_of(const struct pd_sim_packets *level, const struct pd_sim_packet *packet)
{
    const struct pd_sim_net_route *route = &route_of(level, packet)->route;

    return packet->kind == DATA
               ? route->links[packet->hop]
               : pd_links_reverse(route->links[route->links_len - 1U - packet->hop]);
}

static double bytes_of(const struct pd_sim_packets *level, const struct pd_sim_packet *packet)
{
    if (packet->kind == DATA) {
        return PD_SIM_MTU_BYTES + pd_sim_transport_overhead(&level->transport, packet->hop);
    }
    return pd_sim_transport_ack(&level->transport, route_of(level, packet)->route.path.len);
}

/* A switch that sends the packet on measures its port, and writes. */
static void measure(struct pd_sim_packets *level, uint32_t number, uint32_t link, double bytes)
{
    struct pd_sim_packet *packet = &level->packets[number];
    double left_ns = pd_sim_packet_ns(level, bytes, link), ahead_ns;
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
static bool leave(struct pd_sim_packets *level, uint32_t number, uint32_t link, uint64_t packet_ns)
{
    struct pd_sim_world *world = level->world;
    struct pd_sim_packet *packet = &level->packets[number];

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
    pd_sim_packet_post(level, number, packet->at_ns + packet_ns + level->transport.hop_ns);
    return true;
}

bool pd_sim_packet_leave(struct pd_sim_packets *level, uint32_t number)
{
    const struct pd_sim_packet *packet = &level->packets[number];
    uint32_t link = link_of(level, packet);
    double bytes = bytes_of(level, packet);

    measure(level, number, link, bytes);
    return leave(level, number, link, (uint64_t)pd_sim_packet_ns(level, bytes, link));
}

/* Passes the port of its next link, or joins what waits there; false when it is dropped. */
bool pd_sim_packet_pass(struct pd_sim_packets *level, uint32_t number)
{
    struct pd_sim_world *world = level->world;
    struct pd_sim_packet *packet = &level->packets[number];
    uint32_t link = link_of(level, packet);
    uint64_t now = packet->at_ns, ready = level->free_ns[link] > now ? level->free_ns[link] : now;
    uint64_t packet_ns = (uint64_t)pd_sim_packet_ns(
        level, level->ports ? bytes_of(level, packet) : PD_SIM_MTU_BYTES, link);

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
        return pd_sim_packet_leave(level, number);
    }
    pd_sim_packet_post(level, number, ready);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Flows of the simulator: arrivals, routes, and a table that forgets them. */
#include "sim/flows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum { SPRAY_ROUTES_MAX = 16, SPRAY_TRIES = 64, TCP = 6 };

int pd_sim_flows_init(struct pd_sim_flows *flows, const struct pd_sim_scenario *scenario,
                      const struct pd_sim_net *net, struct pd_sim_random *random,
                      size_t state_bytes)
{
    double host_bytes_s = scenario->load * (double)scenario->link_mbps * 1e6 / 8;
    double flows_s =
        host_bytes_s / (scenario->sizes.mean_bytes * PD_SIM_MTU_BYTES / PD_SIM_MSS_BYTES);
    *flows = (struct pd_sim_flows){.scenario = scenario,
                                   .net = net,
                                   .random = random,
                                   .routes_max = scenario->spray ? SPRAY_ROUTES_MAX : 1,
                                   .state_bytes = state_bytes,
                                   .gap_s = 1 / (flows_s * net->topology->hosts_len)};
    flows->next_s =
        scenario->load > 0 ? flows->gap_s * pd_sim_random_exponential(random) : INFINITY;
    return 0;
}

void pd_sim_flows_done(struct pd_sim_flows *flows)
{
    for (uint32_t i = 0; i < flows->table_len; i++) {
        free(flows->table[i].routes);
        free(flows->table[i].state);
    }
    free(flows->table);
    free(flows->order);
    free(flows->unused);
    *flows = (struct pd_sim_flows){0};
}

static int grow(struct pd_sim_flows *flows)
{
    uint32_t room = flows->table_room, order_room = room, unused_room = room;
    if (PD_GROW(flows->table, room, room ? (size_t)room + 1 : 1024) ||
        PD_GROW(flows->order, order_room, room) || PD_GROW(flows->unused, unused_room, room)) {
        return -ENOMEM;
    }
    flows->table_room = room;
    return 0;
}

/* A place in the table, with room for routes and the level's state; both stay with the place. */
static int take_place(struct pd_sim_flows *flows, struct pd_sim_flow **ret_flow)
{
    if (!flows->unused_len) {
        if (flows->table_len == flows->table_room && grow(flows)) {
            return -ENOMEM;
        }
        struct pd_sim_flow *flow = &flows->table[flows->table_len];
        struct pd_sim_route *routes = calloc(flows->routes_max, sizeof *routes);
        void *state = calloc(1, flows->state_bytes + 1);
        if (!routes || !state) {
            free(routes);
            free(state);
            return -ENOMEM;
        }
        *flow = (struct pd_sim_flow){.routes = routes, .state = state};
        flows->unused[flows->unused_len++] = flows->table_len++;
    }
    uint32_t place = flows->unused[--flows->unused_len];
    flows->order[flows->order_len++] = place;
    *ret_flow = &flows->table[place];
    return 0;
}

/* Ends and ports: those of the plan, or drawn. */
static void set_ends(struct pd_sim_flows *flows, struct pd_sim_flow *flow,
                     const struct pd_sim_planned *planned)
{
    const struct pd_topology *topology = flows->net->topology;
    uint32_t hosts = topology->hosts_len;
    if (planned) {
        flow->src = planned->src;
        flow->dst = planned->dst;
    } else {
        flow->src = pd_sim_random_below(flows->random, hosts);
        flow->dst = pd_sim_random_below(flows->random, hosts - 1);
        flow->dst += flow->dst >= flow->src;
    }
    memset(&flow->id, 0, sizeof flow->id);
    flow->id.src = topology->hosts[flow->src].addrs[0];
    flow->id.dst = topology->hosts[flow->dst].addrs[0];
    flow->id.ip_version = topology->hosts[flow->src].ip_versions[0];
    flow->id.protocol = TCP;
    flow->id.src_port =
        planned ? planned->src_port : (uint16_t)(1024 + pd_sim_random_below(flows->random, 64512));
    flow->id.dst_port = planned ? planned->dst_port : 80;
}

/* Shares of a flow's routes add up to 1. */
static void share_out(const struct pd_sim_flows *flows, struct pd_sim_flow *flow)
{
    double sum = 0;
    for (uint32_t r = 0; r < flow->routes_len; r++) {
        sum += flow->routes[r].route.share;
    }
    for (uint32_t r = 0; r < flow->routes_len; r++) {
        flow->routes[r].route.share =
            flows->net->weighs ? flow->routes[r].route.share / sum : 1.0 / flow->routes_len;
    }
}

/* One route, or the different ones that some tries give. */
static void draw_routes(struct pd_sim_flows *flows, struct pd_sim_flow *flow, double bytes)
{
    uint32_t tries = flows->routes_max > 1 ? SPRAY_TRIES : 1;
    flow->routes_len = 0;
    for (uint32_t t = 0; t < tries && flow->routes_len < flows->routes_max; t++) {
        struct pd_sim_route *route = &flow->routes[flow->routes_len];
        memset(route, 0, sizeof *route);
        pd_sim_net_route(flows->net, flow->src, flow->dst, bytes, flows->random, &route->route);
        uint32_t same = 0;
        while (same < flow->routes_len &&
               !pd_path_equal(&flow->routes[same].route.path, &route->route.path)) {
            same++;
        }
        flow->routes_len += same == flow->routes_len;
    }
    share_out(flows, flow);
}

/* Sizes come after routes, as they always did, so that old seeds give old runs; except where routes
 * depend on them. */
static double draw_size_and_routes(struct pd_sim_flows *flows, struct pd_sim_flow *flow,
                                   const struct pd_sim_planned *planned)
{
    bool size_first = planned || flows->net->hashes_sizes;
    double bytes = planned ? planned->bytes : 0;
    if (!size_first) {
        draw_routes(flows, flow, 0);
    }
    if (!planned) {
        bytes = pd_sim_sizes_draw(&flows->scenario->sizes, flows->random);
    }
    if (size_first) {
        draw_routes(flows, flow, bytes);
    }
    return bytes;
}

/* The flow of the plan that starts before `until_s`, if it is the next; NULL otherwise. */
static const struct pd_sim_planned *next_planned(struct pd_sim_flows *flows, double until_s)
{
    const struct pd_sim_scenario *scenario = flows->scenario;
    if (flows->next_planned == scenario->planned_len) {
        return NULL;
    }
    const struct pd_sim_planned *planned = &scenario->planned[flows->next_planned];
    if (planned->start_s >= until_s || planned->start_s > flows->next_s) {
        return NULL;
    }
    flows->next_planned++;
    return planned;
}

int pd_sim_flows_next(struct pd_sim_flows *flows, double until_s, struct pd_sim_flow **ret_flow)
{
    struct pd_sim_flow *flow;
    *ret_flow = NULL;
    while (flows->next_s < until_s && flows->order_len >= PD_SIM_FLOWS_MAX) {
        flows->refused++;
        flows->next_s += flows->gap_s * pd_sim_random_exponential(flows->random);
    }
    const struct pd_sim_planned *planned = next_planned(flows, until_s);
    if (!planned && flows->next_s >= until_s) {
        return 0;
    }
    if (take_place(flows, &flow)) {
        return -ENOMEM;
    }
    set_ends(flows, flow, planned);
    double bytes = draw_size_and_routes(flows, flow, planned);
    memset(flow->state, 0, flows->state_bytes);
    flow->retransmissions = flow->total_retransmissions = flow->acked_pkts = 0;
    flow->consecutive = flow->timeouts = 0;
    flow->alarm_us = 0;
    double start_s = planned ? planned->start_s : flows->next_s;
    flow->start_us = (uint64_t)(start_s * 1e6);
    flow->begun_ns = (uint64_t)(start_s * 1e9);
    flow->ended_ns = 0;
    flow->total_pkts = (uint64_t)ceil(bytes / PD_SIM_MSS_BYTES);
    flow->live = true;
    flow->used = true;
    flows->started++;
    if (!planned) {
        flows->next_s += flows->gap_s * pd_sim_random_exponential(flows->random);
    }
    *ret_flow = flow;
    return 0;
}

void pd_sim_flows_sweep(struct pd_sim_flows *flows)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < flows->order_len; i++) {
        uint32_t place = flows->order[i];
        if (flows->table[place].live) {
            flows->order[kept++] = place;
            continue;
        }
        flows->table[place].used = false;
        flows->unused[flows->unused_len++] = place;
    }
    flows->order_len = kept;
}

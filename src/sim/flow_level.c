/* SPDX-License-Identifier: Apache-2.0 */
/* The level of flows: max-min fair rates, a millisecond at a time, and the losses that go with
 * them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/levels.h"
#include "sim/tcp.h"

/* In each step every flow gets its max-min fair share of the links that it crosses (what long-lived
 * TCP flows tend to), at most what TCP reaches with the random losses of its routes: 1 / (RTT
 * √(2p/3) + RTO p²) packets/s, the second term for retransmissions that are lost again. Losses are
 * drawn for the packets sent:
 * - on faulty links, each packet with the link's probability;
 * - where several flows fill a link between them, its queue grows by a packet for each flow in each
 * round trip (congestion avoidance) from what slow start left there, as far as the windows that
 * receivers allow go; while it is full each flow loses 1.5/W² of its packets (Mathis et al. 1997)
 * with W its share of queue and pipe. A link with room empties its queue. A flow whose route lets
 * nothing through tries again after 1, 2, 4 s, and gives up after 7 s. */

#define STEP_S       0.001
#define RTT_S        150e-6
#define RTO_S        0.2
#define LOSS_MAX     0.1   /* of a full queue */
#define SLOW_START_S 0.001 /* of queue, at which slow start ends */
#define NEVER_LINK   UINT32_MAX

enum { ROUNDS_MAX = 24, TRIES_MAX = 3 };

struct flow_state {
    double left;    /* packets */
    double most;    /* packets/s that its losses allow */
    double rate;    /* packets/s, this step */
    uint32_t full;  /* the link that limits it, NEVER_LINK: none */
    bool frozen;    /* its rate is final in this step */
    uint32_t tries; /* in vain */
    double retry_s;
};

struct level {
    struct pd_sim_world *world;
    double now_s;
    double *packets_s; /* of each link */
    double *room;      /* per link: packets/s not given away */
    double *weight;    /* per link: flows without a final rate */
    double *least;     /* per link: least rate that one of them can get elsewhere */
    double *limited;   /* per link: flows that it limits */
    double *queue;     /* per link: packets that wait, not counting hosts' links up */
};

static void free_level(void *context)
{
    struct level *level = context;
    free(level->packets_s);
    free(level->room);
    free(level->weight);
    free(level->least);
    free(level->limited);
    free(level->queue);
    free(level);
}

static int new_level(struct pd_sim_world *world, void **ret_level)
{
    struct level *level = calloc(1, sizeof *level);
    size_t len = world->net.links_len;
    if (!level) {
        return -ENOMEM;
    }
    *level = (struct level){.world = world,
                            .packets_s = calloc(len, sizeof(double)),
                            .room = calloc(len, sizeof(double)),
                            .weight = calloc(len, sizeof(double)),
                            .least = calloc(len, sizeof(double)),
                            .limited = calloc(len, sizeof(double)),
                            .queue = calloc(len, sizeof(double))};
    if (!level->packets_s || !level->room || !level->weight || !level->least || !level->limited ||
        !level->queue) {
        free_level(level);
        return -ENOMEM;
    }
    for (uint32_t l = 0; l < len; l++) {
        level->packets_s[l] = pd_sim_net_mbps(&world->net, l, world->scenario->link_mbps) * 1e6 /
                              8 / PD_SIM_MTU_BYTES;
    }
    *ret_level = level;
    return 0;
}

static struct flow_state *state_of(const struct pd_sim_flow *flow)
{
    return flow->state;
}

/* ---- losses of faulty links */

/* Packets/s that TCP reaches at a loss rate. */
static double tcp_limit(double loss)
{
    if (loss <= 0) {
        return INFINITY;
    }
    return 1 / (RTT_S * sqrt(2 * loss / 3) + RTO_S * loss * loss);
}

static void look_at_routes(const struct level *level, struct pd_sim_flow *flow)
{
    struct flow_state *state = state_of(flow);
    double loss = 0;
    for (uint32_t r = 0; r < flow->routes_len; r++) {
        loss += pd_sim_net_rate(&level->world->net, &flow->routes[r].route, &flow->id) *
                flow->routes[r].route.share;
    }
    state->most = loss >= 1 ? 0 : tcp_limit(loss);
}

/* ---- max-min fair rates */

static void for_links(struct pd_sim_flow *flow, double *values, double add)
{
    for (uint32_t r = 0; r < flow->routes_len; r++) {
        for (uint32_t i = 0; i < flow->routes[r].route.links_len; i++) {
            values[flow->routes[r].route.links[i]] += add * flow->routes[r].route.share;
        }
    }
}

static void begin_rates(struct level *level)
{
    struct pd_sim_flows *flows = &level->world->flows;
    size_t bytes = level->world->net.links_len * sizeof(double);
    memset(level->weight, 0, bytes);
    for (uint32_t i = 0; i < flows->order_len; i++) {
        struct pd_sim_flow *flow = &flows->table[flows->order[i]];
        struct flow_state *state = state_of(flow);
        state->frozen = !flow->live || state->most <= 0;
        state->rate = 0;
        if (!state->frozen) {
            for_links(flow, level->weight, 1);
        }
    }
    for (uint32_t l = 0; l < level->world->net.links_len; l++) {
        level->room[l] = level->packets_s[l];
    }
}

/* What a flow can get as things stand, and from which link. */
static void look_for_share(const struct level *level, const struct pd_sim_flow *flow)
{
    struct flow_state *state = state_of(flow);
    state->rate = state->most;
    state->full = NEVER_LINK;
    for (uint32_t r = 0; r < flow->routes_len; r++) {
        for (uint32_t i = 0; i < flow->routes[r].route.links_len; i++) {
            uint32_t link = flow->routes[r].route.links[i];
            double share = level->room[link] / level->weight[link];
            if (share < state->rate) {
                state->rate = share;
                state->full = link;
            }
        }
    }
    for (uint32_t r = 0; r < flow->routes_len; r++) {
        for (uint32_t i = 0; i < flow->routes[r].route.links_len; i++) {
            uint32_t link = flow->routes[r].route.links[i];
            if (state->rate < level->least[link]) {
                level->least[link] = state->rate;
            }
        }
    }
}

/* A rate is final where nobody on the limiting link gets less than its share there, so that nothing
 * will be left over. */
static bool is_final(const struct level *level, const struct flow_state *state)
{
    uint32_t link = state->full;
    return link == NEVER_LINK ||
           level->least[link] >= level->room[link] / level->weight[link] * (1 - 1e-9);
}

static bool share_once(struct level *level, bool last)
{
    struct pd_sim_flows *flows = &level->world->flows;
    bool open = false;
    for (uint32_t l = 0; l < level->world->net.links_len; l++) {
        level->least[l] = INFINITY;
    }
    for (uint32_t i = 0; i < flows->order_len; i++) {
        const struct pd_sim_flow *flow = &flows->table[flows->order[i]];
        if (!state_of(flow)->frozen) {
            look_for_share(level, flow);
        }
    }
    for (uint32_t i = 0; i < flows->order_len; i++) { /* marks first, changes of room after */
        struct flow_state *state = state_of(&flows->table[flows->order[i]]);
        if (!state->frozen && (last || is_final(level, state))) {
            state->retry_s = -1;
        } else {
            open |= !state->frozen;
        }
    }
    for (uint32_t i = 0; i < flows->order_len; i++) {
        struct pd_sim_flow *flow = &flows->table[flows->order[i]];
        struct flow_state *state = state_of(flow);
        if (state->frozen || state->retry_s >= 0) {
            continue;
        }
        state->frozen = true;
        state->retry_s = 0;
        for_links(flow, level->room, -state->rate);
        for_links(flow, level->weight, -1);
    }
    return open;
}

static void share_rates(struct level *level)
{
    begin_rates(level);
    for (int round = 1; share_once(level, round == ROUNDS_MAX); round++)
        ;
}

/* ---- queues */

static void count_limited(struct level *level)
{
    struct pd_sim_flows *flows = &level->world->flows;
    memset(level->limited, 0, level->world->net.links_len * sizeof *level->limited);
    for (uint32_t i = 0; i < flows->order_len; i++) {
        const struct pd_sim_flow *flow = &flows->table[flows->order[i]];
        const struct flow_state *state = state_of(flow);
        if (flow->live && state->most > 0 && state->full != NEVER_LINK) {
            level->limited[state->full]++;
        }
    }
}

static void move_queue(struct level *level, uint32_t link)
{
    double flows = level->limited[link], *queue = &level->queue[link];
    double most = level->world->scenario->buffer_pkts, packets_s = level->packets_s[link];
    double windows = flows * PD_TCP_WINDOW_MAX - packets_s * RTT_S;
    if (flows < 2 || pd_sim_net_is_up(&level->world->net, link)) {
        *queue -= level->room[link] * STEP_S;
        *queue = *queue > 0 && flows > 0 ? *queue : 0;
        return;
    }
    if (*queue < packets_s * SLOW_START_S) {
        *queue = packets_s * SLOW_START_S;
    }
    *queue += flows * STEP_S / (RTT_S + *queue / packets_s);
    *queue = *queue < windows ? *queue : windows;
    *queue = *queue < most ? *queue : most;
}

static void move_queues(struct level *level)
{
    count_limited(level);
    for (uint32_t link = 0; link < level->world->net.links_len; link++) {
        move_queue(level, link);
    }
}

/* ---- a step of one flow */

/* The share of packets that the queue of the link that limits it drops. */
static double queue_loss(const struct level *level, const struct pd_sim_flow *flow)
{
    const struct flow_state *state = state_of(flow);
    double buffer = level->world->scenario->buffer_pkts;
    if (state->full == NEVER_LINK || level->queue[state->full] < buffer) {
        return 0;
    }
    double packets_s = level->packets_s[state->full];
    double window = (buffer + packets_s * RTT_S) * state->rate / packets_s;
    double loss = window > 1 ? 1.5 / (window * window) : LOSS_MAX;
    return loss < LOSS_MAX ? loss : LOSS_MAX;
}

/* What the route's links lose behind the queue that dropped `full` of them. */
static uint64_t lose(struct level *level, const struct pd_sim_flow *flow,
                     struct pd_sim_route *route, uint64_t sent, uint64_t full)
{
    struct pd_sim_world *world = level->world;
    struct pd_sim_net_losses *losses = pd_sim_meters_losses(world->meters);
    uint64_t lost =
        pd_sim_net_lose(&world->net, &route->route, &flow->id, sent - full, &world->random, losses);
    if (!losses || !sent) {
        return lost;
    }
    for (uint32_t i = 0; i < route->route.links_len; i++) {
        losses->at[i] += route->route.links[i] == state_of(flow)->full ? full : 0;
    }
    pd_sim_meters_carry(world->meters, &flow->id, &route->route, sent,
                        (uint64_t)(level->now_s * 1e9));
    return lost;
}

/* Sends whole packets over one route. */
static void send_over(struct level *level, struct pd_sim_flow *flow, struct pd_sim_route *route,
                      double pkts, double dropped_by_queue)
{
    struct pd_sim_world *world = level->world;
    route->carry += pkts;
    uint64_t sent = (uint64_t)route->carry;
    route->carry -= (double)sent;
    uint64_t full = pd_sim_random_binomial(&world->random, sent, dropped_by_queue);
    uint64_t lost = lose(level, flow, route, sent, full);
    route->pkts += sent - full - lost;
    flow->retransmissions += full + lost;
    flow->acked_pkts += sent - full - lost;
    if (sent) {
        flow->consecutive = sent > full + lost ? 0 : flow->consecutive + (uint32_t)sent;
    }
    state_of(flow)->left -= (double)(sent - full - lost);
    world->totals.lost_queue += full;
    world->totals.lost_fault += lost;
    world->totals.packet_hops += sent * route->route.path.len;
}

/* On a route that lets nothing through its first packet is lost, too. */
static void lose_a_try(struct level *level, const struct pd_sim_flow *flow)
{
    struct pd_sim_world *world = level->world;
    const struct pd_sim_net_route *route = &flow->routes[0].route;
    struct pd_sim_net_losses *losses = pd_sim_meters_losses(world->meters);
    struct pd_sim_net_route link = {.links_len = 1};
    uint32_t dead = 0;

    for (; losses && dead + 1 < route->links_len; dead++) {
        link.links[0] = route->links[dead];
        if (pd_sim_net_rate(&world->net, &link, &flow->id) >= 1) {
            break;
        }
    }
    if (losses) {
        losses->at[dead] = 1;
        pd_sim_meters_carry(world->meters, &flow->id, route, 1, (uint64_t)(level->now_s * 1e9));
    }
}

static void try_again(struct level *level, struct pd_sim_flow *flow)
{
    struct flow_state *state = state_of(flow);
    if (level->now_s < state->retry_s) {
        return;
    }
    if (state->tries++) {
        flow->retransmissions++;
        flow->consecutive++;
        flow->timeouts++;
    }
    level->world->totals.lost_fault++;
    level->world->totals.packet_hops++;
    lose_a_try(level, flow);
    state->retry_s = level->now_s + exp2(state->tries - 1);
    flow->live = state->tries <= TRIES_MAX;
}

static void step_flow(struct level *level, struct pd_sim_flow *flow)
{
    struct flow_state *state = state_of(flow);
    if (state->most <= 0) {
        try_again(level, flow);
        return;
    }
    double loss = queue_loss(level, flow);
    double pkts = state->rate * STEP_S;
    double most = state->left + 1; /* what is left, and what of it will be lost */
    pkts = pkts < most ? pkts : most;
    for (uint32_t r = 0; r < flow->routes_len; r++) {
        send_over(level, flow, &flow->routes[r], pkts * flow->routes[r].route.share, loss);
    }
    if (state->left <= 0) {
        flow->live = false;
    }
}

static int start_flows(struct level *level, double until_s)
{
    struct pd_sim_flow *flow;
    int err;
    while (!(err = pd_sim_flows_next(&level->world->flows, until_s, &flow)) && flow) {
        state_of(flow)->left = (double)flow->total_pkts;
    }
    return err;
}

static int advance(void *context, double until_s)
{
    struct level *level = context;
    struct pd_sim_flows *flows = &level->world->flows;
    while (level->now_s < until_s - STEP_S / 2) {
        int err = start_flows(level, level->now_s + STEP_S);
        if (err) {
            return err;
        }
        for (uint32_t i = 0; i < flows->order_len; i++) {
            look_at_routes(level, &flows->table[flows->order[i]]);
        }
        share_rates(level);
        move_queues(level);
        for (uint32_t i = 0; i < flows->order_len; i++) {
            if (flows->table[flows->order[i]].live) {
                step_flow(level, &flows->table[flows->order[i]]);
            }
        }
        level->now_s += STEP_S;
        err = pd_sim_meters_until(level->world->meters, (uint64_t)(level->now_s * 1e9));
        if (err) {
            return err;
        }
    }
    return 0;
}

static void look(const void *context, const struct pd_sim_flow *flow, struct pd_sim_sender *sender)
{
    const struct flow_state *state = state_of(flow);
    (void)context;
    sender->backoff = state->tries ? state->tries - 1 : 0;
    sender->srtt_us = flow->acked_pkts ? (uint32_t)(RTT_S * 1e6) : 0;
    sender->rto_us = (uint32_t)(state->tries ? 1e6 * exp2(state->tries - 1) : RTO_S * 1e6);
    sender->cwnd_pkts = 1 + (uint32_t)(state->rate * RTT_S);
}

const struct pd_sim_level_ops pd_sim_flow_level = {
    .flow_bytes = sizeof(struct flow_state),
    .new = new_level,
    .free = free_level,
    .advance = advance,
    .look = look,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated network: distances by breadth-first search from each rack, routes by walking down
 * them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "sim/net.h"

enum { FAR = UINT8_MAX, HOPS_MAX = 4096 };

static void clear_specials(struct pd_sim_net *net)
{
    while (net->specials_len) {
        free(net->specials[--net->specials_len].bursting);
    }
}

void pd_sim_net_done(struct pd_sim_net *net)
{
    free(net->loss);
    free(net->distance);
    free(net->rack_rank);
    free(net->split_bytes);
    free(net->weights);
    clear_specials(net);
    free(net->specials);
    *net = (struct pd_sim_net){0};
}

/* Distances of all switches to `rack`. */
static void search(const struct pd_topology *topology, uint32_t rack, uint8_t *distance,
                   uint32_t *queue)
{
    size_t head = 0, tail = 0;
    memset(distance, FAR, topology->switches_len);
    distance[rack] = 0;
    queue[tail++] = rack;
    while (head < tail) {
        uint32_t at = queue[head++];
        const struct pd_switch *sw = &topology->switches[at];
        for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
            uint32_t next = sw->neighbours[n].node;
            if (distance[next] != FAR || distance[at] + 1 >= FAR) {
                continue;
            }
            distance[next] = (uint8_t)(distance[at] + 1);
            queue[tail++] = next;
        }
    }
}

static int number_links(struct pd_sim_net *net)
{
    const struct pd_topology *topology = net->topology;
    net->rack_rank = calloc((size_t)topology->switches_len + 1, sizeof *net->rack_rank);
    net->split_bytes = calloc((size_t)topology->switches_len + 1, sizeof *net->split_bytes);
    net->weights = calloc((size_t)topology->switches_len + 1, sizeof *net->weights);
    if (!net->rack_rank || !net->split_bytes || !net->weights) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        net->rack_rank[i] = PD_NONE;
    }
    net->links_len = pd_links_directed(topology);
    net->loss = calloc((size_t)net->links_len + 1, sizeof *net->loss);
    return net->loss ? 0 : -ENOMEM;
}

static int measure(struct pd_sim_net *net)
{
    const struct pd_topology *topology = net->topology;
    uint32_t racks = 0;
    for (uint32_t h = 0; h < topology->hosts_len; h++) {
        if (net->rack_rank[topology->hosts[h].tor] == PD_NONE) {
            net->rack_rank[topology->hosts[h].tor] = racks++;
        }
    }
    uint32_t *queue = calloc((size_t)topology->switches_len + 1, sizeof *queue);
    net->distance = malloc((size_t)racks * topology->switches_len + 1);
    if (!queue || !net->distance) {
        free(queue);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        if (net->rack_rank[i] != PD_NONE) {
            search(topology, i, net->distance + (size_t)net->rack_rank[i] * topology->switches_len,
                   queue);
        }
    }
    free(queue);
    return 0;
}

static int check_reach(const struct pd_sim_net *net, struct pd_error *error)
{
    const struct pd_topology *topology = net->topology;
    for (uint32_t h = 1; h < topology->hosts_len; h++) {
        size_t row = (size_t)net->rack_rank[topology->hosts[0].tor] * topology->switches_len;
        if (2 * net->distance[row + topology->hosts[h].tor] + 2 > PD_ROUTE_LINKS_MAX) {
            return pd_fail(error, -PD_E_TOPOLOGY, "topology: hosts %u and %u are too far apart",
                           topology->hosts[0].id, topology->hosts[h].id);
        }
    }
    return 0;
}

uint32_t pd_sim_net_farthest(const struct pd_sim_net *net)
{
    const struct pd_topology *topology = net->topology;
    uint32_t most = 0;

    for (uint32_t h = 0; h < topology->hosts_len; h++) {
        const uint8_t *row =
            net->distance + (size_t)net->rack_rank[topology->hosts[h].tor] * topology->switches_len;
        for (uint32_t other = 0; other < topology->hosts_len; other++) {
            uint32_t distance = row[topology->hosts[other].tor];
            most = distance > most ? distance : most;
        }
    }
    return most;
}

int pd_sim_net_init(const struct pd_topology *topology, struct pd_sim_net *ret_net,
                    struct pd_error *error)
{
    struct pd_sim_net net = {.topology = topology};
    int err = number_links(&net);
    if (!err) {
        err = measure(&net);
    }
    if (err) {
        pd_fail(error, err, "no memory");
    } else {
        err = check_reach(&net, error);
    }
    if (err) {
        pd_sim_net_done(&net);
    } else {
        *ret_net = net;
    }
    return err;
}

/* ---- faults */

static void forget_faults(struct pd_sim_net *net)
{
    memset(net->loss, 0, net->links_len * sizeof *net->loss);
    for (uint32_t sw = 0; sw < net->topology->switches_len; sw++) {
        net->split_bytes[sw] = 0;
        net->weights[sw] = NULL;
    }
}

static void set_choice(struct pd_sim_net *net, const struct pd_sim_fault *fault, bool on)
{
    net->hashes_sizes |= fault->kind == PD_SIM_SPLIT;
    net->weighs |= fault->kind == PD_SIM_WEIGHTS;
    if (on && fault->kind == PD_SIM_SPLIT) {
        net->split_bytes[fault->sw] = fault->split_bytes;
    } else if (on) {
        net->weights[fault->sw] = fault->weights;
    }
}

/* A burst that has begun goes on while its fault does. */
static int keep_special(struct pd_sim_net *net, const struct pd_sim_fault *fault, bool on)
{
    size_t at = 0;
    while (at < net->specials_len && net->specials[at].fault != fault) {
        at++;
    }
    if (!on && at < net->specials_len) {
        free(net->specials[at].bursting);
        net->specials[at] = net->specials[--net->specials_len];
    }
    if (!on || at < net->specials_len) {
        return 0;
    }
    if (PD_GROW(net->specials, net->specials_room, net->specials_len + 1)) {
        return -ENOMEM;
    }
    bool *bursting = calloc(fault->links_len, sizeof *bursting);
    net->specials[net->specials_len] = (struct pd_sim_net_special){fault, bursting};
    net->specials_len += bursting != NULL;
    return bursting ? 0 : -ENOMEM;
}

static void add_loss(struct pd_sim_net *net, const struct pd_sim_fault *fault)
{
    for (uint32_t n = 0; n < fault->links_len; n++) {
        double *loss = &net->loss[fault->links[n]];
        *loss = *loss > 0 ? 1 - (1 - *loss) * (1 - fault->loss) : fault->loss;
    }
}

int pd_sim_net_faults(struct pd_sim_net *net, const struct pd_sim_scenario *scenario, double now_s)
{
    int err = 0;
    forget_faults(net);
    for (size_t i = 0; i < scenario->faults_len && !err; i++) {
        const struct pd_sim_fault *fault = &scenario->faults[i];
        bool on = pd_sim_fault_is_on(fault, now_s);
        if (fault->kind != PD_SIM_LOSS) {
            set_choice(net, fault, on);
        } else if (fault->burst_pkts > 0 || pd_sim_fault_chooses(fault)) {
            err = keep_special(net, fault, on);
        } else if (on) {
            add_loss(net, fault);
        }
    }
    return err;
}

/* The place of a link among those of a fault that takes the flow; PD_NONE: it does not. */
static uint32_t place_of(const struct pd_sim_fault *fault, uint32_t link,
                         const struct pd_flow_id *flow)
{
    for (uint32_t n = 0; n < fault->links_len; n++) {
        if (fault->links[n] == link) {
            return pd_sim_fault_takes(fault, flow) ? n : PD_NONE;
        }
    }
    return PD_NONE;
}

double pd_sim_net_rate(const struct pd_sim_net *net, const struct pd_sim_net_route *route,
                       const struct pd_flow_id *flow)
{
    double passes = 1;
    for (uint32_t i = 0; i < route->links_len; i++) {
        passes *= 1 - net->loss[route->links[i]];
        for (size_t s = 0; s < net->specials_len; s++) {
            const struct pd_sim_fault *fault = net->specials[s].fault;
            passes *= place_of(fault, route->links[i], flow) == PD_NONE ? 1 : 1 - fault->loss;
        }
    }
    return 1 - passes;
}

/* Gilbert's two states: one in which all is lost and that ends with 1 / mean, one in which nothing
 * is, and that ends as often as gives the loss. Takes one packet through it. */
static bool take_one(struct pd_sim_net_special *special, uint32_t place,
                     struct pd_sim_random *random)
{
    const struct pd_sim_fault *fault = special->fault;
    bool *bad = &special->bursting[place];
    if (fault->burst_pkts <= 0) {
        return fault->loss >= 1 || pd_sim_random_share(random) < fault->loss;
    }
    double ends = 1 / fault->burst_pkts, begins = ends * fault->loss / (1 - fault->loss);
    if (pd_sim_random_share(random) < (*bad ? ends : begins)) {
        *bad = !*bad;
    }
    return *bad;
}

bool pd_sim_net_drops(struct pd_sim_net *net, uint32_t link, const struct pd_flow_id *flow,
                      struct pd_sim_random *random)
{
    if (net->loss[link] > 0 && pd_sim_random_share(random) < net->loss[link]) {
        return true;
    }
    for (size_t s = 0; s < net->specials_len; s++) {
        uint32_t place = place_of(net->specials[s].fault, link, flow);
        if (place != PD_NONE && take_one(&net->specials[s], place, random)) {
            return true;
        }
    }
    return false;
}

static double plain_rate(const struct pd_sim_net *net, const struct pd_sim_net_route *route)
{
    double passes = 1;
    for (uint32_t i = 0; i < route->links_len; i++) {
        passes *= 1 - net->loss[route->links[i]];
    }
    return 1 - passes;
}

/* Link by link: what the first of those that are left took, given that one of them did. */
static void tell_links(const struct pd_sim_net *net, const struct pd_sim_net_route *route,
                       uint64_t lost, struct pd_sim_net_losses *losses)
{
    double weights[PD_ROUTE_LINKS_MAX], sum = 0, passes = 1;
    for (uint32_t i = 0; i < route->links_len; i++) {
        weights[i] = passes * net->loss[route->links[i]];
        passes *= 1 - net->loss[route->links[i]];
        sum += weights[i];
    }
    for (uint32_t i = 0; i < route->links_len && lost; i++) {
        double share = i + 1 < route->links_len && weights[i] < sum ? weights[i] / sum : 1;
        uint64_t here = weights[i] > 0 ? pd_sim_random_binomial(&losses->random, lost, share) : 0;
        losses->at[i] += here;
        lost -= here;
        sum -= weights[i];
    }
}

uint64_t pd_sim_net_lose(struct pd_sim_net *net, const struct pd_sim_net_route *route,
                         const struct pd_flow_id *flow, uint64_t pkts, struct pd_sim_random *random,
                         struct pd_sim_net_losses *losses)
{
    uint64_t lost = pd_sim_random_binomial(random, pkts, plain_rate(net, route));
    if (losses) {
        tell_links(net, route, lost, losses);
    }
    for (size_t s = 0; s < net->specials_len; s++) {
        for (uint32_t i = 0; i < route->links_len; i++) {
            uint32_t place = place_of(net->specials[s].fault, route->links[i], flow);
            for (uint64_t left = place == PD_NONE ? 0 : pkts - lost; left; left--) {
                bool takes = take_one(&net->specials[s], place, random);
                lost += takes;
                if (losses) {
                    losses->at[i] += takes;
                }
            }
        }
    }
    return lost;
}

/* ---- routes */

/* The neighbours of a switch that are nearer to the rack. */
struct hops {
    uint32_t places[HOPS_MAX]; /* among the neighbours */
    uint32_t len;
};

static void find_hops(const struct pd_switch *sw, const uint8_t *distance, uint8_t here,
                      struct hops *hops)
{
    hops->len = 0;
    for (uint32_t n = 0; n < sw->switch_neighbours && hops->len < HOPS_MAX; n++) {
        if (distance[sw->neighbours[n].node] + 1 == here) {
            hops->places[hops->len++] = n;
        }
    }
}

static uint32_t draw_weighted(const struct hops *hops, const double *weights,
                              struct pd_sim_random *random, double *share)
{
    double sum = 0, at;
    uint32_t chosen = 0;
    for (uint32_t i = 0; i < hops->len; i++) {
        sum += weights[hops->places[i]];
    }
    if (sum <= 0) { /* none of the weights is for this way */
        *share /= hops->len;
        return hops->places[pd_sim_random_below(random, hops->len)];
    }
    at = pd_sim_random_share(random) * sum;
    for (uint32_t i = 0; i < hops->len; i++) {
        if (weights[hops->places[i]] <= 0) {
            continue;
        }
        chosen = i;
        at -= weights[hops->places[i]];
        if (at < 0) {
            break;
        }
    }
    *share *= weights[hops->places[chosen]] / sum;
    return hops->places[chosen];
}

/* What the switch chooses: a neighbour's place. */
static uint32_t next_hop(const struct pd_sim_net *net, uint32_t at, const struct hops *hops,
                         double bytes, struct pd_sim_random *random, double *share)
{
    double split_bytes = net->split_bytes[at];
    if (split_bytes > 0 && hops->len > 1) {
        if (bytes > split_bytes) {
            return hops->places[0];
        }
        *share /= hops->len - 1;
        return hops->places[1 + pd_sim_random_below(random, hops->len - 1)];
    }
    if (net->weights[at]) {
        return draw_weighted(hops, net->weights[at], random, share);
    }
    *share /= hops->len;
    return hops->places[pd_sim_random_below(random, hops->len)];
}

/* One of the parallel links to the neighbour. */
static uint32_t draw_parallel(const struct pd_neighbour *to, struct pd_sim_random *random)
{
    return to->link +
           (to->parallel > 1 ? 2 * (uint32_t)pd_sim_random_below(random, to->parallel) : 0);
}

void pd_sim_net_route(const struct pd_sim_net *net, uint32_t src_host, uint32_t dst_host,
                      double bytes, struct pd_sim_random *random,
                      struct pd_sim_net_route *ret_route)
{
    const struct pd_topology *topology = net->topology;
    uint32_t at = topology->hosts[src_host].tor, to = topology->hosts[dst_host].tor;
    const uint8_t *distance = net->distance + (size_t)net->rack_rank[to] * topology->switches_len;
    struct hops hops;
    memset(&ret_route->path, 0, sizeof ret_route->path);
    ret_route->links_len = 0;
    ret_route->share = 1;
    ret_route->links[ret_route->links_len++] =
        pd_links_reverse(pd_topology_links_to_host(topology, at, src_host, NULL));
    ret_route->path.switches[ret_route->path.len++] = topology->switches[at].id;
    while (at != to && ret_route->links_len < PD_ROUTE_LINKS_MAX - 1) {
        const struct pd_switch *sw = &topology->switches[at];
        find_hops(sw, distance, distance[at], &hops);
        uint32_t place = next_hop(net, at, &hops, bytes, random, &ret_route->share);
        ret_route->links[ret_route->links_len++] = draw_parallel(&sw->neighbours[place], random);
        at = sw->neighbours[place].node;
        ret_route->path.switches[ret_route->path.len++] = topology->switches[at].id;
    }
    ret_route->links[ret_route->links_len++] =
        pd_topology_links_to_host(topology, to, dst_host, NULL);
}

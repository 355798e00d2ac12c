/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated network: directed links with their faults, and equal-cost shortest routes between
 * hosts. */
#ifndef PD_SIM_NET_H
#define PD_SIM_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/path.h"
#include "sim/random.h"
#include "sim/scenario.h"
#include "topology/links.h"

/* Links are those of topology/links.h, by number. Any topology of the reader will do: routes follow
 * distances, not shapes. At each switch the next one is drawn among the neighbours that are nearer
 * to the destination's rack, which is what a perfect ECMP hash does per flow, and spraying per
 * packet. Immutable but for the faults. */

#define PD_ROUTE_LINKS_MAX 12 /* host to host; longer shortest paths are refused */

struct pd_sim_net_route {
    struct pd_path path;
    uint32_t links[PD_ROUTE_LINKS_MAX];
    uint32_t links_len;
    /* of the flow's packets that take it: what the switches' choices give, not yet made to add up
     * to 1 */
    double share;
};

struct pd_sim_net_special {
    const struct pd_sim_fault *fault;
    bool *bursting; /* of each of its links: packets are lost at the moment */
};

struct pd_sim_net {
    const struct pd_topology *topology;
    uint32_t links_len; /* directed */
    double *loss;       /* per link, now; of faults that take all packets, one by one */
    struct pd_sim_net_special *specials; /* faults that are on now and choose, or come in bursts */
    size_t specials_len, specials_room;
    uint8_t *distance;   /* rank of the rack's switch among such × switches */
    uint32_t *rack_rank; /* per switch, PD_NONE: no rack */
    /* per switch, faults of this moment: 0, NULL: none */
    double *split_bytes;
    const double **weights;
    bool hashes_sizes, weighs; /* any fault of the scenario, also one that has not begun */
};

/* 0, -ENOMEM, or -PD_E_TOPOLOGY when hosts cannot reach each other. */
int pd_sim_net_init(const struct pd_topology *topology, struct pd_sim_net *ret_net,
                    struct pd_error *error);
void pd_sim_net_done(struct pd_sim_net *net); /* works on zeroed memory */

/* Sets losses as they are at this time. 0 or -ENOMEM. */
int pd_sim_net_faults(struct pd_sim_net *net, const struct pd_sim_scenario *scenario, double now_s);

/* The share of a flow's packets that faults take on a route, in the mean. */
double pd_sim_net_rate(const struct pd_sim_net *net, const struct pd_sim_net_route *route,
                       const struct pd_flow_id *flow);

/* Which links of a route lost them; told by random numbers of its own. */
struct pd_sim_net_losses {
    uint64_t at[PD_ROUTE_LINKS_MAX];
    struct pd_sim_random random;
};

/* How many of so many packets they take. A burst takes packets of one flow in a row. *losses: by
 * link of the route; NULL: nobody asks. */
uint64_t pd_sim_net_lose(struct pd_sim_net *net, const struct pd_sim_net_route *route,
                         const struct pd_flow_id *flow, uint64_t pkts, struct pd_sim_random *random,
                         struct pd_sim_net_losses *losses);

/* Whether they take one packet on a link. */
bool pd_sim_net_drops(struct pd_sim_net *net, uint32_t link, const struct pd_flow_id *flow,
                      struct pd_sim_random *random);

/* One of the shortest routes, for a flow of this size. */
void pd_sim_net_route(const struct pd_sim_net *net, uint32_t src_host, uint32_t dst_host,
                      double bytes, struct pd_sim_random *random,
                      struct pd_sim_net_route *ret_route);

/* Links between the two racks that are farthest apart. */
uint32_t pd_sim_net_farthest(const struct pd_sim_net *net);

static inline bool pd_sim_net_is_up(const struct pd_sim_net *net, uint32_t link)
{
    return pd_links_of(net->topology, link)->is_host && link & 1;
}

/* What it carries: its own "mbps", or what the scenario says of all. */
static inline double pd_sim_net_mbps(const struct pd_sim_net *net, uint32_t link,
                                     uint32_t link_mbps)
{
    uint32_t own = pd_links_of(net->topology, link)->mbps;
    return own ? own : link_mbps;
}

#endif

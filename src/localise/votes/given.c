/* SPDX-License-Identifier: Apache-2.0 */
/* Which other links the flows of a link cross, as ECMP has it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "localise/votes/private.h"
#include "topology/links.h"

/* Chances are linear in what the racks send, so that one pass for each rack that receives does for
 * all that send: `mass` is what comes by a switch, `reach` the chance that what leaves a switch
 * comes to where the link begins. Each pass looks at each link between switches once. */
struct given {
    const struct pd_localise_network *network;
    const struct pd_topology *topology;
    double *hosts; /* by switch: below it; of one at several a share each */
    uint32_t *far, *queue;
    uint32_t queue_len; /* nearest to the receiving rack first */
    uint32_t *nexts;    /* by switch: ways on */
    double *mass, *reach;
    double *sum; /* of the flows over the link and each other one */
    double alone;
};

static void given_done(struct given *g)
{
    free(g->hosts);
    free(g->far);
    free(g->queue);
    free(g->nexts);
    free(g->mass);
    free(g->reach);
}

static int given_init(struct given *g)
{
    uint32_t len = g->topology->switches_len;
    g->hosts = calloc(len, sizeof *g->hosts);
    g->far = calloc(len, sizeof *g->far);
    g->queue = calloc(len, sizeof *g->queue);
    g->nexts = calloc(len, sizeof *g->nexts);
    g->mass = calloc(len, sizeof *g->mass);
    g->reach = calloc(len, sizeof *g->reach);
    if (!g->hosts || !g->far || !g->queue || !g->nexts || !g->mass || !g->reach) {
        return -ENOMEM;
    }
    for (uint32_t s = 0; s < len; s++) {
        g->hosts[s] = pd_localise_hosts(g->topology, s);
    }
    return 0;
}

static bool leads_on(const struct given *g, uint32_t from, uint32_t to)
{
    return g->far[from] != PD_NONE && g->far[to] == g->far[from] - 1;
}

/* Distances and ways on towards a rack. */
static void turn_to(struct given *g, uint32_t target)
{
    pd_localise_distances(g->topology, target, g->far, g->queue);
    g->queue_len = 0;
    for (uint32_t s = 0; s < g->topology->switches_len; s++) {
        const struct pd_switch *sw = &g->topology->switches[s];
        g->queue_len += g->far[s] != PD_NONE;
        g->nexts[s] = 0;
        for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
            g->nexts[s] += leads_on(g, s, sw->neighbours[n].node);
        }
        g->mass[s] = g->reach[s] = 0;
    }
}

/* Everything in `mass` goes on towards the rack, farthest first. `weigh`: what crosses a link
 * counts only as far as it comes to the link at hand (`reach` and its own ways on). */
static void send_on(struct given *g, uint32_t link_from, bool weigh)
{
    for (uint32_t i = g->queue_len; i-- > 0;) {
        uint32_t at = g->queue[i];
        const struct pd_switch *sw = &g->topology->switches[at];
        if (g->mass[at] <= 0 || !g->nexts[at]) {
            continue;
        }
        double each = g->mass[at] / g->nexts[at];
        for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
            uint32_t next = sw->neighbours[n].node;
            if (leads_on(g, at, next)) {
                double part = weigh ? g->reach[next] / g->nexts[link_from] : 1;
                g->mass[next] += each;
                g->sum[sw->neighbours[n].link] += each * part;
            }
        }
    }
}

static void find_reach(struct given *g, uint32_t target)
{
    g->reach[target] = 1;
    for (uint32_t i = 0; i < g->queue_len; i++) {
        uint32_t at = g->queue[i];
        const struct pd_switch *sw = &g->topology->switches[at];
        for (uint32_t n = 0; at != target && n < sw->switch_neighbours; n++) {
            if (leads_on(g, at, sw->neighbours[n].node)) {
                g->reach[at] += g->reach[sw->neighbours[n].node] / g->nexts[at];
            }
        }
    }
}

/* The access links of a rack's hosts share `flows` evenly. */
static void share_access(struct given *g, uint32_t rack, bool up, double flows)
{
    const struct pd_switch *sw = &g->topology->switches[rack];
    for (uint32_t n = sw->switch_neighbours; n < sw->neighbours_len; n++) {
        uint32_t down = sw->neighbours[n].link;
        double share = pd_localise_share(g->topology, sw->neighbours[n].node);
        g->sum[up ? pd_links_reverse(down) : down] += share * flows / g->hosts[rack];
    }
}

static bool sends(const struct given *g, uint32_t rack, uint32_t target)
{
    return rack != target && g->hosts[rack] > 0 && g->far[rack] != PD_NONE;
}

/* Flows over a link between switches, towards one rack. */
static void add_fabric(struct given *g, uint32_t link, uint32_t from, uint32_t to, uint32_t target)
{
    double through = 0;
    turn_to(g, target);
    if (!leads_on(g, from, to)) {
        return;
    }
    find_reach(g, from);
    for (uint32_t s = 0; s < g->topology->switches_len; s++) {
        if (sends(g, s, target)) {
            double crossing = g->reach[s] / g->nexts[from];
            through += crossing;
            g->mass[s] = 1;
            share_access(g, s, true, crossing);
        }
    }
    send_on(g, from, true);
    memset(g->mass, 0, g->topology->switches_len * sizeof *g->mass);
    g->mass[to] = through;
    send_on(g, from, false);
    g->sum[link] += through;
    share_access(g, target, false, through);
    g->alone += through;
}

/* Flows of one host, up (to every rack) or down (from every rack). */
static void add_access(struct given *g, uint32_t link, uint32_t rack, bool up, uint32_t target)
{
    double flows = 0;
    turn_to(g, target);
    for (uint32_t s = 0; s < g->topology->switches_len; s++) {
        if (sends(g, s, target) && (!up || s == rack)) {
            g->mass[s] = 1;
            flows++;
            if (!up) {
                share_access(g, s, true, 1);
            }
        }
    }
    send_on(g, rack, false);
    if (up && flows > 0) {
        share_access(g, target, false, flows);
    }
    g->sum[link] += flows;
    g->alone += flows;
}

static void add_target(struct given *g, uint32_t link, uint32_t target)
{
    const struct pd_localise_ends *ends = &g->network->ends[link];
    uint32_t from = pd_topology_switch(g->topology, ends->from);
    uint32_t to = pd_topology_switch(g->topology, ends->to);
    if (from != PD_NONE && to != PD_NONE) {
        add_fabric(g, link, from, to, target);
    } else if (to != PD_NONE) {
        add_access(g, link, to, true, target);
    } else if (from == target) {
        add_access(g, link, from, false, target);
    }
}

int pd_votes_given(const struct pd_localise_network *network, uint32_t link, double *ret_given)
{
    struct given g = {.network = network, .topology = network->topology, .sum = ret_given};
    int err = given_init(&g);
    memset(ret_given, 0, network->links_len * sizeof *ret_given);
    for (uint32_t t = 0; t < g.topology->switches_len && !err; t++) {
        if (g.hosts[t] > 0) {
            add_target(&g, link, t);
        }
    }
    for (uint32_t l = 0; l < network->links_len && !err; l++) {
        ret_given[l] = g.alone > 0 ? ret_given[l] / g.alone : 0;
    }
    given_done(&g);
    return err;
}

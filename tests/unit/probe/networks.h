/* SPDX-License-Identifier: Apache-2.0 */
/* Networks for tests of plans: any graph as a topology, without a file. */
#ifndef PD_TESTS_UNIT_PROBE_NETWORKS_H
#define PD_TESTS_UNIT_PROBE_NETWORKS_H

#include <stdlib.h>
#include <string.h>

#include "probe/plan/plan.h"

/* Switch n has ID n + 1. Links are added, then network_end() makes the topology; `hosts` is the
 * caller's to fill. */
struct network {
    struct pd_topology topology;
    struct pd_switch *switches;
    struct pd_neighbour *neighbours;
    struct pd_plan_cable *links;
    uint32_t links_len, links_room;
    bool *hosts;
};

static inline void network_begin(struct network *net, uint32_t switches)
{
    *net = (struct network){.topology = {.name = "", .codec = "", .switches_len = switches}};
    net->switches = calloc(switches + 1, sizeof *net->switches);
    net->hosts = calloc(switches + 1, sizeof *net->hosts);
    for (uint32_t s = 0; s < switches; s++) {
        net->switches[s] = (struct pd_switch){.id = s + 1, .name = ""};
    }
    net->topology.switches = net->switches;
}

static inline void network_link(struct network *net, uint32_t a, uint32_t b)
{
    if (net->links_len == net->links_room) {
        net->links_room = net->links_room ? net->links_room * 2 : 64;
        net->links = realloc(net->links, net->links_room * sizeof *net->links);
    }
    net->links[net->links_len++] = (struct pd_plan_cable){.a = a, .b = b};
}

static inline bool network_has(const struct network *net, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < net->links_len; i++) {
        const struct pd_plan_cable *link = &net->links[i];
        if ((link->a == a && link->b == b) || (link->a == b && link->b == a)) {
            return true;
        }
    }
    return false;
}

static inline int network_by_node(const void *a, const void *b)
{
    const struct pd_neighbour *x = a, *y = b;
    return x->node < y->node ? -1 : x->node > y->node;
}

static inline void network_end(struct network *net)
{
    struct pd_neighbour *at = calloc(net->links_len * 2 + 1, sizeof *at);
    net->neighbours = at;
    net->topology.fabric_links_len = net->topology.links_len = net->links_len;
    for (uint32_t i = 0; i < net->links_len; i++) {
        net->switches[net->links[i].a].neighbours_len++;
        net->switches[net->links[i].b].neighbours_len++;
    }
    for (uint32_t s = 0; s < net->topology.switches_len; s++) {
        net->switches[s].neighbours = at;
        at += net->switches[s].neighbours_len;
    }
    for (uint32_t i = 0; i < net->links_len * 2; i++) {
        const struct pd_plan_cable *link = &net->links[i / 2];
        uint32_t from = i % 2 ? link->b : link->a, to = i % 2 ? link->a : link->b;
        struct pd_switch *sw = &net->switches[from];
        uint32_t place = (uint32_t)(sw->neighbours - net->neighbours) + sw->switch_neighbours++;
        net->neighbours[place].node = to;
        net->neighbours[place].parallel = 1;
        net->neighbours[place].link = i;
    }
    for (uint32_t s = 0; s < net->topology.switches_len; s++) {
        struct pd_switch *sw = &net->switches[s];
        struct pd_neighbour *first = net->neighbours + (sw->neighbours - net->neighbours);
        qsort(first, sw->neighbours_len, sizeof *first, network_by_node);
    }
}

static inline void network_done(struct network *net)
{
    free(net->switches);
    free(net->neighbours);
    free(net->links);
    free(net->hosts);
}

#endif

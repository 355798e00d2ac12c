/* SPDX-License-Identifier: Apache-2.0 */
/* The network as localisers see it: numbers of links, addresses of hosts, what ECMP offers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "localise/gaps.h"
#include "localise/network.h"

/* ---- numbers ---- */

static int number_links(struct pd_localise_network *network)
{
    const struct pd_topology *topology = network->topology;
    network->first = calloc(topology->switches_len + 1, sizeof *network->first);
    network->up = calloc(topology->hosts_len + 1, sizeof *network->up);
    if (!network->first || !network->up) {
        return -ENOMEM;
    }
    for (uint32_t s = 0; s < topology->switches_len; s++) {
        network->first[s] = network->links_len;
        network->links_len += topology->switches[s].neighbours_len;
        network->fabric_len += topology->switches[s].switch_neighbours;
    }
    for (uint32_t h = 0; h < topology->hosts_len; h++) {
        network->up[h] = network->links_len++;
    }
    network->ends = calloc(network->links_len + 1, sizeof *network->ends);
    return network->ends ? 0 : -ENOMEM;
}

static void name_links(struct pd_localise_network *network)
{
    const struct pd_topology *topology = network->topology;
    for (uint32_t s = 0; s < topology->switches_len; s++) {
        const struct pd_switch *sw = &topology->switches[s];
        for (uint32_t n = 0; n < sw->neighbours_len; n++) {
            const struct pd_neighbour *to = &sw->neighbours[n];
            network->ends[network->first[s] + n] = (struct pd_localise_ends){
                sw->id,
                to->is_host ? topology->hosts[to->node].id : topology->switches[to->node].id,
                to->is_host};
        }
    }
    for (uint32_t h = 0; h < topology->hosts_len; h++) {
        const struct pd_host *host = &topology->hosts[h];
        network->ends[network->up[h]] =
            (struct pd_localise_ends){host->id, topology->switches[host->tor].id, true};
    }
}

static uint32_t link_down(const struct pd_localise_network *network, uint32_t sw, uint32_t host)
{
    const struct pd_switch *of = &network->topology->switches[sw];
    for (uint32_t n = of->switch_neighbours; n < of->neighbours_len; n++) {
        if (of->neighbours[n].node == host) {
            return network->first[sw] + n;
        }
    }
    return PD_NONE;
}

uint32_t pd_localise_link(const struct pd_localise_network *network, uint32_t from, uint32_t to)
{
    const struct pd_topology *topology = network->topology;
    uint32_t a = pd_topology_switch(topology, from), b = pd_topology_switch(topology, to);
    uint32_t host_a = a == PD_NONE ? pd_topology_host(topology, from) : PD_NONE;
    uint32_t host_b = b == PD_NONE ? pd_topology_host(topology, to) : PD_NONE;
    if (a != PD_NONE && b != PD_NONE) {
        const struct pd_neighbour *link = pd_topology_link(topology, a, b);
        return link ? network->first[a] + (uint32_t)(link - topology->switches[a].neighbours)
                    : PD_NONE;
    }
    if (a != PD_NONE && host_b != PD_NONE) {
        return link_down(network, a, host_b);
    }
    if (host_a != PD_NONE && b != PD_NONE && topology->hosts[host_a].tor == b) {
        return network->up[host_a];
    }
    return PD_NONE;
}

/* ---- addresses ---- */

static size_t addr_slot(const struct pd_localise_network *network, const struct pd_addr *addr,
                        uint8_t ip_version)
{
    size_t mask = network->addrs_len - 1;
    size_t at = (pd_hash(addr, sizeof *addr) ^ ip_version) & mask;
    while (network->addrs[at].host && (network->addrs[at].ip_version != ip_version ||
                                       memcmp(&network->addrs[at].addr, addr, sizeof *addr) != 0)) {
        at = (at + 1) & mask;
    }
    return at;
}

static int index_addrs(struct pd_localise_network *network)
{
    const struct pd_topology *topology = network->topology;
    size_t addrs = 0;
    for (uint32_t h = 0; h < topology->hosts_len; h++) {
        addrs += topology->hosts[h].addrs_len;
    }
    for (network->addrs_len = 16; network->addrs_len < 2 * addrs;) {
        network->addrs_len *= 2;
    }
    network->addrs = calloc(network->addrs_len, sizeof *network->addrs);
    if (!network->addrs) {
        return -ENOMEM;
    }
    for (uint32_t h = 0; h < topology->hosts_len; h++) {
        const struct pd_host *host = &topology->hosts[h];
        for (uint32_t i = 0; i < host->addrs_len; i++) {
            size_t slot = addr_slot(network, &host->addrs[i], host->ip_versions[i]);
            network->addrs[slot] =
                (struct pd_localise_end){host->addrs[i], h + 1, host->ip_versions[i]};
        }
    }
    return 0;
}

uint32_t pd_localise_host(const struct pd_localise_network *network, const struct pd_addr *addr,
                          uint8_t ip_version)
{
    uint32_t host = network->addrs[addr_slot(network, addr, ip_version)].host;
    return host ? host - 1 : PD_NONE;
}

/* ---- making one ---- */

void pd_localise_network_free(struct pd_localise_network *network)
{
    if (network) {
        pd_localise_gaps_done(network);
        free(network->ends);
        free(network->first);
        free(network->up);
        free(network->addrs);
        free(network->row.hops);
        free(network->row.ways);
    }
    free(network);
}

int pd_localise_network_new(const struct pd_topology *topology,
                            struct pd_localise_network **ret_network)
{
    struct pd_localise_network *network = calloc(1, sizeof *network);
    if (!network) {
        return -ENOMEM;
    }
    network->topology = topology;
    if (number_links(network) || index_addrs(network)) {
        pd_localise_network_free(network);
        return -ENOMEM;
    }
    name_links(network);
    *ret_network = network;
    return 0;
}

/* ---- rows ---- */

static int add_hop(struct pd_localise_row *row, uint32_t link, uint32_t slot, double chance)
{
    if (row->hops_len == row->hops_room) {
        size_t room = row->hops_room ? 2 * row->hops_room : 64;
        struct pd_localise_hop *hops = realloc(row->hops, room * sizeof *hops);
        if (!hops) {
            return -ENOMEM;
        }
        row->hops = hops;
        row->hops_room = room;
    }
    row->hops[row->hops_len++] = (struct pd_localise_hop){link, slot, chance};
    return 0;
}

static int add_way(struct pd_localise_row *row, double share)
{
    if (row->ways_len == row->ways_room) {
        size_t room = row->ways_room ? 2 * row->ways_room : 4;
        struct pd_localise_way *ways = realloc(row->ways, room * sizeof *ways);
        if (!ways) {
            return -ENOMEM;
        }
        row->ways = ways;
        row->ways_room = room;
    }
    row->ways[row->ways_len++] =
        (struct pd_localise_way){.first = (uint32_t)row->hops_len, .share = share};
    return 0;
}

static int add_link(struct pd_localise_row *row, uint32_t link)
{
    struct pd_localise_way *way = &row->ways[row->ways_len - 1];
    return link == PD_NONE ? -PD_E_NOT_FOUND : add_hop(row, link, way->slots_len++, 1);
}

/* All that ECMP may have chosen between two switches. */
static int add_gap(struct pd_localise_network *network, uint32_t from, uint32_t to)
{
    struct pd_localise_row *row = &network->row;
    struct pd_localise_way *way = &row->ways[row->ways_len - 1];
    const struct pd_localise_gap *gap;
    int err = pd_localise_gap_find(network, from, to, &gap);
    for (uint32_t i = 0; !err && i < gap->hops_len; i++) {
        err = add_hop(row, gap->hops[i].link, way->slots_len + gap->hops[i].slot,
                      gap->hops[i].chance);
    }
    if (!err) {
        way->slots_len += gap->slots_len;
    }
    return err;
}

/* From one node that is known to the next, over switches that are not known where `is_gap`. */
static int add_step(struct pd_localise_network *network, uint32_t from_id, uint32_t to_id,
                    bool is_gap)
{
    const struct pd_topology *topology = network->topology;
    if (!is_gap) {
        return add_link(&network->row, pd_localise_link(network, from_id, to_id));
    }
    uint32_t from = pd_topology_switch(topology, from_id), to = pd_topology_switch(topology, to_id);
    return from == PD_NONE || to == PD_NONE ? -PD_E_NOT_FOUND : add_gap(network, from, to);
}

static int add_nodes(struct pd_localise_network *network, const uint32_t *nodes, uint32_t len)
{
    uint32_t last = 0;
    int err = 0;
    for (uint32_t i = 1; i < len && !err; i++) {
        if (nodes[i]) {
            err = add_step(network, nodes[last], nodes[i], i > last + 1);
            last = i;
        }
    }
    return err;
}

/* A host forwards nothing: it stands at an end or nowhere. */
static bool are_switches(const struct pd_topology *topology, const uint32_t *nodes, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++) {
        if (nodes[i] && pd_topology_switch(topology, nodes[i]) == PD_NONE) {
            return false;
        }
    }
    return true;
}

static double share_of(const struct pd_evidence_row *row, const struct pd_evidence_way *way)
{
    double all = 0;
    for (size_t i = 0; i < row->ways_len; i++) {
        if (row->ways[i].pkts == PD_EVIDENCE_UNKNOWN) {
            return 1 / (double)row->ways_len;
        }
        all += (double)row->ways[i].pkts;
    }
    return all > 0 ? (double)way->pkts / all : 1 / (double)row->ways_len;
}

/* One end of a flow. An address that is no host's, but in the prefix of a rack, has a switch alone.
 */
struct end {
    uint32_t id;       /* of the host; 0: not known */
    uint32_t sw;       /* index */
    uint32_t up, down; /* its links, or PD_NONE */
};

static bool find_end(const struct pd_localise_network *network, const struct pd_addr *addr,
                     uint8_t ip_version, struct end *ret_end)
{
    const struct pd_topology *topology = network->topology;
    uint32_t host = pd_localise_host(network, addr, ip_version);
    if (host == PD_NONE) {
        *ret_end = (struct end){
            .sw = pd_topology_tor_of(topology, addr, ip_version), .up = PD_NONE, .down = PD_NONE};
        return ret_end->sw != PD_NONE;
    }
    uint32_t sw = topology->hosts[host].tor;
    *ret_end =
        (struct end){topology->hosts[host].id, sw, network->up[host], link_down(network, sw, host)};
    return true;
}

/* The way's own nodes without hosts at the ends, from the switch that the flow begins at. */
static int trim(const struct pd_localise_network *network, const struct pd_evidence_way *way,
                const struct end *src, const struct end *dst,
                uint32_t ret_nodes[PD_EVIDENCE_NODES_MAX], uint32_t *ret_len)
{
    const struct pd_topology *topology = network->topology;
    const uint32_t *nodes = way->nodes;
    uint32_t len = way->nodes_len, begin = topology->switches[src->sw].id;
    if (len && src->id && nodes[0] == src->id) {
        nodes++;
        len--;
    }
    while (len && (!nodes[len - 1] || (dst->id && nodes[len - 1] == dst->id))) {
        len--;
    }
    if (!len || len > PD_EVIDENCE_NODES_MAX || (nodes[0] && nodes[0] != begin) ||
        !are_switches(topology, nodes, len)) {
        return -PD_E_NOT_FOUND;
    }
    memcpy(ret_nodes, nodes, len * sizeof *nodes);
    ret_nodes[0] = begin;
    *ret_len = len;
    return 0;
}

/* From host to host; the way may leave out the ends, and what it does not know. */
static int resolve_flow_way(struct pd_localise_network *network, const struct pd_evidence_row *row,
                            const struct pd_evidence_way *way)
{
    uint32_t nodes[PD_EVIDENCE_NODES_MAX], len;
    struct end src, dst;
    if (!find_end(network, &row->flow.src, row->flow.ip_version, &src) ||
        !find_end(network, &row->flow.dst, row->flow.ip_version, &dst) ||
        trim(network, way, &src, &dst, nodes, &len)) {
        return -PD_E_NOT_FOUND;
    }
    uint32_t end = network->topology->switches[dst.sw].id;
    int err = way->reached && nodes[len - 1] != end ? -PD_E_NOT_FOUND : 0;
    if (!err && src.up != PD_NONE) {
        err = add_link(&network->row, src.up);
    }
    err = err ? err : add_nodes(network, nodes, len);
    if (!err && nodes[len - 1] != end) {
        err = add_step(network, nodes[len - 1], end, true);
    }
    if (!err && dst.down != PD_NONE) {
        err = add_link(&network->row, dst.down);
    }
    return err;
}

static int resolve_path_way(struct pd_localise_network *network, const struct pd_evidence_way *way)
{
    const uint32_t *nodes = way->nodes;
    uint32_t len = way->nodes_len;
    if (len < 2 || !nodes[0] || !nodes[len - 1] ||
        !are_switches(network->topology, nodes + 1, len - 2)) {
        return -PD_E_NOT_FOUND;
    }
    return add_nodes(network, nodes, len);
}

int pd_localise_resolve(struct pd_localise_network *network, const struct pd_evidence_row *row,
                        const struct pd_localise_row **ret_row)
{
    struct pd_localise_row *resolved = &network->row;
    int err = row->ways_len ? 0 : -PD_E_NOT_FOUND;
    resolved->row = row;
    resolved->hops_len = resolved->ways_len = 0;
    for (size_t i = 0; i < row->ways_len && !err; i++) {
        const struct pd_evidence_way *way = &row->ways[i];
        err = add_way(resolved, share_of(row, way));
        if (!err) {
            err = row->kind == PD_EVIDENCE_PATH ? resolve_path_way(network, way)
                                                : resolve_flow_way(network, row, way);
            struct pd_localise_way *added = &resolved->ways[resolved->ways_len - 1];
            added->hops_len = (uint32_t)resolved->hops_len - added->first;
        }
    }
    if (!err) {
        *ret_row = resolved;
    }
    return err;
}

/* ---- evidence, counted ---- */

static void count_row(struct pd_localiser *localiser, const struct pd_evidence_row *row, bool known)
{
    struct pd_localiser_counters *counters = &localiser->counters;
    if (row->kind == PD_EVIDENCE_PATH) {
        counters->paths++;
        counters->paths_lossy += row->lost > 0;
        counters->paths_unknown += !known;
        counters->paths_unused += known && !(localiser->ops->kinds & PD_EVIDENCE_PATH);
    } else {
        counters->flows++;
        counters->suffered += row->lost > 0;
        counters->unknown += !known;
    }
}

int pd_localise_each(struct pd_localiser *localiser, const struct pd_evidence_period *period,
                     int (*take)(struct pd_localiser *localiser, const struct pd_localise_row *row))
{
    const struct pd_localise_row *resolved = NULL;
    int err = 0;
    for (size_t i = 0; i < period->rows_len && !err; i++) {
        const struct pd_evidence_row *row = &period->rows[i];
        err = pd_localise_resolve(localiser->network, row, &resolved);
        count_row(localiser, row, !err);
        if (err == -PD_E_NOT_FOUND) {
            err = 0;
        } else if (!err && (localiser->ops->kinds & row->kind)) {
            err = take(localiser, resolved);
        }
    }
    return err;
}

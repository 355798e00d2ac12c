/* SPDX-License-Identifier: Apache-2.0 */
/* The network as localisers see it: numbers of links, addresses of hosts, what ECMP offers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "localise/gaps.h"
#include "localise/network.h"
#include "topology/links.h"

/* ---- numbers ---- */

static int name_links(struct pd_localise_network *network)
{
    const struct pd_topology *topology = network->topology;
    network->links_len = pd_links_directed(topology);
    network->ends = calloc((size_t)network->links_len + 1, sizeof *network->ends);
    for (uint32_t l = 0; network->ends && l < network->links_len; l++) {
        network->ends[l] = (struct pd_localise_ends){pd_topology_links_from_id(topology, l),
                                                     pd_topology_links_to_id(topology, l),
                                                     pd_links_of(topology, l)->is_host};
    }
    return network->ends ? 0 : -ENOMEM;
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

double pd_localise_hosts(const struct pd_topology *topology, uint32_t sw)
{
    const struct pd_switch *entry = &topology->switches[sw];
    double hosts = 0;
    for (uint32_t n = entry->switch_neighbours; n < entry->neighbours_len; n++) {
        hosts += pd_localise_share(topology, entry->neighbours[n].node);
    }
    return hosts;
}

/* ---- making one ---- */

void pd_localise_network_free(struct pd_localise_network *network)
{
    if (network) {
        pd_localise_gaps_done(network);
        free(network->ends);
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
    if (name_links(network) || index_addrs(network)) {
        pd_localise_network_free(network);
        return -ENOMEM;
    }
    *ret_network = network;
    return 0;
}

/* ---- rows ---- */

static int add_hop(struct pd_localise_row *row, uint32_t link, uint32_t slot, double chance)
{
    if (PD_GROW(row->hops, row->hops_room, row->hops_len + 1)) {
        return -ENOMEM;
    }
    row->hops[row->hops_len++] = (struct pd_localise_hop){link, slot, chance};
    return 0;
}

static int add_way(struct pd_localise_row *row, double share)
{
    if (PD_GROW(row->ways, row->ways_room, row->ways_len + 1)) {
        return -ENOMEM;
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
        return add_link(&network->row, pd_topology_links_by_ids(topology, from_id, to_id, NULL));
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

/* Its switch: of several, the one that the way names there; PD_NONE: it does not say. */
static uint32_t switch_of(const struct pd_topology *topology, uint32_t host, uint32_t named)
{
    const struct pd_host *entry = &topology->hosts[host];
    uint32_t sw = pd_topology_switch(topology, named);
    for (uint32_t t = 0; t < entry->tors_len; t++) {
        if (entry->tors[t] == sw) {
            return sw;
        }
    }
    return entry->tors_len == 1 ? entry->tor : PD_NONE;
}

/* Likewise of an address that is in the prefix of one rack, or of several. */
static uint32_t rack_of(const struct pd_topology *topology, const struct pd_addr *addr,
                        uint8_t ip_version, uint32_t named)
{
    uint32_t tors[PD_HOMES_MAX], sw = pd_topology_switch(topology, named);
    uint32_t len = pd_topology_tors_of(topology, addr, ip_version, tors);

    for (uint32_t t = 0; t < len; t++) {
        if (tors[t] == sw) {
            return sw;
        }
    }
    return len == 1 ? tors[0] : PD_NONE;
}

static bool find_end(const struct pd_localise_network *network, const struct pd_addr *addr,
                     uint8_t ip_version, uint32_t named, struct end *ret_end)
{
    const struct pd_topology *topology = network->topology;
    uint32_t host = pd_localise_host(network, addr, ip_version);
    if (host == PD_NONE) {
        *ret_end = (struct end){
            .sw = rack_of(topology, addr, ip_version, named), .up = PD_NONE, .down = PD_NONE};
        return ret_end->sw != PD_NONE;
    }
    uint32_t sw = switch_of(topology, host, named);
    if (sw == PD_NONE) {
        return false;
    }
    uint32_t down = pd_topology_links_to_host(topology, sw, host, NULL);
    *ret_end = (struct end){topology->hosts[host].id, sw, pd_links_reverse(down), down};
    return true;
}

/* The first switch that the way names from here on. */
static uint32_t outermost(const struct pd_localise_network *network,
                          const struct pd_evidence_way *way, uint32_t at, int step)
{
    for (; at < way->nodes_len; at += (uint32_t)step) {
        if (way->nodes[at] && pd_topology_switch(network->topology, way->nodes[at]) != PD_NONE) {
            return way->nodes[at];
        }
    }
    return 0;
}

/* An address that the topology does not know at all: the way says which switch it is behind. */
static bool end_of_way(const struct pd_localise_network *network, uint32_t node,
                       struct end *ret_end)
{
    uint32_t sw = node ? pd_topology_switch(network->topology, node) : PD_NONE;
    *ret_end = (struct end){.sw = sw, .up = PD_NONE, .down = PD_NONE};
    return sw != PD_NONE;
}

static bool find_ends(const struct pd_localise_network *network, const struct pd_evidence_row *row,
                      const struct pd_evidence_way *way, struct end *ret_src, struct end *ret_dst)
{
    uint32_t first = outermost(network, way, 0, 1);
    uint32_t last = outermost(network, way, way->nodes_len - 1, -1);
    return (find_end(network, &row->flow.src, row->flow.ip_version, first, ret_src) ||
            end_of_way(network, first, ret_src)) &&
           (find_end(network, &row->flow.dst, row->flow.ip_version, last, ret_dst) ||
            end_of_way(network, way->reached ? last : 0, ret_dst));
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
    if (!find_ends(network, row, way, &src, &dst) || trim(network, way, &src, &dst, nodes, &len)) {
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
    localiser->counters.flows += period->flows_unlisted;
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

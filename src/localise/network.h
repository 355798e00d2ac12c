/* SPDX-License-Identifier: Apache-2.0 */
/* The network as localisers see it: numbers of directed links, and which of them a row of evidence
 * may have crossed. */
#ifndef PD_LOCALISE_NETWORK_H
#define PD_LOCALISE_NETWORK_H

#include "localise/localise.h"

/* A row says where packets went as far as somebody knows. Resolving it gives *hops*: each position
 * of a way is one link, or, where the way has a gap or ends early, the links that ECMP offers
 * there, each with its chance: hop by hop, evenly over the shortest paths. A flow's way has the
 * access links of both its hosts.
 *
 * Paths do not tell parallel links apart: the number of the first stands for all of them.
 *
 * What ECMP offers between two switches is worked out once and kept, PD_LOCALISE_GAPS_MAX of them.
 *
 * Internal to localise/. One thread. */

#define PD_LOCALISE_GAPS_MAX (1u << 16)

struct pd_localise_hop {
    uint32_t link;
    uint32_t slot; /* position on its way, from 0 */
    double chance;
};

struct pd_localise_way {
    uint32_t first, hops_len; /* its hops */
    uint32_t slots_len;
    double share; /* of the row's packets; evenly where they are not known */
};

/* A row, resolved. Valid until the next one is. */
struct pd_localise_row {
    const struct pd_evidence_row *row;
    struct pd_localise_hop *hops;
    size_t hops_len, hops_room;
    struct pd_localise_way *ways;
    size_t ways_len, ways_room;
};

struct pd_localise_gap; /* what lies between two switches */

struct pd_localise_end {
    struct pd_addr addr;
    uint32_t host; /* index + 1; 0: empty */
    uint8_t ip_version;
};

struct pd_localise_network {
    const struct pd_topology *topology;
    uint32_t links_len; /* directed, those of hosts among them: the topology's numbers */
    /* By number: IDs of both ends, and whether one is a host. */
    struct pd_localise_ends {
        uint32_t from, to;
        bool is_access;
    } *ends;
    struct pd_localise_end *addrs;
    size_t addrs_len;
    struct pd_localise_gap *gaps;
    size_t gaps_len, gaps_room;
    uint32_t *slots; /* number + 1 of a gap, by its ends */
    struct pd_localise_row row;
};

/* 0 or -ENOMEM. */
int pd_localise_network_new(const struct pd_topology *topology,
                            struct pd_localise_network **ret_network);
void pd_localise_network_free(struct pd_localise_network *network); /* NULL is fine */

/* Index of the host with this address, or PD_NONE. */
uint32_t pd_localise_host(const struct pd_localise_network *network, const struct pd_addr *addr,
                          uint8_t ip_version);

/* Of a host's flows those over each of its links: it sends evenly over all of them. */
static inline double pd_localise_share(const struct pd_topology *topology, uint32_t host)
{
    return 1.0 / topology->hosts[host].tors_len;
}

/* Hosts at a switch, in such shares. */
double pd_localise_hosts(const struct pd_topology *topology, uint32_t sw);

/* Hops from each switch to `target` (indexes) over switches; PD_NONE: none. `ret_far` and `queue`
 * have room for all switches. */
void pd_localise_distances(const struct pd_topology *topology, uint32_t target, uint32_t *ret_far,
                           uint32_t *queue);

/* Where the row's packets may have gone. -PD_E_NOT_FOUND: it has no way, or one that the topology
 * has not, or an end that is no host of it. -ENOMEM. */
int pd_localise_resolve(struct pd_localise_network *network, const struct pd_evidence_row *row,
                        const struct pd_localise_row **ret_row);

/* Resolves each row of a kind that the localiser can use, counts, and calls `take` with those that
 * are known. 0, -ENOMEM, or what `take` returned. */
int pd_localise_each(struct pd_localiser *localiser, const struct pd_evidence_period *period,
                     int (*take)(struct pd_localiser *localiser,
                                 const struct pd_localise_row *row));

#endif

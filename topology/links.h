/* SPDX-License-Identifier: Apache-2.0 */
/* Links of a topology and their numbers: one numbering for localisers, simulator, codecs and
 * controller. */
#ifndef PD_TOPOLOGY_LINKS_H
#define PD_TOPOLOGY_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/topology.h"

/* Link i of topology->links has two directions: number 2i is forward, from ends[0] to ends[1], and
 * 2i + 1 is backward. First stand those between switches (i < fabric_links_len), by their smaller
 * switch, then by the other, parallel ones by port at the smaller switch; then those of hosts, by
 * switch, then by host. That is also their order in a file of the writer's or a generator's, with
 * and without hosts. Forward is from the smaller switch to the larger, and from the switch to the
 * host. Parallel links have numbers in a row, in steps of 2.
 *
 * What is kept per link stands in an array of pd_links_directed(topology) elements. Who tells only
 * pairs of switches apart (paths do) uses pd_topology_links_pair(): the number of the first
 * parallel link stands for all of them.
 *
 * Written `9-17`, all links from 9 to 17; `9:3-17:5`, the one from port 3 of 9 to port 5 of 17; one
 * port is enough. Thread safety: pure. */

struct pd_link {
    uint32_t ends[2];  /* indexes of switches; the second a host's when is_host */
    uint32_t mbps;     /* 0: not given */
    uint32_t addrs;    /* place of the interfaces' addresses: pd_topology_links_addrs() */
    uint16_t ports[2]; /* a host's is 0 unless given */
    uint16_t cards[2]; /* line cards that the ports are on; 0: not given */
    uint16_t tag;      /* 0: not given */
    uint8_t addrs_len[2];
    bool is_host;
};

#define PD_LINKS_TEXT_BYTES 36 /* "4294967295:65535-4294967295:65535" */

static inline uint32_t pd_links_directed(const struct pd_topology *topology)
{
    return 2 * topology->links_len;
}

static inline const struct pd_link *pd_links_of(const struct pd_topology *topology, uint32_t number)
{
    return &topology->links[number / 2];
}

static inline uint32_t pd_links_reverse(uint32_t number)
{
    return number ^ 1;
}

/* The node it leaves and the one it enters: indexes of switches, or of a host where
 * pd_links_of()->is_host (from of a backward one, to of a forward one). */
static inline uint32_t pd_links_from(const struct pd_topology *topology, uint32_t number)
{
    return pd_links_of(topology, number)->ends[number & 1];
}

static inline uint32_t pd_links_to(const struct pd_topology *topology, uint32_t number)
{
    return pd_links_of(topology, number)->ends[!(number & 1)];
}

/* The same as IDs. */
uint32_t pd_topology_links_from_id(const struct pd_topology *topology, uint32_t number);
uint32_t pd_topology_links_to_id(const struct pd_topology *topology, uint32_t number);

/* The port that it leaves by; 0: a host's that is not given. */
static inline uint16_t pd_links_port(const struct pd_topology *topology, uint32_t number)
{
    return pd_links_of(topology, number)->ports[number & 1];
}

/* The line card of that port; 0: not given. */
static inline uint16_t pd_links_card(const struct pd_topology *topology, uint32_t number)
{
    return pd_links_of(topology, number)->cards[number & 1];
}

/* The number of the first link parallel to it, in the same direction. */
uint32_t pd_topology_links_pair(const struct pd_topology *topology, uint32_t number);

/* Number of the first link from one switch to another (indexes), and how many are parallel
 * (ret_parallel may be NULL). PD_NONE: they are not adjacent. */
uint32_t pd_topology_links_between(const struct pd_topology *topology, uint32_t from, uint32_t to,
                                   uint32_t *ret_parallel);
/* Likewise from a switch to a host, as indexes; the way up is pd_links_reverse() of it. */
uint32_t pd_topology_links_to_host(const struct pd_topology *topology, uint32_t sw, uint32_t host,
                                   uint32_t *ret_parallel);
/* Likewise between two nodes given by their IDs, switches or hosts. */
uint32_t pd_topology_links_by_ids(const struct pd_topology *topology, uint32_t from_id,
                                  uint32_t to_id, uint32_t *ret_parallel);
/* The link that a switch sends into by this port, or PD_NONE. */
uint32_t pd_topology_links_by_port(const struct pd_topology *topology, uint32_t sw, uint16_t port);

/* Addresses of the interface at one end of link `i`: prefixes of full length. */
const struct pd_prefix *pd_topology_links_addrs(const struct pd_topology *topology, uint32_t i,
                                                int end, uint32_t *ret_len);

/* `9-17`, with ports where links are parallel. Returns `text`. */
const char *pd_topology_links_format(const struct pd_topology *topology, uint32_t number,
                                     char text[PD_LINKS_TEXT_BYTES]);
/* Number of the first that is meant and how many are (in steps of 2). -PD_E_SYNTAX, or -PD_E_VALUE
 * when the topology has none such. */
int pd_topology_links_parse(const struct pd_topology *topology, const char *text,
                            uint32_t *ret_first, uint32_t *ret_len);

#endif

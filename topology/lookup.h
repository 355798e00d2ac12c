/* SPDX-License-Identifier: Apache-2.0 */
/* What a topology's storage holds: the arrays behind the public struct and the table of rack
 * prefixes. */
#ifndef PD_TOPOLOGY_LOOKUP_H
#define PD_TOPOLOGY_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

#include "topology/topology.h"

/* Internal to topology/. Immutable once filled. */

/* One prefix of a rack. Prefixes do not overlap, so that at most one holds an address. Addresses
 * are in host byte order; `owner` is the ToR's index << 8 | the prefix's length, PD_NONE in an
 * empty slot. IPv4 has a table of its own, since a look-up is as fast as its table is small. */
struct pd_rack_slot4 {
    uint32_t addr;
    uint32_t owner;
};

struct pd_rack_slot6 {
    uint64_t high, low;
    uint32_t owner;
};

/* Open addressing, at most half full; probed once for each prefix length in use, mostly one. */
struct pd_rack_table {
    struct pd_rack_slot4 *slots4;
    struct pd_rack_slot6 *slots6;
    uint32_t mask4, mask6;
    uint8_t lengths_len[2]; /* IPv4, IPv6 */
    uint8_t lengths[2][129];
};

struct pd_topology_storage {
    struct pd_switch *switches;
    struct pd_host *hosts;
    struct pd_neighbour *neighbours;
    struct pd_prefix *prefixes;
    struct pd_addr *addrs;
    uint8_t *ip_versions;
    char *strings;
    struct pd_rack_table racks;
};

/* Fills the table from the prefixes of all switches. 0 or -ENOMEM. */
int pd_rack_table_init(struct pd_rack_table *racks, const struct pd_topology *topology);

#endif

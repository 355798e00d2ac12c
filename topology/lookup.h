/* SPDX-License-Identifier: Apache-2.0 */
/* What a topology's storage holds: the arrays behind the public struct and the table of rack
 * prefixes. */
#ifndef PD_TOPOLOGY_LOOKUP_H
#define PD_TOPOLOGY_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

#include "topology/findings.h"
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

/* An address of a switch's interface; sorted by address. */
struct pd_interface {
    struct pd_addr addr;
    uint32_t sw;
    uint32_t link; /* directed, that it sends into; PD_NONE: of the whole switch */
    uint8_t ip_version;
};

/* An address of a host that hangs at several switches; sorted by address. */
struct pd_homed_addr {
    struct pd_addr addr;
    uint32_t host;
    uint8_t ip_version;
};

/* One of the switches that share a prefix; sorted by prefix, then by switch. Others are not here.
 */
struct pd_shared_prefix {
    struct pd_prefix prefix;
    uint32_t sw;
};

/* IDs that others know switches by. */
enum pd_other_id { PD_OTHER_IOAM, PD_OTHER_DPID, PD_OTHER_IDS };

struct pd_topology_storage {
    struct pd_switch *switches;
    struct pd_host *hosts;
    struct pd_neighbour *neighbours;
    struct pd_prefix *prefixes;
    struct pd_addr *addrs;
    uint8_t *ip_versions;
    char *strings;
    struct pd_codec_choice *codecs;
    struct pd_link *links;
    struct pd_prefix *switch_addrs;
    struct pd_prefix *link_addrs;
    uint32_t *homes; /* of all hosts */
    struct pd_rack_table racks;
    struct pd_interface *interfaces;
    size_t interfaces_len;
    struct pd_homed_addr *homed;
    size_t homed_len;
    struct pd_shared_prefix *shared;
    size_t shared_len;
    uint32_t *by_other_id[PD_OTHER_IDS]; /* indexes of switches; NULL: these IDs are their own */
};

/* Fills the table from the prefixes of all switches. 0 or -ENOMEM. */
int pd_topology_rack_table_init(struct pd_rack_table *racks, const struct pd_topology *topology);
/* Fills the tables of interfaces, of hosts at several switches and of prefixes that switches share,
 * from the finished topology (addresses.c). 0 or -ENOMEM. */
int pd_topology_address_tables_init(struct pd_topology_storage *storage,
                                    const struct pd_topology *topology);
void pd_topology_address_tables_done(struct pd_topology_storage *storage);

/* Fills the tables of other IDs; two switches with the same one are a finding. 0 or -ENOMEM. */
int pd_topology_other_ids_init(struct pd_topology_storage *storage,
                               const struct pd_topology *topology, struct pd_findings *findings);

#endif

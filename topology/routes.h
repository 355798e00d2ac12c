/* SPDX-License-Identifier: Apache-2.0 */
/* What forwarding keeps for a switch: routes by all shortest paths, ports, addresses of links. */
#ifndef PD_TOPOLOGY_ROUTES_H
#define PD_TOPOLOGY_ROUTES_H

#include "base/tables.h"
#include "topology/topology.h"

/* Tables:
 *     routes      in_port, dst_hi, dst_lo (IPv4: 0x0000ffffAABBCCDD in the low half) to
 *                 to_port(port) or to_group(group, mask, shift): each rack's prefixes, and the
 *                 addresses of the switch's own hosts
 *     groups      group (from 1), slot to member(port); mask + 1 slots, a power of two: as many as
 *                 ports where that is one, else at least eight for each port
 *     interfaces  port to address(v4, v6_hi, v6_lo), for the slow path: the address of the link,
 *                 else one of the switch's own; 0: none
 * The shift says which bits of a flow's hash count, by layer, so that two layers in a row do not
 * take the same turn.
 *
 * Thread safety: pure. All return 0 or -ENOMEM. */

int pd_topology_tables_routes(const struct pd_topology *topology, uint32_t sw,
                              struct pd_tables *tables);
int pd_topology_tables_interfaces(const struct pd_topology *topology, uint32_t sw,
                                  struct pd_tables *tables);

/* Visits each port that exists, with the neighbour that it leads to. */
void pd_topology_ports(const struct pd_topology *topology, uint32_t sw,
                       void (*visit)(void *context, uint16_t port, const struct pd_neighbour *to),
                       void *context);

#endif

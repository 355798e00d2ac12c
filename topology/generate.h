/* SPDX-License-Identifier: Apache-2.0 */
/* What generators draft with. */
#ifndef PD_TOPOLOGY_GENERATE_H
#define PD_TOPOLOGY_GENERATE_H

#include "topology/draft.h"
#include "topology/generators.h"

/* Internal to topology/ and to generators elsewhere. All return 0 or -ENOMEM. */

#define PD_RACK_HOSTS_MAX 253 /* .2 to .254 */

/* A node whose ID is its place + 1. */
int pd_topology_generate_node(struct pd_draft *draft, enum pd_switch_role role, uint32_t pod,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Gives the last node the prefixes of rack A.B: 10.A.B.0/24 and fd00:0:A:B::/64. */
int pd_topology_generate_rack(struct pd_draft *draft, uint32_t a, uint32_t b);
/* Hosts 2 to hosts + 1 of rack A.B, linked with their ToR. */
int pd_topology_generate_hosts(struct pd_draft *draft, uint32_t tor_id, uint32_t a, uint32_t b,
                               uint32_t hosts);
/* The codec may be NULL. */
int pd_topology_generate_names(struct pd_draft *draft, const char *codec, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

extern const struct pd_generator pd_topology_generator_fat_tree, pd_topology_generator_vl2,
    pd_topology_generator_leaf_spine, pd_topology_generator_clos;

#endif

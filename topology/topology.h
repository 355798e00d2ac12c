/* SPDX-License-Identifier: Apache-2.0 */
/* The static physical topology: switches, links, racks, hosts. Ground truth for codecs, decoding
 * and the controller. */
#ifndef PD_TOPOLOGY_TOPOLOGY_H
#define PD_TOPOLOGY_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/flow_id.h"

/* Immutable once built, so any number of threads may read it. Switches and hosts are kept in
 * ascending order of ID and named inside the program by their index in that order; IDs are only for
 * people, files and paths.
 *
 * A port number is the neighbour's rank, from 1: first the switch's neighbouring switches in
 * ascending order of ID, then its hosts. Rules (OpenFlow, P4, tc) use these numbers;
 * "source_port"/"target_port" in a link override them. */

enum pd_switch_role {
    PD_ROLE_TOR,
    PD_ROLE_AGG,
    PD_ROLE_CORE,
    PD_ROLE_INTERMEDIATE,
    PD_ROLE_LEAF,
    PD_ROLE_SPINE,
    PD_ROLE_HOST
};

#define PD_NONE UINT32_MAX /* "no such index" */

struct pd_neighbour {
    uint32_t node;     /* index of a switch, or of a host when is_host */
    uint16_t port;     /* on this switch, towards the neighbour */
    uint16_t link_tag; /* "tag" of the link in the file, 0 when the codec assigns it */
    bool is_host;
};

struct pd_switch {
    uint32_t id;
    enum pd_switch_role role;
    uint32_t pod; /* from 1; 0 where the topology has none */
    const char *name;
    /* switches in ascending order of ID, then hosts likewise */
    const struct pd_neighbour *neighbours;
    uint32_t switch_neighbours; /* how many of them are switches */
    uint32_t neighbours_len;
    const struct pd_prefix *prefixes; /* of the rack; only ToRs and leaves have some */
    uint32_t prefixes_len;
};

struct pd_host {
    uint32_t id;
    const char *name;
    uint32_t tor; /* index of its switch */
    const struct pd_addr *addrs;
    const uint8_t *ip_versions; /* of each address */
    uint32_t addrs_len;
};

struct pd_topology {
    const char *name;
    /* "cherrypick-fat-tree", "cherrypick-vl2", "cherrypick-leaf-spine"; "" when the file has none
     */
    const char *codec;
    const struct pd_switch *switches;
    uint32_t switches_len;
    const struct pd_host *hosts;
    uint32_t hosts_len;
    void *storage; /* owns all of the above and the look-up tables */
};

/* Generators. Limits: fat-tree k even, 4..72; VL2 k even, 4..62; leaf-spine leaves >= 2, spines >=
 * 1, hosts per leaf
 * >= 0, leaves x spines <= 4094. -PD_E_VALUE with the reason otherwise. IDs and addresses are in
 * docs/formats/topology.md. */
int pd_topology_fat_tree(uint32_t k, struct pd_topology **ret_topology, struct pd_error *error);
int pd_topology_vl2(uint32_t k, struct pd_topology **ret_topology, struct pd_error *error);
int pd_topology_leaf_spine(uint32_t leaves, uint32_t spines, uint32_t hosts_per_leaf,
                           struct pd_topology **ret_topology, struct pd_error *error);

/* Reads and checks a file (docs/formats/topology.md). -PD_E_SYNTAX, -PD_E_TOPOLOGY, -PD_E_TOO_LARGE
 * or -errno, with file and place ("x.json: nodes[3].id: …") in `error`. */
int pd_topology_read(const char *file, struct pd_topology **ret_topology, struct pd_error *error);
/* The same from memory; `name` stands for the file in errors. */
int pd_topology_parse(const char *json, size_t bytes, const char *name,
                      struct pd_topology **ret_topology, struct pd_error *error);

/* The checks of the reader, all of them, each finding passed to `report` (up to a limit that is
 * reported, too). Returns 0 when there is none, -PD_E_TOPOLOGY otherwise, or why the file could not
 * be read. */
int pd_topology_check(const char *file, void (*report)(void *context, const char *finding),
                      void *context, struct pd_error *error);

/* Writes the JSON form, one node or link a line. 0 or -errno. */
int pd_topology_write(const struct pd_topology *topology, FILE *out);

void pd_topology_free(struct pd_topology *topology); /* NULL is fine */

const char *pd_role_name(enum pd_switch_role role);
bool pd_role_is_tor(enum pd_switch_role role); /* ToR or leaf: a switch with a rack below */

/* Index of the switch or host with this ID, or PD_NONE. */
uint32_t pd_topology_switch(const struct pd_topology *topology, uint32_t id);
uint32_t pd_topology_host(const struct pd_topology *topology, uint32_t id);

/* The neighbour entry of `from` for switch `to` (both indexes), or NULL when they are not adjacent.
 */
const struct pd_neighbour *pd_topology_link(const struct pd_topology *topology, uint32_t from,
                                            uint32_t to);

/* Index of the ToR whose prefixes hold the address (longest match), or PD_NONE. Fast: once per
 * decoded record. */
uint32_t pd_topology_tor_of(const struct pd_topology *topology, const struct pd_addr *addr,
                            uint8_t ip_version);

#endif

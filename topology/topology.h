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

/* Any graph: a regular shape is asked for by codecs alone. Immutable once built, so any number of
 * threads may read it. Switches and hosts are kept in ascending order of ID and named inside the
 * program by their index in that order; IDs are only for people, files and paths. Links have
 * numbers of their own (topology/links.h).
 *
 * A port number is the neighbour's rank, from 1: first the switch's neighbouring switches in
 * ascending order of ID, then its hosts. Rules (OpenFlow, P4, tc) use these numbers;
 * "source_port"/"target_port" in a link override them, and parallel links need them. */

enum pd_switch_role {
    PD_ROLE_TOR,
    PD_ROLE_AGG,
    PD_ROLE_CORE,
    PD_ROLE_INTERMEDIATE,
    PD_ROLE_LEAF,
    PD_ROLE_SPINE,
    PD_ROLE_SWITCH, /* no place in a regular shape */
    PD_ROLE_HOST
};

/* Of the highest layer of a regular shape. */
static inline bool pd_role_is_top(enum pd_switch_role role)
{
    return role == PD_ROLE_CORE || role == PD_ROLE_INTERMEDIATE || role == PD_ROLE_SPINE;
}

#define PD_NONE         UINT32_MAX /* "no such index" */
#define PD_HOMES_MAX    64         /* switches that a host may hang at */
#define PD_TPID_DEFAULT 0x8100     /* of link tags */
#define PD_TPID_SERVICE 0x88a8
#define PD_CODECS_MAX   8   /* of one topology */
#define PD_MAX_HOPS_MAX 127 /* links of a path of 128 switches */

/* Parallel links are one neighbour, with the port of the first of them. */
struct pd_neighbour {
    uint32_t node;     /* index of a switch, or of a host when is_host */
    uint32_t link;     /* directed, from this switch; further parallel ones follow in steps of 2 */
    uint16_t port;     /* on this switch, towards the neighbour */
    uint16_t link_tag; /* "tag" of the link in the file, 0 when the codec assigns it */
    uint16_t parallel; /* how many links, 1 mostly */
    bool is_host;
};

#define PD_PATH_ID_MAX ((UINT64_C(1) << 48) - 1)

struct pd_switch {
    uint32_t id;
    enum pd_switch_role role;
    uint32_t pod;      /* from 1; 0 where the topology has none */
    uint32_t position; /* in its layer of a regular shape, from 1; 0: its name tells, or its ID */
    const char *name;
    /* switches in ascending order of ID, then hosts likewise */
    const struct pd_neighbour *neighbours;
    uint32_t switch_neighbours; /* how many of them are switches */
    uint32_t neighbours_len;
    const struct pd_prefix *prefixes; /* of the rack */
    uint32_t prefixes_len;
    const struct pd_prefix *addrs; /* of no single link, as loopbacks; prefixes of full length */
    uint32_t addrs_len;
    float x, y;         /* where it is drawn; NAN: not given */
    uint32_t ioam_id;   /* what it writes on packets as its IOAM node ID */
    uint64_t dpid;      /* what it calls itself in OpenFlow */
    uint64_t path_id;   /* what its bits of a path filter are made of; at most PD_PATH_ID_MAX */
    struct pd_addr sid; /* of its /64 of SRv6 segments: that of port p is sid::p; all 0: none */
};

struct pd_host {
    uint32_t id;
    const char *name;
    uint32_t tor;         /* index of its switch, the first when it has several */
    const uint32_t *tors; /* all of them, ascending */
    uint32_t tors_len;    /* 1 to PD_HOMES_MAX */
    const struct pd_addr *addrs;
    const uint8_t *ip_versions; /* of each address */
    uint32_t addrs_len;
};

/* Whether it is linked with this switch (an index). */
static inline bool pd_host_hangs_at(const struct pd_host *host, uint32_t sw)
{
    bool hangs = false;
    for (uint32_t t = 0; t < host->tors_len; t++) {
        hangs |= host->tors[t] == sw;
    }
    return hangs;
}

/* What becomes of frames of hosts that come with link tags. */
enum pd_edge_option { PD_EDGE_DROP, PD_EDGE_STRIP, PD_EDGE_OPEN };

/* One of the file's codecs and what "codec_options" says of it. */
struct pd_codec_choice {
    const char *name;
    const char *options; /* the JSON object as text, for the scheme to read; "": none */
    uint16_t tpid;       /* of link tags, 0x8100 or 0x88a8 */
    uint16_t max_hops;   /* paths with more links are suspicious; 0: the scheme's own limit */
    enum pd_edge_option edge;
};

struct pd_link; /* topology/links.h */

struct pd_topology {
    const char *name;
    const char *codec; /* name of the first; "" when the file has none */
    const struct pd_codec_choice *codecs;
    uint32_t codecs_len;
    const struct pd_switch *switches;
    uint32_t switches_len;
    const struct pd_host *hosts;
    uint32_t hosts_len;
    const struct pd_link *links; /* those between switches, then those of hosts */
    uint32_t links_len;
    uint32_t fabric_links_len; /* between switches */
    uint32_t components;       /* connected parts */
    void *storage;             /* owns all of the above and the look-up tables */
};

/* Three of the generators (topology/generators.h), without addresses of interfaces. -PD_E_VALUE
 * with the reason beyond their limits. IDs and addresses are in docs/formats/topology.md. */
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

/* Writes the JSON form, one node or link a line. 0, -ENOMEM or -errno. */
int pd_topology_write(const struct pd_topology *topology, FILE *out);
/* The same without hosts and their links: a switch with a rack has "hosts":N instead. For people
 * who look at the network; the reader does not take it. */
int pd_topology_write_switches(const struct pd_topology *topology, FILE *out);

void pd_topology_free(struct pd_topology *topology); /* NULL is fine */

const char *pd_topology_role_name(enum pd_switch_role role);
bool pd_topology_role_is_tor(
    enum pd_switch_role role); /* ToR or leaf: a switch with a rack below */
/* Traffic may begin and end here: a ToR or leaf, or any switch with hosts or prefixes. */
bool pd_topology_switch_has_rack(const struct pd_switch *sw);

/* What the file says of this codec; NULL: it does not name it. */
const struct pd_codec_choice *pd_topology_codec(const struct pd_topology *topology,
                                                const char *name);

/* Index of the switch or host with this ID, or PD_NONE. */
uint32_t pd_topology_switch(const struct pd_topology *topology, uint32_t id);
uint32_t pd_topology_host(const struct pd_topology *topology, uint32_t id);

/* Index of the switch with this IOAM node ID, or PD_NONE. */
uint32_t pd_topology_ioam(const struct pd_topology *topology, uint32_t ioam_id);
/* The same by its datapath ID. */
uint32_t pd_topology_datapath(const struct pd_topology *topology, uint64_t dpid);

/* The neighbour entry of `from` for switch `to` (both indexes), or NULL when they are not adjacent.
 */
const struct pd_neighbour *pd_topology_link(const struct pd_topology *topology, uint32_t from,
                                            uint32_t to);

/* Index of the switch whose prefixes hold the address, the first where several share them, or
 * PD_NONE. Fast: once per decoded record. */
uint32_t pd_topology_tor_of(const struct pd_topology *topology, const struct pd_addr *addr,
                            uint8_t ip_version);

/* The one switch that the address lies behind; PD_NONE: none, or one of several, which only a path
 * can tell. */
uint32_t pd_topology_tor_alone(const struct pd_topology *topology, const struct pd_addr *addr,
                               uint8_t ip_version);

/* All switches that the address may lie behind, ascending: those of the host when it hangs at
 * several, else those with its prefix. How many; 0: no rack has it. */
uint32_t pd_topology_tors_of(const struct pd_topology *topology, const struct pd_addr *addr,
                             uint8_t ip_version, uint32_t ret_tors[PD_HOMES_MAX]);

/* Index of the switch with this interface address ("addrs" of a switch, "source_addrs" and
 * "target_addrs" of its links), or PD_NONE. *ret_link (may be NULL): the directed link that the
 * interface sends into, PD_NONE for an address of the whole switch. */
uint32_t pd_topology_interface(const struct pd_topology *topology, const struct pd_addr *addr,
                               uint8_t ip_version, uint32_t *ret_link);

#endif

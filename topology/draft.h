/* SPDX-License-Identifier: Apache-2.0 */
/* A topology before it is checked: nodes and links as the file or a generator gives them. */
#ifndef PD_TOPOLOGY_DRAFT_H
#define PD_TOPOLOGY_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "topology/findings.h"
#include "topology/topology.h"

/* A node's or link's index in the draft is its place in the file ("nodes[3]", "links[12]"). Reader
 * and generators fill a draft and hand it to pd_topology_build, which checks it and makes the
 * compact, immutable form. All in this header is internal to topology/, and belongs to one thread.
 */

#define PD_NODES_MAX      2097152
#define PD_LINKS_MAX      4194304
#define PD_NAME_MAX       64   /* bytes of a node's, topology's or codec's name */
#define PD_NODE_ADDRS_MAX 64   /* addresses of a node or of one end of a link, prefixes */
#define PD_OPTIONS_MAX    4096 /* bytes of a codec's options */
#define PD_NEIGHBOURS_MAX 4096 /* of one switch */

struct pd_draft_node {
    uint32_t id;
    uint32_t pod;      /* 0: none */
    uint32_t position; /* 0: none */
    uint32_t name;     /* offset in `strings` */
    uint32_t addrs;    /* first of its prefixes or addresses in `addrs`; interfaces come behind */
    uint8_t addrs_len;
    uint8_t interfaces_len; /* addresses of a switch */
    uint8_t role;           /* enum pd_switch_role */
    uint32_t index;         /* in the topology; set by pd_topology_build */
    float x, y;             /* NAN: none */
    uint32_t ioam_id;       /* 0: the ID */
    uint64_t dpid;          /* 0: the ID */
    uint64_t path_id;       /* 0: the ID */
    struct pd_addr sid;     /* all 0: none */
};

struct pd_draft_link {
    uint32_t ids[2];   /* source, target */
    uint32_t nodes[2]; /* the same as indexes of `nodes`; set by pd_topology_draft_check */
    uint32_t addrs;    /* first of its interfaces' addresses in `addrs`: source's, then target's */
    uint32_t mbps;     /* 0: none */
    uint16_t ports[2]; /* 0: the neighbour's rank */
    uint16_t cards[2]; /* 0: none */
    uint16_t tag;      /* 0: none */
    uint8_t addrs_len[2];
};

struct pd_draft_codec {
    uint32_t name, options; /* offsets in `strings` */
    uint16_t tpid, max_hops;
    enum pd_edge_option edge;
};

struct pd_draft {
    struct pd_draft_node *nodes;
    size_t nodes_len, nodes_room;
    struct pd_draft_link *links;
    size_t links_len, links_room;
    struct pd_prefix *addrs; /* host addresses are prefixes of full length */
    size_t addrs_len, addrs_room;
    char *strings; /* NUL-terminated, one after the other; offset 0 is "" */
    size_t strings_bytes, strings_room;
    uint32_t name; /* offset in `strings` */
    struct pd_draft_codec codecs[PD_CODECS_MAX];
    uint32_t codecs_len;
    /* indexes of `nodes`: switches in ascending order of ID, then hosts; set by pd_topology_build
     */
    uint32_t *by_id;
};

/* 0 or -ENOMEM; done works on a half-built or zeroed draft. */
int pd_topology_draft_init(struct pd_draft *draft);
void pd_topology_draft_done(struct pd_draft *draft);

/* Add one at the end. The node's addresses are those added by pd_topology_draft_addr after it, then
 * those of a switch's interfaces; a link's are those of its source (end 0), then of its target (1).
 * 0 or -ENOMEM. */
int pd_topology_draft_node(struct pd_draft *draft, uint32_t id, enum pd_switch_role role,
                           uint32_t pod);
int pd_topology_draft_addr(struct pd_draft *draft, const struct pd_prefix *prefix);
int pd_topology_draft_interface(struct pd_draft *draft, const struct pd_prefix *prefix);
int pd_topology_draft_link(struct pd_draft *draft, uint32_t source, uint32_t target);
int pd_topology_draft_link_addr(struct pd_draft *draft, int end, const struct pd_prefix *prefix);
int pd_topology_draft_codec(struct pd_draft *draft, const char *name, const char *options);
/* Copies a string and gives its offset. */
int pd_topology_draft_string(struct pd_draft *draft, const char *text, size_t bytes,
                             uint32_t *ret_offset);

/* ---- from draft to topology */

/* IDs, ends of links, prefixes and addresses, as far as they show without the graph. */
int pd_topology_draft_check(struct pd_draft *draft, struct pd_findings *findings);

/* Links in the order in which they are numbered, neighbours and ports (build_links.c). Needs the
 * nodes of topology and storage. 0 or -ENOMEM. */
int pd_topology_build_links(struct pd_draft *draft, struct pd_findings *findings,
                            struct pd_topology *topology);

/* All checks, then the topology. Returns 0 also when there are findings: then nothing is built.
 * -ENOMEM. */
int pd_topology_build(struct pd_draft *draft, struct pd_findings *findings,
                      struct pd_topology **ret_topology);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The edge: what a switch does with marks that hosts put on their own packets. */
#ifndef PD_CODEC_EDGE_H
#define PD_CODEC_EDGE_H

#include "codec/codec.h"
#include "packet/tags.h"

/* What a host sends is not what a switch wrote. So the table of a switch begins with rows for its
 * ports that face hosts of the topology: packets with a tag of the link tags' type are dropped, or
 * lose it and go on ("edge" of "codec_options"; `open` leaves them as they are), and a scheme that
 * writes the DSCP finds it cleared. Tenants' tags of another type pass. Schemes that write neither
 * have no such rows: their first switch writes over what it finds.
 *
 * The proof executes the whole table of each switch on every kind of packet that a host can send:
 * by family, DSCP, number of tags, type and priority of each. It *leaks* where a packet keeps a
 * mark of its host's making, or gets to the controller.
 *
 * Thread safety: pure. */

enum pd_edge_option pd_codec_edge(const struct pd_codec *codec);

/* Ports of a switch that face hosts. */
uint32_t pd_codec_edge_ports(const struct pd_topology *topology, uint32_t sw);

/* Adds a switch's rows of the edge that stand before all others, and those that stand behind: what
 * is no IP packet to the switch never meets another. 0 or -ENOMEM. */
int pd_codec_edge_rows(const struct pd_codec *codec, uint32_t sw, struct pd_codec_rows *rows);
int pd_codec_edge_last(const struct pd_codec *codec, uint32_t sw, struct pd_codec_rows *rows);

static inline bool pd_codec_is_edge_row(const struct pd_codec_row *row)
{
    return row->priority >= PD_ROW_EDGE || row->family == PD_ROW_OLD;
}

/* A packet as its host sends it. */
struct pd_codec_edge_packet {
    uint16_t in_port;
    uint8_t family; /* behind all tags: 4, 6 or PD_ROW_ARP; 0: anything else */
    uint8_t dscp, len;
    struct pd_codec_edge_tag {
        uint16_t tpid, vid;
        uint8_t pcp;
    } tags[PD_TAGS_MAX]; /* the outermost first */
};
enum pd_codec_edge_fate { PD_EDGE_PASSES, PD_EDGE_DROPPED, PD_EDGE_PUNTED };

/* What a switch with these rows makes of it before it tags: changed in place. */
enum pd_codec_edge_fate pd_codec_edge_take(const struct pd_codec_rows *rows,
                                           struct pd_codec_edge_packet *packet);

/* What is left of link tags and a DSCP that a host has put on an IP packet behind this switch. 0 or
 * -ENOMEM. */
int pd_codec_edge_pass(const struct pd_codec *codec, uint32_t sw, uint64_t own,
                       enum pd_codec_edge_fate *ret_fate, uint64_t *ret_left);

/* Whether something of a host's own making comes in by this port of a switch with these rows. */
bool pd_codec_edge_leaks(const struct pd_codec *codec, const struct pd_codec_rows *rows,
                         uint16_t port);

struct pd_codec_edge_proof {
    uint64_t ports;   /* that face hosts, of all switches */
    uint64_t rows;    /* of the edge */
    uint64_t leaks;   /* ports of them by which a host's own mark comes in */
    uint64_t unknown; /* switches with a rack whose ports the topology does not have */
};

/* 0 or -ENOMEM. */
int pd_codec_edge_prove(const struct pd_codec *codec, enum pd_depth depth,
                        struct pd_codec_edge_proof *ret_proof);

#endif

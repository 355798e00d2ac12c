/* SPDX-License-Identifier: Apache-2.0 */
/* Rows: a switch's concrete table entries, worked out once for all that install them. */
#ifndef PD_CODEC_ROWS_H
#define PD_CODEC_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/flow_id.h"

/* A scheme makes the rows of a switch; OpenFlow text (openflow.h), OpenFlow messages of the
 * controller, the test bed's kernel switches and others write them out and decide nothing. A
 * packet comes in by a port; the matching row of the highest priority acts on it, before it is
 * forwarded. Rows of one priority never match one packet. Where none matches, it stays as it is.
 *
 * Thread safety: a list belongs to whoever made it. */

enum pd_depth { PD_DEPTH_PCP, PD_DEPTH_PLAIN }; /* tag depth kept in the outer PCP, or not */

enum pd_row_action {
    PD_ROW_PASS,  /* nothing */
    PD_ROW_PUSH,  /* push a VLAN tag with this ID */
    PD_ROW_DSCP,  /* set the DSCP */
    PD_ROW_BEGIN, /* clear the mark, then set these bits of it */
    PD_ROW_ADD,   /* set these bits of the mark */
    PD_ROW_PUNT,  /* to the controller, and nowhere else */
    PD_ROW_DROP,  /* nowhere */
    PD_ROW_STRIP  /* take the outer tag off and look at the packet again */
};

/* Matches whatever mark a packet has. */
#define PD_ROW_ANY_MARK .dscp = PD_ROW_ANY, .depth = PD_ROW_ANY

#define PD_ROW_ANY      255   /* of `dscp` and `depth`: not looked at */
#define PD_ROW_TENANT   254   /* of `depth`: no link tag, but one of a tenant of priority 0 */
#define PD_ROW_TAGGED   253   /* of `depth`: a link tag, whatever its priority */
#define PD_ROW_ARP      1     /* of `family` */
#define PD_ROW_OLD      2     /* of `family`: a tag of 0x9100, read by receivers alone */
#define PD_ROW_READ     2     /* tags that switches read */
#define PD_ROW_EDGE     60000 /* least priority of the edge's rows (edge.h); all others have less */
#define PD_ROW_PRIORITY \
    100 /* of the last row but the one for all packets; those before have more */

struct pd_codec_row {
    uint16_t priority;
    uint16_t in_port; /* 0: any */
    uint8_t family;   /* 4, 6, PD_ROW_ARP, PD_ROW_OLD; 0: any packet, also what is none of these */
    uint8_t dscp;     /* or PD_ROW_ANY */
    uint8_t depth;    /* link tags that the packet has, or PD_ROW_ANY */
    uint8_t action;   /* enum pd_row_action */
    struct pd_prefix src, dst; /* ip_version 0: any address */
    uint32_t value;            /* VLAN ID, DSCP or bits */
};

/* Where BEGIN and ADD find the mark. */
enum pd_row_carrier { PD_ROW_CARRIER_NONE, PD_ROW_VXLAN, PD_ROW_VLAN, PD_ROW_VLAN2 };

struct pd_codec_rows {
    struct pd_codec_row *rows; /* in descending order of priority */
    size_t len, room;
    uint16_t tpid; /* of tags that are pushed */
    uint8_t carrier;
    uint8_t turn_bits; /* ADD first turns a filter of so many bits by one; 0: it does not */
};

/* Adds a copy at the end. 0 or -ENOMEM. */
int pd_codec_rows_add(struct pd_codec_rows *rows, const struct pd_codec_row *row);
void pd_codec_rows_done(struct pd_codec_rows *rows); /* works on a zeroed list, too */

#endif

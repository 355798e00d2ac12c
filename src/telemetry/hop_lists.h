/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of hops by number: a packet's way as switches wrote it, as small as a mark. */
#ifndef PD_TELEMETRY_HOP_LISTS_H
#define PD_TELEMETRY_HOP_LISTS_H

#include "telemetry/telemetry.h"

/* Trajectory records have a mark of 64 bits, and a way has up to 64 switches: equal lists of IDs
 * get one number, which is the mark; whoever decodes asks for the list. Intakes give numbers, the
 * store's thread and queries ask for lists, and marks outlive topologies that are read again, so
 * that there is one table in a process, and a number is never taken back. It is bounded: lists
 * beyond PD_HOP_LISTS_BYTES_MAX are PD_HOP_LISTS_FULL, whose way is not known.
 *
 * Thread safety: any thread, one lock. */

#define PD_HOP_LISTS_BYTES_MAX (64U << 20)
#define PD_HOP_LISTS_FULL      1 /* number of the list that is none */

/* Numbers stand above the bits of link tags (packet/tags.h), so that nobody takes them for such. */
#define PD_HOP_LISTS_SHIFT 9

struct pd_hop_list {
    enum pd_telemetry_kind kind;
    bool cut; /* the end is missing, or what was to come */
    uint32_t len;
    uint32_t nodes[PD_TELEMETRY_HOPS_MAX]; /* IDs as written; 0: not known */
};

/* The mark of what a packet carried. */
uint64_t pd_telemetry_hop_lists_mark(const struct pd_telemetry *telemetry);

/* The mark of a frame (packet/packet.h). What is malformed is no telemetry: 0. */
uint64_t pd_telemetry_hop_lists_read(const uint8_t *frame, size_t captured,
                                     const struct pd_packet *packet);

/* The list of a mark. 0; -PD_E_NOT_FOUND: no telemetry; -PD_E_LIMIT: the table was full;
 * -PD_E_VALUE: not a mark of this process. */
int pd_telemetry_hop_lists_find(uint64_t mark, struct pd_hop_list *ret_list);

#endif

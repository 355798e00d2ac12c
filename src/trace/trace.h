/* SPDX-License-Identifier: Apache-2.0 */
/* A trace: a flow that suffered, when, and the way that its packets took. */
#ifndef PD_TRACE_TRACE_H
#define PD_TRACE_TRACE_H

#include <stddef.h>

#include "base/claim.h"
#include "base/error.h"
#include "base/flow_id.h"
#include "trace/way.h"

/* As it is told and stored: in the TIB of the flow's sender, as a record whose claim is of origin
 * `trace`, with the rest in a chunk of further columns (docs/formats/tib.md, kind 3). Such a record
 * has no packets and no bytes: what was counted are retransmissions.
 *
 * Thread safety: pure. */

#define PD_TRACE_EXTRA_KIND 3
/* A chunk with its kind and length: 62 bytes and 26 for each hop. */
#define PD_TRACE_EXTRA_BYTES_MAX (62u + 26u * PD_PATH_MAX)

struct pd_trace {
    struct pd_flow_id flow; /* as its sender has it */
    struct pd_addr dip; /* the server itself: the flow's destination, or what a VIP stands for */
    uint16_t dip_port;
    uint8_t traffic_class;
    uint32_t flow_label;
    uint64_t time_us, epoch_us; /* first probe; begin of the epoch */
    uint64_t last_us;           /* last retransmission of the epoch */
    uint32_t retransmissions;   /* in the epoch, less what the receiver had already */
    struct pd_trace_way way;
    unsigned hops_len; /* from TTL 1 on, up to the last that was answered */
    struct pd_trace_hop hops[PD_PATH_MAX];
};

/* What is known of the way; `ret_claim` points into the trace. */
void pd_trace_claim(const struct pd_trace *trace, struct pd_claim *ret_claim);

/* The chunk, with its kind and length; returns its bytes. */
size_t pd_trace_extra_write(const struct pd_trace *trace,
                            uint8_t ret_bytes[PD_TRACE_EXTRA_BYTES_MAX]);

/* What a chunk (without kind and length) tells: all but flow, path and retransmissions, which are
 * the record's own. It may be anything. -PD_E_CORRUPT. */
int pd_trace_extra_read(const uint8_t *bytes, size_t len, struct pd_trace *trace);

#endif

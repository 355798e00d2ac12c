/* SPDX-License-Identifier: Apache-2.0 */
/* Raw and packet sockets of one network namespace: probes out, ICMP errors in. */
#ifndef PD_TRACE_WIRE_H
#define PD_TRACE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/icmp.h"
#include "trace/probe.h"

/* Needs CAP_NET_RAW. Raw packets bring their own IP header: no checksum is mended on their way, by
 * the kernel or by the interface, and no socket of the flow knows of them.
 *
 * A host that rewrites addresses itself (DNAT) also rewrites what answers say, with who says it:
 * all of them then seem to come from the virtual address. So where there are such addresses,
 * answers are taken by packet sockets, before that; a filter in the kernel lets nothing else
 * through. Elsewhere raw sockets do, which other packets never pass.
 *
 * Thread safety: one thread. */

struct pd_trace_wire {
    int send_fds[2]; /* IPv4, IPv6 */
    int icmp_fds[2];
    bool unchanged; /* icmp_fds are packet sockets */
};

/* In the network namespace of the calling thread. Where one family is not to be had, the other
 * works. `unchanged`: answers are taken as they are on the wire. -EPERM … */
int pd_trace_wire_open(bool unchanged, struct pd_trace_wire *ret_wire, struct pd_error *error);
void pd_trace_wire_close(struct pd_trace_wire *wire);

/* One probe for each TTL of the list, all at once. How many have left. */
unsigned pd_trace_wire_send(struct pd_trace_wire *wire, const struct pd_trace_header *header,
                            const uint8_t *ttls, const uint32_t *cookies, unsigned len);

/* The next answer of a family (0: IPv4, 1: IPv6), who sent it, and when (monotonic). 1; 0: it is no
 * error that quotes TCP; -EAGAIN: no more. */
int pd_trace_wire_next(struct pd_trace_wire *wire, unsigned family,
                       struct pd_trace_quote *ret_quote, uint64_t *ret_time_ns);

#endif

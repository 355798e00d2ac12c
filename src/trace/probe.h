/* SPDX-License-Identifier: Apache-2.0 */
/* Probes of a trace: packets that routers treat like the flow's own, and that its receiver drops.
 */
#ifndef PD_TRACE_PROBE_H
#define PD_TRACE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/flow_id.h"
#include "base/siphash.h"

/* Paper 003, section 4: the flow's addresses and ports, no payload, and a TCP checksum that is
 * wrong, so that no receiver takes it. The TTL stands in the IP ID. IPv6 has none, and an ID is
 * easily guessed: the sequence number is a cookie, made with this process' key from flow, epoch and
 * TTL, which every ICMP error quotes. So nothing must be kept to know one's own probe again.
 *
 * Probes carry the flag ACK. To the server behind a virtual address they carry none: conntrack of
 * this host would take an ACK for a new connection, whose answers are those of the flow's own, and
 * give it another source port, by which routers choose another path. No flag is no connection.
 *
 * Thread safety: pure. */

#define PD_TRACE_PROBE_BYTES_MAX 60

struct pd_trace_header {
    struct pd_flow_id flow; /* as it is on the wire: with the address of the server itself */
    uint32_t flow_label;    /* these two as on the packet that was lost */
    uint8_t traffic_class;  /* without ECN, so that no router may mark it */
    bool rewritten;         /* the flow's sockets know another address than the server's */
};

uint32_t pd_trace_cookie(const uint8_t key[PD_SIPHASH_KEY_BYTES], const struct pd_flow_id *flow,
                         uint64_t epoch, uint8_t ttl);

/* Writes the packet from its IP header on; returns its bytes. */
size_t pd_trace_probe_write(const struct pd_trace_header *header, uint8_t ttl, uint32_t cookie,
                            uint8_t ret_bytes[PD_TRACE_PROBE_BYTES_MAX]);

#endif

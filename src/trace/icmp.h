/* SPDX-License-Identifier: Apache-2.0 */
/* What a router answers: ICMP errors, and the packet that they quote. */
#ifndef PD_TRACE_ICMP_H
#define PD_TRACE_ICMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/flow_id.h"

/* "Time exceeded" tells of a hop; "unreachable" of the router where the way ends. Of the quoted
 * packet only so much is read as every router has to quote: its addresses, its ports and its
 * sequence number. Anything may stand in an answer, and anybody may send one.
 *
 * Thread safety: pure. */

struct pd_trace_quote {
    struct pd_flow_id flow;
    uint32_t cookie;
    uint16_t ip_id;      /* IPv4 */
    bool unreachable;    /* else the TTL ran out */
    struct pd_addr from; /* IPv4: who answers; IPv6: zero, since its header is not given */
};

/* IPv4: from the IP header of the answer on; IPv6: from its ICMP header on, whose checksum the
 * kernel has checked. -PD_E_SYNTAX: no error of ICMP, or one that quotes no TCP packet. */
int pd_trace_icmp_read(uint8_t ip_version, const uint8_t *bytes, size_t len,
                       struct pd_trace_quote *ret_quote);

#endif

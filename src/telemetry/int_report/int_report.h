/* SPDX-License-Identifier: Apache-2.0 */
/* Telemetry Report v2.0: what switches send to a collector by themselves. */
#ifndef PD_TELEMETRY_INT_REPORT_H
#define PD_TELEMETRY_INT_REPORT_H

#include "telemetry/bytes.h"
#include "telemetry/telemetry.h"

/* P4.org, Telemetry Report Format Specification, 2.0. A datagram has a head and one report or more;
 * each is of one packet: what the sender itself measured (RepType 1), and the packet's first bytes,
 * in which a stack of INT-MD may stand. Postcards (INT-XD, INT-MX) are reports without a stack.
 * Metadata of a domain are skipped. All input is hostile. */

struct pd_int_report_head {
    uint32_t node; /* who sends */
    uint32_t seq;  /* 22 bits, of this node and hardware ID */
    uint8_t hardware;
};

enum pd_int_report_inner {
    PD_INT_REPORT_NO_PACKET,
    PD_INT_REPORT_ETHERNET,
    PD_INT_REPORT_IPV4,
    PD_INT_REPORT_IPV6
};

struct pd_int_report {
    bool dropped, congested, tracked, intermediate;
    bool has_reason;
    uint8_t reason;              /* why it was dropped, in the switch's own numbers */
    struct pd_telemetry_hop hop; /* the sender's own; `known` has at least PD_TELEMETRY_NODE */
    bool measured;               /* the sender wrote metadata of its own */
    enum pd_int_report_inner inner;
    struct pd_bytes packet; /* its first bytes, within the datagram */
};

/* -PD_E_SYNTAX: not a datagram of version 2. */
int pd_int_report_begin(struct pd_bytes *datagram, struct pd_int_report_head *ret_head);
/* The next one. 0; -PD_E_NOT_FOUND: that was the last; -PD_E_SYNTAX: lengths lie, and nothing more
 * can be read. */
int pd_int_report_next(struct pd_bytes *datagram, const struct pd_int_report_head *head,
                       struct pd_int_report *ret_report);

#endif

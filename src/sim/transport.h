/* SPDX-License-Identifier: Apache-2.0 */
/* Which transport senders run at the level of packets, and what telemetry adds to packets. */
#ifndef PD_SIM_TRANSPORT_H
#define PD_SIM_TRANSPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Paper 002, sections 2 and 6.1. Without any of the members, senders run the TCP of tcp.h, and
 * acknowledgements take no room. With one of them each packet has the room that it has on the wire:
 * data and acknowledgements share the ports, and what telemetry adds counts. Immutable once read.
 */

#define PD_SIM_ACK_BYTES     52 /* IP and TCP with timestamps */
#define PD_SIM_INT_BYTES     8  /* header of INT */
#define PD_SIM_INT_HOP_BYTES 12 /* time, queue, bytes sent: 4 bytes each, a switch */
#define PD_SIM_TAG_BYTES     4  /* a digest in a tag */
#define PD_SIM_OVERHEAD_MAX  1000

enum pd_sim_transport_kind { PD_SIM_TCP, PD_SIM_HPCC_INT, PD_SIM_HPCC_PINT };

struct pd_sim_transport {
    enum pd_sim_transport_kind kind;
    bool roomy;              /* acknowledgements take room */
    bool overhead_given;     /* else it is what the transport's telemetry takes */
    uint32_t overhead_bytes; /* of each data packet on each link */
    uint32_t hop_ns;         /* processing and propagation */
};

/* "transport", "overhead_bytes" and "hop_ns" of a scenario. */
int pd_sim_transport_read(const json_t *root, bool packets, struct pd_sim_transport *ret_transport,
                          struct pd_error *error);

/* On link number `hop` of a route, from 0: what telemetry takes on a data packet, and the bytes of
 * an acknowledgement that carries the echo of all `switches`. */
double pd_sim_transport_overhead(const struct pd_sim_transport *transport, uint32_t hop);
double pd_sim_transport_ack(const struct pd_sim_transport *transport, uint32_t switches);

#endif

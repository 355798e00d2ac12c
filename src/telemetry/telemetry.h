/* SPDX-License-Identifier: Apache-2.0 */
/* What switches wrote on a packet: one entry for each switch that it crossed. */
#ifndef PD_TELEMETRY_TELEMETRY_H
#define PD_TELEMETRY_TELEMETRY_H

#include "base/path.h"
#include "packet/packet.h"
#include "topology/topology.h"

/* Three formats: the entries of this project's probes (sr-int), IOAM traces in IPv6 hop-by-hop
 * options (RFC 9197, 9486), INT-MD v2.1 behind TCP or UDP. Each is read as it is written: the path
 * is the IDs that the switches wrote, and only what stands there. Whether it is a path of the
 * topology is another question: pd_telemetry_prove().
 *
 * All input is hostile; nothing is read beyond what was captured. No state, any number of threads.
 */

#define PD_TELEMETRY_HOPS_MAX 64
#define PD_TELEMETRY_PORT     2222 /* UDP port of probes */
#define PD_TELEMETRY_DSCP     0x17 /* of packets with INT, unless set otherwise */

enum pd_telemetry_kind {
    PD_TELEMETRY_NONE,
    PD_TELEMETRY_SR_INT,
    PD_TELEMETRY_IOAM,
    PD_TELEMETRY_INT_MD,
    PD_TELEMETRY_INT_XD, /* of postcards: the order is not known */
};

/* What an entry says; the rest of its members is 0. */
enum pd_telemetry_known {
    PD_TELEMETRY_NODE = 1,
    PD_TELEMETRY_IN_PORT = 2,
    PD_TELEMETRY_OUT_PORT = 4,
    PD_TELEMETRY_INGRESS = 8,
    PD_TELEMETRY_RESIDENCE = 16,
    PD_TELEMETRY_QUEUE = 32,
};

struct pd_telemetry_hop {
    uint64_t ingress_ns; /* of the switch's clock, as many digits as the format has */
    uint32_t node;       /* the ID that the switch wrote */
    uint32_t in_port, out_port;
    uint32_t residence_ns;
    uint32_t queue_bytes;
    uint32_t known; /* bits of enum pd_telemetry_known */
};

/* The head of a probe: sr_int/sr_int.h. */
struct pd_telemetry_probe {
    uint32_t plan, number, seq;
    uint64_t sent_ns;
    uint64_t hash; /* as written; whoever has the key checks it */
    uint8_t flags;
};

struct pd_telemetry {
    enum pd_telemetry_kind kind;
    bool cut;   /* overflow, or more entries than are read */
    bool probe; /* is it one? Then `head` is its */
    struct pd_telemetry_probe head;
    uint32_t hops_len;
    struct pd_telemetry_hop hops[PD_TELEMETRY_HOPS_MAX]; /* first switch first */
};

/* Reads the telemetry of a frame that pd_packet_parse() took apart. -PD_E_NOT_FOUND when it has
 * none, -PD_E_SYNTAX when what it has is malformed. */
int pd_telemetry_read(const uint8_t *frame, size_t captured, const struct pd_packet *packet,
                      uint8_t int_dscp, struct pd_telemetry *ret_telemetry);

/* The switches that the entries name, as indexes of the topology; PD_NONE for an ID that it does
 * not have. Complete: nothing is cut off, each switch is known and each step is a link, the first
 * one is a switch of the source's and the last one of the destination's. */
bool pd_telemetry_prove(const struct pd_telemetry *telemetry, const struct pd_topology *topology,
                        const struct pd_flow_id *flow,
                        uint32_t ret_switches[PD_TELEMETRY_HOPS_MAX]);

const char *pd_telemetry_kind_name(enum pd_telemetry_kind kind); /* "sr-int" */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a switch in the kernel, as its BPF program and the process that fills them both see
 * them. */
#ifndef TESTBED_FABRICS_TC_TABLES_H
#define TESTBED_FABRICS_TC_TABLES_H

#include <linux/types.h>

#define PORTS_MAX       64 /* port numbers are below that; 0 is none */
#define SLOTS_MAX       64 /* of a route: a power of 2 */
#define PLACES_MAX      4096
#define ROUTES_MAX      16384
#define VLANS_PARSED    2 /* a packet with more is not understood */
#define RING_BYTES      (1 << 18)
#define PUNT_DATA_BYTES 2048 /* a power of 2 */
#define PORT_OWN        255  /* "comes in" what the switch says itself */
#define EXPIRED_BYTES   128  /* of a packet whose TTL has ended; a power of 2 */

/* Where an address belongs: IPv4 addresses are looked up as ::ffff:a.b.c.d. */
struct place_key {
    __u32 bits;
    __u8 addr[16];
};
struct place {
    __u32 target; /* ID of a rack or of a host: what routes lead to */
    __u32 inside; /* a prefix of the switch's rows holds it */
};

/* in_port 0: for all ports that have no route of their own. */
struct route_key {
    __u32 in_port;
    __u32 target;
};
enum route_mode { ROUTE_HASH, ROUTE_SPRAY, ROUTE_STRIP, ROUTE_KEEP, ROUTE_MODES };
struct route {
    __u32 mode; /* of enum route_mode; the last two are of hosts, with tags taken off or not */
    __u32 len;
    __u16 slots[SLOTS_MAX]; /* ports; one with a weight stands here more than once */
    __u16 large_tcp_port;   /* flows to this TCP port leave by large_slot; 0: none do */
    __u16 large_slot;
};

/* What the codec wants done with a packet, by port and by which of its addresses are inside. */
#define RULE_KEY(in_port, src_inside, dst_inside) ((in_port)*4 + !!(src_inside)*2 + !!(dst_inside))
/* BEGIN and ADD: of a path filter in the TCI of one tag. */
enum rule_action { RULE_NONE, RULE_PUSH, RULE_DSCP, RULE_PUNT, RULE_BEGIN, RULE_ADD };
struct action {
    __u16 what; /* of enum rule_action */
    __u16 value;
};

/* A packet that the controller sends through the tables of a switch comes in by the loopback of its
 * namespace, with a mark that says which switch and port it is for. */
#define INJECTED(switch_id, in_port) ((switch_id) << 8 | (in_port))
struct rule {
    struct action dscp_zero, dscp_set;
};

/* What becomes of packets with tags, by the port that they come in by. */
enum edge_action { EDGE_NONE, EDGE_DROP, EDGE_STRIP };

/* What is behind a port, as meters see it; all ports of a switch at the top begin segments. */
enum meter_port { METER_NO_PORT, METER_TO_SWITCH, METER_TO_HOST, METER_AT_TOP };

/* A telemetry plan (docs/formats/pint.md), worked out by src/codec/pint. */
#define PINT_QUERIES 16
#define PINT_SETS    64
#define PINT_FIELDS  16
#define PINT_LAYERS  16
#define PINT_CODES   256
enum pint_aggregation { PINT_STATIC, PINT_DYNAMIC, PINT_PACKET, PINT_LOOP };
enum pint_function { PINT_MAX, PINT_MIN, PINT_SUM };
/* Those from PINT_QUEUE on are known where the packet leaves. */
enum pint_source {
    PINT_SWITCH_ID,
    PINT_INGRESS_PORT,
    PINT_HOP_LATENCY,
    PINT_QUEUE,
    PINT_UTILISATION
};
#define PINT_WINDOW_NS 10000000u /* T of the moving average of utilisation */
struct pint_query {
    __u16 aggregation, function, source; /* of these enums */
    __u16 bits, threshold, nearest, codes;
    __u16 fragments; /* 0: hashed */
    __u32 tau, layers_len;
    __u32 layers[PINT_LAYERS];
};
struct pint_field {
    __u8 query, instance, shift, bits; /* bits: with a loop's counter */
};
struct pint_set {
    __u32 upto; /* weights of the sets up to this one; fields that are not there have 0 bits */
    struct pint_field fields[PINT_FIELDS];
};
struct pint_plan {
    __u32 on, seed, sets_len;
    __u32 at_egress; /* a query asks for what is known there */
    struct pint_set sets[PINT_SETS];
    struct pint_query queries[PINT_QUERIES];
};

/* Every packet that came in is in RECEIVED and in exactly one of those from FORWARDED on. */
// clang-format off
#define COUNTERS(X)                                                                                \
    X(RECEIVED, "received") X(TAGGED, "tagged") X(FORWARDED, "forwarded") X(DELIVERED, "delivered") \
    X(PUNTED, "punted") X(PUNTS_LOST, "punts_lost") X(NO_ROUTE, "no_route") X(NOT_IP, "not_ip")    \
    X(FAILED, "failed") X(EXPIRED, "expired") X(EDGE, "edge")
// clang-format on
enum counter {
#define X(id, name) COUNT_##id,
    COUNTERS(X)
#undef X
        COUNTERS_LEN
};

/* A packet for the controller. */
struct punt {
    __u32 switch_id;
    __u32 in_port;
    __u64 time_ns;     /* monotonic */
    __u32 frame_bytes; /* all of it, with its tags */
    __u32 data_bytes;  /* what is here */
    __u32 by_row;      /* a row says so; 0: it has more tags than the switch reads */
    __u8 data[PUNT_DATA_BYTES + 16];
};

/* A packet whose TTL has ended here: whoever sent it may be told (answer.c). */
struct expired {
    __u32 switch_id;
    __u32 in_port;
    __u32 is_ipv6;
    __u32 bytes; /* of `packet` that are there */
    __u8 to_mac[6], from_mac[6];
    __u8 packet[EXPIRED_BYTES]; /* from its IP header on, without tags */
};

#endif

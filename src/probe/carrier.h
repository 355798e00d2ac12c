/* SPDX-License-Identifier: Apache-2.0 */
/* What carries a probe along its path: frames as a host sends them. */
#ifndef PD_PROBE_CARRIER_H
#define PD_PROBE_CARRIER_H

#include "base/siphash.h"
#include "telemetry/telemetry.h"
#include "topology/topology.h"

/* A carrier is one struct pd_probe_carrier, listed in carrier.c. Pure, any number of threads. */

#define PD_PROBE_CARRIER_FRAME_MAX 1024

struct pd_probe_carrier_request {
    const struct pd_topology *topology;
    const uint32_t *switches; /* indexes: the path */
    uint32_t switches_len;
    struct pd_addr src, dst; /* of the hosts that send and collect */
    uint8_t ip_version;      /* of both */
    struct pd_telemetry_probe head;
    uint8_t key[PD_SIPHASH_KEY_BYTES];
};

struct pd_probe_carrier {
    const char *name; /* "sr-int" */
    /* Hops of a path whose probe comes back with the data of all its switches. */
    uint32_t hops_max;
    /* Switches route it: the host's own IPv6 sends it, which knows its next hop. Else the frame
     * goes onto the wire as it is. */
    bool routed;
    /* Writes an Ethernet frame of at most PD_PROBE_CARRIER_FRAME_MAX bytes. -PD_E_VALUE with words
     * when this path cannot be carried. */
    int (*encode)(const struct pd_probe_carrier_request *request, uint8_t *ret_frame,
                  size_t *ret_bytes, struct pd_error *error);
};

extern const struct pd_probe_carrier pd_probe_carrier_sr_int, pd_probe_carrier_srv6_ioam;

const struct pd_probe_carrier *pd_probe_carrier_find(const char *name); /* NULL: there is none */

/* UDP source port of a path's probes, so that switches without labels can tell them apart. */
uint16_t pd_probe_carrier_port(uint32_t number);

/* ---- for carriers */

#define PD_PROBE_CARRIER_ETHERNET_BYTES 14
#define PD_PROBE_CARRIER_IPV4_BYTES     20
#define PD_PROBE_CARRIER_IPV6_BYTES     40
#define PD_PROBE_CARRIER_UDP_BYTES      8

/* Ethernet and IP headers; `payload` bytes follow. Returns how many bytes these have. */
size_t pd_probe_carrier_headers(const struct pd_probe_carrier_request *request,
                                const struct pd_addr *dst, uint8_t next_header, size_t payload,
                                uint8_t *frame);

/* The Internet checksum over `bytes`, added to `sum`; not yet folded. */
uint32_t pd_probe_carrier_sum(uint32_t sum, const uint8_t *at, size_t bytes);
uint16_t pd_probe_carrier_fold(uint32_t sum);

/* The port of a step to the next switch; -PD_E_VALUE with words when they are not adjacent. */
int pd_probe_carrier_step(const struct pd_topology *topology, uint32_t from, uint32_t to,
                          uint16_t *ret_port, struct pd_error *error);

#endif

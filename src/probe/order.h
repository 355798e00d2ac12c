/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of probes: a host's part of a plan, as the controller gives it. */
#ifndef PD_PROBE_ORDER_H
#define PD_PROBE_ORDER_H

#include <jansson.h>

#include "probe/carrier.h"

/* The body of POST /v1/probes of an agent (docs/formats/probes.md):
 *
 *     {"plan":7,"order":3,"carrier":"sr-int","rate_hz":100,"lease_ms":30000,"key":"00…",
 *      "ways":[{"number":0,"path":[1,9,17,11,3],"from_host":21,"to_host":26}, …],"hold_from":40}
 *
 * It is the whole part: ways that are not in it end. From number `hold_from` on they are collected
 * and not sent yet. Read strictly; paths are held against the topology and the carrier, so that
 * what was read can be sent. */

#define PD_PROBE_ORDER_WAYS_MAX  1024u
#define PD_PROBE_ORDER_RATE_MAX  1000u /* Hz, of each way */
#define PD_PROBE_ORDER_LEASE_MAX 600000u

struct pd_probe_order_way {
    uint32_t number;
    bool isolates;
    uint32_t from_host, to_host; /* IDs */
    struct pd_addr src, dst;
    uint8_t ip_version;
    uint32_t *switches; /* indexes */
    uint32_t switches_len;
};

struct pd_probe_order {
    uint32_t plan, order; /* a higher plan wins; within one the higher order */
    const struct pd_probe_carrier *carrier;
    uint32_t rate_hz;
    uint32_t lease_ms; /* sending ends so long after the order came, unless it comes again */
    uint8_t key[PD_SIPHASH_KEY_BYTES];
    uint32_t hold_from; /* UINT32_MAX: all are sent */
    struct pd_probe_order_way *ways;
    size_t ways_len;
};

/* -PD_E_VALUE or -PD_E_UNKNOWN_KEY with words, -ENOMEM. `ret_order` is pd_probe_order_done()'s to
 * free, also after an error. */
int pd_probe_order_read(const json_t *document, const struct pd_topology *topology,
                        struct pd_probe_order *ret_order, struct pd_error *error);
void pd_probe_order_done(struct pd_probe_order *order);

/* What the carrier needs to make a probe of a way. */
struct pd_probe_carrier_request pd_probe_order_request(const struct pd_probe_order *order,
                                                       const struct pd_probe_order_way *way,
                                                       const struct pd_topology *topology,
                                                       uint32_t seq, uint64_t sent_ns);

/* A family of addresses that both hosts have, or false. */
bool pd_probe_order_addrs(const struct pd_host *src, const struct pd_host *dst,
                          struct pd_addr *ret_src, struct pd_addr *ret_dst,
                          uint8_t *ret_ip_version);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Traces as claims, and as chunks of further columns. */
#include "trace/trace.h"

#include <string.h>

#define VERSION    1
#define HEAD_BYTES 6u  /* kind and length of a chunk */
#define BODY_BYTES 56u /* before the hops */
#define HOP_BYTES  26u
#define KNOWN_BITS 0x3 /* of both kinds of flags */

enum { REACHED = 1, CONSISTENT = 2 };
enum { ANSWERED = 1, UNREACHABLE = 2 };

void pd_trace_claim(const struct pd_trace *trace, struct pd_claim *ret_claim)
{
    bool whole = trace->way.reached && !trace->way.gaps;

    *ret_claim = (struct pd_claim){.path = &trace->way.path,
                                   .state = !trace->way.path.len ? PD_CLAIM_INFEASIBLE
                                            : whole              ? PD_CLAIM_EXACT
                                                                 : PD_CLAIM_PARTIAL,
                                   .origin = PD_ORIGIN_TRACE};
}

/* ---- bytes: little-endian, whatever the machine is ---- */

static uint8_t *put(uint8_t *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        at[i] = (uint8_t)(value >> 8 * i);
    }
    return at + bytes;
}

static uint8_t *put_addr(uint8_t *at, const struct pd_addr *addr)
{
    memcpy(at, addr, sizeof *addr);
    return at + sizeof *addr;
}

static uint64_t get(const uint8_t **at, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++) {
        value |= (uint64_t)(*at)[i] << 8 * i;
    }
    *at += bytes;
    return value;
}

static void get_addr(const uint8_t **at, struct pd_addr *ret_addr)
{
    memcpy(ret_addr, *at, sizeof *ret_addr);
    *at += sizeof *ret_addr;
}

static uint8_t *put_hop(uint8_t *at, const struct pd_trace_hop *hop)
{
    at = put(at, (hop->answered ? ANSWERED : 0) | (hop->unreachable ? UNREACHABLE : 0), 1);
    at = put(at, 0, 1);
    at = put(at, hop->switch_id, 4);
    at = put(at, hop->rtt_us, 4);
    return put_addr(at, &hop->addr);
}

size_t pd_trace_extra_write(const struct pd_trace *trace,
                            uint8_t ret_bytes[PD_TRACE_EXTRA_BYTES_MAX])
{
    size_t len = BODY_BYTES + HOP_BYTES * trace->hops_len;
    uint8_t *at = put(ret_bytes, PD_TRACE_EXTRA_KIND, 2);

    at = put(at, len, 4);
    at = put(at, VERSION, 1);
    at = put(at, (trace->way.reached ? REACHED : 0) | (trace->way.consistent ? CONSISTENT : 0), 1);
    at = put(at, trace->hops_len, 1);
    at = put(at, trace->traffic_class, 1);
    at = put(at, trace->flow_label, 4);
    at = put(at, trace->time_us, 8);
    at = put(at, trace->epoch_us, 8);
    at = put(at, trace->last_us, 8);
    at = put(at, trace->dip_port, 2);
    at = put(at, 0, 6);
    at = put_addr(at, &trace->dip);
    for (unsigned i = 0; i < trace->hops_len; i++) {
        at = put_hop(at, &trace->hops[i]);
    }
    return HEAD_BYTES + len;
}

static int get_hop(const uint8_t **at, struct pd_trace_hop *hop)
{
    uint64_t flags = get(at, 1), zero = get(at, 1);

    if (flags & ~(uint64_t)KNOWN_BITS || zero) {
        return -PD_E_CORRUPT;
    }
    hop->answered = flags & ANSWERED;
    hop->unreachable = flags & UNREACHABLE;
    hop->switch_id = (uint32_t)get(at, 4);
    hop->rtt_us = (uint32_t)get(at, 4);
    get_addr(at, &hop->addr);
    return 0;
}

int pd_trace_extra_read(const uint8_t *bytes, size_t len, struct pd_trace *trace)
{
    const uint8_t *at = bytes;
    int err = len < BODY_BYTES || get(&at, 1) != VERSION ? -PD_E_CORRUPT : 0;

    if (err) {
        return err;
    }
    uint64_t flags = get(&at, 1);
    trace->way.reached = flags & REACHED;
    trace->way.consistent = flags & CONSISTENT;
    trace->hops_len = (unsigned)get(&at, 1);
    trace->traffic_class = (uint8_t)get(&at, 1);
    trace->flow_label = (uint32_t)get(&at, 4);
    trace->time_us = get(&at, 8);
    trace->epoch_us = get(&at, 8);
    trace->last_us = get(&at, 8);
    trace->dip_port = (uint16_t)get(&at, 2);
    at += 6;
    get_addr(&at, &trace->dip);
    if (flags & ~(uint64_t)KNOWN_BITS || trace->hops_len > PD_PATH_MAX ||
        len != BODY_BYTES + HOP_BYTES * trace->hops_len) {
        return -PD_E_CORRUPT;
    }
    for (unsigned i = 0; i < trace->hops_len && !err; i++) {
        err = get_hop(&at, &trace->hops[i]);
    }
    return err;
}

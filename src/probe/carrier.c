/* SPDX-License-Identifier: Apache-2.0 */
/* The carriers, and the headers that they share. */
#include <string.h>

#include "probe/carrier.h"
#include "telemetry/bytes.h"

static const struct pd_probe_carrier *const carriers[] = {&pd_probe_carrier_sr_int,
                                                          &pd_probe_carrier_srv6_ioam};

const struct pd_probe_carrier *pd_probe_carrier_find(const char *name)
{
    for (size_t n = 0; n < sizeof carriers / sizeof(void *); n++) {
        if (!strcmp(carriers[n]->name, name)) {
            return carriers[n];
        }
    }
    return NULL;
}

uint16_t pd_probe_carrier_port(uint32_t number)
{
    return (uint16_t)(49152 + number % 16384);
}

uint32_t pd_probe_carrier_sum(uint32_t sum, const uint8_t *at, size_t bytes)
{
    for (; bytes > 1; bytes -= 2, at += 2) {
        sum += (uint32_t)at[0] << 8 | at[1];
    }
    return bytes ? sum + ((uint32_t)at[0] << 8) : sum;
}

uint16_t pd_probe_carrier_fold(uint32_t sum)
{
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)~sum;
}

static void write_ipv4(const struct pd_probe_carrier_request *request, const struct pd_addr *dst,
                       uint8_t next_header, size_t payload, uint8_t *ip)
{
    memset(ip, 0, PD_PROBE_CARRIER_IPV4_BYTES);
    ip[0] = 0x45;
    pd_bytes_put(ip + 2, 2, PD_PROBE_CARRIER_IPV4_BYTES + payload);
    ip[6] = 0x40; /* do not fragment */
    ip[8] = 64;
    ip[9] = next_header;
    memcpy(ip + 12, request->src.bytes, 4);
    memcpy(ip + 16, dst->bytes, 4);
    pd_bytes_put(ip + 10, 2,
                 pd_probe_carrier_fold(pd_probe_carrier_sum(0, ip, PD_PROBE_CARRIER_IPV4_BYTES)));
}

static void write_ipv6(const struct pd_probe_carrier_request *request, const struct pd_addr *dst,
                       uint8_t next_header, size_t payload, uint8_t *ip)
{
    memset(ip, 0, PD_PROBE_CARRIER_IPV6_BYTES);
    ip[0] = 0x60;
    pd_bytes_put(ip + 4, 2, payload);
    ip[6] = next_header;
    ip[7] = 64;
    memcpy(ip + 8, request->src.bytes, 16);
    memcpy(ip + 24, dst->bytes, 16);
}

/* Addresses that no vendor has; whoever sends puts in those of its neighbour. */
size_t pd_probe_carrier_headers(const struct pd_probe_carrier_request *request,
                                const struct pd_addr *dst, uint8_t next_header, size_t payload,
                                uint8_t *frame)
{
    static const uint8_t addresses[12] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
    memcpy(frame, addresses, sizeof addresses);
    pd_bytes_put(frame + 12, 2, request->ip_version == 4 ? 0x0800 : 0x86dd);
    if (request->ip_version == 4) {
        write_ipv4(request, dst, next_header, payload, frame + PD_PROBE_CARRIER_ETHERNET_BYTES);
        return PD_PROBE_CARRIER_ETHERNET_BYTES + PD_PROBE_CARRIER_IPV4_BYTES;
    }
    write_ipv6(request, dst, next_header, payload, frame + PD_PROBE_CARRIER_ETHERNET_BYTES);
    return PD_PROBE_CARRIER_ETHERNET_BYTES + PD_PROBE_CARRIER_IPV6_BYTES;
}

int pd_probe_carrier_step(const struct pd_topology *topology, uint32_t from, uint32_t to,
                          uint16_t *ret_port, struct pd_error *error)
{
    const struct pd_neighbour *link = pd_topology_link(topology, from, to);
    if (!link) {
        return pd_fail(error, -PD_E_VALUE, "the topology has no link %u-%u",
                       topology->switches[from].id, topology->switches[to].id);
    }
    *ret_port = link->port;
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* IP and TCP headers of a probe. */
#include "trace/probe.h"

#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>

#define WRONG 0x5555 /* a checksum that differs by this is never the right one */

uint32_t pd_trace_cookie(const uint8_t key[PD_SIPHASH_KEY_BYTES], const struct pd_flow_id *flow,
                         uint64_t epoch, uint8_t ttl)
{
    struct {
        struct pd_flow_id flow;
        uint64_t epoch, ttl;
    } of = {*flow, epoch, ttl};

    return (uint32_t)pd_siphash(key, &of, sizeof of);
}

static uint32_t add_words(uint32_t sum, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i + 1 < len; i += 2) {
        sum += (uint32_t)at[i] << 8 | at[i + 1];
    }
    return sum;
}

/* Of the pseudo header and the TCP header; addresses of IPv4 end in zeroes, which add nothing. */
static uint16_t checksum(const struct pd_flow_id *flow, const struct tcphdr *tcp)
{
    uint32_t sum = IPPROTO_TCP + (uint32_t)sizeof *tcp;

    sum = add_words(sum, &flow->src, sizeof flow->src);
    sum = add_words(sum, &flow->dst, sizeof flow->dst);
    sum = add_words(sum, tcp, sizeof *tcp);
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)~sum;
}

static struct tcphdr tcp_header(const struct pd_trace_header *header, uint32_t cookie)
{
    const struct pd_flow_id *flow = &header->flow;
    struct tcphdr tcp = {.source = htons(flow->src_port),
                         .dest = htons(flow->dst_port),
                         .seq = htonl(cookie),
                         .doff = sizeof tcp / 4,
                         .ack = !header->rewritten};

    tcp.check = htons(checksum(flow, &tcp) ^ WRONG);
    return tcp;
}

/* The kernel fills in the header's checksum. */
static struct ip ip4_header(const struct pd_trace_header *header, uint8_t ttl)
{
    struct ip ip = {.ip_v = 4,
                    .ip_hl = sizeof ip / 4,
                    .ip_tos = header->traffic_class,
                    .ip_len = htons(sizeof ip + sizeof(struct tcphdr)),
                    .ip_id = htons(ttl),
                    .ip_off = htons(IP_DF),
                    .ip_ttl = ttl,
                    .ip_p = IPPROTO_TCP};

    memcpy(&ip.ip_src, &header->flow.src, sizeof ip.ip_src);
    memcpy(&ip.ip_dst, &header->flow.dst, sizeof ip.ip_dst);
    return ip;
}

static struct ip6_hdr ip6_header(const struct pd_trace_header *header, uint8_t ttl)
{
    struct ip6_hdr ip = {0};

    ip.ip6_flow = htonl(6U << 28 | (uint32_t)header->traffic_class << 20 | header->flow_label);
    ip.ip6_plen = htons(sizeof(struct tcphdr));
    ip.ip6_nxt = IPPROTO_TCP;
    ip.ip6_hlim = ttl;
    memcpy(&ip.ip6_src, &header->flow.src, sizeof ip.ip6_src);
    memcpy(&ip.ip6_dst, &header->flow.dst, sizeof ip.ip6_dst);
    return ip;
}

size_t pd_trace_probe_write(const struct pd_trace_header *header, uint8_t ttl, uint32_t cookie,
                            uint8_t ret_bytes[PD_TRACE_PROBE_BYTES_MAX])
{
    struct tcphdr tcp = tcp_header(header, cookie);
    size_t len;

    if (header->flow.ip_version == 4) {
        struct ip ip = ip4_header(header, ttl);
        len = sizeof ip;
        memcpy(ret_bytes, &ip, len);
    } else {
        struct ip6_hdr ip = ip6_header(header, ttl);
        len = sizeof ip;
        memcpy(ret_bytes, &ip, len);
    }
    memcpy(ret_bytes + len, &tcp, sizeof tcp);
    return len + sizeof tcp;
}

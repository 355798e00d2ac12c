/* SPDX-License-Identifier: Apache-2.0 */
/* What a switch says when a TTL ends: "time exceeded" of both families, from the address of the
 * port that the packet came in by. */
#include <string.h>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>

#include "base/clock.h"
#include "switches.h"

/* As a switch of hardware does: its own processor answers, and what it sends takes the switch's
 * routes. `limit` is a bucket of one token. */

#define HOPS 64

struct frame {
    struct ethhdr ethernet;
    uint8_t ip[sizeof(struct ip6_hdr) + sizeof(struct icmp6_hdr) + EXPIRED_BYTES];
} __attribute__((packed));

void tc_answers_limit(struct tc_answers *answers, double per_s)
{
    answers->limited = per_s >= 0;
    answers->per_s = per_s;
    answers->tokens = per_s > 0;
    answers->at_ns = pd_clock_monotonic_ns();
}

static bool may_answer(struct tc_answers *answers)
{
    const uint64_t now_ns = pd_clock_monotonic_ns();
    double tokens;

    if (!answers->limited) {
        return true;
    }
    tokens = answers->tokens + (double)(now_ns - answers->at_ns) * answers->per_s / 1e9;
    answers->at_ns = now_ns;
    answers->tokens = tokens < 1 ? tokens : 1;
    if (answers->tokens < 1) {
        return false;
    }
    answers->tokens -= 1;
    return true;
}

static uint32_t sum(const void *bytes, size_t len, uint32_t before)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i < len; i++) {
        before += i & 1 ? at[i] : (uint32_t)at[i] << 8;
    }
    return before;
}

static uint16_t folded(uint32_t sum)
{
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return htons((uint16_t)~sum);
}

/* Nobody is told of an error about an error, nor of a later part of a packet. */
static bool deserves(const struct expired *event)
{
    const uint8_t *at = event->packet;

    if (event->is_ipv6) {
        return event->bytes > sizeof(struct ip6_hdr) &&
               (at[6] != IPPROTO_ICMPV6 || at[sizeof(struct ip6_hdr)] == ICMP6_ECHO_REQUEST);
    }
    const size_t head = (at[0] & 0x0f) * 4U;

    return head >= sizeof(struct ip) && event->bytes > head && !((at[6] & 0x1f) | at[7]) &&
           (at[9] != IPPROTO_ICMP || at[head] == ICMP_ECHO);
}

static size_t write_ipv4(const struct expired *event, const uint8_t *from, uint8_t *ret_ip)
{
    struct icmphdr icmp = {.type = ICMP_TIME_EXCEEDED};
    struct ip ip = {.ip_v = 4, .ip_hl = sizeof ip / 4, .ip_ttl = HOPS, .ip_p = IPPROTO_ICMP};
    const size_t bytes = sizeof ip + sizeof icmp + event->bytes;

    icmp.checksum = folded(sum(event->packet, event->bytes, sum(&icmp, sizeof icmp, 0)));
    ip.ip_len = htons((uint16_t)bytes);
    memcpy(&ip.ip_src, from, sizeof ip.ip_src);
    memcpy(&ip.ip_dst, event->packet + offsetof(struct ip, ip_src), sizeof ip.ip_dst);
    ip.ip_sum = folded(sum(&ip, sizeof ip, 0));
    memcpy(ret_ip, &ip, sizeof ip);
    memcpy(ret_ip + sizeof ip, &icmp, sizeof icmp);
    memcpy(ret_ip + sizeof ip + sizeof icmp, event->packet, event->bytes);
    return bytes;
}

static size_t write_ipv6(const struct expired *event, const uint8_t *from, uint8_t *ret_ip)
{
    struct icmp6_hdr icmp = {.icmp6_type = ICMP6_TIME_EXCEEDED};
    struct ip6_hdr ip = {.ip6_nxt = IPPROTO_ICMPV6, .ip6_hlim = HOPS};
    const size_t payload = sizeof icmp + event->bytes;
    uint32_t of;

    ip.ip6_flow = htonl(6U << 28);
    ip.ip6_plen = htons((uint16_t)payload);
    memcpy(&ip.ip6_src, from, sizeof ip.ip6_src);
    memcpy(&ip.ip6_dst, event->packet + offsetof(struct ip6_hdr, ip6_src), sizeof ip.ip6_dst);
    of = sum(&ip.ip6_src, 2 * sizeof ip.ip6_src, IPPROTO_ICMPV6 + (uint32_t)payload);
    icmp.icmp6_cksum = folded(sum(event->packet, event->bytes, sum(&icmp, sizeof icmp, of)));
    memcpy(ret_ip, &ip, sizeof ip);
    memcpy(ret_ip + sizeof ip, &icmp, sizeof icmp);
    memcpy(ret_ip + sizeof ip + sizeof icmp, event->packet, event->bytes);
    return sizeof ip + payload;
}

void tc_answer(struct tc_switch *sw, const struct expired *event)
{
    struct frame frame;
    size_t bytes;

    if (event->in_port >= PORTS_MAX || !deserves(event)) {
        return;
    }
    const struct tc_address *from = &sw->answers.from[event->in_port];

    if (!(event->is_ipv6 ? from->has_ipv6 : from->has_ipv4) || !may_answer(&sw->answers)) {
        return;
    }
    memcpy(frame.ethernet.h_dest, event->from_mac, ETH_ALEN);
    memcpy(frame.ethernet.h_source, event->to_mac, ETH_ALEN);
    frame.ethernet.h_proto = htons(event->is_ipv6 ? ETH_P_IPV6 : ETH_P_IP);
    bytes = event->is_ipv6 ? write_ipv6(event, from->ipv6, frame.ip)
                           : write_ipv4(event, from->ipv4, frame.ip);
    if (!tc_switch_send(sw, PORT_OWN, UINT32_MAX, (const uint8_t *)&frame,
                        sizeof frame.ethernet + bytes)) {
        sw->answers.sent++;
    }
}

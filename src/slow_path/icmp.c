/* SPDX-License-Identifier: Apache-2.0 */
/* ICMP time exceeded, IPv4 and IPv6, as a router answers a packet whose TTL has run out. */
#include <string.h>

#include "packet/packet.h"
#include "slow_path/slow_path.h"

#define MAC_BYTES         6u
#define ETHERNET_BYTES    14u
#define IPV4_BYTES        20u
#define IPV6_BYTES        40u
#define ICMP_BYTES        8u
#define IPV4_ANSWER_BYTES 576u  /* RFC 1812, 4.3.2.3 */
#define IPV6_ANSWER_BYTES 1280u /* RFC 4443, 3.3 */
#define ICMP              1
#define ICMPV6            58
#define ANSWER_TTL        64

static uint32_t sum(const uint8_t *bytes, size_t len, uint32_t so_far)
{
    for (size_t i = 0; i < len; i++) {
        so_far += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
    }
    return so_far;
}

static void put_checksum(uint8_t *at, uint32_t so_far)
{
    while (so_far >> 16) {
        so_far = (so_far & 0xffff) + (so_far >> 16);
    }
    at[0] = (uint8_t)(~so_far >> 8);
    at[1] = (uint8_t)~so_far;
}

/* Errors are not answered, questions are. */
static bool is_error(const struct pd_packet *packet, const uint8_t *transport, size_t left)
{
    if (packet->flow.protocol == ICMP && packet->flow.ip_version == 4) {
        return !left || !(transport[0] == 0 || transport[0] == 8 || transport[0] >= 13);
    }
    return packet->flow.protocol == ICMPV6 && (!left || transport[0] < 128);
}

static bool is_group(const struct pd_addr *addr, uint8_t ip_version)
{
    static const struct pd_addr none = {{0}};
    return !memcmp(addr, &none, sizeof none) ||
           (ip_version == 4 ? addr->bytes[0] >= 224 || addr->bytes[0] == 127
                            : addr->bytes[0] == 0xff);
}

static size_t answer_v4(const uint8_t *ip, size_t bytes, const struct pd_addr *from, uint8_t *out)
{
    const size_t quoted = bytes < IPV4_ANSWER_BYTES - IPV4_BYTES - ICMP_BYTES
                              ? bytes
                              : IPV4_ANSWER_BYTES - IPV4_BYTES - ICMP_BYTES;
    const size_t total = IPV4_BYTES + ICMP_BYTES + quoted;
    uint8_t *icmp = out + IPV4_BYTES;
    memset(out, 0, IPV4_BYTES + ICMP_BYTES);
    out[0] = 0x45;
    out[2] = (uint8_t)(total >> 8);
    out[3] = (uint8_t)total;
    out[8] = ANSWER_TTL;
    out[9] = ICMP;
    memcpy(out + 12, from->bytes, 4);
    memcpy(out + 16, ip + 12, 4);
    put_checksum(out + 10, sum(out, IPV4_BYTES, 0));
    icmp[0] = 11;
    memcpy(icmp + ICMP_BYTES, ip, quoted);
    put_checksum(icmp + 2, sum(icmp, ICMP_BYTES + quoted, 0));
    return total;
}

static size_t answer_v6(const uint8_t *ip, size_t bytes, const struct pd_addr *from, uint8_t *out)
{
    const size_t quoted = bytes < IPV6_ANSWER_BYTES - IPV6_BYTES - ICMP_BYTES
                              ? bytes
                              : IPV6_ANSWER_BYTES - IPV6_BYTES - ICMP_BYTES;
    const size_t payload = ICMP_BYTES + quoted;
    uint8_t *icmp = out + IPV6_BYTES;
    memset(out, 0, IPV6_BYTES + ICMP_BYTES);
    out[0] = 0x60;
    out[4] = (uint8_t)(payload >> 8);
    out[5] = (uint8_t)payload;
    out[6] = ICMPV6;
    out[7] = ANSWER_TTL;
    memcpy(out + 8, from->bytes, 16);
    memcpy(out + 24, ip + 8, 16);
    icmp[0] = 3;
    memcpy(icmp + ICMP_BYTES, ip, quoted);
    put_checksum(icmp + 2, sum(icmp, payload, sum(out + 8, 32, (uint32_t)payload + ICMPV6)));
    return IPV6_BYTES + payload;
}

size_t pd_slow_path_time_exceeded(const uint8_t *frame, size_t bytes, const struct pd_addr *from_v4,
                                  const struct pd_addr *from_v6,
                                  uint8_t answer[PD_SLOW_PATH_ANSWER_BYTES])
{
    struct pd_packet packet;
    if (pd_packet_parse(frame, bytes, bytes, &packet) != PD_PACKET_OK || packet.later_fragment) {
        return 0;
    }
    const uint8_t version = packet.flow.ip_version, *ip = frame + packet.ip_offset;
    const struct pd_addr *from = version == 4 ? from_v4 : from_v6;
    const size_t end = packet.ip_offset + packet.ip_bytes;
    if (!from || end > bytes || is_group(&packet.flow.src, version) ||
        is_group(&packet.flow.dst, version) || frame[0] & 1 ||
        is_error(&packet, frame + packet.transport_offset, end - packet.transport_offset)) {
        return 0;
    }
    memcpy(answer, frame + MAC_BYTES, MAC_BYTES);
    memcpy(answer + MAC_BYTES, frame, MAC_BYTES);
    memcpy(answer + ETHERNET_BYTES - 2, version == 4 ? "\x08\x00" : "\x86\xdd", 2);
    return ETHERNET_BYTES + (version == 4
                                 ? answer_v4(ip, packet.ip_bytes, from, answer + ETHERNET_BYTES)
                                 : answer_v6(ip, packet.ip_bytes, from, answer + ETHERNET_BYTES));
}

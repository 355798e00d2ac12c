/* SPDX-License-Identifier: Apache-2.0 */
/* Packet ID, hop number and digest of a frame that pd_packet_parse has read. */
#include "packet/sample.h"

#include <stdbool.h>

#include "packet/lookup3.h"

enum {
    MAC_BYTES = 12,
    TAG_BYTES = 4,
    SERVICE_TPID = 0x88a8,
    TCP = 6,
    UDP = 17,
    HOP_BY_HOP = 0,
    ROUTING = 43,
    FRAGMENT = 44,
    AUTHENTICATION = 51,
    DESTINATION_OPTIONS = 60,
    MOBILITY = 135,
    HOST_IDENTITY = 139,
    SHIM6 = 140,
    FRAGMENT_BITS = 0x3fff, /* of IPv4: more fragments, and the offset */
};

/* Bytes from `at` on that are there and belong to the IP packet; what is behind reads as 0. */
struct rest {
    const uint8_t *frame;
    size_t at, end;
};

static uint16_t be16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static uint32_t word_at(const struct rest *rest, size_t offset)
{
    uint32_t word = 0;

    for (size_t i = 0; i < 4; i++) {
        const size_t at = rest->at + offset + i;
        word = word << 8 | (at < rest->end ? rest->frame[at] : 0);
    }
    return word;
}

static bool is_extension(uint8_t protocol)
{
    return protocol == HOP_BY_HOP || protocol == ROUTING || protocol == FRAGMENT ||
           protocol == AUTHENTICATION || protocol == DESTINATION_OPTIONS || protocol == MOBILITY ||
           protocol == HOST_IDENTITY || protocol == SHIM6;
}

/* Steps over the extension headers; true: this is a fragment. The parser has proved that they are
 * whole up to the upper protocol or to a later fragment. */
static bool skip_extensions(struct rest *rest)
{
    uint8_t next = rest->frame[rest->at + 6];

    rest->at += 40;
    for (unsigned i = 0; i < PD_PACKET_EXTENSIONS_MAX && is_extension(next); i++) {
        const uint8_t *header = rest->frame + rest->at;
        if (rest->at + 8 > rest->end) {
            return false;
        }
        if (next == FRAGMENT && (be16(header + 2) & 0xfff9)) {
            return true;
        }
        rest->at += next == FRAGMENT         ? 8
                    : next == AUTHENTICATION ? (size_t)header[1] * 4 + 8
                                             : (size_t)header[1] * 8 + 8;
        next = header[0];
    }
    return false;
}

/* Ports and what tells the packets of one connection apart; at most three words. */
static unsigned transport_words(const struct rest *rest, uint8_t protocol, uint32_t *words)
{
    const size_t second = protocol == UDP ? 8 : 4;

    words[0] = word_at(rest, 0);
    words[1] = word_at(rest, second);
    if (protocol != TCP && protocol != UDP) {
        return 2;
    }
    words[2] = word_at(rest, second + 4);
    return 3;
}

uint32_t pd_packet_id(const uint8_t *frame, size_t captured, const struct pd_packet *packet,
                      uint32_t seed)
{
    const uint8_t *ip = frame + packet->ip_offset;
    const bool v4 = packet->flow.ip_version == 4;
    const size_t addrs_at = v4 ? 12 : 8, addr_words = v4 ? 2 : 8;
    const size_t packet_end = (size_t)packet->ip_offset + packet->ip_bytes;
    struct rest rest = {frame, packet->ip_offset, packet_end < captured ? packet_end : captured};
    uint32_t words[8 + 2 + 3];
    size_t len = 0;
    bool fragment;

    rest.at += addrs_at;
    for (; len < addr_words; len++) {
        words[len] = word_at(&rest, 4 * len);
    }
    rest.at = packet->ip_offset;
    words[len++] = (uint32_t)packet->flow.protocol << 16 | (v4 ? be16(ip + 4) : 0);
    words[len] = v4 ? be16(ip + 6) & FRAGMENT_BITS : 0;
    if (v4) {
        fragment = words[len] != 0;
        rest.at += (size_t)(ip[0] & 0x0f) * 4;
    } else {
        fragment = skip_extensions(&rest);
    }
    len++;
    if (!fragment) {
        len += transport_words(&rest, packet->flow.protocol, words + len);
    }
    return pd_lookup3(seed, words, len);
}

uint8_t pd_packet_ttl(const uint8_t *frame, const struct pd_packet *packet)
{
    return frame[packet->ip_offset + (packet->flow.ip_version == 4 ? 8 : 7)];
}

unsigned pd_packet_hops(uint8_t ttl)
{
    return (ttl <= 64 ? 64u : ttl <= 128 ? 128u : 255u) - ttl;
}

unsigned pd_packet_service_tags(const uint8_t *frame, const struct pd_packet *packet,
                                uint16_t *ret_tci)
{
    unsigned tags = 0;

    *ret_tci = 0;
    for (size_t at = MAC_BYTES; at + 2 < packet->ip_offset; at += TAG_BYTES) {
        if (be16(frame + at) == SERVICE_TPID) {
            *ret_tci = be16(frame + at + 2);
            tags++;
        }
    }
    return tags;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over a frame's headers: what the intakes and the switch call for every packet. */
#include "packet/packet.h"

#include <string.h>

enum {
    MAC_BYTES = 12, /* both addresses */
    TAG_BYTES = 4,
    IPV4_BYTES = 20,
    IPV6_BYTES = 40,
    PORTS_BYTES = 4,
    TCP_FLAGS_AT = 13,
    SEGMENTS = 4, /* type of a routing header */
};

enum ethertype {
    ETHERTYPE_IPV4 = 0x0800,
    ETHERTYPE_VLAN = 0x8100,
    ETHERTYPE_IPV6 = 0x86dd,
    ETHERTYPE_SERVICE_VLAN = 0x88a8,
    ETHERTYPE_OLD_QINQ = 0x9100,
};

/* IANA protocol numbers; those of IPv6 extension headers among them. */
enum protocol {
    HOP_BY_HOP = 0,
    TCP = 6,
    UDP = 17,
    ROUTING = 43,
    FRAGMENT = 44,
    AUTHENTICATION = 51,
    DESTINATION_OPTIONS = 60,
    SCTP = 132,
    MOBILITY = 135,
    HOST_IDENTITY = 139,
    SHIM6 = 140,
};

/* Where the walk is. Nothing is read but through take(). */
struct cursor {
    const uint8_t *bytes;
    size_t at;
    size_t captured;   /* bytes that are there */
    size_t packet_end; /* of the IP packet as its header says; SIZE_MAX before that is known */
    size_t limit;      /* the smaller one of the two */
};

/* What was read so far. Apart from the caller's packet, which is filled at the end: to copy a
 * packet that was just written field by field stalls for longer than it takes to read one. */
struct headers {
    uint16_t outermost_first[PD_PACKET_TAGS_MAX];
    unsigned tags_len;
    size_t ip_offset;
    size_t ip_bytes;
    const uint8_t *addrs; /* source, then destination */
    uint16_t src_port, dst_port;
    uint8_t ip_version, protocol, dscp, tcp_flags;
    bool later_fragment;
    size_t transport_offset, options_offset, segments_offset;
};

static inline enum pd_packet_verdict take(struct cursor *cursor, size_t bytes,
                                          const uint8_t **ret_bytes)
{
    size_t end = cursor->at + bytes;
    if (__builtin_expect(end > cursor->limit, 0)) {
        return end > cursor->packet_end ? PD_PACKET_BAD_TOTAL_LEN : PD_PACKET_TRUNCATED;
    }
    *ret_bytes = cursor->bytes + cursor->at;
    cursor->at = end;
    return PD_PACKET_OK;
}

static inline void set_packet_end(struct cursor *cursor, size_t packet_end)
{
    cursor->packet_end = packet_end;
    cursor->limit = packet_end < cursor->captured ? packet_end : cursor->captured;
}

static inline uint16_t be16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static inline uint32_t be32(const uint8_t *bytes)
{
    return (uint32_t)be16(bytes) << 16 | be16(bytes + 2);
}

static inline bool is_tag(uint16_t ethertype)
{
    return ethertype == ETHERTYPE_VLAN || ethertype == ETHERTYPE_SERVICE_VLAN ||
           ethertype == ETHERTYPE_OLD_QINQ;
}

/* MAC addresses and tags: leaves the cursor at the IP header. */
static inline enum pd_packet_verdict read_ethernet(struct cursor *cursor, struct headers *headers,
                                                   uint16_t *ret_ethertype)
{
    const uint8_t *bytes;
    enum pd_packet_verdict verdict = take(cursor, MAC_BYTES + 2, &bytes);
    if (verdict) {
        return verdict;
    }
    uint16_t ethertype = be16(bytes + MAC_BYTES);
    headers->tags_len = 0;
    while (is_tag(ethertype)) {
        if (headers->tags_len == PD_PACKET_TAGS_MAX) {
            return PD_PACKET_TOO_MANY_TAGS;
        }
        verdict = take(cursor, TAG_BYTES, &bytes);
        if (verdict) {
            return verdict;
        }
        headers->outermost_first[headers->tags_len++] = be16(bytes) & 0x0fff;
        ethertype = be16(bytes + 2);
    }
    headers->ip_offset = cursor->at;
    *ret_ethertype = ethertype;
    return PD_PACKET_OK;
}

/* Ports and TCP flags. A capture that ends between the two still tells the flow: the flags are left
 * 0 then. */
static inline enum pd_packet_verdict read_transport(struct cursor *cursor, struct headers *headers)
{
    uint8_t protocol = headers->protocol;
    headers->transport_offset = cursor->at;
    if ((protocol != TCP && protocol != UDP && protocol != SCTP) || headers->later_fragment) {
        return PD_PACKET_OK;
    }
    const uint8_t *bytes;
    enum pd_packet_verdict verdict = take(cursor, PORTS_BYTES, &bytes);
    if (verdict) {
        return verdict;
    }
    headers->src_port = be16(bytes);
    headers->dst_port = be16(bytes + 2);
    if (protocol == TCP && take(cursor, TCP_FLAGS_AT + 1 - PORTS_BYTES, &bytes) == PD_PACKET_OK) {
        headers->tcp_flags = bytes[TCP_FLAGS_AT - PORTS_BYTES];
    }
    return PD_PACKET_OK;
}

static inline enum pd_packet_verdict read_ipv4(struct cursor *cursor, size_t wire,
                                               struct headers *headers)
{
    const uint8_t *ip;
    enum pd_packet_verdict verdict = take(cursor, IPV4_BYTES, &ip);
    if (verdict) {
        return verdict;
    }
    if (ip[0] >> 4 != 4) {
        return PD_PACKET_BAD_VERSION;
    }
    size_t header_bytes = (size_t)(ip[0] & 0x0f) * 4;
    if (header_bytes < IPV4_BYTES) {
        return PD_PACKET_BAD_HEADER_LEN;
    }
    size_t total_bytes = be16(ip + 2);
    if (total_bytes < header_bytes || total_bytes > wire - headers->ip_offset) {
        return PD_PACKET_BAD_TOTAL_LEN;
    }
    set_packet_end(cursor, headers->ip_offset + total_bytes);
    const uint8_t *options;
    verdict = take(cursor, header_bytes - IPV4_BYTES, &options);
    if (verdict) {
        return verdict;
    }
    headers->ip_bytes = total_bytes;
    headers->dscp = ip[1] >> 2;
    headers->later_fragment = (be16(ip + 6) & 0x1fff) != 0;
    headers->ip_version = 4;
    headers->protocol = ip[9];
    headers->addrs = ip + 12;
    return read_transport(cursor, headers);
}

/* Payload bytes of a jumbogram (RFC 2675), from the hop-by-hop options that the cursor is at. */
static enum pd_packet_verdict read_jumbo_payload(struct cursor cursor, size_t *ret_bytes)
{
    const uint8_t *bytes;
    enum pd_packet_verdict verdict = take(&cursor, 2, &bytes);
    if (verdict) {
        return verdict;
    }
    size_t left = (size_t)bytes[1] * 8 + 6;
    verdict = take(&cursor, left, &bytes);
    if (verdict) {
        return verdict;
    }
    while (left > 0) {
        size_t option_bytes = bytes[0] == 0 ? 1 : left < 2 ? SIZE_MAX : (size_t)bytes[1] + 2;
        if (option_bytes > left) {
            return PD_PACKET_BAD_HEADER_LEN;
        }
        if (bytes[0] == 0xc2 && option_bytes == 6 && be32(bytes + 2) > UINT16_MAX) {
            *ret_bytes = be32(bytes + 2);
            return PD_PACKET_OK;
        }
        bytes += option_bytes;
        left -= option_bytes;
    }
    return PD_PACKET_BAD_TOTAL_LEN;
}

static bool is_extension(uint8_t protocol)
{
    switch (protocol) {
    case HOP_BY_HOP:
    case ROUTING:
    case FRAGMENT:
    case AUTHENTICATION:
    case DESTINATION_OPTIONS:
    case MOBILITY:
    case HOST_IDENTITY:
    case SHIM6: return true;
    default: return false; /* ESP and "no next header" among them */
    }
}

/* Takes one extension header of kind headers->protocol, which becomes the kind of the one
 * behind it. */
static enum pd_packet_verdict read_extension(struct cursor *cursor, struct headers *headers)
{
    const uint8_t *bytes;
    enum pd_packet_verdict verdict = take(cursor, 8, &bytes); /* no extension header is shorter */
    if (verdict) {
        return verdict;
    }
    size_t header_bytes = (size_t)bytes[1] * 8 + 8;
    if (headers->protocol == FRAGMENT) {
        header_bytes = 8;
        headers->later_fragment = (be16(bytes + 2) & 0xfff8) != 0;
    } else if (headers->protocol == AUTHENTICATION) {
        header_bytes = (size_t)bytes[1] * 4 + 8;
        if (header_bytes < 12) {
            return PD_PACKET_BAD_HEADER_LEN;
        }
    } else if (headers->protocol == HOP_BY_HOP && !headers->options_offset) {
        headers->options_offset = cursor->at - 8;
    } else if (headers->protocol == ROUTING && bytes[2] == SEGMENTS && !headers->segments_offset) {
        headers->segments_offset = cursor->at - 8;
    }
    headers->protocol = bytes[0];
    return take(cursor, header_bytes - 8, &bytes);
}

static enum pd_packet_verdict read_extensions(struct cursor *cursor, struct headers *headers)
{
    for (unsigned i = 0; is_extension(headers->protocol) && !headers->later_fragment; i++) {
        if (i == PD_PACKET_EXTENSIONS_MAX) {
            return PD_PACKET_TOO_MANY_HEADERS;
        }
        enum pd_packet_verdict verdict = read_extension(cursor, headers);
        if (verdict) {
            return verdict;
        }
    }
    return PD_PACKET_OK;
}

static enum pd_packet_verdict read_ipv6(struct cursor *cursor, size_t wire, struct headers *headers)
{
    const uint8_t *ip;
    enum pd_packet_verdict verdict = take(cursor, IPV6_BYTES, &ip);
    if (verdict) {
        return verdict;
    }
    if (ip[0] >> 4 != 6) {
        return PD_PACKET_BAD_VERSION;
    }
    size_t payload_bytes = be16(ip + 4);
    if (payload_bytes == 0 && ip[6] == HOP_BY_HOP) {
        verdict = read_jumbo_payload(*cursor, &payload_bytes);
        if (verdict) {
            return verdict;
        }
    }
    if (payload_bytes > wire - cursor->at || payload_bytes > UINT32_MAX - IPV6_BYTES) {
        return PD_PACKET_BAD_TOTAL_LEN;
    }
    set_packet_end(cursor, cursor->at + payload_bytes);
    headers->ip_bytes = IPV6_BYTES + payload_bytes;
    headers->dscp = (uint8_t)(be16(ip) >> 6 & 0x3f);
    headers->ip_version = 6;
    headers->protocol = ip[6];
    headers->addrs = ip + 8;
    verdict = read_extensions(cursor, headers);
    return verdict ? verdict : read_transport(cursor, headers);
}

static inline void fill(const struct headers *headers, struct pd_packet *ret_packet)
{
    struct pd_flow_id *flow = &ret_packet->flow;
    memset(ret_packet, 0, sizeof *ret_packet);
    if (headers->ip_version == 4) {
        memcpy(flow->src.bytes, headers->addrs, 4);
        memcpy(flow->dst.bytes, headers->addrs + 4, 4);
    } else {
        memcpy(flow->src.bytes, headers->addrs, 16);
        memcpy(flow->dst.bytes, headers->addrs + 16, 16);
    }
    flow->src_port = headers->src_port;
    flow->dst_port = headers->dst_port;
    flow->protocol = headers->protocol;
    flow->ip_version = headers->ip_version;
    uint64_t mark = pd_tags_set_dscp(0, headers->dscp);
    for (unsigned i = headers->tags_len; i-- > 0;) {
        mark = pd_tags_push(mark, headers->outermost_first[i]);
    }
    ret_packet->mark = mark;
    ret_packet->tags_len = (uint8_t)headers->tags_len;
    ret_packet->tcp_flags = headers->tcp_flags;
    ret_packet->later_fragment = headers->later_fragment;
    ret_packet->ip_bytes = (uint32_t)headers->ip_bytes;
    ret_packet->ip_offset = (uint16_t)headers->ip_offset;
    ret_packet->transport_offset = (uint16_t)headers->transport_offset;
    ret_packet->options_offset = (uint16_t)headers->options_offset;
    ret_packet->segments_offset = (uint16_t)headers->segments_offset;
}

enum pd_packet_verdict pd_packet_parse(const uint8_t *frame, size_t captured, size_t wire,
                                       struct pd_packet *ret_packet)
{
    struct cursor cursor = {frame, 0, captured, SIZE_MAX, captured};
    struct headers headers;
    uint16_t ethertype;
    enum pd_packet_verdict verdict = read_ethernet(&cursor, &headers, &ethertype);
    if (verdict) {
        return verdict;
    }
    headers.src_port = headers.dst_port = 0;
    headers.tcp_flags = 0;
    headers.later_fragment = false;
    headers.options_offset = headers.segments_offset = 0;
    if (wire < captured) { /* a capture file may lie: what is there was on the wire */
        wire = captured;
    }
    switch (ethertype) {
    case ETHERTYPE_IPV4: verdict = read_ipv4(&cursor, wire, &headers); break;
    case ETHERTYPE_IPV6: verdict = read_ipv6(&cursor, wire, &headers); break;
    default: verdict = PD_PACKET_NOT_IP; break;
    }
    if (verdict == PD_PACKET_OK) {
        fill(&headers, ret_packet);
    }
    return verdict;
}

/* RFC 1624, equation 3: the checksum after one 16-bit word of the header changed. */
static uint16_t checksum_update(uint16_t checksum, uint16_t old_word, uint16_t new_word)
{
    uint32_t sum = (uint16_t)~checksum + (uint32_t)(uint16_t)~old_word + new_word;
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

void pd_packet_select(const uint8_t *frame, uint16_t tpid, struct pd_packet *packet)
{
    const uint8_t *tags = frame + MAC_BYTES;
    uint64_t mark = packet->mark & PD_TAGS_DSCP_MASK;
    unsigned len = 0;
    while (len < packet->tags_len && be16(tags + TAG_BYTES * len) == tpid) {
        len++;
    }
    for (unsigned i = len; i-- > 0;) {
        mark = pd_tags_push(mark, be16(tags + TAG_BYTES * i + 2) & 0x0fff);
    }
    packet->mark = mark;
    packet->tags_len = (uint8_t)len;
}

void pd_packet_set_dscp(uint8_t *frame, const struct pd_packet *packet, uint8_t dscp)
{
    uint8_t *ip = frame + packet->ip_offset;
    if (ip[0] >> 4 == 6) {
        ip[0] = (uint8_t)((ip[0] & 0xf0) | dscp >> 2);
        ip[1] = (uint8_t)((ip[1] & 0x3f) | dscp << 6);
        return;
    }
    uint16_t old_word = be16(ip);
    ip[1] = (uint8_t)((ip[1] & 0x03) | dscp << 2);
    uint16_t checksum = checksum_update(be16(ip + 10), old_word, be16(ip));
    ip[10] = (uint8_t)(checksum >> 8);
    ip[11] = (uint8_t)checksum;
}

size_t pd_packet_strip(uint8_t *frame, const struct pd_packet *packet, bool clear_dscp)
{
    if (clear_dscp && pd_tags_dscp(packet->mark)) {
        pd_packet_set_dscp(frame, packet, 0);
    }
    size_t bytes = (size_t)packet->tags_len * TAG_BYTES;
    uint8_t addresses[MAC_BYTES]; /* the two places overlap */
    memcpy(addresses, frame, MAC_BYTES);
    memcpy(frame + bytes, addresses, MAC_BYTES);
    return bytes;
}

static const struct {
    const char *id, *text;
} verdicts[PD_PACKET_VERDICT_COUNT] = {
#define X(name, id, text) [PD_PACKET_##name] = {id, text},
    PD_PACKET_VERDICTS(X)
#undef X
};

const char *pd_packet_verdict_id(enum pd_packet_verdict verdict)
{
    return (unsigned)verdict < PD_PACKET_VERDICT_COUNT ? verdicts[verdict].id : "unknown";
}

const char *pd_packet_verdict_text(enum pd_packet_verdict verdict)
{
    return (unsigned)verdict < PD_PACKET_VERDICT_COUNT ? verdicts[verdict].text : "unknown";
}

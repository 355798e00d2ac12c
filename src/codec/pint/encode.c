/* SPDX-License-Identifier: Apache-2.0 */
/* The reference encoder: the formulas switch by switch, then the frame as the receiver gets it. */
#include "codec/pint/encode.h"

#include <string.h>

#include "packet/sample.h"

enum { MAC_BYTES = 12, TAG_BYTES = 4, DSCP_MASK = 0x3f };

static void put16(uint8_t *bytes, unsigned value)
{
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)value;
}

/* Of the whole header, over a checksum field of 0. */
static unsigned ipv4_checksum(const uint8_t *ip)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < (size_t)(ip[0] & 0x0f) * 4; i += 2) {
        sum += (uint32_t)ip[i] << 8 | ip[i + 1];
    }
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return ~sum & 0xffff;
}

static void set_ip(uint8_t *ip, bool v4, unsigned hops, int dscp)
{
    ip[v4 ? 8 : 7] = (uint8_t)(ip[v4 ? 8 : 7] - hops);
    if (dscp >= 0 && v4) {
        ip[1] = (uint8_t)((unsigned)dscp << 2 | (ip[1] & 3));
    } else if (dscp >= 0) {
        ip[0] = (uint8_t)(0x60 | (unsigned)dscp >> 2);
        ip[1] = (uint8_t)((ip[1] & 0x3f) | ((unsigned)dscp & 3) << 6);
    }
    if (v4) {
        put16(ip + 10, 0);
        put16(ip + 10, ipv4_checksum(ip));
    }
}

/* The frame with its TTL lowered and the digest on; tags of hosts that look like one are off. */
static size_t write_frame(const struct pd_pint_plan *plan, const uint8_t *frame, size_t bytes,
                          const struct pd_packet *packet, unsigned hops, uint16_t digest,
                          uint8_t *ret_frame)
{
    const bool tag = plan->carrier == PD_PINT_TAG;
    size_t to = MAC_BYTES, from = MAC_BYTES;

    memcpy(ret_frame, frame, MAC_BYTES);
    if (tag) {
        put16(ret_frame + to, 0x88a8);
        put16(ret_frame + to + 2, digest);
        to += TAG_BYTES;
    }
    for (; from + 2 < packet->ip_offset; from += TAG_BYTES) {
        if (tag && frame[from] == 0x88 && frame[from + 1] == 0xa8) {
            continue;
        }
        memcpy(ret_frame + to, frame + from, TAG_BYTES);
        to += TAG_BYTES;
    }
    memcpy(ret_frame + to, frame + from, bytes - from);
    set_ip(ret_frame + to + 2, packet->flow.ip_version == 4, hops, tag ? -1 : digest & DSCP_MASK);
    return to + bytes - from;
}

static bool cross(const struct pd_pint_plan *plan, const uint32_t *path, size_t len,
                  const uint64_t *const *values, uint8_t ttl, struct pd_pint_crossing *crossing)
{
    uint64_t here[PD_PINT_QUERIES_MAX] = {0};
    struct pd_pint_visit visit = {.packet_id = crossing->packet_id, .values = here};

    for (size_t p = 0; p < len; p++) {
        for (unsigned n = 0; n < plan->queries_len; n++) {
            here[n] = values[n] ? values[n][p] : 0;
        }
        visit.sw = path[p];
        visit.hop = pd_packet_hops((uint8_t)(ttl - p)) + 1; /* a switch knows nothing else */
        visit.first = p == 0;
        if (pd_pint_switch(plan, &visit, &crossing->digest)) {
            crossing->sw = visit.sw;
            crossing->hop = visit.hop;
            return true;
        }
    }
    return false;
}

int pd_pint_encode(const struct pd_pint_plan *plan, const uint8_t *frame, size_t bytes,
                   const struct pd_packet *packet, const uint32_t *path, size_t len,
                   const uint64_t *const *values, uint8_t *ret_frame,
                   struct pd_pint_crossing *ret_crossing, struct pd_error *error)
{
    const uint8_t ttl = pd_packet_ttl(frame, packet);
    struct pd_pint_crossing crossing = {
        .packet_id = pd_packet_id(frame, bytes, packet, plan->seed),
    };

    if (ttl <= len) {
        return pd_fail(error, -PD_E_VALUE, "a TTL of %u does not last for %zu switches", ttl, len);
    }
    crossing.set = pd_pint_set_of(plan, crossing.packet_id);
    crossing.looped = cross(plan, path, len, values, ttl, &crossing);
    if (!crossing.looped) {
        crossing.frame_bytes =
            write_frame(plan, frame, bytes, packet, (unsigned)len, crossing.digest, ret_frame);
    }
    *ret_crossing = crossing;
    return 0;
}

bool pd_pint_digest(const struct pd_pint_plan *plan, const uint8_t *frame,
                    const struct pd_packet *packet, uint16_t *ret_digest)
{
    uint16_t tci;

    if (plan->carrier == PD_PINT_DSCP) {
        *ret_digest = pd_tags_dscp(packet->mark);
        return true;
    }
    if (pd_packet_service_tags(frame, packet, &tci) != 1) {
        return false;
    }
    *ret_digest = tci;
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Path filters off frames. */
#include "packet/filter.h"

enum {
    MAC_BYTES = 12,
    TAG_BYTES = 4,
    UDP = 17,
    UDP_BYTES = 8,
    VXLAN_BYTES = 8,
    VXLAN_HAS_ID = 0x08, /* the only flag that says that this is VXLAN */
};

uint64_t pd_packet_filter_read_vxlan(const uint8_t *frame, size_t captured,
                                     const struct pd_packet *packet)
{
    const size_t at = (size_t)packet->transport_offset + UDP_BYTES;
    const uint8_t *header = frame + at;

    if (packet->flow.protocol != UDP || packet->flow.dst_port != PD_VXLAN_PORT ||
        packet->later_fragment || captured < at + VXLAN_BYTES || !(header[0] & VXLAN_HAS_ID)) {
        return 0;
    }
    return PD_FILTER_PRESENT | (uint64_t)header[1] << 24 | (uint64_t)header[2] << 16 |
           (uint64_t)header[3] << 8 | header[7];
}

static uint64_t tci(const uint8_t *frame, unsigned nth)
{
    const uint8_t *tag = frame + MAC_BYTES + (size_t)TAG_BYTES * nth;

    return (uint64_t)tag[2] << 8 | tag[3];
}

/* Priority (3 bits), drop eligible (1), VLAN ID (12). */
uint64_t pd_packet_filter_read_vlan(const uint8_t *frame, size_t captured,
                                    const struct pd_packet *packet)
{
    (void)captured;
    if (packet->tags_len != 1) {
        return packet->tags_len ? PD_FILTER_PRESENT | PD_FILTER_MALFORMED : 0;
    }
    const uint64_t bits = tci(frame, 0);
    return PD_FILTER_PRESENT | (bits >> 13) << 12 | (bits & 0xfff);
}

uint64_t pd_packet_filter_read_vlan2(const uint8_t *frame, size_t captured,
                                     const struct pd_packet *packet)
{
    (void)captured;
    if (packet->tags_len != 2) {
        return packet->tags_len ? PD_FILTER_PRESENT | PD_FILTER_MALFORMED : 0;
    }
    return PD_FILTER_PRESENT | tci(frame, 0) << 16 | tci(frame, 1);
}

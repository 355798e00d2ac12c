// SPDX-License-Identifier: Apache-2.0
// What tables ask of a frame, in one place for both families.
#ifndef SHARED_CLASSIFY_P4
#define SHARED_CLASSIFY_P4

control Tags(inout headers_t h, inout metadata_t m) {
    apply {
        m.outer = 0;
        m.tci = 0;
        m.type = h.ethernet.type;
        if (h.ethernet.type == TYPE_OLD_TAG) {
            m.outer = TYPE_OLD_TAG;
        }
        if (h.tag1.isValid()) {
            m.outer = h.ethernet.type;
            m.tci = h.tag1.tci;
            m.type = h.tag1.type;
#ifdef WITH_PINT
            // A digest is no link tag.
            if (h.ethernet.type == TYPE_SERVICE_TAG) {
                m.outer = 0;
                m.tci = 0;
                if (h.tag2.isValid()) {
                    m.outer = h.tag1.type;
                    m.tci = h.tag2.tci;
                }
            }
#endif
        }
        if (h.tag2.isValid()) {
            m.type = h.tag2.type;
        }
        if (h.tag3.isValid()) {
            m.type = h.tag3.type;
        }
    }
}

/* IPv6 with more extension headers than are read, or with one that is authenticated, has a protocol
 * behind them that nobody has seen. */
control LastProtocol(inout headers_t h, inout metadata_t m) {
    apply {
        m.protocol = h.ipv6.protocol;
        if (h.extension2.isValid()) {
            m.protocol = h.extension2.protocol;
        } else if (h.extension1.isValid()) {
            m.protocol = h.extension1.protocol;
        }
        if (m.protocol == 0) {
            m.protocol = PROTOCOL_UNKNOWN;
        } else if (m.protocol == 43) {
            m.protocol = PROTOCOL_UNKNOWN;
        } else if (m.protocol == 44) {
            m.protocol = PROTOCOL_UNKNOWN;
        } else if (m.protocol == 51) {
            m.protocol = PROTOCOL_UNKNOWN;
        } else if (m.protocol == 60) {
            m.protocol = PROTOCOL_UNKNOWN;
        } else if (m.protocol == 135) {
            m.protocol = PROTOCOL_UNKNOWN;
        } else if (m.protocol == 139) {
            m.protocol = PROTOCOL_UNKNOWN;
        } else if (m.protocol == 140) {
            m.protocol = PROTOCOL_UNKNOWN;
        }
    }
}

control Classify(inout headers_t h, inout metadata_t m) {
    Tags() tags;
    LastProtocol() last_protocol;
    apply {
        m.out_port = 0;
        m.group = 0;
        m.from_host = 0;
        m.sets_dscp = 0;
        m.l4_ports = 0;
        m.dscp = 0;
        m.protocol = PROTOCOL_UNKNOWN;
        m.family = FAMILY_OTHER;
        tags.apply(h, m);
        if (h.ipv4.isValid()) {
            m.family = FAMILY_IPV4;
            m.dst_hi = 0;
            m.dst_lo = (bit<64>)h.ipv4.dst;
            m.dst_lo = m.dst_lo | 0xffff00000000;
            m.src_hi = 0;
            m.src_lo = (bit<64>)h.ipv4.src;
            m.src_lo = m.src_lo | 0xffff00000000;
            m.protocol = h.ipv4.protocol;
            m.dscp = h.ipv4.tos;
            m.dscp = m.dscp >> 2;
            if (h.ipv4.version_ihl < 0x45) {
                m.out_port = FATE_MALFORMED;
            }
            if (h.ipv4.version_ihl > 0x4f) {
                m.out_port = FATE_MALFORMED;
            }
        } else if (h.ipv6.isValid()) {
            m.family = FAMILY_IPV6;
            m.dst_hi = h.ipv6.dst_hi;
            m.dst_lo = h.ipv6.dst_lo;
            m.src_hi = h.ipv6.src_hi;
            m.src_lo = h.ipv6.src_lo;
            m.protocol = h.ipv6.protocol;
            if (h.tcp.isValid()) {
                m.protocol = PROTOCOL_TCP;
            } else {
                last_protocol.apply(h, m);
            }
            m.sum = h.ipv6.version_class_label;
            m.sum = m.sum >> 22;
            m.dscp = (bit<8>)m.sum;
            m.dscp = m.dscp & 0x3f;
            m.sum = m.sum >> 6;
            if (m.sum != 6) {
                m.out_port = FATE_MALFORMED;
            }
        } else if (m.type == TYPE_ARP) {
            m.family = FAMILY_ARP;
        }
        if (h.tcp.isValid()) {
            m.l4_ports = (bit<32>)h.tcp.src;
            m.l4_ports = m.l4_ports << 16;
            m.sum = (bit<32>)h.tcp.dst;
            m.l4_ports = m.l4_ports | m.sum;
        } else if (h.udp.isValid()) {
            m.l4_ports = (bit<32>)h.udp.src;
            m.l4_ports = m.l4_ports << 16;
            m.sum = (bit<32>)h.udp.dst;
            m.l4_ports = m.l4_ports | m.sum;
        }
    }
}

#endif

// SPDX-License-Identifier: Apache-2.0
// Writes m.new_dscp; the checksum of IPv4 follows, and stays wrong where it was.
#ifndef SHARED_DSCP_P4
#define SHARED_DSCP_P4

/* RFC 1624, equation 3, without complements: of a word only its lower byte changes. */
control SetDscp(inout headers_t h, inout metadata_t m) {
    apply {
        if (h.ipv4.isValid()) {
            m.sum = 0x1fffe;
            m.sum = m.sum - (bit<32>)h.ipv4.checksum;
            m.sum = m.sum - (bit<32>)h.ipv4.tos;
            m.bits = (bit<32>)h.ipv4.tos;
            m.bits = m.bits & 3;
            m.hash = (bit<32>)m.new_dscp;
            m.hash = m.hash << 2;
            m.bits = m.bits | m.hash;
            h.ipv4.tos = (bit<8>)m.bits;
            m.sum = m.sum + m.bits;
            m.bits = m.sum >> 16;
            m.sum = m.sum & 0xffff;
            m.sum = m.sum + m.bits;
            m.bits = m.sum >> 16;
            m.sum = m.sum & 0xffff;
            m.sum = m.sum + m.bits;
            m.bits = 0xffff;
            m.bits = m.bits - m.sum;
            h.ipv4.checksum = (bit<16>)m.bits;
        } else if (h.ipv6.isValid()) {
            m.bits = (bit<32>)m.new_dscp;
            m.bits = m.bits << 22;
            m.sum = h.ipv6.version_class_label;
            m.sum = m.sum & 0xf03fffff;
            m.sum = m.sum | m.bits;
            h.ipv6.version_class_label = m.sum;
        }
        m.dscp = m.new_dscp;
    }
}

#endif

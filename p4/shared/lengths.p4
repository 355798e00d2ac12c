// SPDX-License-Identifier: Apache-2.0
// A datagram that has grown by m.grown bytes behind its UDP or TCP header.
#ifndef SHARED_LENGTHS_P4
#define SHARED_LENGTHS_P4

/* The checksum of IPv4 follows, as RFC 1624 has it. */
control Lengths(inout headers_t h, inout metadata_t m) {
    bit<32> carry = 0;
    apply {
        if (m.grown != 0) {
            if (h.udp.isValid()) {
                h.udp.length = h.udp.length + m.grown;
            }
            if (h.ipv4.isValid()) {
                m.sum = 0x1fffe;
                m.sum = m.sum - (bit<32>)h.ipv4.checksum;
                m.sum = m.sum - (bit<32>)h.ipv4.length;
                h.ipv4.length = h.ipv4.length + m.grown;
                m.sum = m.sum + (bit<32>)h.ipv4.length;
                carry = m.sum >> 16;
                m.sum = m.sum & 0xffff;
                m.sum = m.sum + carry;
                carry = m.sum >> 16;
                m.sum = m.sum & 0xffff;
                m.sum = m.sum + carry;
                carry = 0xffff;
                carry = carry - m.sum;
                h.ipv4.checksum = (bit<16>)carry;
            } else {
                h.ipv6.length = h.ipv6.length + m.grown;
            }
        }
    }
}

#endif

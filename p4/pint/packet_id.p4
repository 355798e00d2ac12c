// SPDX-License-Identifier: Apache-2.0
// Packet ID and hop number: docs/formats/pint.md, "Formulas".
#ifndef PINT_PACKET_ID_P4
#define PINT_PACKET_ID_P4

/* Words of both families end alike: flags and offset, then ports and two words of the transport. So
 * IPv6 is two steps of the hash longer in front, and all else is one way. How many words there are
 * goes into its start. */

control PacketId(inout headers_t h, inout metadata_t m) {
    apply {
        // The three words before the last step, and the tail; m.slot: 4 * words.
        m.word3 = 0;
        m.word4 = 0;
        m.word5 = 0;
        m.word6 = 0;
        m.slot = 0;
        m.l4_words = 0;
        if (h.tcp.isValid()) {
            m.word4 = m.l4_ports;
            m.word5 = h.tcp.sequence;
            m.word6 = h.tcp.acknowledgement;
            m.slot = 12;
            m.l4_words = 3;
        } else if (h.udp.isValid()) {
            m.word4 = m.l4_ports;
            m.word5 = h.behind.word0;
            m.word6 = h.behind.word1;
#ifdef WITH_SR_INT
            if (h.probe.isValid()) {
                m.word5 = (bit<32>)h.probe.magic;
                m.word5 = m.word5 << 8;
                m.word6 = (bit<32>)h.probe.version;
                m.word5 = m.word5 | m.word6;
                m.word5 = m.word5 << 8;
                m.word6 = (bit<32>)h.probe.flags;
                m.word5 = m.word5 | m.word6;
                m.word6 = h.probe.plan;
            }
#endif
            m.slot = 12;
            m.l4_words = 3;
        } else if (h.behind.isValid()) { // no ports: the next two words
            m.word4 = h.behind.word0;
            m.word5 = h.behind.word1;
            m.slot = 8;
        }
        if (h.ipv4.isValid()) {
            m.word3 = (bit<32>)h.ipv4.fragment;
            m.word3 = m.word3 & 0x3fff;
            m.slot = m.slot + 16;
        } else {
            m.slot = m.slot + 40;
        }
        J_BEGIN(0xdeadbeef)
        m.a = m.a + m.slot;
        m.b = m.a;
        m.c = m.a;
        m.word0 = (bit<32>)m.protocol;
        m.word0 = m.word0 << 16;
        if (h.ipv4.isValid()) {
            m.word1 = (bit<32>)h.ipv4.id;
            m.word0 = m.word0 | m.word1;
            m.word1 = h.ipv4.src;
            m.word2 = h.ipv4.dst;
        } else {
            m.wide = m.src_hi >> 32;
            m.word1 = (bit<32>)m.wide;
            m.word2 = (bit<32>)m.src_hi;
            m.wide = m.src_lo >> 32;
            m.hash = (bit<32>)m.wide;
            J_MIX(m.word1, m.word2, m.hash)
            m.word1 = (bit<32>)m.src_lo;
            m.wide = m.dst_hi >> 32;
            m.word2 = (bit<32>)m.wide;
            m.hash = (bit<32>)m.dst_hi;
            J_MIX(m.word1, m.word2, m.hash)
            m.wide = m.dst_lo >> 32;
            m.word1 = (bit<32>)m.wide;
            m.word2 = (bit<32>)m.dst_lo;
        }
        J_MIX(m.word1, m.word2, m.word0)
        if (m.l4_words == 3) {
            J_MIX(m.word3, m.word4, m.word5)
            m.a = m.a + m.word6;
        } else {
            m.a = m.a + m.word3;
            m.b = m.b + m.word4;
            m.c = m.c + m.word5;
        }
        J_END
        m.packet_id = m.c;
    }
}

/* T - t + 1, T the least of 64, 128 and 255 that is not less than t, as the packet comes in. */
control HopNumber(inout headers_t h, inout metadata_t m) {
    apply {
        if (h.ipv4.isValid()) {
            m.bits = (bit<32>)h.ipv4.ttl;
        } else {
            m.bits = (bit<32>)h.ipv6.ttl;
        }
        m.hop = 256;
        if (m.bits < 65) {
            m.hop = 65;
        } else if (m.bits < 129) {
            m.hop = 129;
        }
        m.hop = m.hop - m.bits;
    }
}

#endif

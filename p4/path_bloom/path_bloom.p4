// SPDX-License-Identifier: Apache-2.0
// Path filters (paper 004, section III-B): a switch sets its bits, constants of its rows.
#ifndef PATH_BLOOM_P4
#define PATH_BLOOM_P4

/* A filter is read from its carrier, cleared or turned, gets the row's bits and is written back. As
 * one m.wide of 32 bits all three carriers are alike. What is no VXLAN has no filter there; a frame
 * without tags gets them where a row begins, and nothing where one only adds. */

const bit<8> CARRIER_VXLAN = 1;
const bit<8> CARRIER_VLAN = 2;
const bit<8> CARRIER_VLAN2 = 3;

const bit<8> FILTER_PASS = 0;
const bit<8> FILTER_BEGIN = 1;
const bit<8> FILTER_ADD = 2;

// The sum of the 16-bit words that a filter may change, into `old`.
#define VXLAN_WORDS \
    old = h.vxlan.flags_reserved >> 16; \
    high = h.vxlan.flags_reserved & 0xffff; \
    old = old + high; \
    high = h.vxlan.vni_reserved & 0xffff; \
    old = old + high;

control PathBloom(inout headers_t h, inout metadata_t m) {
    bit<32> old = 0;
    bit<32> high = 0;
    bit<8> is_vxlan = 0;
#ifdef WITH_METERS
    REGISTER(bloom, 4) // carrier
#endif

    @name(".pass") action pass() {
    }
    @name(".begin") action begin(bit<8> carrier, bit<16> tpid, bit<32> bits) {
        m.filter_action = FILTER_BEGIN;
        m.carrier = carrier;
        m.filter_tpid = tpid;
        m.filter_bits = bits;
    }
    // `turn`: how many bits the filter has, all of which are in `mask`; 0: it is not turned.
    @name(".add") action add(bit<8> carrier, bit<8> turn, bit<32> mask, bit<32> bits) {
        m.filter_action = FILTER_ADD;
        m.carrier = carrier;
        m.turn = turn;
        m.filter_mask = mask;
        m.filter_bits = bits;
    }
    @name(".punt") action punt() {
        m.out_port = FATE_LONG_PATH;
    }
    @name(".deny") action deny() {
        m.out_port = FATE_ROW;
    }
    @name(".rows") table rows {
        key = {
            m.in_port: ternary;
            m.outer: ternary;
            m.tci: ternary;
            m.family: ternary;
            m.dscp: ternary;
            m.src_hi: ternary;
            m.src_lo: ternary;
            m.dst_hi: ternary;
            m.dst_lo: ternary;
        }
        actions = { pass; begin; add; punt; deny; }
        const default_action = pass;
        size = 65536;
    }

    apply {
        m.filter_action = FILTER_PASS;
        m.filter = 0;
        if (h.vxlan.isValid()) {
            old = h.vxlan.flags_reserved & 0x08000000;
            if (old != 0) {
                is_vxlan = 1;
            }
        }
#ifdef WITH_METERS
        // As receivers read it: bit 32 where there is one, bit 33 where tags are too many or few.
        REGISTER_READ(bloom, m.wide, 0)
        m.arrived_filter = 0;
        if (m.wide == 1) {
            if (is_vxlan == 1) {
                m.wide = (bit<64>)h.vxlan.flags_reserved;
                m.wide = m.wide & 0xffffff;
                m.arrived_filter = m.wide << 8;
                m.wide = (bit<64>)h.vxlan.vni_reserved;
                m.wide = m.wide & 0xff;
                m.arrived_filter = m.arrived_filter | m.wide;
                m.arrived_filter = m.arrived_filter | 0x100000000;
            }
        } else if (h.tag3.isValid()) {
            m.arrived_filter = 0x300000000;
        } else if (h.tag2.isValid()) {
            m.arrived_filter = 0x300000000;
            if (m.wide == 3) {
                m.arrived_filter = (bit<64>)h.tag1.tci;
                m.arrived_filter = m.arrived_filter << 16;
                m.wide = (bit<64>)h.tag2.tci;
                m.arrived_filter = m.arrived_filter | m.wide;
                m.arrived_filter = m.arrived_filter | 0x100000000;
            }
        } else if (h.tag1.isValid()) {
            m.arrived_filter = 0x300000000;
            if (m.wide == 2) {
                m.wide = (bit<64>)h.tag1.tci;
                m.arrived_filter = m.wide & 0xfff;
                m.wide = m.wide >> 13;
                m.wide = m.wide << 12;
                m.arrived_filter = m.arrived_filter | m.wide;
                m.arrived_filter = m.arrived_filter | 0x100000000;
            }
        }
#endif
        if (m.out_port < FATES) {
            rows.apply();
        }
        if (m.filter_action == FILTER_ADD) {
            if (m.carrier == CARRIER_VXLAN) {
                m.filter = h.vxlan.flags_reserved;
                m.filter = m.filter << 8;
                old = h.vxlan.vni_reserved;
                old = old & 0xff;
                m.filter = m.filter | old;
            } else if (m.carrier == CARRIER_VLAN2) {
                m.filter = (bit<32>)h.tag1.tci;
                m.filter = m.filter << 16;
                old = (bit<32>)h.tag2.tci;
                m.filter = m.filter | old;
            } else {
                m.filter = (bit<32>)h.tag1.tci;
                old = m.filter;
                m.filter = m.filter & 0xfff;
                old = old >> 13;
                old = old << 12;
                m.filter = m.filter | old;
            }
            if (m.turn != 0) {
                m.turn = m.turn - 1;
                old = m.filter >> m.turn;
                m.filter = m.filter << 1;
                m.filter = m.filter | old;
                m.filter = m.filter & m.filter_mask;
            }
        }
        if (m.filter_action != FILTER_PASS) {
            m.filter = m.filter | m.filter_bits;
            if (m.carrier == CARRIER_VXLAN) {
                if (is_vxlan == 1) {
                    m.sum = 0x3fffc;
                    m.sum = m.sum - (bit<32>)h.udp.checksum;
                    VXLAN_WORDS
                    m.sum = m.sum - old;
                    old = h.vxlan.flags_reserved;
                    old = old & 0xff000000;
                    high = m.filter >> 8;
                    high = high | old;
                    h.vxlan.flags_reserved = high;
                    old = h.vxlan.vni_reserved;
                    old = old & 0xffffff00;
                    high = m.filter & 0xff;
                    high = high | old;
                    h.vxlan.vni_reserved = high;
                    VXLAN_WORDS
                    m.sum = m.sum + old;
                    old = m.sum >> 16;
                    m.sum = m.sum & 0xffff;
                    m.sum = m.sum + old;
                    old = m.sum >> 16;
                    m.sum = m.sum & 0xffff;
                    m.sum = m.sum + old;
                    old = 0xffff;
                    old = old - m.sum;
                    if (old == 0) {
                        old = 0xffff;
                    }
                    if (h.udp.checksum != 0) {
                        h.udp.checksum = (bit<16>)old;
                    }
                }
            } else if (m.carrier == CARRIER_VLAN2) {
                high = m.filter >> 16;
                if (h.tag2.isValid()) {
                    h.tag1.tci = (bit<16>)high;
                    h.tag2.tci = (bit<16>)m.filter;
                } else if (m.filter_action == FILTER_BEGIN) {
                    h.pushed.setValid();
                    h.pushed_inner.setValid();
                    h.pushed.tci = (bit<16>)high;
                    h.pushed.type = m.filter_tpid;
                    h.pushed_inner.tci = (bit<16>)m.filter;
                    h.pushed_inner.type = h.ethernet.type;
                    h.ethernet.type = m.filter_tpid;
                }
            } else {
                old = m.filter >> 12;
                old = old << 13;
                m.filter = m.filter & 0xfff;
                m.filter = m.filter | old;
                if (h.tag1.isValid()) {
                    h.tag1.tci = (bit<16>)m.filter;
                } else if (m.filter_action == FILTER_BEGIN) {
                    h.pushed.setValid();
                    h.pushed.tci = (bit<16>)m.filter;
                    h.pushed.type = h.ethernet.type;
                    h.ethernet.type = m.filter_tpid;
                }
            }
        }
    }
}

#endif

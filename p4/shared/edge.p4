// SPDX-License-Identifier: Apache-2.0
// The edge: what a host sends is not what a switch wrote.
#ifndef SHARED_EDGE_P4
#define SHARED_EDGE_P4

/* Table `edge` has an entry for each port that faces a host. Tags of the type of link tags (0: of
 * any type) are dropped or taken off there, where IP or ARP lies behind at most two of them; the
 * DSCP is cleared where a scheme writes it. All else is from a switch. */

control Edge(inout headers_t h, inout metadata_t m) {
    bit<8> drops = 0;
    bit<8> strips = 0;
    bit<8> clears = 0;
    bit<16> link_type = 0;
    Tags() tags;
    SetDscp() set_dscp;

    @name(".host") action host(bit<8> drop, bit<8> strip, bit<16> type, bit<8> clear) {
        m.from_host = 1;
        drops = drop;
        strips = strip;
        link_type = type;
        clears = clear;
    }
    @name(".edge") table edge {
        key = { m.in_port: exact; }
        actions = { host; NoAction; }
        const default_action = NoAction;
        size = 1024;
    }

    apply {
        edge.apply();
        if (m.outer != 0) {
            if (drops == 1) {
                if (link_type == 0) {
                    m.out_port = FATE_EDGE;
                } else if (link_type == m.outer) {
                    m.out_port = FATE_EDGE;
                }
            }
            if (strips == 1) {
                if (h.tag1.isValid()) {
                    if (link_type == 0) {
                        link_type = m.outer;
                        strips = 2; // of any type
                    }
                    if (link_type == m.outer) {
                        h.ethernet.type = h.tag1.type;
                        h.tag1.setInvalid();
                        if (h.tag2.isValid()) {
                            if (strips == 2) {
                                link_type = h.ethernet.type;
                            }
                            if (link_type == h.ethernet.type) {
                                h.ethernet.type = h.tag2.type;
                                h.tag2.setInvalid();
                                if (h.tag3.isValid()) {
                                    m.out_port = FATE_EDGE;
                                }
                            }
                        }
                        if (m.family == FAMILY_OTHER) {
                            m.out_port = FATE_EDGE;
                        }
                    }
                } else {
                    m.out_port = FATE_EDGE; // a tag that only receivers read
                }
            }
            if (strips != 0) {
                m.outer = 0;
                m.tci = 0;
                if (h.tag1.isValid()) {
                    m.outer = h.ethernet.type;
                    m.tci = h.tag1.tci;
                } else if (h.tag2.isValid()) {
                    m.outer = h.ethernet.type;
                    m.tci = h.tag2.tci;
                }
            }
        }
        if (clears == 1) {
            m.new_dscp = 0;
            set_dscp.apply(h, m);
        }
    }
}

#endif

// SPDX-License-Identifier: Apache-2.0
// Routes by prefix and port, over all equal paths; lowers the TTL.
#ifndef FORWARD_P4
#define FORWARD_P4

/* A group of equal paths has 2^n slots; the flow's hash names one. Which bits of it: a shift by the
 * switch's layer, or two layers in a row would take the same turn. Schemes stand between `Route`,
 * which says where to, and `Leave`, after which nothing changes but the port of a group. */

control Route(inout headers_t h, inout metadata_t m) {
    @name(".to_port") action to_port(bit<32> port) {
        m.out_port = port;
    }
    @name(".to_group") action to_group(bit<32> group, bit<32> mask, bit<32> shift) {
        m.group = group;
        m.mask = mask;
        m.shift = shift;
    }
    @name(".no_route") action no_route() {
        m.out_port = FATE_NO_ROUTE;
    }
    @name(".routes") table routes {
        key = {
            m.in_port: ternary;
            m.dst_hi: ternary;
            m.dst_lo: ternary;
        }
        actions = { to_port; to_group; no_route; }
        const default_action = no_route;
        size = 65536;
    }
    HASH_UNIT(flow_hash)
    @name(".member") action member(bit<32> port) {
        m.out_port = port;
    }
    @name(".no_member") action no_member() {
        m.out_port = FATE_NO_ROUTE;
    }
    @name(".groups") table groups {
        key = {
            m.group: exact;
            m.slot: exact;
        }
        actions = { member; no_member; }
        const default_action = no_member;
        size = 65536;
    }

    apply {
        if (m.out_port == 0) {
            if (m.family >= FAMILY_IPV4) {
                routes.apply();
                if (m.group != 0) {
                    HASH_FLOW(flow_hash)
                    m.slot = m.hash >> m.shift;
                    m.slot = m.slot & m.mask;
                    groups.apply();
                }
            } else {
                m.out_port = FATE_NOT_IP;
            }
        }
    }
}

/* As a router does; RFC 1141 with the carry of RFC 1624. */
control Leave(inout headers_t h, inout metadata_t m) {
    apply {
        if (m.out_port < FATES) {
            if (h.ipv4.isValid()) {
                if (h.ipv4.ttl < 2) {
                    m.out_port = FATE_TTL;
                } else {
                    h.ipv4.ttl = h.ipv4.ttl - 1;
                    m.sum = (bit<32>)h.ipv4.checksum;
                    m.sum = m.sum + 0x100;
                    if (m.sum > 0xfffe) {
                        m.sum = m.sum + 1;
                    }
                    h.ipv4.checksum = (bit<16>)m.sum;
                }
            } else {
                if (h.ipv6.ttl < 2) {
                    m.out_port = FATE_TTL;
                } else {
                    h.ipv6.ttl = h.ipv6.ttl - 1;
                }
            }
        }
    }
}

#endif

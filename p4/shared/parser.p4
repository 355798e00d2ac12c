// SPDX-License-Identifier: Apache-2.0
// Reads a frame as far as programs look into it.
#ifndef SHARED_PARSER_P4
#define SHARED_PARSER_P4

/* Loops are not to be had on all targets: three tags and two extension headers are written out.
 * What has more is left as it came: its family, or its protocol, is unknown. */

#ifdef WITH_PINT
#define BEHIND behind
#define BEHIND_UDP behind
#elif defined(WITH_INT_MD)
#define BEHIND accept
#define BEHIND_UDP int_md
#else
#define BEHIND accept
#define BEHIND_UDP accept
#endif

parser Parser(PARSER_PARAMETERS) {
    state start {
        PARSER_START
        m.bits = 0;
        packet.extract(h.ethernet);
        transition select(h.ethernet.type) {
            TYPE_IPV4: ipv4;
            TYPE_IPV6: ipv6;
            TYPE_TAG: tag1;
            TYPE_SERVICE_TAG: tag1;
            default: accept;
        }
    }
    state tag1 {
        packet.extract(h.tag1);
        transition select(h.tag1.type) {
            TYPE_IPV4: ipv4;
            TYPE_IPV6: ipv6;
            TYPE_TAG: tag2;
            TYPE_SERVICE_TAG: tag2;
            default: accept;
        }
    }
    state tag2 {
        packet.extract(h.tag2);
        transition select(h.tag2.type) {
            TYPE_IPV4: ipv4;
            TYPE_IPV6: ipv6;
            TYPE_TAG: tag3;
            TYPE_SERVICE_TAG: tag3;
            default: accept;
        }
    }
    state tag3 {
        packet.extract(h.tag3);
        transition select(h.tag3.type) {
            TYPE_IPV4: ipv4;
            TYPE_IPV6: ipv6;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(h.ipv4);
#ifdef WITH_INT_MD
        m.int_class = (bit<32>)h.ipv4.tos;
        m.int_class = m.int_class & 0xfc;
#endif
        transition select(h.ipv4.version_ihl) {
            0x45: ipv4_fragment;
            0x46 &&& 0xfe: ipv4_options;
            0x48 &&& 0xf8: ipv4_options;
            default: accept;
        }
    }
    state ipv4_options {
        m.bits = (bit<32>)h.ipv4.version_ihl;
        m.bits = m.bits & 15;
        m.bits = m.bits - 5;
        m.bits = m.bits << 5;
        packet.extract(h.options, m.bits);
        transition ipv4_fragment;
    }
    state ipv4_fragment {
        transition select(h.ipv4.fragment) {
            0 &&& 0x3fff: ipv4_protocol;
            default: accept;
        }
    }
    state ipv4_protocol {
        transition select(h.ipv4.protocol) {
            PROTOCOL_TCP: tcp;
            PROTOCOL_UDP: udp;
            default: BEHIND;
        }
    }

    state ipv6 {
        packet.extract(h.ipv6);
#ifdef WITH_INT_MD
        m.int_class = h.ipv6.version_class_label >> 20;
        m.int_class = m.int_class & 0xfc;
#endif
        transition select(h.ipv6.protocol) {
            PROTOCOL_TCP: tcp;
            PROTOCOL_UDP: udp;
            0: extension1;
            43: extension1;
            44: extension1;
            60: extension1;
            135: extension1;
            139: extension1;
            140: extension1;
            default: BEHIND;
        }
    }
    state extension1 {
        packet.extract(h.extension1);
        transition select(h.ipv6.protocol) {
            44: fragment1;
            default: more1;
        }
    }
    state fragment1 {
        transition select(h.extension1.fragment) {
            0 &&& 0xfff9: extension1_done;
            default: accept;
        }
    }
    state more1 {
        m.bits = (bit<32>)h.extension1.length;
        m.bits = m.bits << 6;
        packet.extract(h.more1, m.bits);
        transition extension1_done;
    }
    state extension1_done {
        transition select(h.extension1.protocol) {
            PROTOCOL_TCP: tcp;
            PROTOCOL_UDP: udp;
            0: extension2;
            43: extension2;
            44: extension2;
            60: extension2;
            135: extension2;
            139: extension2;
            140: extension2;
            default: BEHIND;
        }
    }
    state extension2 {
        packet.extract(h.extension2);
        transition select(h.extension1.protocol) {
            44: fragment2;
            default: more2;
        }
    }
    state fragment2 {
        transition select(h.extension2.fragment) {
            0 &&& 0xfff9: extension2_done;
            default: accept;
        }
    }
    state more2 {
        m.bits = (bit<32>)h.extension2.length;
        m.bits = m.bits << 6;
        packet.extract(h.more2, m.bits);
        transition extension2_done;
    }
    state extension2_done {
        transition select(h.extension2.protocol) {
            PROTOCOL_TCP: tcp;
            PROTOCOL_UDP: udp;
            default: BEHIND;
        }
    }

#ifdef WITH_INT_MD
    state tcp {
        packet.extract(h.tcp);
        transition select(h.tcp.flags) {
            0x5000 &&& 0xf000: int_md;
            0x6000 &&& 0xe000: tcp_options;
            0x8000 &&& 0x8000: tcp_options;
            default: accept;
        }
    }
    state tcp_options {
        m.bits = (bit<32>)h.tcp.flags;
        m.bits = m.bits >> 12;
        m.bits = m.bits - 5;
        m.bits = m.bits << 5;
        packet.extract(h.tcp_options, m.bits);
        transition int_md;
    }
    state int_md {
        transition select(m.int_class) {
            0x5c: int_shim;
            default: accept;
        }
    }
    state int_shim {
        packet.extract(h.int_shim);
        transition select(h.int_shim.kind) {
            0x10 &&& 0xf0: int_words;
            default: accept;
        }
    }
    state int_words {
        transition select(h.int_shim.words) {
            0: accept;
            1: accept;
            2: accept;
            default: int_header;
        }
    }
    state int_header {
        packet.extract(h.int_header);
        m.bits = (bit<32>)h.int_shim.words;
        m.bits = m.bits - 3;
        m.bits = m.bits << 5;
        packet.extract(h.int_stack, m.bits);
        transition accept;
    }
#else
    state tcp {
        packet.extract(h.tcp);
        transition accept;
    }
#endif
    state udp {
        packet.extract(h.udp);
        transition select(h.udp.dst) {
#ifdef WITH_PATH_BLOOM
            4789: vxlan;
#endif
#ifdef WITH_SR_INT
            2222: probe;
#endif
            default: BEHIND_UDP;
        }
    }
#ifdef WITH_PINT
    state behind {
        packet.extract(h.behind);
        transition accept;
    }
#endif
#ifdef WITH_PATH_BLOOM
    state vxlan {
        packet.extract(h.vxlan);
        transition accept;
    }
#endif
#ifdef WITH_SR_INT
    state probe {
        packet.extract(h.probe);
        transition select(h.probe.magic) {
            0x5044: probe_version;
            default: accept;
        }
    }
    state probe_version {
        transition select(h.probe.version) {
            1: labels;
            default: accept;
        }
    }
    state labels {
        packet.extract(h.labels);
        transition accept;
    }
#endif
}

#endif

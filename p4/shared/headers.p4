// SPDX-License-Identifier: Apache-2.0
// What all programs read and write: headers, and what is known of a frame.
#ifndef SHARED_HEADERS_P4
#define SHARED_HEADERS_P4

/* Fields are of 8, 16, 32, 48 or 64 bits: narrower ones are packed wrongly by a compiler that we
 * use, and wider ones do not fit into the registers of a switch. So a nibble is a shift away, and
 * an address of IPv6 is two halves.
 *
 * A tag is its control information and the type behind it, so that the type of the outermost tag
 * stands in the Ethernet header. Tags that are pushed are headers of their own before those that
 * came: no stack is needed. */

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_ARP = 0x0806;
const bit<16> TYPE_IPV6 = 0x86dd;
const bit<16> TYPE_TAG = 0x8100;
const bit<16> TYPE_SERVICE_TAG = 0x88a8;
const bit<16> TYPE_OLD_TAG = 0x9100;

const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;
const bit<8> PROTOCOL_UNKNOWN = 255; // behind more extension headers than are read

const bit<8> FAMILY_OTHER = 0;
const bit<8> FAMILY_ARP = 1;
const bit<8> FAMILY_IPV4 = 4;
const bit<8> FAMILY_IPV6 = 6;

header ethernet_h {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header tag_h {
    bit<16> tci;
    bit<16> type;
}

header ipv4_h {
    bit<8> version_ihl;
    bit<8> tos;
    bit<16> length;
    bit<16> id;
    bit<16> fragment;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

header options_h {
    varbit<320> bytes;
}

header ipv6_h {
    bit<32> version_class_label;
    bit<16> length;
    bit<8> protocol;
    bit<8> ttl;
    bit<64> src_hi;
    bit<64> src_lo;
    bit<64> dst_hi;
    bit<64> dst_lo;
}

// The first eight bytes of an extension header, and what it has behind them.
header extension_h {
    bit<8> protocol;
    bit<8> length;
    bit<16> fragment;
    bit<32> rest;
}

header more_h {
    varbit<16320> bytes;
}

header tcp_h {
    bit<16> src;
    bit<16> dst;
    bit<32> sequence;
    bit<32> acknowledgement;
    bit<16> flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

header udp_h {
    bit<16> src;
    bit<16> dst;
    bit<16> length;
    bit<16> checksum;
}

// The two numbers of 32 bits whose outer or inner bytes are reserved.
header vxlan_h {
    bit<32> flags_reserved;
    bit<32> vni_reserved;
}

// Head of a probe, then its labels: docs/formats/probes.md.
header probe_h {
    bit<16> magic;
    bit<8> version;
    bit<8> flags;
    bit<32> plan;
    bit<32> number;
    bit<32> sequence;
    bit<64> sent_ns;
    bit<64> hash;
}

header labels_h {
    bit<64> l0;
    bit<64> l1;
    bit<64> l2;
    bit<64> l3;
    bit<64> l4;
    bit<64> l5;
    bit<64> l6;
    bit<64> l7;
}

header entry_h {
    bit<32> node;
    bit<8> in_port;
    bit<8> out_port;
    bit<48> time_ns;
    bit<32> stay_ns;
    bit<32> queue_bytes;
    bit<16> queue_pkts;
}

// INT-MD v2.1: shim, header, stack; then what this switch writes.
header int_shim_h {
    bit<8> kind;
    bit<8> words;
    bit<8> reserved;
    bit<8> dscp; // in the upper six bits
}

header int_header_h {
    bit<8> version_flags;
    bit<8> reserved;
    bit<8> hop_words;
    bit<8> hops_left;
    bit<16> instructions;
    bit<16> domain;
    bit<16> domain_instructions;
    bit<16> domain_flags;
}

header int_stack_h {
    varbit<8064> bytes;
}

header int_word_h {
    bit<32> value;
}

header int_time_h {
    bit<64> value;
}

// The first bytes behind what is read, for the packet ID.
header behind_h {
    bit<32> word0;
    bit<32> word1;
}

struct headers_t {
    ethernet_h ethernet;
#ifdef WITH_PINT
    tag_h digest;
#endif
    tag_h pushed;
    tag_h pushed_inner;
    tag_h tag1;
    tag_h tag2;
    tag_h tag3;
    ipv4_h ipv4;
    options_h options;
    ipv6_h ipv6;
    extension_h extension1;
    more_h more1;
    extension_h extension2;
    more_h more2;
    tcp_h tcp;
#ifdef WITH_INT_MD
    options_h tcp_options;
#endif
    udp_h udp;
#ifdef WITH_INT_MD
    int_shim_h int_shim;
    int_header_h int_header;
    int_word_h int_node;
    int_word_h int_ports;
    int_word_h int_latency;
    int_word_h int_queue;
    int_time_h int_time;
    int_stack_h int_stack;
#endif
#ifdef WITH_PINT
    behind_h behind;
#endif
#ifdef WITH_PATH_BLOOM
    vxlan_h vxlan;
#endif
#ifdef WITH_SR_INT
    probe_h probe;
    labels_h labels;
    entry_h entry;
#endif
}

/* The results of hashes come first, and keys of one table together: some targets need that. */
struct metadata_t {
    bit<32> hash;
    bit<32> in_port;
    bit<64> dst_hi; // an IPv4 address is ::ffff:a.b.c.d
    bit<64> dst_lo;
    bit<64> src_hi;
    bit<64> src_lo;
    bit<32> l4_ports; // source and destination, 0 where there are none
    bit<8> protocol;
    bit<8> family;
    bit<8> dscp;
    bit<16> outer; // type of the outermost tag; 0: no tag
    bit<16> tci;   // of that tag
    bit<16> type;  // behind all tags
    bit<8> from_host;
    bit<8> new_dscp;
    bit<8> sets_dscp;
    bit<32> group; // 0: none
    bit<32> slot;
    bit<32> mask;
    bit<32> shift;
    bit<32> out_port; // or a fate; 0: not known yet
    bit<32> sum;
    bit<32> bits; // of what is read next
    bit<64> wide;
    bit<64> wider;
#ifdef WITH_PATH_BLOOM
    bit<8> filter_action;
    bit<8> carrier;
    bit<8> turn;
    bit<16> filter_tpid;
    bit<32> filter_mask;
    bit<32> filter_bits;
    bit<32> filter;
    bit<64> arrived_filter;
#endif
#ifdef WITH_SR_INT
    bit<8> is_probe;
#endif
#ifdef WITH_INT_MD
    bit<32> int_class; // the byte of the DSCP
    bit<8> int_role;
    bit<8> int_is_sink;
    bit<8> int_words;
    bit<8> int_hops;
    bit<16> int_instructions;
#endif
#ifdef WITH_PINT
    bit<32> seed; // lookup3
    bit<32> a;
    bit<32> b;
    bit<32> c;
    bit<32> t;
    bit<32> u;
    bit<32> word0; // of the packet ID, and then for whatever a field needs
    bit<32> word1;
    bit<32> word2;
    bit<32> word3;
    bit<32> word4;
    bit<32> word5;
    bit<32> word6;
    bit<32> packet_id;
    bit<32> hop;
    bit<32> switch_id;
    bit<32> digest;
    bit<32> set;
    bit<32> tag;
    bit<32> field_mask;
    bit<32> own_mask;
    bit<32> limit;
    bit<32> layers;
    bit<32> fragments;
    bit<8> l4_words;
    bit<8> carrier_dscp;
    bit<8> first;
    bit<8> kind;
    bit<8> at;
    bit<8> own_bits;
    bit<8> value_kind;
    bit<8> rounding;
    bit<8> writes;
#ifdef WITH_CHERRYPICK
    bit<16> push_tpid; // 0: none
    bit<16> push_tci;
#endif
#endif
#ifdef TARGET_TNA
    bit<10> mirror_session;
#endif
#ifdef WITH_METERS
    bit<8> meter_role;
    bit<8> meter_rule;
    bit<32> meter_base;
    bit<32> crc;
    bit<64> epoch;
    bit<64> meter_filter;
#endif
#ifdef WITH_LENGTHS
    bit<16> grown; // bytes behind the transport's header
#endif
}

#endif

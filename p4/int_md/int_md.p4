// SPDX-License-Identifier: Apache-2.0
// INT-MD v2.1 over TCP and UDP: source, transit and sink.
#ifndef INT_MD_P4
#define INT_MD_P4

/* P4.org, In-band Network Telemetry Dataplane Specification 2.1, and Telemetry Report 2.0. A packet
 * with a stack has a DSCP of its own; its old one waits in the shim. A switch writes in front of the
 * others: node, ports, latency, queue and time, as the instructions ask; a packet whose instructions
 * ask for more is not touched. Hosts' own stacks are not let in: their packets lose the DSCP.
 *
 * The sink takes everything off; the collector gets the frame as it came in. */

const bit<8> INT_NONE = 0;
const bit<8> INT_SOURCE = 1;
const bit<8> INT_TRANSIT = 2;
const bit<8> INT_SINK = 3;

const bit<16> INT_NODE = 0x8000;
const bit<16> INT_PORTS = 0x4000;
const bit<16> INT_LATENCY = 0x2000;
const bit<16> INT_QUEUE = 0x1000;
const bit<16> INT_TIME = 0x0800;
const bit<16> INT_UNKNOWN = 0x07ff;

const bit<8> INT_EXCEEDED = 4; // E, of the header's first byte

// A probe reports by itself: behind a stack no switch would find its labels.
#ifdef WITH_SR_INT
#define NO_PROBE if (m.is_probe == 0)
#else
#define NO_PROBE
#endif

control IntMd(inout headers_t h, inout metadata_t m) {
    bit<16> wanted = 0;
    SetDscp() dscp_setter;
    REGISTER(clock, 8)
    REGISTER(queue, 1024)
    REGISTER(id, 8)

    @name(".watch") action watch(bit<16> instructions, bit<8> words, bit<8> hops,
                                 bit<8> code_point) {
        m.int_role = INT_SOURCE;
        m.int_instructions = instructions;
        m.int_words = words;
        m.int_hops = hops;
        m.new_dscp = code_point;
    }
    @name(".no_watch") action no_watch() {
    }
    @name(".int_watch") table int_watch {
        key = {
            m.family: ternary;
            m.protocol: ternary;
            m.l4_ports: ternary;
            m.src_hi: ternary;
            m.src_lo: ternary;
            m.dst_hi: ternary;
            m.dst_lo: ternary;
        }
        actions = { watch; no_watch; }
        const default_action = no_watch;
        size = 4096;
    }
    // Ports behind which nobody reads a stack: the packet loses it.
    @name(".sink") action sink() {
        m.int_is_sink = 1;
    }
    @name(".no_sink") action no_sink() {
        m.int_is_sink = 0;
    }
    @name(".int_sinks") table int_sinks {
        key = { m.out_port: exact; }
        actions = { sink; no_sink; }
        const default_action = no_sink;
        size = 1024;
    }

    apply {
        m.int_role = INT_NONE;
        if (m.out_port < FATES) {
            int_sinks.apply();
            if (m.from_host == 1) {
                if (h.int_shim.isValid()) {
                    m.new_dscp = 0; // a host's own
                    dscp_setter.apply(h, m);
                } else if (m.int_is_sink == 0) {
                    if (m.l4_ports != 0) {
                        NO_PROBE {
                            int_watch.apply();
                        }
                    }
                }
            } else if (h.int_header.isValid()) {
                m.int_role = INT_SINK;
                if (m.int_is_sink == 0) {
                    m.int_role = INT_NONE;
                    wanted = h.int_header.instructions & INT_UNKNOWN;
                    if (wanted == 0) {
                        m.int_role = INT_TRANSIT;
                        m.int_instructions = h.int_header.instructions;
                    }
                }
            }
        }
        if (m.int_role == INT_SINK) {
            MIRROR(MIRROR_REPORT)
            m.new_dscp = h.int_shim.dscp >> 2;
            dscp_setter.apply(h, m);
            wanted = (bit<16>)h.int_shim.words;
            wanted = wanted << 2;
            m.grown = m.grown - 4;
            m.grown = m.grown - wanted;
            h.int_shim.setInvalid();
            h.int_header.setInvalid();
            h.int_stack.setInvalid();
            m.int_role = INT_NONE;
        }
        if (m.int_role == INT_SOURCE) {
            h.int_shim.setValid();
            h.int_shim.kind = 0x10; // INT-MD, behind a port that is not its own
            h.int_shim.words = 3;
            h.int_shim.reserved = 0;
            h.int_shim.dscp = m.dscp << 2;
            h.int_header.setValid();
            h.int_header.version_flags = 0x20;
            h.int_header.reserved = 0;
            h.int_header.hop_words = m.int_words;
            h.int_header.hops_left = m.int_hops;
            h.int_header.instructions = m.int_instructions;
            h.int_header.domain = 0;
            h.int_header.domain_instructions = 0;
            h.int_header.domain_flags = 0;
            m.grown = m.grown + 16;
            dscp_setter.apply(h, m);
        }
        if (m.int_role != INT_NONE) {
            if (h.int_header.hops_left == 0) {
                h.int_header.version_flags = h.int_header.version_flags | INT_EXCEEDED;
            } else if (h.int_shim.words > 240) {
                h.int_header.version_flags = h.int_header.version_flags | INT_EXCEEDED;
            } else {
                h.int_header.hops_left = h.int_header.hops_left - 1;
                wanted = m.int_instructions & INT_NODE;
                if (wanted != 0) {
                    REGISTER_READ(id, m.wide, 0)
                    h.int_node.setValid();
                    h.int_node.value = (bit<32>)m.wide;
                    h.int_shim.words = h.int_shim.words + 1;
                    m.grown = m.grown + 4;
                }
                wanted = m.int_instructions & INT_PORTS;
                if (wanted != 0) {
                    h.int_ports.setValid();
                    m.sum = m.in_port << 16;
                    if (m.in_port > 0xffff) { // half a word for it
                        m.sum = 0xffff0000;
                    }
                    m.sum = m.sum | m.out_port;
                    h.int_ports.value = m.sum;
                    h.int_shim.words = h.int_shim.words + 1;
                    m.grown = m.grown + 4;
                }
                REGISTER_READ(clock, m.wider, 1)
                wanted = m.int_instructions & INT_LATENCY;
                if (wanted != 0) {
                    REGISTER_READ(clock, m.wide, 0)
                    m.wide = m.wide - m.wider;
                    h.int_latency.setValid();
                    h.int_latency.value = (bit<32>)m.wide;
                    h.int_shim.words = h.int_shim.words + 1;
                    m.grown = m.grown + 4;
                }
                wanted = m.int_instructions & INT_QUEUE;
                if (wanted != 0) {
                    REGISTER_READ(queue, m.wide, m.out_port)
                    m.sum = (bit<32>)m.wide;
                    if (m.wide > 0xffffff) {
                        m.sum = 0xffffff;
                    }
                    h.int_queue.setValid();
                    h.int_queue.value = m.sum;
                    h.int_shim.words = h.int_shim.words + 1;
                    m.grown = m.grown + 4;
                }
                wanted = m.int_instructions & INT_TIME;
                if (wanted != 0) {
                    h.int_time.setValid();
                    h.int_time.value = m.wider;
                    h.int_shim.words = h.int_shim.words + 2;
                    m.grown = m.grown + 8;
                }
            }
        }
    }
}

#endif

// SPDX-License-Identifier: Apache-2.0
// Probes that carry their own way (paper 001, section II-C; docs/formats/probes.md).
#ifndef SR_INT_P4
#define SR_INT_P4

/* A probe goes by its labels alone: the first one is the port, all others move forward by one, and
 * an entry of this switch goes in front of the older ones, which are payload. The labels are eight
 * numbers of 64 bits. UDP has no checksum. */

control SrInt(inout headers_t h, inout metadata_t m) {
    REGISTER(clock, 8)
    REGISTER(queue, 1024)
    REGISTER(queue_pkts, 1024)
    REGISTER(id, 8)

    @name(".allowed") action allowed() {
    }
    @name(".not_allowed") action not_allowed() {
        m.out_port = FATE_PROBE_PORT;
    }
    @name(".probe_ports") table probe_ports {
        key = { m.in_port: exact; }
        actions = { allowed; not_allowed; }
        const default_action = not_allowed;
        size = 1024;
    }

    apply {
        m.is_probe = 0;
        if (h.labels.isValid()) {
            m.is_probe = 1;
            if (m.out_port == 0) {
                m.wide = h.labels.l0 >> 56;
                m.out_port = (bit<32>)m.wide;
                if (h.udp.length < 104) {
                    m.out_port = FATE_MALFORMED;
                } else if (h.udp.length > 0xffd0) {
                    m.out_port = FATE_LABELS;
                } else if (m.out_port == 0) {
                    m.out_port = FATE_LABELS;
                } else if (m.in_port > 255) { // an entry has a byte for it
                    m.out_port = FATE_LABELS;
                } else {
                    probe_ports.apply();
                }
            }
        }
        if (m.is_probe == 1) {
            if (m.out_port < FATES) {
                h.entry.setValid();
                REGISTER_READ(id, m.wide, 0)
                h.entry.node = (bit<32>)m.wide;
                h.entry.in_port = (bit<8>)m.in_port;
                h.entry.out_port = (bit<8>)m.out_port;
                REGISTER_READ(clock, m.wide, 0)
                REGISTER_READ(clock, m.wider, 1)
                h.entry.time_ns = (bit<48>)m.wider;
                m.wide = m.wide - m.wider;
                h.entry.stay_ns = (bit<32>)m.wide;
                REGISTER_READ(queue, m.wide, m.out_port)
                h.entry.queue_bytes = (bit<32>)m.wide;
                REGISTER_READ(queue_pkts, m.wide, m.out_port)
                h.entry.queue_pkts = (bit<16>)m.wide;
                h.labels.l0 = h.labels.l0 << 8;
                m.wide = h.labels.l1 >> 56;
                h.labels.l0 = h.labels.l0 | m.wide;
                h.labels.l1 = h.labels.l1 << 8;
                m.wide = h.labels.l2 >> 56;
                h.labels.l1 = h.labels.l1 | m.wide;
                h.labels.l2 = h.labels.l2 << 8;
                m.wide = h.labels.l3 >> 56;
                h.labels.l2 = h.labels.l2 | m.wide;
                h.labels.l3 = h.labels.l3 << 8;
                m.wide = h.labels.l4 >> 56;
                h.labels.l3 = h.labels.l3 | m.wide;
                h.labels.l4 = h.labels.l4 << 8;
                m.wide = h.labels.l5 >> 56;
                h.labels.l4 = h.labels.l4 | m.wide;
                h.labels.l5 = h.labels.l5 << 8;
                m.wide = h.labels.l6 >> 56;
                h.labels.l5 = h.labels.l5 | m.wide;
                h.labels.l6 = h.labels.l6 << 8;
                m.wide = h.labels.l7 >> 56;
                h.labels.l6 = h.labels.l6 | m.wide;
                h.labels.l7 = h.labels.l7 << 8;
                m.grown = 22;
            }
        }
    }
}

#endif

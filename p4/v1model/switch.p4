// SPDX-License-Identifier: Apache-2.0
// The architecture around the controls: its start, its end and the table of ports.
#ifndef TARGET_SWITCH_P4
#define TARGET_SWITCH_P4

/* Fates are ports as well, for the operator to read or to leave without an interface. Only behind
 * the queue is it known how long a frame stayed: what `sr-int` and `int-md` have written before is
 * written over. */
control Ports(inout metadata_t m, inout standard_metadata_t standard) {
    @name(".send") action send(bit<32> port) {
        standard.egress_spec = (bit<9>)port;
    }
    @name(".no_port") action no_port() {
        standard.egress_spec = (bit<9>)FATE_NO_PORT;
    }
    @name(".ports") table ports {
        key = { m.out_port: exact; }
        actions = { send; no_port; }
        const default_action = no_port;
        size = 1024;
    }
    apply {
        ports.apply();
    }
}

control Ingress(inout headers_t h, inout metadata_t m, inout standard_metadata_t standard) {
    Schemes() schemes;
    Ports() ports;
    apply {
        m.in_port = (bit<32>)standard.ingress_port;
        schemes.apply(h, m);
        ports.apply(m, standard);
    }
}

control Egress(inout headers_t h, inout metadata_t m, inout standard_metadata_t standard) {
    apply {
#ifdef WITH_SR_INT
        if (h.entry.isValid()) {
            h.entry.time_ns = standard.ingress_global_timestamp * 1000;
            h.entry.stay_ns = standard.deq_timedelta * 1000;
            h.entry.queue_pkts = (bit<16>)standard.deq_qdepth;
        }
#endif
#ifdef WITH_INT_MD
        if (h.int_latency.isValid()) {
            h.int_latency.value = standard.deq_timedelta * 1000;
        }
        if (h.int_queue.isValid()) {
            h.int_queue.value = (bit<32>)standard.deq_qdepth;
        }
        if (h.int_time.isValid()) {
            h.int_time.value = (bit<64>)standard.ingress_global_timestamp;
            h.int_time.value = h.int_time.value * 1000;
        }
#endif
    }
}

control Verify(inout headers_t h, inout metadata_t m) {
    apply {
    }
}

control Compute(inout headers_t h, inout metadata_t m) {
    apply {
    }
}

control Deparser(packet_out packet, in headers_t h) {
    apply {
        EMIT_HEADERS
    }
}

V1Switch(Parser(), Verify(), Ingress(), Egress(), Compute(), Deparser()) main;

#endif

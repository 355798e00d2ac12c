// SPDX-License-Identifier: Apache-2.0
// The architecture around the controls: its start, its end and the table of ports.
#ifndef TARGET_SWITCH_P4
#define TARGET_SWITCH_P4

struct egress_headers_t {
}

struct egress_metadata_t {
}

control Ports(inout metadata_t m, inout ingress_intrinsic_metadata_for_tm_t to_queue,
              inout ingress_intrinsic_metadata_for_deparser_t to_deparser) {
    @name(".send") action send(bit<32> port) {
        to_queue.ucast_egress_port = (PortId_t)port;
    }
    @name(".no_port") action no_port() {
        to_deparser.drop_ctl = 1;
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

control Ingress(inout headers_t h, inout metadata_t m, in ingress_intrinsic_metadata_t intrinsic,
                in ingress_intrinsic_metadata_from_parser_t parsed,
                inout ingress_intrinsic_metadata_for_deparser_t to_deparser,
                inout ingress_intrinsic_metadata_for_tm_t to_queue) {
    Schemes() schemes;
    Ports() ports;
    apply {
        m.in_port = (bit<32>)intrinsic.ingress_port;
        schemes.apply(h, m);
        ports.apply(m, to_queue, to_deparser);
    }
}

control IngressDeparser(packet_out packet, inout headers_t h, in metadata_t m,
                        in ingress_intrinsic_metadata_for_deparser_t to_deparser) {
    apply {
        EMIT_HEADERS
    }
}

parser EgressParser(packet_in packet, out egress_headers_t h, out egress_metadata_t m,
                    out egress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        transition accept;
    }
}

control Egress(inout egress_headers_t h, inout egress_metadata_t m,
               in egress_intrinsic_metadata_t intrinsic,
               in egress_intrinsic_metadata_from_parser_t parsed,
               inout egress_intrinsic_metadata_for_deparser_t to_deparser,
               inout egress_intrinsic_metadata_for_output_port_t to_port) {
    apply {
    }
}

control EgressDeparser(packet_out packet, inout egress_headers_t h, in egress_metadata_t m,
                       in egress_intrinsic_metadata_for_deparser_t to_deparser) {
    apply {
    }
}

Pipeline(Parser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) all;
Switch(all) main;

#endif

// SPDX-License-Identifier: Apache-2.0
// The architecture around the controls: its start, its end and the table of ports.
#ifndef TARGET_SWITCH_P4
#define TARGET_SWITCH_P4

/* Every port goes through a table of those that exist: a frame to any other number would end the
 * process that runs the pipeline. Fates are entries as well. */
control Ports(inout metadata_t m) {
    @name(".send") action send(bit<32> port) {
        send_to_port((PortId_t)port);
    }
    @name(".no_port") action no_port() {
        send_to_port((PortId_t)FATE_NO_PORT);
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

control Before(in headers_t h, inout metadata_t m, in pna_pre_input_metadata_t from,
               inout pna_pre_output_metadata_t to) {
    apply {
    }
}

control Main(inout headers_t h, inout metadata_t m, in pna_main_input_metadata_t from,
             inout pna_main_output_metadata_t to) {
    Schemes() schemes;
    Ports() ports;
    apply {
        m.in_port = (bit<32>)from.input_port;
        schemes.apply(h, m);
        ports.apply(m);
    }
}

control Deparser(packet_out packet, in headers_t h, in metadata_t m,
                 in pna_main_output_metadata_t to) {
    apply {
        EMIT_HEADERS
    }
}

PNA_NIC(Parser(), Before(), Main(), Deparser()) main;

#endif

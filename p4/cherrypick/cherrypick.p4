// SPDX-License-Identifier: Apache-2.0
// Link tags and DSCP by the rows of a codec (paper 000, section 3.1).
#ifndef CHERRYPICK_P4
#define CHERRYPICK_P4

#define PUSH(tpid, tci_pushed) \
    h.pushed.setValid(); \
    h.pushed.tci = tci_pushed; \
    h.pushed.type = h.ethernet.type; \
    h.ethernet.type = tpid;

control CherryPick(inout headers_t h, inout metadata_t m) {
    SetDscp() dscp_setter;

    @name(".pass") action pass() {
    }
    @name(".push") action push(bit<16> tpid, bit<16> tci) {
#ifdef WITH_PINT
        m.push_tpid = tpid; // behind PINT, which looks for its tag in the stack as it came
        m.push_tci = tci;
#else
        PUSH(tpid, tci)
#endif
    }
    @name(".set_dscp") action set_dscp(bit<8> dscp) {
        m.new_dscp = dscp;
        m.sets_dscp = 1;
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
        actions = { pass; push; set_dscp; punt; deny; }
        const default_action = pass;
        size = 65536;
    }

    apply {
#ifdef WITH_PINT
        m.push_tpid = 0;
#endif
        if (m.out_port < FATES) {
            if (h.tag3.isValid()) {
                if (h.tag2.type == h.ethernet.type) {
#ifdef WITH_PINT
                    if (h.tag1.type == TYPE_SERVICE_TAG) { // two, with a digest between them
                        rows.apply();
                    } else {
                        m.out_port = FATE_TAGS;
                    }
#else
                    m.out_port = FATE_TAGS;
#endif
                } else {
                    rows.apply();
                }
            } else {
                rows.apply();
            }
            if (m.sets_dscp == 1) {
                dscp_setter.apply(h, m);
            }
        }
    }
}

#ifdef WITH_PINT
control LinkTag(inout headers_t h, inout metadata_t m) {
    apply {
        if (m.push_tpid != 0) {
            PUSH(m.push_tpid, m.push_tci)
        }
    }
}
#endif

#endif

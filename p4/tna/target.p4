// SPDX-License-Identifier: Apache-2.0
// The Tofino Native Architecture: what differs between targets. Written, not compiled here.
#ifndef TARGET_P4
#define TARGET_P4

#include <core.p4>
#include <tna.p4>

#define PARSER_PARAMETERS \
    packet_in packet, out headers_t h, out metadata_t m, \
    out ingress_intrinsic_metadata_t intrinsic

// The port's own metadata stands before the frame.
#define PARSER_START \
    packet.extract(intrinsic); \
    packet.advance(PORT_METADATA_SIZE);

#define HASH_UNIT(name) Hash<bit<32>>(HashAlgorithm_t.CRC32) name;
#define HASH_FLOW(name) \
    m.hash = name.get({m.dst_hi, m.dst_lo, m.src_hi, m.src_lo, m.l4_ports, m.protocol});

/* An array is read or written once a packet, by an action of its own stateful unit: what reads and
 * writes the same one has to become one RegisterAction there. README.md says which do. */
#define REGISTER(name, size) \
    Register<bit<64>, bit<32>>(size) name##_array; \
    RegisterAction<bit<64>, bit<32>, bit<64>>(name##_array) name##_read = { \
        void apply(inout bit<64> stored, out bit<64> got) { \
            got = stored; \
        } \
    };
#define REGISTER_READ(name, value, index) value = name##_read.execute((bit<32>)index);
#define REGISTER_WRITE(name, index, value) name##_array.write((bit<32>)index, value);

// The session stands in the metadata; the deparser makes the copy.
#define MIRROR(session) m.mirror_session = session;

#endif

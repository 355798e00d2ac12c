// SPDX-License-Identifier: Apache-2.0
// The Portable NIC Architecture, as DPDK's SWX pipeline runs it: what differs between targets.
#ifndef TARGET_P4
#define TARGET_P4

#include <core.p4>
#include <dpdk/pna.p4>

#define PARSER_PARAMETERS \
    packet_in packet, out headers_t h, inout metadata_t m, in pna_main_parser_input_metadata_t from

#define PARSER_START

#define HASH_UNIT(name) Hash<bit<32>>(PNA_HashAlgorithm_t.CRC32) name;
#define HASH_FLOW(name) \
    m.hash = name.get_hash({m.dst_hi, m.dst_lo, m.src_hi, m.src_lo, m.l4_ports, m.protocol});

// Numbers of 64 bits that others read and write, too.
#define REGISTER(name, size) Register<bit<64>, bit<32>>(size) name;
#define REGISTER_READ(name, value, index) value = name.read(index);
#define REGISTER_WRITE(name, index, value) name.write(index, value);

// A copy; what a session does with it is the switch's.
#define MIRROR(session) mirror_packet((MirrorSlotId_t)0, (MirrorSessionId_t)session);

#endif

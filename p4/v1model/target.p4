// SPDX-License-Identifier: Apache-2.0
// v1model, as bmv2's simple_switch runs it: what differs between targets.
#ifndef TARGET_P4
#define TARGET_P4

#include <core.p4>
#include <v1model.p4>

#define PARSER_PARAMETERS \
    packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t standard

#define PARSER_START

#define HASH_UNIT(name)
#define HASH_FLOW(name) \
    hash(m.hash, HashAlgorithm.crc32, (bit<32>)0, \
         {m.dst_hi, m.dst_lo, m.src_hi, m.src_lo, m.l4_ports, m.protocol}, (bit<64>)0x100000000);

// Numbers of 64 bits that others read and write, too.
#define REGISTER(name, size) register<bit<64>>(size) name;
#define REGISTER_READ(name, value, index) name.read(value, (bit<32>)index);
#define REGISTER_WRITE(name, index, value) name.write((bit<32>)index, value);

// A copy of the frame as it came in; what a session does with it is the switch's.
#define MIRROR(session) clone(CloneType.I2E, (bit<32>)session);

#endif

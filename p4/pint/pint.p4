// SPDX-License-Identifier: Apache-2.0
// PINT: a digest of at most 16 bits that all switches of a path share (paper 002).
#ifndef PINT_P4
#define PINT_P4

/* The plan is tables and arrays: a set has up to four fields, whose tables are read one behind the
 * other; layers, codes and values are searched for in arrays, by halves. A value is measured where
 * the packet is, so this comes behind the routes. What has more extension headers than are read
 * leaves as it came, and is counted. */

const bit<8> KIND_NONE = 0;
const bit<8> KIND_HASH = 1; // static
const bit<8> KIND_FRAGMENT = 2;
const bit<8> KIND_DYNAMIC = 3;
const bit<8> KIND_MAX = 4;
const bit<8> KIND_MIN = 5;
const bit<8> KIND_SUM = 6;
const bit<8> KIND_LOOP = 7;

const bit<8> VALUE_SWITCH = 1;
const bit<8> VALUE_PORT = 2;
const bit<8> VALUE_LATENCY = 3;
const bit<8> VALUE_QUEUE = 4;
const bit<8> VALUE_UTILISATION = 5;
const bit<8> VALUE_HIGH_LATENCY = 6;

const bit<8> ROUNDING_RANDOM = 1;

/* Numbers that nobody needs any more have room for these: metadata is 256 bytes on one target. */
#define VALUE m.src_hi
#define STEP m.src_lo
#define GAP m.dst_hi
#define PRODUCT m.dst_lo
#define BITS m.word0
#define OWN m.word1
#define OLD m.word2
#define TRY m.word3
#define PLACE m.word4
#define LAYER m.word5
#define G m.group
#define BASE m.mask
#define SETS m.shift

// The greatest code whose step is not above the value.
#define CODE_STEP(n) \
    TRY = OWN + n; \
    if (TRY < m.limit) { \
        PLACE = BASE + TRY; \
        REGISTER_READ(pint_steps, STEP, PLACE) \
        if (STEP <= VALUE) { \
            OWN = TRY; \
        } \
    }

// The last layer that begins not above m.c.
#define LAYER_STEP(n) \
    TRY = LAYER + n; \
    if (TRY < m.layers) { \
        PLACE = BASE + TRY; \
        REGISTER_READ(pint_starts, STEP, PLACE) \
        if (STEP <= (bit<64>)m.c) { \
            LAYER = TRY; \
        } \
    }

// The last set that begins not above m.c; the one behind the last is none.
#define SET_STEP(n) \
    TRY = m.set + n; \
    if (TRY <= SETS) { \
        REGISTER_READ(pint_sets, STEP, TRY) \
        if (STEP <= (bit<64>)m.c) { \
            m.set = TRY; \
        } \
    }

// m.c modulo the number of fragments, by long division.
#define MODULO_STEP(n) \
    TRY = m.fragments << n; \
    if (m.c >= TRY) { \
        m.c = m.c - TRY; \
    }
#define MODULO_FRAGMENTS \
    MODULO_STEP(15) MODULO_STEP(14) MODULO_STEP(13) MODULO_STEP(12) \
    MODULO_STEP(11) MODULO_STEP(10) MODULO_STEP(9) MODULO_STEP(8) \
    MODULO_STEP(7) MODULO_STEP(6) MODULO_STEP(5) MODULO_STEP(4) \
    MODULO_STEP(3) MODULO_STEP(2) MODULO_STEP(1) MODULO_STEP(0)

// The value without the m.c fragments below, each of m.own_bits bits.
#define MOVE_STEP(n, bits_before) \
    TRY = m.c & n; \
    if (TRY != 0) { \
        PLACE = (bit<32>)m.own_bits; \
        PLACE = PLACE << bits_before; \
        LAYER = LAYER + PLACE; \
    }
#define MOVE_TO_FRAGMENT \
    LAYER = 0; \
    MOVE_STEP(1, 0) MOVE_STEP(2, 1) MOVE_STEP(4, 2) MOVE_STEP(8, 3) MOVE_STEP(16, 4) \
    VALUE = VALUE >> LAYER;

/* PRODUCT = m.c * GAP >> 16, of which no bit is lost: the upper and the lower part of GAP take turns
 * in one number of 64 bits. */
#define SHARE_STEP(n) \
    TRY = m.c & n; \
    if (TRY != 0) { \
        PRODUCT = PRODUCT + GAP; \
    } \
    GAP = GAP << 1;
#define SHARE_STEPS \
    SHARE_STEP(1) SHARE_STEP(2) SHARE_STEP(4) SHARE_STEP(8) \
    SHARE_STEP(16) SHARE_STEP(32) SHARE_STEP(64) SHARE_STEP(128) \
    SHARE_STEP(256) SHARE_STEP(512) SHARE_STEP(1024) SHARE_STEP(2048) \
    SHARE_STEP(4096) SHARE_STEP(8192) SHARE_STEP(16384) SHARE_STEP(32768)
#define SHARE_OF_GAP \
    m.wide = GAP; \
    GAP = GAP & 0xffff; \
    PRODUCT = 0; \
    SHARE_STEPS \
    PRODUCT = PRODUCT >> 16; \
    GAP = m.wide >> 16; \
    SHARE_STEPS

#define FIELD_TABLE(name) \
    @name("." #name) table name { \
        key = { m.set: exact; } \
        actions = { field; no_field; } \
        const default_action = no_field; \
        size = 64; \
    }

control Pint(inout headers_t h, inout metadata_t m) {
    PacketId() packet_id;
    HopNumber() hop_number;
    SetDscp() dscp_setter;
    REGISTER(clock, 8)
    REGISTER(queue, 1024)
    REGISTER(utilisation, 1024)
    REGISTER(pint, 8) // seed, carrier, switch, ns that are a high latency, sets, frames not read
    REGISTER(pint_sets, 128)
    REGISTER(pint_reservoir, 256) // 65536 / hop
    REGISTER(pint_starts, 256)    // of layers, 16 a query
    REGISTER(pint_below, 256)
    REGISTER(pint_steps, 4096) // of codes, 256 a query
    REGISTER(pint_values, 4096)

    @name(".field") action field(bit<8> kind, bit<32> tag, bit<8> at, bit<32> field_mask,
                                 bit<8> own_bits, bit<32> own_mask, bit<8> value_kind,
                                 bit<8> rounding, bit<32> tau, bit<32> layers,
                                 bit<32> fragments, bit<32> codes, bit<32> threshold) {
        m.kind = kind;
        m.tag = tag;
        m.at = at;
        m.field_mask = field_mask;
        m.own_bits = own_bits;
        m.own_mask = own_mask;
        m.value_kind = value_kind;
        m.rounding = rounding;
        m.layers = layers;
        m.fragments = fragments;
        m.limit = tau; // one of the three, by kind
        m.limit = m.limit | codes;
        m.limit = m.limit | threshold;
    }
    @name(".no_field") action no_field() {
        m.kind = KIND_NONE;
    }
    FIELD_TABLE(pint_field1)
    FIELD_TABLE(pint_field2)
    FIELD_TABLE(pint_field3)
    FIELD_TABLE(pint_field4)

    apply {
        if (m.out_port < FATES) {
            if (m.protocol == PROTOCOL_UNKNOWN) {
                REGISTER_READ(pint, m.wide, 5)
                m.wide = m.wide + 1;
                REGISTER_WRITE(pint, 5, m.wide)
            } else {
                REGISTER_READ(pint, m.wide, 0)
                m.seed = (bit<32>)m.wide;
                packet_id.apply(h, m);
                hop_number.apply(h, m);
                REGISTER_READ(pint, m.wide, 2)
                m.switch_id = (bit<32>)m.wide;
                REGISTER_READ(pint, m.wide, 1)
                m.carrier_dscp = (bit<8>)m.wide;

                // The digest as it came; the first switch starts from 0.
                m.first = 0;
                if (m.from_host == 1) { // not a copy: a compiler took the 0 from before the table
                    m.first = 1;
                }
                m.digest = 0;
                if (m.carrier_dscp == 1) {
                    if (m.first == 0) {
                        m.digest = (bit<32>)m.dscp;
                    }
                } else if (m.first == 1) {
                    if (h.tag3.isValid()) {
                        if (h.tag2.type == TYPE_SERVICE_TAG) {
                            h.tag2.type = h.tag3.type;
                            h.tag3.setInvalid();
                        }
                    }
                    if (h.tag2.isValid()) {
                        if (h.tag1.type == TYPE_SERVICE_TAG) {
                            h.tag1.type = h.tag2.type;
                            h.tag2.setInvalid();
                        }
                    }
                    if (h.tag1.isValid()) {
                        if (h.ethernet.type == TYPE_SERVICE_TAG) {
                            h.ethernet.type = h.tag1.type;
                            h.tag1.setInvalid();
                        }
                    }
                } else if (h.tag1.isValid()) {
                    if (h.ethernet.type == TYPE_SERVICE_TAG) {
                        m.digest = (bit<32>)h.tag1.tci;
                    } else if (h.tag2.isValid()) {
                        if (h.tag1.type == TYPE_SERVICE_TAG) {
                            m.digest = (bit<32>)h.tag2.tci;
                        } else if (h.tag3.isValid()) {
                            if (h.tag2.type == TYPE_SERVICE_TAG) {
                                m.digest = (bit<32>)h.tag3.tci;
                            }
                        }
                    }
                }

                J_BEGIN(0xdeadbef4)
                m.a = m.a + m.packet_id;
                J_END
                m.c = m.c >> 16;
                REGISTER_READ(pint, m.wide, 4)
                SETS = (bit<32>)m.wide;
                m.set = 0;
                SET_STEP(64)
                SET_STEP(32)
                SET_STEP(16)
                SET_STEP(8)
                SET_STEP(4)
                SET_STEP(2)
                SET_STEP(1)
#define FIELD pint_field1
#include "pint/field.p4"
#undef FIELD
#define FIELD pint_field2
#include "pint/field.p4"
#undef FIELD
#define FIELD pint_field3
#include "pint/field.p4"
#undef FIELD
#define FIELD pint_field4
#include "pint/field.p4"
#undef FIELD

                if (m.out_port < FATES) {
                    if (m.carrier_dscp == 1) {
                        m.new_dscp = (bit<8>)m.digest;
                        dscp_setter.apply(h, m);
                    } else if (m.first == 1) {
                        h.digest.setValid();
                        h.digest.tci = (bit<16>)m.digest;
                        h.digest.type = h.ethernet.type;
                        h.ethernet.type = TYPE_SERVICE_TAG;
                    } else if (h.tag1.isValid()) {
                        if (h.ethernet.type == TYPE_SERVICE_TAG) {
                            h.tag1.tci = (bit<16>)m.digest;
                        } else if (h.tag2.isValid()) {
                            if (h.tag1.type == TYPE_SERVICE_TAG) {
                                h.tag2.tci = (bit<16>)m.digest;
                            } else if (h.tag3.isValid()) {
                                if (h.tag2.type == TYPE_SERVICE_TAG) {
                                    h.tag3.tci = (bit<16>)m.digest;
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

#endif

// SPDX-License-Identifier: Apache-2.0
// Meters before and after a stretch of path (paper 004, sections III-C and III-D, Algorithms 1, 2).
#ifndef METERS_P4
#define METERS_P4

/* Upstream, where a packet comes from a host, flows with a rule are counted and marked in the lower
 * two bits of the DSCP; all others lose their marks. Downstream, where it leaves to a host, marked
 * packets with a rule are counted in the epoch that their mark says; without one they are strays.
 * A bucket belongs to its epoch: one of an older epoch is as good as empty, so nobody has to clear
 * it in time. The CRCs are those of docs/formats/meters.md, byte by byte from an array: no target
 * has three polynomials, and one with three seeds would be one row.
 *
 * Arrays hold 2 roles x 2 instances x 4 rows (three in use) x 1024 buckets. */

const bit<8> METER_NONE = 0;
const bit<8> METER_UP = 1;
const bit<8> METER_DOWN = 2;

const bit<32> METER_COUNTED = 0; // of meter_counters, eight a role, upstream first
const bit<32> METER_UNMARKED = 1;
const bit<32> METER_LATE = 2;
const bit<32> METER_STRAYS = 3;
const bit<32> METER_OTHER = 4;

// One byte of `word`, `at` bits above its lowest, into m.crc.
#define CRC_BYTE(word, at, table) \
    m.wide = word >> at; \
    m.sum = (bit<32>)m.wide; \
    m.sum = m.sum ^ m.crc; \
    m.sum = m.sum & 0xff; \
    m.sum = m.sum | table; \
    REGISTER_READ(meter_crc, m.wide, m.sum) \
    m.sum = (bit<32>)m.wide; \
    m.crc = m.crc >> 8; \
    m.crc = m.crc ^ m.sum;

#define CRC_LOW_WORD(word, table) \
    CRC_BYTE(word, 24, table) CRC_BYTE(word, 16, table) \
    CRC_BYTE(word, 8, table) CRC_BYTE(word, 0, table)

#define CRC_WORD(word, table) \
    CRC_BYTE(word, 56, table) CRC_BYTE(word, 48, table) \
    CRC_BYTE(word, 40, table) CRC_BYTE(word, 32, table) \
    CRC_LOW_WORD(word, table)

// The place of the flow in a row, by its polynomial.
#define FLOW_PLACE(table, place) \
    m.crc = 0xffffffff; \
    if (m.family == FAMILY_IPV4) { \
        CRC_LOW_WORD(m.src_lo, table) \
        CRC_LOW_WORD(m.dst_lo, table) \
    } else { \
        CRC_WORD(m.src_hi, table) \
        CRC_WORD(m.src_lo, table) \
        CRC_WORD(m.dst_hi, table) \
        CRC_WORD(m.dst_lo, table) \
    } \
    CRC_BYTE(flow, 32, table) \
    CRC_BYTE(flow, 24, table) \
    CRC_BYTE(flow, 16, table) \
    CRC_BYTE(flow, 8, table) \
    CRC_BYTE(flow, 0, table) \
    m.crc = m.crc ^ 0xffffffff; \
    m.crc = m.crc & 0x3ff; \
    place = m.crc;

// The bucket of the flow in one row, and what the packet does to it.
#define METER_ROW(row, place) \
    m.crc = place; \
    m.crc = m.crc | row; \
    m.crc = m.crc | m.meter_base; \
    REGISTER_READ(bucket_epoch, m.wide, m.crc) \
    if (m.wide != m.epoch) { \
        REGISTER_WRITE(bucket_epoch, m.crc, m.epoch) \
        REGISTER_WRITE(bucket_src_hi, m.crc, m.src_hi) \
        REGISTER_WRITE(bucket_src_lo, m.crc, m.src_lo) \
        REGISTER_WRITE(bucket_dst_hi, m.crc, m.dst_hi) \
        REGISTER_WRITE(bucket_dst_lo, m.crc, m.dst_lo) \
        REGISTER_WRITE(bucket_flow, m.crc, flow) \
        REGISTER_WRITE(bucket_filter, m.crc, m.meter_filter) \
        m.wide = 1; \
        REGISTER_WRITE(bucket_count, m.crc, m.wide) \
        m.wide = 0; \
        REGISTER_WRITE(bucket_dirty, m.crc, m.wide) \
    } else { \
        other = 0; \
        REGISTER_READ(bucket_src_hi, m.wide, m.crc) \
        if (m.wide != m.src_hi) { other = 1; } \
        REGISTER_READ(bucket_src_lo, m.wide, m.crc) \
        if (m.wide != m.src_lo) { other = 1; } \
        REGISTER_READ(bucket_dst_hi, m.wide, m.crc) \
        if (m.wide != m.dst_hi) { other = 1; } \
        REGISTER_READ(bucket_dst_lo, m.wide, m.crc) \
        if (m.wide != m.dst_lo) { other = 1; } \
        REGISTER_READ(bucket_flow, m.wide, m.crc) \
        if (m.wide != flow) { other = 1; } \
        REGISTER_READ(bucket_filter, m.wide, m.crc) \
        if (m.wide != m.meter_filter) { other = 1; } \
        if (other == 1) { \
            m.wide = 1; \
            REGISTER_WRITE(bucket_dirty, m.crc, m.wide) \
        } \
        REGISTER_READ(bucket_dirty, m.wide, m.crc) \
        if (m.wide == 0) { \
            REGISTER_READ(bucket_count, m.wide, m.crc) \
            m.wide = m.wide + 1; \
            REGISTER_WRITE(bucket_count, m.crc, m.wide) \
        } \
    }

#include "meters/hashpipe.p4"

control Meters(inout headers_t h, inout metadata_t m) {
    bit<64> flow = 0;
    bit<32> counter = 0;
    bit<8> other = 0;
    bit<8> counts = 0; // in a bucket or in a slot
    bit<32> place0 = 0;
    bit<32> place1 = 0;
    bit<32> place2 = 0;
    SetDscp() dscp_setter;
    REGISTER(clock, 8)
    REGISTER(meter_crc, 1024) // of byte b in row r at 256 r + b
    REGISTER(meter_counters, 16)
    REGISTER(meter_epochs, 4) // the newest of each role and instance
    REGISTER(bucket_epoch, 16384) // one more than the epoch; 0: never used
    REGISTER(bucket_src_hi, 16384)
    REGISTER(bucket_src_lo, 16384)
    REGISTER(bucket_dst_hi, 16384)
    REGISTER(bucket_dst_lo, 16384)
    REGISTER(bucket_flow, 16384) // ports and protocol
    REGISTER(bucket_filter, 16384)
    REGISTER(bucket_count, 16384)
    REGISTER(bucket_dirty, 16384)
    PIPE_ARRAYS

    @name(".counted") action counted() {
        m.meter_rule = 1;
    }
    @name(".not_counted") action not_counted() {
        m.meter_rule = 0;
    }
    @name(".meter_up") table meter_up {
        key = {
            m.dst_hi: exact;
            m.dst_lo: exact;
            m.src_hi: exact;
            m.src_lo: exact;
            m.l4_ports: exact;
            m.protocol: exact;
        }
        actions = { counted; not_counted; }
        const default_action = not_counted;
        size = 4096;
    }
    @name(".meter_down") table meter_down {
        key = {
            m.dst_hi: exact;
            m.dst_lo: exact;
            m.src_hi: exact;
            m.src_lo: exact;
            m.l4_ports: exact;
            m.protocol: exact;
        }
        actions = { counted; not_counted; }
        const default_action = not_counted;
        size = 4096;
    }
    // Ports behind which no other meter is.
    @name(".last") action last() {
        m.meter_role = METER_DOWN;
    }
    @name(".not_last") action not_last() {
    }
    @name(".meter_ends") table meter_ends {
        key = { m.out_port: exact; }
        actions = { last; not_last; }
        const default_action = not_last;
        size = 1024;
    }
    PIPE_TABLE

    apply {
        m.meter_role = METER_NONE;
        m.meter_rule = 0;
        m.meter_base = 0;
        if (m.out_port < FATES) {
            meter_ends.apply();
            if (m.from_host == 1) {
                m.meter_role = METER_UP;
            }
            flow = (bit<64>)m.l4_ports;
            flow = flow << 8;
            m.wide = (bit<64>)m.protocol;
            flow = flow | m.wide;
            REGISTER_READ(clock, m.epoch, 2)
            counter = METER_UNMARKED;
            m.new_dscp = m.dscp & 3;
            if (m.meter_role == METER_UP) {
                meter_up.apply();
                m.new_dscp = m.dscp & 0x3c;
                if (m.meter_rule == 1) {
                    m.wide = m.epoch & 1;
                    m.new_dscp = m.new_dscp | 2;
                    m.new_dscp = m.new_dscp | (bit<8>)m.wide;
                    m.meter_filter = 0;
                }
                dscp_setter.apply(h, m);
            } else if (m.meter_role == METER_DOWN) {
                if (m.new_dscp > 1) {
                    meter_down.apply();
                    m.wide = m.epoch & 1;
                    m.wide = m.wide + 2;
                    counter = METER_COUNTED;
                    if ((bit<64>)m.new_dscp != m.wide) {
                        REGISTER_READ(clock, m.wider, 3)
                        if (m.wider == 0) {
                            m.epoch = m.epoch - 1;
                        } else if (m.wider == 3) {
                            m.epoch = m.epoch + 1;
                        } else {
                            counter = METER_LATE;
                            m.meter_rule = 0;
                        }
                    }
                    if (counter == METER_COUNTED) {
                        if (m.meter_rule == 0) {
                            counter = METER_STRAYS;
                            MIRROR(MIRROR_DIGEST)
                        }
                    }
                } else if (m.new_dscp == 1) {
                    counter = METER_LATE; // no meter writes that
                }
                m.meter_base = 0x2000;
            }
            counts = m.meter_rule;
            if (m.meter_role == METER_DOWN) {
                if (m.protocol != PROTOCOL_UNKNOWN) {
                    counts = 1;
                }
            }
            if (counts == 1) {
                FLOW_PLACE(0, place0)
                FLOW_PLACE(0x100, place1)
                FLOW_PLACE(0x200, place2)
            }
            if (m.meter_rule == 1) {
                counter = METER_COUNTED;
                m.wide = m.epoch & 1;
                m.sum = (bit<32>)m.wide;
                m.sum = m.sum << 12;
                m.meter_base = m.meter_base | m.sum;
                m.sum = m.meter_base >> 12;
                m.epoch = m.epoch + 1;
                REGISTER_READ(meter_epochs, m.wide, m.sum)
                if (m.wide > m.epoch) {
                    counter = METER_LATE;
                } else {
                    REGISTER_WRITE(meter_epochs, m.sum, m.epoch)
                    METER_ROW(0, place0)
                    METER_ROW(0x400, place1)
                    METER_ROW(0x800, place2)
                }
            }
            if (m.meter_role != METER_NONE) {
                if (m.meter_role == METER_DOWN) {
                    counter = counter + 8;
                }
                REGISTER_READ(meter_counters, m.wide, counter)
                m.wide = m.wide + 1;
                REGISTER_WRITE(meter_counters, counter, m.wide)
            }
            if (m.meter_role == METER_DOWN) {
                if (counts == 1) {
                    if (m.meter_rule == 0) {
                        PIPE
                    }
                }
            }
        }
    }
}

#endif

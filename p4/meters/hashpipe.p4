// SPDX-License-Identifier: Apache-2.0
// HashPipe: the largest flows that no rule counts, and who of them is to be told (paper 004, III-D).
#ifndef HASHPIPE_P4
#define HASHPIPE_P4

/* At the end of a segment, behind the meter: 3 stages of 32 slots, two instances for odd and even
 * epochs. In the first stage a newcomer takes the slot; what it displaces takes one of the next
 * stages that is free or holds less. The slot of an older epoch is free. Table `heavy` has the
 * segments of which more flows are wanted, by their filter: a flow is told when the first stage has
 * counted more of it than the threshold, once for each stay there.
 *
 * A flow moves on in the fields that matched it: nobody needs those any more. */

// instance << 7 | stage << 5 | place; the epoch is one more than the clock's, 0: never used
#define PIPE_ARRAYS \
    REGISTER(pipe_epoch, 256) \
    REGISTER(pipe_src_hi, 256) \
    REGISTER(pipe_src_lo, 256) \
    REGISTER(pipe_dst_hi, 256) \
    REGISTER(pipe_dst_lo, 256) \
    REGISTER(pipe_flow, 256) \
    REGISTER(pipe_filter, 256) \
    REGISTER(pipe_count, 256) \
    REGISTER(pipe_places, 256) /* of its flow in the later stages */

#define PIPE_TABLE \
    @name(".wanted") action wanted(bit<64> threshold) { \
        m.wider = threshold; \
    } \
    @name(".unwanted") action unwanted() { \
        m.wider = 0; \
    } \
    @name(".heavy") table heavy { \
        key = { m.meter_filter: exact; } \
        actions = { wanted; unwanted; } \
        const default_action = unwanted; \
        size = 1024; \
    }

#define PIPE_COMPARE(array, field) \
    REGISTER_READ(array, m.wide, m.crc) \
    if (m.wide != field) { other = 1; }

#define PIPE_SWAP(array, field) \
    REGISTER_READ(array, m.wide, m.crc) \
    REGISTER_WRITE(array, m.crc, field) \
    field = m.wide;

/* m.sum: packets of the flow that goes on; 0: none does. place1, place2: its places. `other`: 0 its
 * own slot, 1 another's, 2 free. */
#define PIPE_STAGE(stage, place, CONDITION) \
    if (m.sum != 0) { \
        m.crc = place & 31; \
        m.crc = m.crc | stage; \
        m.crc = m.crc | m.meter_base; \
        other = 0; \
        PIPE_COMPARE(pipe_src_hi, m.src_hi) \
        PIPE_COMPARE(pipe_src_lo, m.src_lo) \
        PIPE_COMPARE(pipe_dst_hi, m.dst_hi) \
        PIPE_COMPARE(pipe_dst_lo, m.dst_lo) \
        PIPE_COMPARE(pipe_flow, flow) \
        PIPE_COMPARE(pipe_filter, m.meter_filter) \
        REGISTER_READ(pipe_epoch, m.wide, m.crc) \
        if (m.wide != m.epoch) { other = 2; } \
        REGISTER_READ(pipe_count, m.wide, m.crc) \
        counter = (bit<32>)m.wide; \
        if (other == 2) { counter = 0; } \
        if (other == 0) { \
            m.sum = m.sum + counter; \
            m.wide = (bit<64>)m.sum; \
            REGISTER_WRITE(pipe_count, m.crc, m.wide) \
            place0 = m.sum; \
            m.sum = 0; \
        } else if (CONDITION) { \
            PIPE_SWAP(pipe_src_hi, m.src_hi) \
            PIPE_SWAP(pipe_src_lo, m.src_lo) \
            PIPE_SWAP(pipe_dst_hi, m.dst_hi) \
            PIPE_SWAP(pipe_dst_lo, m.dst_lo) \
            PIPE_SWAP(pipe_flow, flow) \
            PIPE_SWAP(pipe_filter, m.meter_filter) \
            REGISTER_WRITE(pipe_epoch, m.crc, m.epoch) \
            m.wide = (bit<64>)m.sum; \
            REGISTER_WRITE(pipe_count, m.crc, m.wide) \
            m.sum = counter; \
            place1 = place1 << 5; \
            place1 = place1 | place2; \
            REGISTER_READ(pipe_places, m.wide, m.crc) \
            counter = (bit<32>)m.wide; \
            m.wide = (bit<64>)place1; \
            REGISTER_WRITE(pipe_places, m.crc, m.wide) \
            place2 = counter & 31; \
            place1 = counter >> 5; \
        } \
    }

#define PIPE \
    heavy.apply(); \
    REGISTER_READ(clock, m.epoch, 2) \
    m.wide = m.epoch & 1; \
    m.meter_base = (bit<32>)m.wide; \
    m.meter_base = m.meter_base << 7; \
    m.epoch = m.epoch + 1; \
    place1 = place1 & 31; \
    place2 = place2 & 31; \
    m.sum = 1; \
    m.crc = place0; \
    place0 = 1; \
    PIPE_STAGE(0, m.crc, m.sum == 1) \
    if (m.wider != 0) { \
        m.wider = m.wider + 1; \
        if (m.wider == (bit<64>)place0) { \
            MIRROR(MIRROR_DIGEST) \
        } \
    } \
    PIPE_STAGE(0x20, place1, counter < m.sum) \
    PIPE_STAGE(0x40, place2, counter < m.sum)

#endif

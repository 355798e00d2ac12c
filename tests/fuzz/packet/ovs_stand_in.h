/* SPDX-License-Identifier: Apache-2.0 */
/* What the switch's trajectory_input() uses of Open vSwitch and DPDK, by the same names: packets as chains of segments, batches of them. */
#ifndef PD_TESTS_FUZZ_OVS_STAND_IN_H
#define PD_TESTS_FUZZ_OVS_STAND_IN_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trajectory/region.h"

#define DPDK_NETDEV                 1
#define NETDEV_MAX_BURST            32
#define MIN(a, b)                   ((a) < (b) ? (a) : (b))
#define OVS_LIKELY(value)           (value)
#define OVS_UNLIKELY(value)         (value)
#define OVS_PREFETCH_WRITE(address) __builtin_prefetch((address), 1)
#define COVERAGE_ADD(counter, n)    ((void)(n))
#define COVERAGE_INC(counter)       ((void)0)

enum dp_packet_source { DPBUF_MALLOC, DPBUF_DPDK };

/* As in DPDK: the bytes of a segment lie at buf_addr + data_off; pkt_len and nb_segs are those of the first one. */
struct rte_mbuf {
    uint8_t *buf_addr;
    struct rte_mbuf *next;
    uint32_t pkt_len;
    uint16_t data_off, data_len, nb_segs;
};

struct dp_packet {
    struct rte_mbuf mbuf;
    enum dp_packet_source source;
};

struct dp_packet_batch {
    size_t count;
    struct dp_packet *packets[NETDEV_MAX_BURST];
};

#define DP_PACKET_BATCH_FOR_EACH(i, packet, batch)           \
    for (size_t i = 0; i < dp_packet_batch_size(batch); i++) \
        if ((packet) = (batch)->packets[i], true)

static inline size_t dp_packet_batch_size(const struct dp_packet_batch *batch)
{
    return batch->count;
}

static inline void *dp_packet_data(const struct dp_packet *packet)
{
    return packet->mbuf.buf_addr + packet->mbuf.data_off;
}

static inline uint32_t dp_packet_size(const struct dp_packet *packet)
{
    return packet->mbuf.pkt_len;
}

/* For packets of one segment only: as in Open vSwitch, the size of the packet becomes that of the segment. */
static inline void *dp_packet_pull(struct dp_packet *packet, size_t size)
{
    assert(packet->mbuf.nb_segs == 1 && size <= dp_packet_size(packet));
    packet->mbuf.data_off = (uint16_t)(packet->mbuf.data_off + size);
    packet->mbuf.pkt_len -= (uint32_t)size;
    packet->mbuf.data_len = (uint16_t)packet->mbuf.pkt_len;
    return dp_packet_data(packet);
}

enum trajectory_mode { TRAJECTORY_OFF, TRAJECTORY_TAGS, TRAJECTORY_TAGS_AND_DSCP };

struct trajectory {
    struct pd_trajectory *table;
    struct pd_region *region;
};

#endif

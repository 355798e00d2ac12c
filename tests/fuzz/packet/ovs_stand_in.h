/* SPDX-License-Identifier: Apache-2.0 */
/* What the switch's trajectory_input() uses of Open vSwitch and DPDK, by the same names: packets as
 * chains of segments, batches of them. */
#ifndef PD_TESTS_FUZZ_OVS_STAND_IN_H
#define PD_TESTS_FUZZ_OVS_STAND_IN_H

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "trajectory/region.h"

#define DPDK_NETDEV                 1
#define NETDEV_MAX_BURST            32
#define ARRAY_SIZE(array)           (sizeof(array) / sizeof((array)[0]))
#define MIN(a, b)                   ((a) < (b) ? (a) : (b))
#define OVS_LIKELY(value)           (value)
#define OVS_UNLIKELY(value)         (value)
#define OVS_PREFETCH_WRITE(address) __builtin_prefetch((address), 1)
#define COVERAGE_ADD(counter, n)    ((void)(n))
#define COVERAGE_INC(counter)       ((void)0)

enum dp_packet_source { DPBUF_MALLOC, DPBUF_DPDK };

/* As in DPDK: the bytes of a segment lie at buf_addr + data_off; pkt_len and nb_segs are those of
 * the first one. */
struct rte_mbuf {
    uint8_t *buf_addr;
    struct rte_mbuf *next;
    uint32_t pkt_len;
    uint16_t data_off, data_len, nb_segs;
};

struct dp_packet {
    struct rte_mbuf mbuf;
    enum dp_packet_source source;
    bool rss_valid;
    uint32_t rss_hash;
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

static inline void dp_packet_set_data(struct dp_packet *packet, void *data)
{
    packet->mbuf.data_off = (uint16_t)((uint8_t *)data - packet->mbuf.buf_addr);
}

/* For packets of one segment only: as in Open vSwitch, the size of the packet becomes that of the
 * segment. */
static inline void dp_packet_set_size(struct dp_packet *packet, uint32_t size)
{
    assert(packet->mbuf.nb_segs == 1 && size <= packet->mbuf.pkt_len);
    packet->mbuf.pkt_len = size;
    packet->mbuf.data_len = (uint16_t)size;
}

static inline bool dp_packet_rss_valid(const struct dp_packet *packet)
{
    return packet->rss_valid;
}

static inline void dp_packet_set_rss_hash(struct dp_packet *packet, uint32_t hash)
{
    packet->rss_hash = hash;
    packet->rss_valid = true;
}

/* A hash of some kind: what it is worth is not the matter here. */
typedef uint16_t ovs_be16;

static inline uint32_t get_unaligned_u32(const void *at)
{
    uint32_t word;

    memcpy(&word, at, sizeof word);
    return word;
}

static inline uint32_t hash_add(uint32_t hash, uint32_t word)
{
    return (hash ^ word) * UINT32_C(0x9e3779b1);
}

static inline uint32_t hash_add64(uint32_t hash, uint64_t word)
{
    return hash_add(hash_add(hash, (uint32_t)word), (uint32_t)(word >> 32));
}

static inline uint32_t hash_finish(uint32_t hash, uint32_t final)
{
    return hash_add(hash, final);
}

enum trajectory_mode { TRAJECTORY_OFF, TRAJECTORY_TAGS, TRAJECTORY_TAGS_AND_DSCP };

struct trajectory {
    struct pd_trajectory *table;
    struct pd_region *region;
};

#endif

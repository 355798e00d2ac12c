// SPDX-License-Identifier: Apache-2.0
/* A fault of the test bed on what an interface sends: notation.py compiles it with what the fault
 * says. Other packets are none of its business: TC_ACT_UNSPEC. */
#include <stdbool.h>

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

/* START_NS, END_NS: monotonic; LOSS: of 2^32, also where that is all; BURST_ENDS, BURST_BEGINS: of
 * 2^32, 0: packets are lost one by one; PREFIX, PREFIX_BITS: of destinations, IPv4 as
 * ::ffff:a.b.c.d, 0 bits: any; HASH_FROM, HASH_TO: of flows, as in src/sim/faults.c. */

#define TYPE_OFFSET 12
#define TAG_BYTES   4
#define TAGS_MAX    4
#define FRAGMENTED  0x3fff
#define WORDS       9 /* source, destination, ports */

static __u32 bursting; /* of this interface */

struct flow {
    __u32 words[WORDS];
};

static __always_inline bool is_tag(__be16 type)
{
    return type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD);
}

static __always_inline void read_ports(struct __sk_buff *skb, __u32 offset, __u8 protocol,
                                       struct flow *flow)
{
    __be16 l4[2];

    if ((protocol == IPPROTO_TCP || protocol == IPPROTO_UDP) &&
        !bpf_skb_load_bytes(skb, offset, l4, sizeof(l4))) {
        flow->words[8] = (__u32)bpf_ntohs(l4[0]) << 16 | bpf_ntohs(l4[1]);
    }
}

static __always_inline bool read_ip(struct __sk_buff *skb, __u32 offset, __be16 type,
                                    struct flow *flow)
{
    struct iphdr ipv4;
    struct ipv6hdr ipv6;

    if (type == bpf_htons(ETH_P_IP) && !bpf_skb_load_bytes(skb, offset, &ipv4, sizeof(ipv4))) {
        flow->words[2] = flow->words[6] = bpf_htonl(0xffff);
        flow->words[3] = ipv4.saddr;
        flow->words[7] = ipv4.daddr;
        if (!(ipv4.frag_off & bpf_htons(FRAGMENTED))) {
            read_ports(skb, offset + ipv4.ihl * 4, ipv4.protocol, flow);
        }
        return true;
    }
    if (type == bpf_htons(ETH_P_IPV6) && !bpf_skb_load_bytes(skb, offset, &ipv6, sizeof(ipv6))) {
        __builtin_memcpy(flow->words, &ipv6.saddr, 16);
        __builtin_memcpy(flow->words + 4, &ipv6.daddr, 16);
        read_ports(skb, offset + sizeof(ipv6), ipv6.nexthdr, flow);
        return true;
    }
    return false;
}

static __always_inline bool read_flow(struct __sk_buff *skb, struct flow *flow)
{
    __u32 offset = TYPE_OFFSET;
    __be16 type = 0;

#pragma unroll
    for (int i = 0; i < TAGS_MAX; i++) {
        if (bpf_skb_load_bytes(skb, offset, &type, sizeof(type))) {
            return false;
        }
        if (!is_tag(type)) {
            break;
        }
        offset += TAG_BYTES;
    }
    return read_ip(skb, offset + sizeof(type), type, flow);
}

static __always_inline bool in_prefix(const struct flow *flow)
{
    const __u8 prefix[16] = PREFIX;
    const __u8 *addr = (const __u8 *)(flow->words + 4);

#pragma unroll
    for (int bit = 0; bit < PREFIX_BITS; bit++) {
        if ((addr[bit / 8] ^ prefix[bit / 8]) >> (7 - bit % 8) & 1) {
            return false;
        }
    }
    return true;
}

static __always_inline bool in_hashes(const struct flow *flow)
{
    __u32 h = 0;

#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        h = (h ^ flow->words[i]) * 0x85ebca6b;
        h = (h ^ h >> 13) * 0xc2b2ae35;
        h ^= h >> 16;
    }
    return h >> 16 >= HASH_FROM && h >> 16 <= HASH_TO;
}

static __always_inline bool takes(struct __sk_buff *skb)
{
    struct flow flow = {};

    if (!PREFIX_BITS && HASH_FROM == 0 && HASH_TO == 0xffff) {
        return true;
    }
    return read_flow(skb, &flow) && in_prefix(&flow) && in_hashes(&flow);
}

/* Gilbert's two states, one step for each packet. */
static __always_inline bool is_lost(void)
{
    const __u64 random = bpf_get_prandom_u32();

    if (!BURST_ENDS) {
        return random < LOSS;
    }
    if (random < (bursting ? BURST_ENDS : BURST_BEGINS)) {
        bursting = !bursting;
    }
    return bursting;
}

/* Stolen and not shot: Open vSwitch would drop the rest of its batch, and a host's own TCP would
 * send again at once. */
SEC("tc")
int fault(struct __sk_buff *skb)
{
    const __u64 now_ns = bpf_ktime_get_ns();

    if (now_ns < START_NS || now_ns >= END_NS || !takes(skb) || !is_lost()) {
        return TC_ACT_UNSPEC;
    }
    return TC_ACT_STOLEN;
}

char licence_text[] SEC("license") = "Apache-2.0";

// SPDX-License-Identifier: Apache-2.0
/* The program in the kernel (tc ingress) that takes link tags off before the host's stack sees the
 * frame. */
#include <stdbool.h>

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define TAGS_MAX      4 /* PD_PACKET_TAGS_MAX: strip.c asserts it */
#define ETH_P_OLDQINQ 0x9100
#define TYPE_OFFSET   12
#define TAG_BYTES     4
#define DSCP_MASK     0xfc

/* What strip.c sets before it loads this. */
const volatile struct {
    bool clear_dscp;
    __u8 zero;
    __u16 tpid; /* of link tags; 0: any */
} strip_constants = {};

/* A socket of the process that loaded this; the kernel removes it here when the process ends. */
struct {
    __uint(type, BPF_MAP_TYPE_SOCKMAP);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} alive SEC(".maps");

static __always_inline bool is_tag(__u32 protocol)
{
    return protocol == bpf_htons(ETH_P_8021Q) || protocol == bpf_htons(ETH_P_8021AD);
}

/* The kernel pops 0x8100 and 0x88a8 only. So that an inline tag of 0x9100 can be popped it is
 * renamed to 0x8100; and so that the kernel looks at the new name, two tags are pushed in front of
 * it, whose pops do look. */
static __always_inline int pop_old_tag(struct __sk_buff *skb)
{
    const __be16 type = bpf_htons(ETH_P_8021Q);

    if (bpf_skb_vlan_push(skb, type, 1) || bpf_skb_vlan_push(skb, type, 1)) {
        return -1;
    }
    /* One of the two is in the frame now, the other beside it. */
    if (bpf_skb_store_bytes(skb, TYPE_OFFSET + TAG_BYTES, &type, sizeof(type),
                            BPF_F_RECOMPUTE_CSUM)) {
        return -1;
    }
    return bpf_skb_vlan_pop(skb) || bpf_skb_vlan_pop(skb) || bpf_skb_vlan_pop(skb) ? -1 : 0;
}

/* What lies inside the link tags is a tenant's and stays. */
static __always_inline bool is_link_tag(struct __sk_buff *skb)
{
    const __u16 tpid = strip_constants.tpid;

    if (!tpid) {
        return true;
    }
    if (skb->vlan_present) {
        return skb->vlan_proto == bpf_htons(tpid);
    }
    return skb->protocol == bpf_htons(tpid);
}

static __always_inline int pop_tag(struct __sk_buff *skb)
{
    if (!is_link_tag(skb)) {
        return -1;
    }
    if (skb->vlan_present || is_tag(skb->protocol)) {
        return bpf_skb_vlan_pop(skb);
    }
    return skb->protocol == bpf_htons(ETH_P_OLDQINQ) ? pop_old_tag(skb) : -1;
}

/* Unrolled: with CAP_BPF alone the verifier also follows what a CPU might do by speculation, and
 * gets lost in loops. */
static __always_inline void pop_tags(struct __sk_buff *skb)
{
#pragma unroll
    for (int i = 0; i < TAGS_MAX; i++) {
        if (pop_tag(skb)) {
            return;
        }
    }
}

static __always_inline void clear_ipv4(struct __sk_buff *skb)
{
    const __u32 tos_offset = ETH_HLEN + 1, check_offset = ETH_HLEN + 10;
    __u8 tos, ecn;

    if (bpf_skb_load_bytes(skb, tos_offset, &tos, sizeof(tos)) || !(tos & DSCP_MASK)) {
        return;
    }
    ecn = tos & ~DSCP_MASK;
    if (bpf_l3_csum_replace(skb, check_offset, bpf_htons(tos), bpf_htons(ecn), 2)) {
        return;
    }
    bpf_skb_store_bytes(skb, tos_offset, &ecn, sizeof(ecn), 0);
}

/* version (4 bits), traffic class (DSCP 6, ECN 2), flow label (20). */
static __always_inline void clear_ipv6(struct __sk_buff *skb)
{
    __u8 head[2];

    if (bpf_skb_load_bytes(skb, ETH_HLEN, head, sizeof(head)) ||
        !(head[0] & 0x0f || head[1] & 0xc0)) {
        return;
    }
    head[0] &= 0xf0;
    head[1] &= 0x3f;
    bpf_skb_store_bytes(skb, ETH_HLEN, head, sizeof(head), BPF_F_RECOMPUTE_CSUM);
}

static __always_inline int strip(struct __sk_buff *skb)
{
    pop_tags(skb);
    if (strip_constants.clear_dscp) {
        if (skb->protocol == bpf_htons(ETH_P_IP)) {
            clear_ipv4(skb);
        } else if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
            clear_ipv6(skb);
        }
    }
    return TC_ACT_UNSPEC; /* whatever else is on the hook goes on */
}

SEC("tc")
int strip_tcx(struct __sk_buff *skb)
{
    return strip(skb);
}

SEC("tc")
int strip_clsact(struct __sk_buff *skb)
{
    __u32 first = 0;
    struct bpf_sock *socket = bpf_map_lookup_elem(&alive, &first);

    if (!socket) {
        return TC_ACT_UNSPEC;
    }
    bpf_sk_release(socket);
    return strip(skb);
}

char licence_text[] SEC("license") = "Apache-2.0";

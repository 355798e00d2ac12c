// SPDX-License-Identifier: Apache-2.0
/* Stands in for the switches: pushes tags on what leaves an interface (tc egress). Drops the
 * multicast reports that IPv6 sends by itself, at random times: tests count every frame. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

const volatile struct {
    __u32 len;
    __u16 types[4];
    __u16 tags[4];
} push = {};

static __always_inline int is_report(struct __sk_buff *skb)
{
    __u8 next_header = 1;

    return skb->protocol == bpf_htons(ETH_P_IPV6) &&
           !bpf_skb_load_bytes(skb, ETH_HLEN + 6, &next_header, 1) && next_header == 0;
}

SEC("tc")
int push_tags(struct __sk_buff *skb)
{
    if (is_report(skb)) {
        return TC_ACT_SHOT;
    }
    for (__u32 i = 0; i < 4; i++) {
        if (i < push.len && bpf_skb_vlan_push(skb, bpf_htons(push.types[i]), push.tags[i])) {
            return TC_ACT_SHOT;
        }
    }
    return TC_ACT_OK;
}

char licence_text[] SEC("license") = "Apache-2.0";

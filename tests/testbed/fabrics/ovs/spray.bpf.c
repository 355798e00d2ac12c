// SPDX-License-Identifier: Apache-2.0
/* On what hosts send, while switches of the test bed spray: the end of the source MAC address
 * becomes random. Open vSwitch has no action that spreads packets of one flow, but its groups can
 * hash on that address, which nobody else looks at. 1024 addresses: each costs the switches a
 * cached flow. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

SEC("tc")
int number_packets(struct __sk_buff *skb)
{
    __u16 number = bpf_get_prandom_u32() & 1023;

    bpf_skb_store_bytes(skb, 2 * ETH_ALEN - sizeof(number), &number, sizeof(number), 0);
    return TC_ACT_UNSPEC;
}

char licence_text[] SEC("license") = "Apache-2.0";

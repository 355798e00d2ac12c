/* SPDX-License-Identifier: Apache-2.0 */
/* On what a host without an agent receives: takes all tags off. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

#define TAGS_MAX 4

SEC("tc")
int strip(struct __sk_buff *frame)
{
    for (int tags = 0; tags < TAGS_MAX && frame->vlan_present; tags++) {
        bpf_skb_vlan_pop(frame);
    }
    return TC_ACT_UNSPEC;
}

char terms[] SEC("license") = "Dual MIT/GPL";

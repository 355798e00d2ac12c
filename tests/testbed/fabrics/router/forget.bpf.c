// SPDX-License-Identifier: Apache-2.0
/* On what comes from hosts: the kernel of a sender notes a hash of the socket on its packets, which
 * survives the way between namespaces, so that routers would balance by a number that no packet on
 * a wire carries, and that probes do not have. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

SEC("tc")
int forget_hash(struct __sk_buff *skb)
{
    bpf_set_hash_invalid(skb);
    return TC_ACT_UNSPEC;
}

char licence_text[] SEC("license") = "GPL";

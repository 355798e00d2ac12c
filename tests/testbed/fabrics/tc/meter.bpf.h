/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Meters of a switch (paper 004, sections III-C and III-D): where a segment begins, where one ends.
 */
#ifndef METER_BPF_H
#define METER_BPF_H

#include "meter/epoch_of.h"
#include "meter/kernel.h"
#include "meter/steps.h"

/* Programs of their own, beside those of the switch. Where a packet goes on towards a switch and a
 * segment begins (from a host; at the top: from anywhere), flows with a rule are counted and get
 * the mark of the epoch, all others lose theirs. Where one ends (towards a host; at the top: as the
 * packet comes in, before its filter begins anew), marked packets are counted in the epoch of their
 * mark, and the largest flows are kept (HashPipe). A ToR on a detour does neither. */

#define METER_TABLE(name_, type_, key_, value_, entries_) \
    TABLE(name_, type_, key_, value_, entries_, 0)
#define METER_INSTANCES  2
#define METER_MALFORMED  (1ULL << 33) /* PD_FILTER_MALFORMED */
#define METER_EXTENSIONS 8            /* PD_PACKET_EXTENSIONS_MAX */
#define METER_KEY_BYTES  37
#define METER_FRAGMENT   44
#define METER_AUTH       51
#define METER_SCTP       132

METER_TABLE(meter_settings, BPF_MAP_TYPE_ARRAY, __u32, struct pd_meter_kernel_settings, 1);
METER_TABLE(meter_usm, BPF_MAP_TYPE_ARRAY, __u32, struct pd_meter_kernel_bucket,
            METER_INSTANCES *PD_METER_KERNEL_BUCKETS);
METER_TABLE(meter_dsm, BPF_MAP_TYPE_ARRAY, __u32, struct pd_meter_kernel_bucket,
            METER_INSTANCES *PD_METER_KERNEL_BUCKETS);
METER_TABLE(meter_usm_rules, BPF_MAP_TYPE_HASH, struct pd_meter_kernel_flow, __u32,
            PD_METER_KERNEL_RULES);
METER_TABLE(meter_dsm_rules, BPF_MAP_TYPE_HASH, struct pd_meter_kernel_flow, __u32,
            PD_METER_KERNEL_RULES);
METER_TABLE(meter_strays, BPF_MAP_TYPE_HASH, struct pd_meter_kernel_stray, __u64,
            PD_METER_KERNEL_STRAYS);
METER_TABLE(meter_pipe, BPF_MAP_TYPE_ARRAY, __u32, struct pd_meter_kernel_slot,
            METER_INSTANCES *PD_METER_KERNEL_PIPE);
METER_TABLE(meter_counters, BPF_MAP_TYPE_ARRAY, __u32, __u64, pd_meter_kernel_counters_len);
METER_TABLE(meter_ports, BPF_MAP_TYPE_ARRAY, __u32, __u32, PORTS_MAX); /* enum meter_port */

static const __u32 meter_steps[PD_METER_KERNEL_ROWS][16] SEC(".rodata.meter") = PD_METER_STEPS;

/* What is known of the packet at hand: too large for the stack. */
struct meter_work {
    struct pd_meter_kernel_flow flow;
    struct pd_meter_kernel_slot carried, displaced; /* of HashPipe */
    struct pd_meter_kernel_stray stray;
    struct packet packet;
    __u64 filter, epoch, pkts; /* of this epoch; plus one where maps want that */
    __u32 hashes[PD_METER_KERNEL_ROWS];
    __u32 key_bytes;
    __u8 key[METER_KEY_BYTES + 3];
};
METER_TABLE(meter_works, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct meter_work, 1);

static __always_inline void meter_count(enum pd_meter_kernel_counter which, __u64 pkts)
{
    __u32 key = which;
    __u64 *counter = bpf_map_lookup_elem(&meter_counters, &key);

    if (counter) {
        __sync_fetch_and_add(counter, pkts);
    }
}

static __always_inline bool meter_same(const struct pd_meter_kernel_flow *a,
                                       const struct pd_meter_kernel_flow *b)
{
    const __u64 *x = (const __u64 *)a, *y = (const __u64 *)b;

    return !((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3]) | (x[4] ^ y[4]));
}

/* ---- the flow ------------------------------------------------------------------------------- */

/* As packet/packet.c reads it, so that captures are counted alike. */
static __always_inline bool meter_ports_of(struct __sk_buff *skb, __u32 at, bool later,
                                           struct meter_work *work)
{
    const __u8 protocol = work->flow.protocol;
    __be16 l4[2] = {0, 0};

    if (later || (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP && protocol != METER_SCTP)) {
        return true;
    }
    if (bpf_skb_load_bytes(skb, at, l4, sizeof(l4))) {
        return false;
    }
    work->flow.src_port = bpf_ntohs(l4[0]);
    work->flow.dst_port = bpf_ntohs(l4[1]);
    return true;
}

static __always_inline bool meter_ipv4(struct __sk_buff *skb, struct meter_work *work)
{
    const __u32 at = work->packet.ip_offset;
    struct iphdr ip;

    if (bpf_skb_load_bytes(skb, at, &ip, sizeof(ip)) || ip.version != 4 || ip.ihl < 5) {
        return false;
    }
    work->packet.is_ipv6 = false;
    work->packet.dscp = ip.tos >> 2;
    work->flow.ip_version = 4;
    work->flow.protocol = ip.protocol;
    __builtin_memcpy(work->flow.src, &ip.saddr, sizeof(ip.saddr));
    __builtin_memcpy(work->flow.dst, &ip.daddr, sizeof(ip.daddr));
    return meter_ports_of(skb, at + ip.ihl * 4, ip.frag_off & bpf_htons(0x1fff), work);
}

static __always_inline bool meter_is_extension(__u8 protocol)
{
    return protocol == 0 || protocol == 43 || protocol == METER_FRAGMENT ||
           protocol == METER_AUTH || protocol == 60 || protocol == 135 || protocol == 139 ||
           protocol == 140;
}

static __always_inline bool meter_ipv6(struct __sk_buff *skb, struct meter_work *work)
{
    __u32 at = work->packet.ip_offset;
    struct ipv6hdr ip;
    __u8 head[4];
    bool later = false;

    if (bpf_skb_load_bytes(skb, at, &ip, sizeof(ip)) || ip.version != 6) {
        return false;
    }
    work->packet.is_ipv6 = true;
    work->packet.dscp = (__u8)(ip.priority << 2 | ip.flow_lbl[0] >> 6);
    work->flow.ip_version = 6;
    work->flow.protocol = ip.nexthdr;
    __builtin_memcpy(work->flow.src, &ip.saddr, sizeof(ip.saddr));
    __builtin_memcpy(work->flow.dst, &ip.daddr, sizeof(ip.daddr));
    at += sizeof(ip);
    for (int i = 0; i < METER_EXTENSIONS; i++) {
        const __u8 kind = work->flow.protocol;

        if (!meter_is_extension(kind) || later) {
            return meter_ports_of(skb, at, later, work);
        }
        if (bpf_skb_load_bytes(skb, at, head, sizeof(head))) {
            return false;
        }
        later = kind == METER_FRAGMENT && ((head[2] << 8 | head[3]) & 0xfff8);
        at += kind == METER_FRAGMENT ? 8 : kind == METER_AUTH ? head[1] * 4 + 8 : head[1] * 8 + 8;
        work->flow.protocol = head[0];
    }
    return !meter_is_extension(work->flow.protocol) && meter_ports_of(skb, at, later, work);
}

/* The filter as documents have it: of one tag, without its drop-eligible bit. */
static __always_inline void meter_filter(struct __sk_buff *skb, struct meter_work *work)
{
    __u32 tci = skb->vlan_tci;
    __be16 inside = 0; /* where the kernel has not taken the tag out of the frame */

    if (work->packet.tags == 1 && !skb->vlan_present) {
        bpf_skb_load_bytes(skb, TYPE_OFFSET + 2, &inside, sizeof(inside));
        tci = bpf_ntohs(inside);
    }

    work->filter = work->packet.tags > 1    ? METER_MALFORMED
                   : work->packet.tags == 1 ? (tci >> 13 & 7) << 12 | (tci & 0xfff)
                                            : 0;
}

static __noinline bool meter_read(struct __sk_buff *skb, struct meter_work *work)
{
    const __u32 segments = skb->gso_segs;
    __be16 type;

    __builtin_memset(&work->flow, 0, sizeof(work->flow));
    work->pkts = segments ? segments : 1;
    type = read_tags(skb, &work->packet);
    if (type == bpf_htons(ETH_P_IP) ? !meter_ipv4(skb, work)
                                    : type != bpf_htons(ETH_P_IPV6) || !meter_ipv6(skb, work)) {
        meter_count(pd_meter_kernel_other, work->pkts);
        return false;
    }
    meter_filter(skb, work);
    return true;
}

/* ---- places --------------------------------------------------------------------------------- */

static __always_inline void meter_key(struct meter_work *work)
{
    const struct pd_meter_kernel_flow *flow = &work->flow;
    const __u32 bytes = flow->ip_version == 4 ? 4 : 16;
    __u8 *end = work->key + (flow->ip_version == 4 ? 8 : 32);

    if (bytes == 4) {
        __builtin_memcpy(work->key, flow->src, 4);
        __builtin_memcpy(work->key + 4, flow->dst, 4);
    } else {
        __builtin_memcpy(work->key, flow->src, 16);
        __builtin_memcpy(work->key + 16, flow->dst, 16);
    }
    end[0] = (__u8)(flow->src_port >> 8);
    end[1] = (__u8)flow->src_port;
    end[2] = (__u8)(flow->dst_port >> 8);
    end[3] = (__u8)flow->dst_port;
    end[4] = flow->protocol;
    work->key_bytes = 2 * bytes + 5;
}

static __noinline void meter_hash(struct meter_work *work)
{
    __u32 a = ~0u, b = ~0u, c = ~0u;

    meter_key(work);
    for (__u32 i = 0; i < METER_KEY_BYTES && i < work->key_bytes; i++) {
        a ^= work->key[i];
        a = a >> 4 ^ meter_steps[0][a & 15];
        a = a >> 4 ^ meter_steps[0][a & 15];
        b ^= work->key[i];
        b = b >> 4 ^ meter_steps[1][b & 15];
        b = b >> 4 ^ meter_steps[1][b & 15];
        c ^= work->key[i];
        c = c >> 4 ^ meter_steps[2][c & 15];
        c = c >> 4 ^ meter_steps[2][c & 15];
    }
    work->hashes[0] = ~a;
    work->hashes[1] = ~b;
    work->hashes[2] = ~c;
}

/* ---- buckets -------------------------------------------------------------------------------- */

static __always_inline void meter_add_row(void *meter, const struct meter_work *work, __u32 row)
{
    const __u32 key = (work->epoch & 1) * PD_METER_KERNEL_BUCKETS + row * PD_METER_KERNEL_WIDTH +
                      (work->hashes[row] & (PD_METER_KERNEL_WIDTH - 1));
    struct pd_meter_kernel_bucket *bucket = bpf_map_lookup_elem(meter, &key);

    if (!bucket) {
        return;
    }
    bpf_spin_lock(&bucket->lock);
    if (bucket->epoch != work->epoch + 1) {
        bucket->epoch = work->epoch + 1;
        bucket->dirty = 0;
        bucket->filter = work->filter;
        bucket->pkts = 0;
        bucket->flow = work->flow;
    }
    if (bucket->filter != work->filter || !meter_same(&bucket->flow, &work->flow)) {
        bucket->dirty = 1;
    }
    if (!bucket->dirty) {
        bucket->pkts += work->pkts;
    }
    bpf_spin_unlock(&bucket->lock);
}

#define METER_ADD(meter, work)         \
    do {                               \
        meter_add_row(meter, work, 0); \
        meter_add_row(meter, work, 1); \
        meter_add_row(meter, work, 2); \
    } while (0)

/* ---- HashPipe ------------------------------------------------------------------------------- */

static __always_inline void meter_take_slot(struct pd_meter_kernel_slot *slot,
                                            const struct pd_meter_kernel_slot *of)
{
    slot->hashes[0] = of->hashes[0];
    slot->hashes[1] = of->hashes[1];
    slot->hashes[2] = of->hashes[2];
    slot->epoch = of->epoch;
    slot->filter = of->filter;
    slot->pkts = of->pkts;
    slot->flow = of->flow;
}

/* One stage: false when nothing is carried any more. */
static __always_inline bool meter_stage(struct meter_work *work, __u32 stage)
{
    const __u32 key = ((work->epoch & 1) * PD_METER_KERNEL_STAGES + stage) * PD_METER_KERNEL_SLOTS +
                      (work->carried.hashes[stage] & (PD_METER_KERNEL_SLOTS - 1));
    struct pd_meter_kernel_slot *slot = bpf_map_lookup_elem(&meter_pipe, &key);
    bool more = false;

    if (!slot) {
        return false;
    }
    bpf_spin_lock(&slot->lock);
    if (slot->epoch != work->carried.epoch) {
        meter_take_slot(slot, &work->carried);
    } else if (slot->filter == work->carried.filter &&
               meter_same(&slot->flow, &work->carried.flow)) {
        slot->pkts += work->carried.pkts;
    } else {
        more = true;
        if (!stage || slot->pkts < work->carried.pkts) {
            meter_take_slot(&work->displaced, slot);
            meter_take_slot(slot, &work->carried);
            meter_take_slot(&work->carried, &work->displaced);
        }
    }
    bpf_spin_unlock(&slot->lock);
    return more;
}

static __noinline void meter_pipe_add(struct meter_work *work)
{
    work->carried.hashes[0] = work->hashes[0];
    work->carried.hashes[1] = work->hashes[1];
    work->carried.hashes[2] = work->hashes[2];
    work->carried.epoch = work->epoch + 1;
    work->carried.filter = work->filter;
    work->carried.pkts = work->pkts;
    work->carried.flow = work->flow;
    if (meter_stage(work, 0) && meter_stage(work, 1)) {
        meter_stage(work, 2);
    }
}

/* ---- the end of a segment ------------------------------------------------------------------- */

/* A stray that has no room is lost to nobody's knowledge: its epoch is then not told at all. */
static __always_inline void meter_stray(struct meter_work *work)
{
    __u32 key = pd_meter_kernel_strays_epoch;
    __u64 *pkts, *newest;

    meter_count(pd_meter_kernel_strays, work->pkts);
    work->stray.epoch = work->epoch;
    work->stray.flow = work->flow;
    pkts = bpf_map_lookup_elem(&meter_strays, &work->stray);
    if (pkts) {
        __sync_fetch_and_add(pkts, work->pkts);
        return;
    }
    if (bpf_map_update_elem(&meter_strays, &work->stray, &work->pkts, BPF_ANY)) {
        meter_count(pd_meter_kernel_strays_full, work->pkts);
        newest = bpf_map_lookup_elem(&meter_counters, &key);
        if (newest) {
            *newest = work->epoch + 1;
        }
    }
}

static __noinline void meter_end(struct meter_work *work, __u64 time_ns, __u64 epoch_ns)
{
    const __u8 mark = work->packet.dscp & 3;

    meter_hash(work);
    work->epoch = time_ns / epoch_ns;
    meter_pipe_add(work);
    if (!mark) {
        meter_count(pd_meter_kernel_passed, work->pkts);
    } else if (!pd_meter_epoch_of(mark, time_ns, epoch_ns, &work->epoch)) {
        meter_count(pd_meter_kernel_late, work->pkts);
    } else if (!bpf_map_lookup_elem(&meter_dsm_rules, &work->flow)) {
        meter_stray(work);
    } else {
        meter_count(pd_meter_kernel_received, work->pkts);
        METER_ADD(&meter_dsm, work);
    }
}

/* ---- its beginning -------------------------------------------------------------------------- */

/* Gives the mark with which the packet goes on. */
static __noinline __u8 meter_begin(struct meter_work *work, __u64 time_ns, __u64 epoch_ns)
{
    if (!bpf_map_lookup_elem(&meter_usm_rules, &work->flow)) {
        meter_count(pd_meter_kernel_unmarked, work->pkts);
        return 0;
    }
    meter_hash(work);
    work->epoch = time_ns / epoch_ns;
    work->filter = 0;
    meter_count(pd_meter_kernel_sent, work->pkts);
    METER_ADD(&meter_usm, work);
    return (__u8)(2 | (work->epoch & 1));
}

static __always_inline int meter_mark(struct __sk_buff *skb, const struct meter_work *work,
                                      __u8 mark)
{
    const __u8 dscp = (work->packet.dscp & 0x3c) | mark;

    return dscp == work->packet.dscp ? 0 : set_dscp(skb, &work->packet, dscp);
}

/* ---- programs ------------------------------------------------------------------------------- */

static __always_inline __u32 meter_kind(__u32 ifindex)
{
    const __u32 *port = bpf_map_lookup_elem(&ports, &ifindex);
    const __u32 *kind = port ? bpf_map_lookup_elem(&meter_ports, port) : NULL;

    return kind ? *kind : METER_NO_PORT;
}

static __always_inline struct meter_work *meter_work(void)
{
    const __u32 zero = 0;

    return bpf_map_lookup_elem(&meter_works, &zero);
}

static __always_inline const struct pd_meter_kernel_settings *meter_in_force(void)
{
    const __u32 zero = 0;

    return bpf_map_lookup_elem(&meter_settings, &zero);
}

static __always_inline __u64 meter_time(const struct pd_meter_kernel_settings *settings)
{
    return bpf_ktime_get_tai_ns() - settings->tai_ahead_ns;
}

/* Of a switch at the top, before it writes filters. */
SEC("tc")
int meter_ingress(struct __sk_buff *skb)
{
    const struct pd_meter_kernel_settings *settings = meter_in_force();
    struct meter_work *work = meter_work();

    if (work && settings && settings->epoch_ns && meter_read(skb, work)) {
        meter_end(work, meter_time(settings), settings->epoch_ns);
    }
    return TC_ACT_UNSPEC;
}

/* Behind what the switch writes, before faults of the link. */
SEC("tc")
int meter_egress(struct __sk_buff *skb)
{
    const struct pd_meter_kernel_settings *settings = meter_in_force();
    const __u32 in = meter_kind(skb->ingress_ifindex), out = meter_kind(skb->ifindex);
    struct meter_work *work = meter_work();
    __u8 mark = 0;

    if (!work || !settings || (out == METER_TO_SWITCH && in == METER_TO_SWITCH) ||
        !meter_read(skb, work)) {
        return TC_ACT_UNSPEC;
    }
    if (settings->epoch_ns && out == METER_TO_HOST && in == METER_TO_SWITCH) {
        meter_end(work, meter_time(settings), settings->epoch_ns);
    } else if (settings->epoch_ns && out != METER_TO_HOST) {
        mark = meter_begin(work, meter_time(settings), settings->epoch_ns);
    }
    if (meter_mark(skb, work, mark)) {
        count(COUNT_FAILED);
        return TC_ACT_SHOT;
    }
    return TC_ACT_UNSPEC;
}

#endif

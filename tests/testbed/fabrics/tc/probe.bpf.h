/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What a switch of the bed does with a probe (sr-int): docs/formats/probes.md. Part of
 * switch.bpf.c. */
#ifndef TESTBED_FABRICS_TC_PROBE_BPF_H
#define TESTBED_FABRICS_TC_PROBE_BPF_H

/* At ingress the first label says where the probe goes, and the others move up. The entry is made
 * at egress, where the queue of the port is known: what lies before the entries moves to the front
 * of 22 new bytes. On the way from one to the other the packet keeps when it came as its departure
 * time, and the port as its mark. */

#define PROBE_PORT         2222
#define PROBE_MAGIC        0x504401 /* and version */
#define PROBE_LABELS       64
#define PROBE_LABELS_AT    32
#define PROBE_ENTRIES_AT   96
#define PROBE_ENTRY_BYTES  22
#define PROBE_MARK         0x50440000u
#define PROBE_HEADERS_IPV4 (ETH_HLEN + 20 + 8 + PROBE_ENTRIES_AT)
#define PROBE_HEADERS_IPV6 (ETH_HLEN + 40 + 8 + PROBE_ENTRIES_AT)

TABLE(probe_refused, BPF_MAP_TYPE_ARRAY, __u32, __u32, PORTS_MAX, 0); /* port -> hosts without */

/* What is read of the kernel's own. */
struct gnet_stats_queue {
    __u32 qlen, backlog;
} __attribute__((preserve_access_index));
struct qdisc_skb_head {
    __u32 qlen;
} __attribute__((preserve_access_index));
struct Qdisc {
    struct qdisc_skb_head q;
    struct gnet_stats_queue qstats;
} __attribute__((preserve_access_index));
struct net_device {
    struct Qdisc *qdisc;
} __attribute__((preserve_access_index));
struct sk_buff {
    struct net_device *dev;
} __attribute__((preserve_access_index));
extern void *bpf_cast_to_kern_ctx(void *skb) __ksym;

/* Where the payload of a probe begins; 0: it is none. */
static __always_inline __u32 probe_payload(struct __sk_buff *skb)
{
    __u8 head[4] = {};
    __be16 type = 0, port = 0;
    __u8 protocol = 0, first = 0;
    __u32 at;

    if (skb->vlan_present || bpf_skb_load_bytes(skb, TYPE_OFFSET, &type, sizeof(type)) ||
        bpf_skb_load_bytes(skb, ETH_HLEN, &first, 1)) {
        return 0;
    }
    if (type == bpf_htons(ETH_P_IP) && first == 0x45) {
        bpf_skb_load_bytes(skb, ETH_HLEN + 9, &protocol, 1);
        at = ETH_HLEN + 20;
    } else if (type == bpf_htons(ETH_P_IPV6)) {
        bpf_skb_load_bytes(skb, ETH_HLEN + 6, &protocol, 1);
        at = ETH_HLEN + 40;
    } else {
        return 0;
    }
    if (protocol != IPPROTO_UDP || bpf_skb_load_bytes(skb, at + 2, &port, sizeof(port)) ||
        port != bpf_htons(PROBE_PORT) || bpf_skb_load_bytes(skb, at + 8, head, sizeof(head))) {
        return 0;
    }
    return ((__u32)head[0] << 16 | (__u32)head[1] << 8 | head[2]) == PROBE_MAGIC ? at + 8 : 0;
}

/* Gives the first label; 0: there is none. */
static __always_inline __u32 take_label(struct __sk_buff *skb, __u32 payload)
{
    __u8 labels[PROBE_LABELS + 1] = {};

    if (bpf_skb_load_bytes(skb, payload + PROBE_LABELS_AT, labels, PROBE_LABELS) ||
        bpf_skb_store_bytes(skb, payload + PROBE_LABELS_AT, labels + 1, PROBE_LABELS, 0)) {
        return 0;
    }
    return labels[0];
}

/* -1: it is no probe. A probe may go back where it came from. */
static __noinline int forward_probe(struct __sk_buff *skb, __u32 in_port)
{
    const __u32 payload = probe_payload(skb), key = in_port;
    const __u32 *refused = bpf_map_lookup_elem(&probe_refused, &key), *interface;
    __u32 out;

    if (!payload) {
        return -1;
    }
    count(COUNT_RECEIVED);
    if (refused && *refused) {
        return drop(COUNT_EDGE);
    }
    out = take_label(skb, payload);
    interface = bpf_map_lookup_elem(&interfaces, &out);
    if (!out || !interface || !*interface) {
        return drop(COUNT_NO_ROUTE);
    }
    skb->mark = PROBE_MARK | (in_port & 0xffff);
    bpf_skb_set_tstamp(skb, bpf_ktime_get_ns(), BPF_SKB_TSTAMP_DELIVERY_MONO);
    count(COUNT_FORWARDED);
    return (int)bpf_redirect(*interface, 0);
}

/* ---- egress --------------------------------------------------------------------------------- */

static __always_inline void put_number(__u8 *at, int bytes, __u64 number)
{
    for (int i = bytes - 1; i >= 0; i--) {
        at[i] = (__u8)number;
        number >>= 8;
    }
}

static __always_inline void make_entry(struct __sk_buff *skb, __u64 came_ns, __u32 in_port,
                                       __u8 *entry)
{
    const __u32 ifindex = skb->ifindex;
    const __u32 *out_port = bpf_map_lookup_elem(&ports, &ifindex);
    const struct sk_buff *kernel = bpf_cast_to_kern_ctx(skb);
    const struct Qdisc *queue = kernel->dev->qdisc;
    const __u64 had_ns = bpf_ktime_get_ns() - came_ns;
    const __u32 pkts = queue->q.qlen;

    put_number(entry, 4, switch_id);
    entry[4] = (__u8)in_port;
    entry[5] = (__u8)(out_port ? *out_port : 0);
    put_number(entry + 6, 6, came_ns);
    put_number(entry + 12, 4, had_ns < 0xffffffff ? had_ns : 0xffffffff);
    put_number(entry + 16, 4, queue->qstats.backlog);
    put_number(entry + 20, 2, pkts < 0xffff ? pkts : 0xffff);
}

/* The length in the IP header and in that of UDP. */
static __always_inline int grow_lengths(struct __sk_buff *skb, bool is_ipv6)
{
    const __u32 ip_at = ETH_HLEN + (is_ipv6 ? 4 : 2), udp_at = ETH_HLEN + (is_ipv6 ? 44 : 24);
    __be16 ip_len = 0, udp_len = 0, before;

    if (bpf_skb_load_bytes(skb, ip_at, &ip_len, 2) ||
        bpf_skb_load_bytes(skb, udp_at, &udp_len, 2)) {
        return -1;
    }
    before = ip_len;
    ip_len = bpf_htons(bpf_ntohs(ip_len) + PROBE_ENTRY_BYTES);
    udp_len = bpf_htons(bpf_ntohs(udp_len) + PROBE_ENTRY_BYTES);
    if (!is_ipv6 && bpf_l3_csum_replace(skb, ETH_HLEN + 10, before, ip_len, 2)) {
        return -1;
    }
    return bpf_skb_store_bytes(skb, ip_at, &ip_len, 2, 0) ||
           bpf_skb_store_bytes(skb, udp_at, &udp_len, 2, 0);
}

static __always_inline int insert_entry(struct __sk_buff *skb, const __u8 *entry, bool is_ipv6)
{
    const __u32 len = is_ipv6 ? PROBE_HEADERS_IPV6 : PROBE_HEADERS_IPV4;
    __u8 headers[PROBE_HEADERS_IPV6];

    if (bpf_skb_change_head(skb, PROBE_ENTRY_BYTES, 0) ||
        bpf_skb_load_bytes(skb, PROBE_ENTRY_BYTES, headers, len) ||
        bpf_skb_store_bytes(skb, 0, headers, len, 0) ||
        bpf_skb_store_bytes(skb, len, entry, PROBE_ENTRY_BYTES, 0)) {
        return -1;
    }
    return grow_lengths(skb, is_ipv6);
}

/* A function of its own: its stack is not there for what is no probe. */
static __noinline int leave_probe(struct __sk_buff *skb)
{
    const __u32 mark = skb->mark;
    const __u64 came_ns = skb->tstamp;
    __u8 entry[PROBE_ENTRY_BYTES] = {};
    int failed;

    skb->mark = 0;
    make_entry(skb, came_ns, mark & 0xffff, entry);
    bpf_skb_set_tstamp(skb, 0, BPF_SKB_TSTAMP_UNSPEC);
    failed = skb->protocol == bpf_htons(ETH_P_IPV6) ? insert_entry(skb, entry, true)
                                                    : insert_entry(skb, entry, false);
    if (failed) {
        count(COUNT_FAILED);
        return TC_ACT_SHOT;
    }
    return TC_ACT_UNSPEC;
}

/* ---- digests -------------------------------------------------------------------------------- */

static __always_inline __u64 backlog_of(struct __sk_buff *skb)
{
    const struct sk_buff *kernel = bpf_cast_to_kern_ctx(skb);

    return kernel->dev->qdisc->qstats.backlog;
}

/* The moving average of section 4.3, with each packet. */
static __always_inline __u64 use_port(struct __sk_buff *skb, __u64 queue_bytes)
{
    const __u32 ifindex = skb->ifindex;
    const __u32 *out_port = bpf_map_lookup_elem(&ports, &ifindex);
    struct pint_port *port = out_port ? bpf_map_lookup_elem(&pint_ports, out_port) : NULL;
    const __u64 now_ns = bpf_ktime_get_ns();
    __u64 gap_ns, used;

    if (!port || !port->capacity_bytes) {
        return 0;
    }
    gap_ns = now_ns - port->last_ns;
    gap_ns = gap_ns < PINT_WINDOW_NS ? gap_ns : PINT_WINDOW_NS;
    used = port->used_ppm - port->used_ppm * gap_ns / PINT_WINDOW_NS;
    used += queue_bytes * 1000000 / port->capacity_bytes * gap_ns / PINT_WINDOW_NS;
    used += (__u64)skb->len * 1000000 / port->capacity_bytes;
    port->used_ppm = used;
    port->last_ns = now_ns;
    return used;
}

/* Too large for the stack beside all else. */
TABLE(leaving, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct packet, 1, 0);

/* What is asked of a packet: false where it is none of the plan's. */
static __noinline bool find_visit(struct __sk_buff *skb, const struct pint_plan *plan,
                                  struct pint_visit *visit)
{
    const __u32 zero = 0;
    struct packet *packet = bpf_map_lookup_elem(&leaving, &zero);
    __be16 type;

    if (!packet) {
        return false;
    }
    packet->is_ipv6 = false;
    type = read_tags(skb, packet);
    if (!(type == bpf_htons(ETH_P_IP) && read_ipv4(skb, packet)) &&
        !(type == bpf_htons(ETH_P_IPV6) && read_ipv6(skb, packet))) {
        return false;
    }
    visit->packet_id =
        packet->is_ipv6 ? id_ipv6(skb, packet, plan->seed) : id_ipv4(skb, packet, plan->seed);
    visit->hop = hop_of(packet->ttl + 1); /* as it came in */
    visit->set = j_end(j_begin(1, plan->seed + 1), visit->packet_id, 0, 0) >> 16;
    return true;
}

static __noinline int pint_leave(struct __sk_buff *skb)
{
    const struct pint_plan *plan = plan_in_force();
    const __u32 came_by = skb->ingress_ifindex;
    const __u32 *in_port = bpf_map_lookup_elem(&ports, &came_by);
    struct pint_visit visit = {.stage = PINT_AT_EGRESS, .queue_bytes = backlog_of(skb)};

    if (!plan || !plan->at_egress) {
        return 0;
    }
    visit.used_ppm = use_port(skb, visit.queue_bytes);
    if (!skb->vlan_present || skb->vlan_proto != bpf_htons(PINT_TPID)) {
        return 0;
    }
    if (!find_visit(skb, plan, &visit)) {
        return 0;
    }
    bpf_loop(PINT_SETS, find_set, &visit, 0);
    if (!visit.looped) {
        return 0;
    }
    visit.looped = false;
    visit.first = in_port && from_host(*in_port);
    visit.digest = skb->vlan_tci & 0xffff;
    pint_visit_fields(&visit);
    if (bpf_skb_vlan_pop(skb)) {
        return -1;
    }
    return (int)bpf_skb_vlan_push(skb, bpf_htons(PINT_TPID), (__u16)visit.digest);
}

/* Faults of the link come behind it. */
SEC("tc")
int switch_egress(struct __sk_buff *skb)
{
    if ((skb->mark & 0xffff0000) == PROBE_MARK &&
        skb->tstamp_type == BPF_SKB_TSTAMP_DELIVERY_MONO) {
        return leave_probe(skb);
    }
    if (pint_leave(skb)) {
        count(COUNT_FAILED);
        return TC_ACT_SHOT;
    }
    return TC_ACT_UNSPEC;
}

#endif

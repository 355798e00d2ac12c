// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* A switch of the test bed: tc ingress of each of its ports. Tags by the codec's rules, forwards by
 * its tables, and hands over what it cannot parse.
 *
 * The kernel lets only programs under the GPL read its structures, where the queues are: this file
 * may be used under either licence. */
#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "tables.h"

/* Like a switch of hardware it understands at most two VLAN tags (paper 000, section 3.1): a third
 * one is pushed as any other, and the next switch, which finds no IP header, sends the packet to
 * the controller. */

#define TYPE_OFFSET   12
#define TAG_BYTES     4
#define TAGS_MAX      4
#define ADDR_WORDS    4
#define FRAGMENTED    0x3fff /* more fragments, or an offset */
#define NEXT_FRAGMENT 44

const volatile __u32 switch_id = 0;

#define TABLE(name_, type_, key_, value_, entries_, flags_) \
    struct {                                                \
        __uint(type, type_);                                \
        __uint(max_entries, entries_);                      \
        __uint(map_flags, flags_);                          \
        __type(key, key_);                                  \
        __type(value, value_);                              \
    } name_ SEC(".maps")

TABLE(ports, BPF_MAP_TYPE_HASH, __u32, __u32, PORTS_MAX, 0);       /* ifindex -> port */
TABLE(interfaces, BPF_MAP_TYPE_ARRAY, __u32, __u32, PORTS_MAX, 0); /* port -> ifindex */
TABLE(places, BPF_MAP_TYPE_LPM_TRIE, struct place_key, struct place, PLACES_MAX, BPF_F_NO_PREALLOC);
TABLE(routes, BPF_MAP_TYPE_HASH, struct route_key, struct route, ROUTES_MAX, BPF_F_NO_PREALLOC);
TABLE(tags, BPF_MAP_TYPE_ARRAY, __u32, __u32, 1, 0); /* TPID of those that are pushed */
TABLE(rules, BPF_MAP_TYPE_ARRAY, __u32, struct rule, PORTS_MAX * 4, 0);
TABLE(edges, BPF_MAP_TYPE_ARRAY, __u32, __u32, PORTS_MAX, 0);      /* port -> enum edge_action */
TABLE(wrong_tags, BPF_MAP_TYPE_ARRAY, __u32, __u32, PORTS_MAX, 0); /* port -> VLAN ID; 0: none */
TABLE(seeds, BPF_MAP_TYPE_ARRAY, __u32, __u32, 1, 0);              /* of its hash; 0 at first */
TABLE(counters, BPF_MAP_TYPE_ARRAY, __u32, __u64, COUNTERS_LEN, 0);

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, RING_BYTES);
} punts SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, RING_BYTES);
} ends SEC(".maps");

struct packet {
    __u32 in_port;
    __u32 tags;      /* how many it came with */
    __u32 ip_offset; /* 0: no IP */
    __u8 dscp;
    __u8 ttl;
    bool is_ipv6;
    bool sent_back; /* a route for its own port may say so: a fault's loop does */
    __u8 protocol;
    struct place_key src, dst;
    __u16 src_port, dst_port; /* host byte order */
};

static __always_inline void count(enum counter which)
{
    __u32 key = which;
    __u64 *counter = bpf_map_lookup_elem(&counters, &key);

    if (counter) {
        __sync_fetch_and_add(counter, 1);
    }
}

static __always_inline int drop(enum counter why)
{
    count(why);
    return TC_ACT_SHOT;
}

/* ---- reading -------------------------------------------------------------------------------- */

static __always_inline bool is_tag(__be16 type)
{
    return type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD);
}

/* The kernel keeps the outer tag beside the frame. Gives the type behind the tags. */
static __always_inline __be16 read_tags(struct __sk_buff *skb, struct packet *packet)
{
    __u32 offset = TYPE_OFFSET;
    __be16 type = 0;

    packet->tags = skb->vlan_present ? 1 : 0;
#pragma unroll
    for (int i = 0; i < TAGS_MAX; i++) {
        if (bpf_skb_load_bytes(skb, offset, &type, sizeof(type))) {
            return 0;
        }
        if (!is_tag(type)) {
            break;
        }
        packet->tags++;
        offset += TAG_BYTES;
    }
    packet->ip_offset = offset + sizeof(type);
    return type;
}

static __always_inline void map_ipv4(__be32 addr, struct place_key *key)
{
    key->bits = 128;
    key->addr[10] = key->addr[11] = 0xff;
    __builtin_memcpy(key->addr + 12, &addr, sizeof(addr));
}

/* Fragments have no ports: so all of a datagram take the same way. */
static __always_inline void read_l4(struct __sk_buff *skb, __u32 offset, struct packet *packet)
{
    __be16 l4[2];

    if ((packet->protocol == IPPROTO_TCP || packet->protocol == IPPROTO_UDP) &&
        !bpf_skb_load_bytes(skb, offset, l4, sizeof(l4))) {
        packet->src_port = bpf_ntohs(l4[0]);
        packet->dst_port = bpf_ntohs(l4[1]);
    }
}

static __always_inline bool read_ipv4(struct __sk_buff *skb, struct packet *packet)
{
    struct iphdr ip;

    if (bpf_skb_load_bytes(skb, packet->ip_offset, &ip, sizeof(ip))) {
        return false;
    }
    packet->dscp = ip.tos >> 2;
    packet->ttl = ip.ttl;
    packet->protocol = ip.protocol;
    map_ipv4(ip.saddr, &packet->src);
    map_ipv4(ip.daddr, &packet->dst);
    if (!(ip.frag_off & bpf_htons(FRAGMENTED))) {
        read_l4(skb, packet->ip_offset + ip.ihl * 4, packet);
    }
    return true;
}

static __always_inline bool read_ipv6(struct __sk_buff *skb, struct packet *packet)
{
    struct ipv6hdr ip;

    if (bpf_skb_load_bytes(skb, packet->ip_offset, &ip, sizeof(ip))) {
        return false;
    }
    packet->is_ipv6 = true;
    packet->dscp = (__u8)(ip.priority << 2 | ip.flow_lbl[0] >> 6);
    packet->ttl = ip.hop_limit;
    packet->protocol = ip.nexthdr;
    packet->src.bits = packet->dst.bits = 128;
    __builtin_memcpy(packet->src.addr, &ip.saddr, sizeof(packet->src.addr));
    __builtin_memcpy(packet->dst.addr, &ip.daddr, sizeof(packet->dst.addr));
    read_l4(skb, packet->ip_offset + sizeof(ip), packet);
    return true;
}

/* ---- the edge ------------------------------------------------------------------------------- */

/* What a host sends is not what a switch wrote. Gives false where the packet goes no further. */
static __always_inline bool pass_edge(struct __sk_buff *skb, struct packet *packet, __be16 *type)
{
    const __u32 key = packet->in_port;
    const __u32 *edge = bpf_map_lookup_elem(&edges, &key);

    if (!edge || *edge == EDGE_NONE || !packet->tags) {
        return true;
    }
    if (*edge == EDGE_DROP) {
        return false;
    }
#pragma unroll
    for (int i = 0; i < TAGS_MAX; i++) {
        bpf_skb_vlan_pop(skb);
    }
    *type = read_tags(skb, packet);
    return !packet->tags;
}

#include "pint.bpf.h"
#include "probe.bpf.h"

/* ---- tagging -------------------------------------------------------------------------------- */

static __always_inline int set_dscp(struct __sk_buff *skb, const struct packet *packet, __u8 dscp)
{
    __u8 head[2];
    __u8 tos;

    if (bpf_skb_load_bytes(skb, packet->ip_offset, head, sizeof(head))) {
        return -1;
    }
    if (packet->is_ipv6) {
        head[0] = (__u8)((head[0] & 0xf0) | dscp >> 2);
        head[1] = (__u8)((head[1] & 0x3f) | (dscp & 3) << 6);
        return (int)bpf_skb_store_bytes(skb, packet->ip_offset, head, sizeof(head), 0);
    }
    tos = (__u8)(dscp << 2 | (head[1] & 3));
    if (bpf_l3_csum_replace(skb, packet->ip_offset + 10, bpf_htons(head[1]), bpf_htons(tos), 2)) {
        return -1;
    }
    return (int)bpf_skb_store_bytes(skb, packet->ip_offset + 1, &tos, sizeof(tos), 0);
}

static __always_inline int push(struct __sk_buff *skb, struct packet *packet, __u16 vid)
{
    const __u32 key = packet->in_port, first = 0;
    const __u32 *wrong = bpf_map_lookup_elem(&wrong_tags, &key);
    const __u32 *tpid = bpf_map_lookup_elem(&tags, &first);

    if (wrong && *wrong) {
        vid = (__u16)*wrong;
    }
    packet->tags++;
    return (int)bpf_skb_vlan_push(skb, bpf_htons(tpid && *tpid ? *tpid : ETH_P_8021Q), vid);
}

/* The tag whose 16 bits are a path filter: begun anew, or these bits set. One that is not there
 * stays away. */
static __always_inline int filter(struct __sk_buff *skb, struct packet *packet,
                                  struct action action)
{
    __u16 tci = action.value;

    if (!skb->vlan_present) {
        packet->tags += action.what == RULE_BEGIN;
        return action.what == RULE_BEGIN ? (int)bpf_skb_vlan_push(skb, bpf_htons(ETH_P_8021Q), tci)
                                         : 0;
    }
    if (action.what == RULE_ADD) {
        tci |= (__u16)skb->vlan_tci;
    }
    return bpf_skb_vlan_pop(skb) || bpf_skb_vlan_push(skb, bpf_htons(ETH_P_8021Q), tci) ? -1 : 0;
}

static __always_inline struct action find_action(const struct packet *packet, bool src_inside,
                                                 bool dst_inside)
{
    const __u32 key = RULE_KEY(packet->in_port, src_inside, dst_inside);
    const struct rule *rule = bpf_map_lookup_elem(&rules, &key);
    const struct action none = {};

    return !rule ? none : packet->dscp ? rule->dscp_set : rule->dscp_zero;
}

/* 0, or not 0 when the packet could not be changed. */
static __always_inline int tag(struct __sk_buff *skb, struct packet *packet, struct action action)
{
    if (action.what == RULE_NONE) {
        return 0;
    }
    count(COUNT_TAGGED);
    if (action.what == RULE_BEGIN || action.what == RULE_ADD) {
        return filter(skb, packet, action);
    }
    return action.what == RULE_PUSH ? push(skb, packet, action.value)
                                    : set_dscp(skb, packet, (__u8)action.value);
}

/* As a router does. The checksum of IPv4 is of 16-bit words: TTL and protocol are one. */
static __always_inline int lower_ttl(struct __sk_buff *skb, const struct packet *packet)
{
    const __u8 ttl = packet->ttl - 1;
    const __u32 at = packet->ip_offset + (packet->is_ipv6 ? 7 : 8);

    if (!packet->is_ipv6 && bpf_l3_csum_replace(skb, packet->ip_offset + 10,
                                                bpf_htons(packet->ttl << 8 | packet->protocol),
                                                bpf_htons(ttl << 8 | packet->protocol), 2)) {
        return -1;
    }
    return (int)bpf_skb_store_bytes(skb, at, &ttl, sizeof(ttl), 0);
}

/* ---- forwarding ----------------------------------------------------------------------------- */

/* Different in every switch, or all would take the same turn. */
static __always_inline __u32 hash(const struct packet *packet)
{
    __u32 words[2 * ADDR_WORDS + 1];
    const __u32 first = 0;
    const __u32 *seed = bpf_map_lookup_elem(&seeds, &first);
    __u32 h = (switch_id + (seed ? *seed << 16 : 0)) * 0x9e3779b1;

    __builtin_memcpy(words, packet->src.addr, 16);
    __builtin_memcpy(words + ADDR_WORDS, packet->dst.addr, 16);
    words[2 * ADDR_WORDS] = (__u32)packet->src_port << 16 | packet->dst_port;
#pragma unroll
    for (int i = 0; i < 2 * ADDR_WORDS + 1; i++) {
        h = (h ^ words[i]) * 0x85ebca6b;
        h = (h ^ h >> 13) * 0xc2b2ae35;
        h ^= h >> 16;
    }
    return h;
}

static __always_inline __u32 choose(const struct packet *packet, const struct route *route)
{
    __u32 random, slot;

    if (route->large_tcp_port && packet->protocol == IPPROTO_TCP &&
        packet->dst_port == route->large_tcp_port) {
        return route->large_slot;
    }
    random = route->mode == ROUTE_SPRAY ? bpf_get_prandom_u32() : hash(packet);
    slot = (__u32)((__u64)random * route->len >> 32);
    return route->slots[slot & (SLOTS_MAX - 1)];
}

/* Everything behind the MAC addresses, from `to` on. Returns the number of bytes, 0 when that
 * failed. */
static __always_inline __u32 copy_rest(struct __sk_buff *skb, __u8 *to)
{
    __u32 bytes = skb->len - TYPE_OFFSET;

    bytes = bytes < PUNT_DATA_BYTES ? bytes : PUNT_DATA_BYTES - 1;
    __asm__ volatile(""
                     : "+r"(bytes)); /* or the compiler takes away what the verifier wants to see */
    bytes &= PUNT_DATA_BYTES - 1;
    return bytes && !bpf_skb_load_bytes(skb, TYPE_OFFSET, to, bytes) ? bytes : 0;
}

/* The packet as it was on the wire goes to the controller and nowhere else. */
static __always_inline int punt(struct __sk_buff *skb, const struct packet *packet, bool by_row)
{
    struct punt *event = bpf_ringbuf_reserve(&punts, sizeof(*event), 0);
    const __be16 outer[] = {skb->vlan_proto, bpf_htons((__u16)skb->vlan_tci)};
    __u32 head = TYPE_OFFSET, rest;

    if (!event) {
        return drop(COUNT_PUNTS_LOST);
    }
    bpf_skb_load_bytes(skb, 0, event->data, TYPE_OFFSET);
    if (skb->vlan_present) {
        __builtin_memcpy(event->data + TYPE_OFFSET, outer, sizeof(outer));
        head += TAG_BYTES;
        rest = copy_rest(skb, event->data + TYPE_OFFSET + TAG_BYTES);
    } else {
        rest = copy_rest(skb, event->data + TYPE_OFFSET);
    }
    if (!rest) {
        bpf_ringbuf_discard(event, 0);
        return drop(COUNT_PUNTS_LOST);
    }
    event->switch_id = switch_id;
    event->in_port = packet->in_port;
    event->time_ns = bpf_ktime_get_ns();
    event->by_row = by_row;
    event->frame_bytes = skb->len + head - TYPE_OFFSET;
    event->data_bytes = head + rest;
    bpf_ringbuf_submit(event, 0);
    return drop(COUNT_PUNTED);
}

/* Whether anybody is told is not for this program to say; who is not waits for nobody. */
static __always_inline int expire(struct __sk_buff *skb, const struct packet *packet)
{
    struct expired *event = bpf_ringbuf_reserve(&ends, sizeof(*event), 0);
    __u32 bytes = skb->len - packet->ip_offset;

    if (!event) {
        return drop(COUNT_EXPIRED);
    }
    bytes = bytes < EXPIRED_BYTES ? bytes : EXPIRED_BYTES - 1;
    __asm__ volatile("" : "+r"(bytes)); /* as in copy_rest */
    bytes &= EXPIRED_BYTES - 1;
    if (!bytes || bpf_skb_load_bytes(skb, packet->ip_offset, event->packet, bytes) ||
        bpf_skb_load_bytes(skb, 0, event->to_mac, TYPE_OFFSET)) {
        bpf_ringbuf_discard(event, 0);
        return drop(COUNT_EXPIRED);
    }
    event->switch_id = switch_id;
    event->in_port = packet->in_port;
    event->is_ipv6 = packet->is_ipv6;
    event->bytes = bytes;
    bpf_ringbuf_submit(event, 0);
    return drop(COUNT_EXPIRED);
}

static __always_inline const struct route *find_route(struct packet *packet, __u32 target)
{
    struct route_key key = {.in_port = packet->in_port, .target = target};
    const struct route *route = bpf_map_lookup_elem(&routes, &key);

    packet->sent_back = route;
    if (!route) {
        key.in_port = 0;
        route = bpf_map_lookup_elem(&routes, &key);
    }
    return route;
}

static __always_inline bool is_host_route(const struct route *route)
{
    return route->mode == ROUTE_STRIP || route->mode == ROUTE_KEEP;
}

/* Nothing goes back out of the port that it came in by, but where a route for it says so. */
static __always_inline int forward(struct __sk_buff *skb, struct packet *packet,
                                   const struct route *route)
{
    const __u32 out = choose(packet, route);
    const __u32 *interface = bpf_map_lookup_elem(&interfaces, &out);

    if (!interface || !*interface || (out == packet->in_port && !packet->sent_back)) {
        return drop(COUNT_NO_ROUTE);
    }
    if (route->mode == ROUTE_STRIP) {
#pragma unroll
        for (int i = 0; i < VLANS_PARSED; i++) {
            bpf_skb_vlan_pop(skb); /* nothing happens where there is none */
        }
    }
    count(is_host_route(route) ? COUNT_DELIVERED : COUNT_FORWARDED);
    return (int)bpf_redirect(*interface, 0);
}

/* The digest goes on last: what is outside of the frame moves in behind it. */
static __always_inline bool give_digest(struct __sk_buff *skb, const struct pint_packet *digest,
                                        bool is_last)
{
    if (!digest->on) {
        return true;
    }
    if (!is_last) {
        bpf_skb_set_tstamp(skb, digest->now_ns, BPF_SKB_TSTAMP_DELIVERY_MONO);
    }
    return !bpf_skb_vlan_push(skb, bpf_htons(PINT_TPID), (__u16)digest->digest);
}

/* What a switch does with a packet that it can read. */
static __always_inline int route_packet(struct __sk_buff *skb, struct packet *packet,
                                        struct pint_packet *digest)
{
    const struct place *src = bpf_map_lookup_elem(&places, &packet->src);
    const struct place *dst = bpf_map_lookup_elem(&places, &packet->dst);
    const struct route *route = dst ? find_route(packet, dst->target) : NULL;
    struct action action;

    if (!route) {
        return drop(COUNT_NO_ROUTE);
    }
    action = find_action(packet, src && src->inside, dst->inside);
    if (action.what == RULE_PUNT) {
        return punt(skb, packet, true);
    }
    if (packet->ttl <= 1) {
        return expire(skb, packet);
    }
    if (digest->on && !pint_cross(skb, packet, digest, is_host_route(route))) {
        give_digest(skb, digest, true); /* as it came: it is the proof */
        return punt(skb, packet, true);
    }
    if (lower_ttl(skb, packet) || tag(skb, packet, action)) {
        return drop(COUNT_FAILED);
    }
    if (packet->tags > VLANS_PARSED && is_host_route(route)) {
        return punt(skb, packet, false); /* no switch follows that would */
    }
    if (!give_digest(skb, digest, is_host_route(route))) {
        return drop(COUNT_FAILED);
    }
    return forward(skb, packet, route);
}

/* A digest that a host sent never counts. Where one is missing on the way, this switch adds none.
 */
static __always_inline void begin_digest(struct __sk_buff *skb, struct pint_packet *digest,
                                         __u32 in_port)
{
    if (!plan_in_force()) {
        return;
    }
    digest->first = from_host(in_port);
    digest->now_ns = bpf_ktime_get_ns();
    if (!digest->first && skb->tstamp_type == BPF_SKB_TSTAMP_DELIVERY_MONO) {
        digest->sent_ns = skb->tstamp;
    }
    digest->on = take_digest(skb, &digest->digest) || digest->first;
    digest->digest = digest->first ? 0 : digest->digest;
}

static __always_inline int receive(struct __sk_buff *skb, __u32 in_port)
{
    struct packet packet = {.in_port = in_port};
    struct pint_packet digest = {};
    __be16 type;

    count(COUNT_RECEIVED);
    begin_digest(skb, &digest, in_port);
    type = read_tags(skb, &packet);
    if (!pass_edge(skb, &packet, &type)) {
        return drop(COUNT_EDGE);
    }
    if (packet.tags > VLANS_PARSED) {
        return punt(skb, &packet, false);
    }
    if (!(type == bpf_htons(ETH_P_IP) && read_ipv4(skb, &packet)) &&
        !(type == bpf_htons(ETH_P_IPV6) && read_ipv6(skb, &packet))) {
        return drop(COUNT_NOT_IP);
    }
    /* A sender's own time of departure goes no farther than its wire, so that the receiver's kernel
     * stamps the packet. */
    bpf_skb_set_tstamp(skb, 0, BPF_SKB_TSTAMP_UNSPEC);
    return route_packet(skb, &packet, &digest);
}

SEC("tc")
int switch_ingress(struct __sk_buff *skb)
{
    const __u32 ifindex = skb->ifindex;
    const __u32 *port = bpf_map_lookup_elem(&ports, &ifindex);

    int probe;

    if (!port) {
        return TC_ACT_SHOT;
    }
    probe = forward_probe(skb, *port);
    return probe < 0 ? receive(skb, *port) : probe;
}

/* On the loopback of the namespace, beside those of the other switches there. */
SEC("tc")
int switch_injected(struct __sk_buff *skb)
{
    const __u32 mark = skb->mark;

    if (mark >> 8 != switch_id) {
        return TC_ACT_UNSPEC;
    }
    skb->mark = 0;
    return receive(skb, mark & 0xff);
}

#include "meter.bpf.h"

char licence_text[] SEC("license") = "GPL";

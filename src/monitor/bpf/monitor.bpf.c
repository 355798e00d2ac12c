// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* The programs in the kernel that tell of retransmissions, and of connections that open and close.
 * The kernel lets only programs under the GPL read its structures: this file may be used under
 * either licence. */
#pragma GCC diagnostic ignored "-Wunused-parameter" /* of BPF_PROG */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "monitor/bpf/event.h"

#define AF_INET           2
#define AF_INET6          10
#define STATE_ESTABLISHED 1
#define STATE_SYN_RECV    3
#define STATE_CLOSE       7
#define STATE_LISTEN      10
#define PROTOCOL_TCP      6

/* What is read of the kernel's structures; where it lies is found when the programs are loaded. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct ns_common {
    unsigned int inum;
};
struct net {
    struct ns_common ns;
};
typedef struct {
    struct net *net;
} possible_net_t;
struct in6_addr {
    union {
        __u32 u6_addr32[4];
    } in6_u;
};
struct sock_common {
    __be32 skc_daddr;
    __be32 skc_rcv_saddr;
    __be16 skc_dport;
    __u16 skc_num;
    unsigned short skc_family;
    volatile unsigned char skc_state;
    possible_net_t skc_net;
    struct in6_addr skc_v6_daddr;
    struct in6_addr skc_v6_rcv_saddr;
};
struct sock {
    struct sock_common __sk_common;
    __u16 sk_protocol;
    __u32 sk_txhash;
};
struct ipv6_pinfo {
    __be32 flow_label;
    __u8 tclass;
};
struct inet_sock {
    struct sock sk;
    struct ipv6_pinfo *pinet6;
    __be16 inet_sport;
    __u8 tos;
};
struct inet_connection_sock {
    struct inet_sock icsk_inet;
    __u8 icsk_retransmits;
    __u8 icsk_backoff;
};
struct tcp_sock {
    struct inet_connection_sock inet_conn;
    __u32 mss_cache;
    __u32 snd_cwnd;
    __u32 srtt_us;
    __u32 packets_out;
    __u32 retrans_out;
    __u32 rate_delivered;
    __u32 rate_interval_us;
    __u32 total_retrans;
    __u32 dsack_dups;
    __u64 bytes_acked;
    __u16 total_rto;
};
struct sk_buff {
    unsigned int len;
};
struct request_sock {
    struct sock_common __req_common;
    __u8 num_retrans;
};
#pragma clang attribute pop

/* One part in so many of the ring may wait before somebody is woken for what is not urgent: waking
 * costs the process whose connection it is some microseconds. */
#define WAKE_SHARE 8

const volatile __u32 namespace_inode = 0; /* whose sockets are told of */

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 20); /* bpf.c sets it */
} events SEC(".maps");

/* Events that had no room. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} lost SEC(".maps");

static __always_inline struct pd_monitor_event *reserve(__u8 kind)
{
    struct pd_monitor_event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
    __u32 first = 0;
    __u64 *count;

    if (event) {
        __builtin_memset(event, 0, sizeof(*event));
        event->time_ns = bpf_ktime_get_ns();
        event->kind = kind;
        return event;
    }
    count = bpf_map_lookup_elem(&lost, &first);
    if (count) {
        __sync_fetch_and_add(count, 1);
    }
    return 0;
}

/* Retransmissions are news. Connections that open and close are only to be known when the next of
 * those comes, or when somebody asks; the reader looks by itself once a second. After those that
 * woke nobody the kernel would wake nobody either, so the others must insist. */
static __always_inline __u64 waking(__u8 kind)
{
    if (kind != PD_EVENT_OPENED && kind != PD_EVENT_CLOSED) {
        return BPF_RB_FORCE_WAKEUP;
    }
    return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) >=
                   bpf_ringbuf_query(&events, BPF_RB_RING_SIZE) / WAKE_SHARE
               ? BPF_RB_FORCE_WAKEUP
               : BPF_RB_NO_WAKEUP;
}

static __always_inline bool is_ours(const struct sock_common *common)
{
    return common->skc_net.net->ns.inum == namespace_inode;
}

static __always_inline void put_words(__u8 bytes[16], const struct in6_addr *addr)
{
    __u32 *words = (__u32 *)bytes;

    words[0] = addr->in6_u.u6_addr32[0];
    words[1] = addr->in6_u.u6_addr32[1];
    words[2] = addr->in6_u.u6_addr32[2];
    words[3] = addr->in6_u.u6_addr32[3];
}

static __always_inline void put_flow(struct pd_monitor_event *event,
                                     const struct sock_common *common)
{
    event->family = common->skc_family;
    event->dst_port = bpf_ntohs(common->skc_dport);
    if (event->family == AF_INET) {
        *(__u32 *)event->src = common->skc_rcv_saddr;
        *(__u32 *)event->dst = common->skc_daddr;
    } else {
        put_words(event->src, &common->skc_v6_rcv_saddr);
        put_words(event->dst, &common->skc_v6_daddr);
    }
}

/* What routers may hash beside the five-tuple. */
static __always_inline void put_header(struct pd_monitor_event *event, const struct inet_sock *inet)
{
    event->txhash = inet->sk.sk_txhash;
    event->tos = inet->tos;
    if (event->family == AF_INET6 && inet->pinet6) {
        event->traffic_class = inet->pinet6->tclass;
        event->flow_label = bpf_ntohl(inet->pinet6->flow_label);
    }
}

static __always_inline void put_figures(struct pd_monitor_event *event, const struct tcp_sock *tcp)
{
    event->src_port = bpf_ntohs(tcp->inet_conn.icsk_inet.inet_sport);
    event->unanswered = tcp->inet_conn.icsk_retransmits;
    event->backoff = tcp->inet_conn.icsk_backoff;
    event->retransmissions = tcp->total_retrans;
    event->duplicates = tcp->dsack_dups;
    event->outstanding = tcp->retrans_out;
    event->timeouts = PD_EVENT_NO_TIMEOUTS;
    if (bpf_core_field_exists(tcp->total_rto)) {
        event->timeouts = tcp->total_rto;
    }
    event->srtt_us = tcp->srtt_us >> 3;
    event->cwnd_pkts = tcp->snd_cwnd;
    event->mss_bytes = tcp->mss_cache;
    event->pkts_out = tcp->packets_out;
    event->bytes_acked = tcp->bytes_acked;
    event->delivered_pkts = tcp->rate_delivered;
    event->delivered_us = tcp->rate_interval_us;
}

static __always_inline int tell(const struct sock *sk, __u8 kind, __u8 state, bool empty)
{
    struct tcp_sock *tcp;
    struct pd_monitor_event *event;

    if (!is_ours(&sk->__sk_common)) {
        return 0;
    }
    tcp = bpf_skc_to_tcp_sock((void *)sk);
    if (!tcp) {
        return 0;
    }
    event = reserve(kind);
    if (!event) {
        return 0;
    }
    event->cookie = bpf_get_socket_cookie((void *)sk);
    event->state = state;
    event->empty = empty;
    put_flow(event, &sk->__sk_common);
    put_figures(event, tcp);
    put_header(event, &tcp->inet_conn.icsk_inet);
    bpf_ringbuf_submit(event, waking(kind));
    return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(on_retransmission, const struct sock *sk, const struct sk_buff *skb)
{
    return tell(sk, PD_EVENT_RETRANSMISSION, sk->__sk_common.skc_state, !skb->len);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, const struct sock *sk, int before, int now)
{
    if (sk->sk_protocol != PROTOCOL_TCP) {
        return 0;
    }
    if (now == STATE_ESTABLISHED) {
        return tell(sk, PD_EVENT_OPENED, now, false);
    }
    /* A socket that never had a peer has nothing to tell. */
    if (now != STATE_CLOSE || before == STATE_LISTEN || before == STATE_CLOSE) {
        return 0;
    }
    return tell(sk, PD_EVENT_CLOSED, before, false);
}

/* The kernel counts it after this: one more than it says. */
SEC("tp_btf/tcp_retransmit_synack")
int BPF_PROG(on_syn_ack, const struct sock *sk, const struct request_sock *request)
{
    struct pd_monitor_event *event;

    if (!is_ours(&sk->__sk_common) || !(event = reserve(PD_EVENT_SYN_ACK))) {
        return 0;
    }
    event->cookie = bpf_get_socket_cookie((void *)request);
    event->state = STATE_SYN_RECV;
    event->empty = 1;
    put_flow(event, &request->__req_common);
    event->src_port = request->__req_common.skc_num;
    event->retransmissions = request->num_retrans + 1;
    bpf_ringbuf_submit(event, waking(PD_EVENT_SYN_ACK));
    return 0;
}

char licence_text[] SEC("license") = "GPL";

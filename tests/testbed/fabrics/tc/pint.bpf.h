/* SPDX-License-Identifier: Apache-2.0 */
/* What a switch of the bed does with a digest (PINT): the formulas of docs/formats/pint.md, over
 * the tables of a plan. Part of switch.bpf.c. */
#ifndef TESTBED_FABRICS_TC_PINT_BPF_H
#define TESTBED_FABRICS_TC_PINT_BPF_H

/* The reference is src/codec/pint; a test compares every frame at every switch with it. Latency is
 * known only where the packet has left the queue, so that the next switch acts for the one before:
 * it writes that hop's value with that hop's number. Behind the last switch stands no other: it
 * measures how long it had the packet itself, and not its queue towards the host.
 *
 * What waits in a port's queue, and its utilisation, are known at egress: there the digest is
 * changed once more. */

#define PINT_TPID       0x88a8
#define PINT_WORDS      16 /* of a packet ID: at most 13, and zeros behind them */
#define L4_BYTES        16
#define EXTENSIONS_MAX  4
#define NEXT_HOP_BY_HOP 0
#define NEXT_ROUTING    43
#define NEXT_OPTIONS    60

TABLE(pint, BPF_MAP_TYPE_ARRAY, __u32, struct pint_plan, 1, 0);
/* Of each query what codes stand for, and behind that where they begin. */
TABLE(pint_steps, BPF_MAP_TYPE_ARRAY, __u32, __u64, PINT_QUERIES * 2 * PINT_CODES, 0);
TABLE(pint_hosts, BPF_MAP_TYPE_ARRAY, __u32, __u32, PORTS_MAX, 0); /* port -> a host is there */

/* Of a port: what it can send in PINT_WINDOW_NS, and how busy it was. Packets that leave on several
 * processors at once may miss each other's bytes. */
struct pint_port {
    __u64 capacity_bytes, last_ns, used_ppm;
};
TABLE(pint_ports, BPF_MAP_TYPE_ARRAY, __u32, struct pint_port, PORTS_MAX, 0);

/* Or the compiler takes the mask behind it away, which the verifier wants to see. */
static __always_inline __u32 masked(__u32 x, __u32 mask)
{
    __asm__ volatile("" : "+r"(x));
    return x & mask;
}

/* ---- Jenkins' lookup3 ----------------------------------------------------------------------- */

struct jenkins {
    __u32 a, b, c;
};

static __always_inline __u32 rotated(__u32 x, int bits)
{
    return x << bits | x >> (32 - bits);
}

static __always_inline struct jenkins j_begin(__u32 words, __u32 start)
{
    const __u32 first = 0xdeadbeef + (words << 2) + start;
    const struct jenkins h = {first, first, first};

    return h;
}

static __always_inline void j_mix(struct jenkins *h, const __u32 *words)
{
    __u32 a = h->a + words[0], b = h->b + words[1], c = h->c + words[2];

    a = (a - c) ^ rotated(c, 4);
    c += b;
    b = (b - a) ^ rotated(a, 6);
    a += c;
    c = (c - b) ^ rotated(b, 8);
    b += a;
    a = (a - c) ^ rotated(c, 16);
    c += b;
    b = (b - a) ^ rotated(a, 19);
    a += c;
    c = (c - b) ^ rotated(b, 4);
    b += a;
    h->a = a;
    h->b = b;
    h->c = c;
}

static __always_inline __u32 j_end(struct jenkins h, __u32 x, __u32 y, __u32 z)
{
    __u32 a = h.a + x, b = h.b + y, c = h.c + z;

    c = (c ^ b) - rotated(b, 14);
    a = (a ^ c) - rotated(c, 11);
    b = (b ^ a) - rotated(a, 25);
    c = (c ^ b) - rotated(b, 16);
    a = (a ^ c) - rotated(c, 4);
    b = (b ^ a) - rotated(a, 14);
    return (c ^ b) - rotated(b, 24);
}

static __always_inline __u32 j2(__u32 start, __u32 x, __u32 y)
{
    return j_end(j_begin(2, start), x, y, 0);
}

static __always_inline __u32 j3(__u32 start, __u32 x, __u32 y, __u32 z)
{
    return j_end(j_begin(3, start), x, y, z);
}

static __always_inline __u32 j4(__u32 start, __u32 x, __u32 y, __u32 z, __u32 w)
{
    struct jenkins h = j_begin(4, start);
    const __u32 words[3] = {x, y, z};

    j_mix(&h, words);
    return j_end(h, w, 0, 0);
}

/* Words behind `len` are 0. */
static __always_inline __u32 j_words(__u32 start, const __u32 *words, __u32 len)
{
    struct jenkins h = j_begin(len, start);

#pragma unroll
    for (__u32 i = 0; i + 3 < PINT_WORDS; i += 3) {
        if (len <= i + 3) {
            return j_end(h, words[i], words[i + 1], words[i + 2]);
        }
        j_mix(&h, words + i);
    }
    return 0;
}

/* ---- the packet ID -------------------------------------------------------------------------- */

/* What stands behind the IP headers and belongs to the packet; the rest is 0. */
static __always_inline void read_l4_bytes(struct __sk_buff *skb, __u32 at, __u32 len, __u8 *bytes)
{
    if (len >= L4_BYTES && !bpf_skb_load_bytes(skb, at, bytes, L4_BYTES)) {
        return;
    }
    __builtin_memset(bytes, 0, L4_BYTES);
    for (__u32 i = 0; i < L4_BYTES && i < len; i++) {
        if (bpf_skb_load_bytes(skb, at + i, bytes + (i & (L4_BYTES - 1)), 1)) {
            return;
        }
    }
}

static __always_inline __u32 word_of(const __u8 *bytes)
{
    return (__u32)bytes[0] << 24 | (__u32)bytes[1] << 16 | (__u32)bytes[2] << 8 | bytes[3];
}

/* Ports, and what tells packets of one connection apart. Returns how many words. */
static __always_inline __u32 add_l4(struct __sk_buff *skb, __u8 protocol, __u32 at, __u32 len,
                                    __u32 *words)
{
    __u8 bytes[L4_BYTES];

    read_l4_bytes(skb, at, len, bytes);
    words[0] = word_of(bytes);
    if (protocol == IPPROTO_UDP) {
        words[1] = word_of(bytes + 8);
        words[2] = word_of(bytes + 12);
        return 3;
    }
    words[1] = word_of(bytes + 4);
    if (protocol == IPPROTO_TCP) {
        words[2] = word_of(bytes + 8);
        return 3;
    }
    return 2;
}

static __noinline __u32 id_ipv4(struct __sk_buff *skb, const struct packet *packet, __u32 seed)
{
    __u32 words[PINT_WORDS] = {}, len = 4, header, bytes;
    struct iphdr ip;

    if (bpf_skb_load_bytes(skb, packet->ip_offset, &ip, sizeof(ip))) {
        return 0;
    }
    header = ip.ihl * 4;
    bytes = bpf_ntohs(ip.tot_len);
    words[0] = bpf_ntohl(ip.saddr);
    words[1] = bpf_ntohl(ip.daddr);
    words[2] = (__u32)ip.protocol << 16 | bpf_ntohs(ip.id);
    words[3] = bpf_ntohs(ip.frag_off) & FRAGMENTED;
    if (!words[3]) {
        len += add_l4(skb, ip.protocol, packet->ip_offset + header,
                      bytes > header ? bytes - header : 0, words + 4);
    }
    return j_words(seed, words, len);
}

/* Steps over extension headers; true: this is a fragment. */
static __always_inline bool skip_extensions(struct __sk_buff *skb, __u8 *next, __u32 *at)
{
    __u8 head[4];

    for (int i = 0; i < EXTENSIONS_MAX; i++) {
        if (*next != NEXT_HOP_BY_HOP && *next != NEXT_ROUTING && *next != NEXT_OPTIONS &&
            *next != NEXT_FRAGMENT) {
            return false;
        }
        if (bpf_skb_load_bytes(skb, *at, head, sizeof(head))) {
            return false;
        }
        if (*next == NEXT_FRAGMENT && ((head[2] << 8 | head[3]) & 0xfff9)) {
            return true;
        }
        *at += *next == NEXT_FRAGMENT ? 8 : head[1] * 8 + 8;
        *next = head[0];
    }
    return false;
}

static __noinline __u32 id_ipv6(struct __sk_buff *skb, const struct packet *packet, __u32 seed)
{
    __u32 words[PINT_WORDS] = {}, len = 10, at = packet->ip_offset + sizeof(struct ipv6hdr), end;
    struct ipv6hdr ip;
    __u8 next;

    if (bpf_skb_load_bytes(skb, packet->ip_offset, &ip, sizeof(ip))) {
        return 0;
    }
    next = ip.nexthdr;
    end = at + bpf_ntohs(ip.payload_len);
    const bool fragment = skip_extensions(skb, &next, &at);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        words[i] = bpf_ntohl(ip.saddr.in6_u.u6_addr32[i]);
        words[4 + i] = bpf_ntohl(ip.daddr.in6_u.u6_addr32[i]);
    }
    words[8] = (__u32)next << 16;
    if (!fragment) {
        len += add_l4(skb, next, at, end > at ? end - at : 0, words + 10);
    }
    return j_words(seed, words, len);
}

/* ---- one field of the digest ---------------------------------------------------------------- */

/* Which values are at hand. */
enum pint_stage { PINT_AT_INGRESS, PINT_LATENCIES, PINT_AT_EGRESS };

/* Which hop is at work, and what it knows. */
struct pint_visit {
    __u64 latency_ns, queue_bytes, used_ppm;
    __u32 packet_id, set, hop, in_port;
    __u32 digest, stage;
    bool first;
    bool looped;
};

static __always_inline __u32 stage_of(const struct pint_query *query)
{
    return query->source == PINT_HOP_LATENCY ? PINT_LATENCIES
           : query->source >= PINT_QUEUE     ? PINT_AT_EGRESS
                                             : PINT_AT_INGRESS;
}

static __always_inline bool writes(const struct pint_plan *plan, const struct pint_visit *visit,
                                   __u32 tag)
{
    const __u32 hop = visit->hop ? visit->hop : 1;

    return j3(plan->seed + 3, visit->packet_id, tag, visit->hop) >> 16 < 65536 / hop;
}

static __always_inline __u32 visit_static(const struct pint_plan *plan,
                                          const struct pint_query *query,
                                          const struct pint_visit *visit, __u32 tag, __u32 bits)
{
    const __u32 mask = (1u << (query->bits & 31)) - 1;
    const __u32 drawn = j2(plan->seed + 2, visit->packet_id, tag) >> 16;
    const __u32 value = query->source == PINT_INGRESS_PORT ? visit->in_port : switch_id;
    __u32 own = j4(plan->seed + 4, visit->packet_id, tag, switch_id, visit->hop) & mask, layer, g;

    if (query->fragments) {
        const __u32 which = j2(plan->seed + 6, visit->packet_id, tag) >> 16;
        own = (value >> ((which % query->fragments * query->bits) & 31)) & mask;
    }
    if (drawn < query->tau) {
        return writes(plan, visit, tag) ? own : bits;
    }
    layer =
        query->tau < 65536 ? (drawn - query->tau) * query->layers_len / (65536 - query->tau) : 0;
    g = j3(plan->seed + 3, visit->packet_id, tag, visit->hop) >> 16;
    return g < query->layers[masked(layer, PINT_LAYERS - 1)] ? bits ^ own : bits;
}

struct search {
    __u64 value;
    __u32 from, low, high;
};

static long halve(__u32 i, void *context)
{
    struct search *search = context;
    const __u32 middle = (search->low + search->high) / 2, key = search->from + middle;
    const __u64 *step = bpf_map_lookup_elem(&pint_steps, &key);

    (void)i;
    if (!step || search->high - search->low < 2) {
        return 1;
    }
    if (*step <= search->value) {
        search->low = middle;
    } else {
        search->high = middle;
    }
    return 0;
}

/* The greatest code whose step is not above the value. */
static __always_inline __u32 code_below(__u32 from, __u32 codes, __u64 value)
{
    struct search search = {.value = value, .from = from, .high = codes};

    bpf_loop(9, halve, &search, 0); /* 256 codes */
    return search.low;
}

/* Global functions are verified by themselves, once. */
__noinline __u32 pint_code(__u32 number, __u32 packet_id, __u32 hop, __u64 value)
{
    const __u32 zero = 0, values = masked(number, PINT_QUERIES - 1) * 2 * PINT_CODES;
    const struct pint_plan *plan = bpf_map_lookup_elem(&pint, &zero);
    const struct pint_query *query;
    const __u64 *here, *next;
    __u32 code, key, drawn;

    if (!plan) {
        return 0;
    }
    query = &plan->queries[masked(number, PINT_QUERIES - 1)];
    if (query->nearest) {
        return code_below(values + PINT_CODES, query->codes, value);
    }
    code = code_below(values, query->codes, value);
    key = values + code;
    here = bpf_map_lookup_elem(&pint_steps, &key);
    key++;
    next = bpf_map_lookup_elem(&pint_steps, &key);
    if (!here || !next || code + 1 == query->codes || value < *here) {
        return code;
    }
    drawn = j3(plan->seed + 5, packet_id, 256 * number, hop) >> 16;
    return code + ((drawn * (*next - *here)) >> 16 < value - *here);
}

static __always_inline __u64 value_of(const struct pint_query *query,
                                      const struct pint_visit *visit)
{
    return query->source == PINT_QUEUE          ? visit->queue_bytes
           : query->source == PINT_UTILISATION  ? visit->used_ppm
           : query->source == PINT_HOP_LATENCY  ? visit->latency_ns
           : query->source == PINT_INGRESS_PORT ? visit->in_port
                                                : switch_id;
}

static __always_inline __u32 visit_packet(const struct pint_query *query,
                                          const struct pint_visit *visit, __u32 number, __u32 bits)
{
    __u64 value = value_of(query, visit);
    __u32 own, old = bits < query->codes ? bits : query->codes - 1;

    if (!visit->first && query->function == PINT_SUM) {
        const __u32 key = number * 2 * PINT_CODES + old;
        const __u64 *step = bpf_map_lookup_elem(&pint_steps, &key);
        value += step ? *step : 0;
    }
    own = pint_code(number, visit->packet_id, visit->hop, value);
    if (visit->first || query->function == PINT_SUM) {
        return own;
    }
    return (query->function == PINT_MAX) == (own > old) ? own : old;
}

/* Algorithm 2; the counter stands above the digest. */
static __always_inline __u32 visit_loop(const struct pint_plan *plan,
                                        const struct pint_query *query, struct pint_visit *visit,
                                        __u32 tag, __u32 bits)
{
    const __u32 mask = (1u << (query->bits & 31)) - 1;
    const __u32 own = j3(plan->seed + 4, visit->packet_id, tag, switch_id) & mask;
    __u32 digest = bits & mask, counter = bits >> (query->bits & 31);

    if (!visit->first && digest == own) {
        if (counter >= query->threshold) {
            visit->looped = true;
            return bits;
        }
        counter++;
    }
    if (!counter && writes(plan, visit, tag)) {
        digest = own;
    }
    return counter << (query->bits & 31) | digest;
}

static long visit_field(__u32 i, void *context)
{
    struct pint_visit *visit = context;
    const __u32 zero = 0;
    const struct pint_plan *plan = bpf_map_lookup_elem(&pint, &zero);
    const struct pint_field *field;
    const struct pint_query *query;
    __u32 mask, bits, tag, shift;

    if (!plan || i >= PINT_FIELDS) {
        return 1;
    }
    field = &plan->sets[masked(visit->set, PINT_SETS - 1)].fields[masked(i, PINT_FIELDS - 1)];
    query = &plan->queries[masked(field->query, PINT_QUERIES - 1)];
    if (stage_of(query) != visit->stage) {
        return 0;
    }
    shift = field->shift & 31;
    mask = (1u << (field->bits & 31)) - 1;
    bits = visit->digest >> shift & mask;
    tag = 256 * field->query + field->instance;
    if (query->aggregation == PINT_STATIC) {
        bits = visit_static(plan, query, visit, tag, bits);
    } else if (query->aggregation == PINT_PACKET) {
        bits = visit_packet(query, visit, field->query, bits);
    } else if (query->aggregation == PINT_LOOP) {
        bits = visit_loop(plan, query, visit, tag, bits);
    } else if (writes(plan, visit, tag)) {
        bits = pint_code(field->query, visit->packet_id, visit->hop, value_of(query, visit));
    }
    visit->digest = (visit->digest & ~(mask << shift)) | (bits & mask) << shift;
    return masked(visit->looped, 1);
}

__noinline int pint_visit_fields(struct pint_visit *visit)
{
    struct pint_visit here; /* loops want it on this function's stack */

    if (!visit) {
        return 0;
    }
    here = *visit;
    bpf_loop(PINT_FIELDS, visit_field, &here, 0);
    *visit = here;
    return here.digest;
}

/* ---- a packet at a switch ------------------------------------------------------------------- */

static __always_inline const struct pint_plan *plan_in_force(void)
{
    const __u32 zero = 0;
    const struct pint_plan *plan = bpf_map_lookup_elem(&pint, &zero);

    return plan && plan->on ? plan : NULL;
}

static __always_inline bool from_host(__u32 in_port)
{
    const __u32 *host = bpf_map_lookup_elem(&pint_hosts, &in_port);

    return host && *host;
}

/* Takes the digest off, or what a host made to look like one. True where one was there. */
static __always_inline bool take_digest(struct __sk_buff *skb, __u32 *digest)
{
    bool found = false;

#pragma unroll
    for (int i = 0; i < TAGS_MAX; i++) {
        if (!skb->vlan_present || skb->vlan_proto != bpf_htons(PINT_TPID)) {
            break;
        }
        *digest = skb->vlan_tci & 0xffff;
        found = true;
        bpf_skb_vlan_pop(skb);
    }
    return found;
}

static long find_set(__u32 i, void *context)
{
    struct pint_visit *visit = context;
    const __u32 zero = 0;
    const struct pint_plan *plan = bpf_map_lookup_elem(&pint, &zero);

    if (!plan || i >= PINT_SETS || i >= plan->sets_len) {
        return 1;
    }
    if (plan->sets[masked(i, PINT_SETS - 1)].upto > visit->set) {
        visit->set = i;
        visit->looped = true; /* found; reset by who asked */
        return 1;
    }
    return 0;
}

/* Hop number of the TTL as it came in. */
static __always_inline __u32 hop_of(__u8 ttl)
{
    return (ttl <= 64 ? 64 : ttl <= 128 ? 128 : 255) - ttl + 1;
}

/* What the packet brought, and where its digest goes on. */
struct pint_packet {
    __u64 sent_ns, now_ns; /* sent_ns: when the switch before got it; 0: no switch did */
    __u32 digest;
    bool on, first;
};

/* Before the packet is changed. False: it goes round and is to be reported. */
static __noinline bool pint_cross(struct __sk_buff *skb, const struct packet *packet,
                                  struct pint_packet *pint_packet, bool is_last)
{
    struct pint_visit visit = {.in_port = packet->in_port, .digest = pint_packet->digest};
    const struct pint_plan *plan = plan_in_force();

    if (!plan) {
        return true;
    }
    visit.packet_id =
        packet->is_ipv6 ? id_ipv6(skb, packet, plan->seed) : id_ipv4(skb, packet, plan->seed);
    visit.set = j_end(j_begin(1, plan->seed + 1), visit.packet_id, 0, 0) >> 16;
    bpf_loop(PINT_SETS, find_set, &visit, 0);
    if (!visit.looped) {
        pint_packet->digest = pint_packet->first ? 0 : visit.digest;
        return true; /* no query is for this packet */
    }
    visit.looped = false;
    const __u32 hop = hop_of(packet->ttl);
    if (pint_packet->sent_ns && !pint_packet->first) {
        visit.stage = PINT_LATENCIES;
        visit.hop = hop - 1;
        visit.first = hop == 2;
        visit.latency_ns = pint_packet->now_ns - pint_packet->sent_ns;
        pint_visit_fields(&visit);
    }
    visit.stage = PINT_AT_INGRESS;
    visit.hop = hop;
    visit.first = pint_packet->first;
    pint_visit_fields(&visit);
    if (is_last && !visit.looped) {
        visit.stage = PINT_LATENCIES;
        visit.latency_ns = bpf_ktime_get_ns() - pint_packet->now_ns;
        pint_visit_fields(&visit);
    }
    pint_packet->digest = visit.digest;
    return !visit.looped;
}

#endif

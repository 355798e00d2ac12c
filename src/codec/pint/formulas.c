/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas, one hop at a time for switches, four hops at a time for receivers. */
#include "codec/pint/formulas.h"

#include <string.h>

int pd_pint_set_of(const struct pd_pint_plan *plan, uint32_t packet_id)
{
    const uint32_t drawn = pd_lookup3_1(plan->seed + 1, packet_id) >> 16;
    uint32_t up_to = 0;

    for (unsigned i = 0; i < plan->sets_len; i++) {
        up_to += plan->sets[i].weight;
        if (up_to > drawn) {
            return (int)i;
        }
    }
    return -1;
}

int pd_pint_layer(const struct pd_pint_plan *plan, const struct pd_pint_query *query,
                  uint32_t packet_id, uint32_t tag)
{
    const uint32_t drawn = pd_lookup3_2(plan->seed + 2, packet_id, tag) >> 16;

    if (drawn < query->tau) {
        return -1;
    }
    if (query->xor_len == 1) {
        return 0;
    }
    return (int)((drawn - query->tau) * query->xor_len / (PD_PINT_ONE - query->tau));
}

static uint32_t mask_of(const struct pd_pint_query *query)
{
    return (1u << query->bits) - 1;
}

uint32_t pd_pint_static_bits(const struct pd_pint_plan *plan, const struct pd_pint_query *query,
                             uint32_t packet_id, uint32_t tag, uint32_t sw, uint32_t hop,
                             uint64_t value)
{
    if (query->coding == PD_PINT_HASH) {
        return pd_lookup3_4(plan->seed + 4, packet_id, tag, sw, hop) & mask_of(query);
    }
    const uint32_t drawn = pd_lookup3_2(plan->seed + 6, packet_id, tag) >> 16;
    return (uint32_t)(value >> drawn % query->fragments * query->bits) & mask_of(query);
}

/* The greatest c with steps[c] <= v; 0 where none is. */
static unsigned greatest_below(const uint64_t *steps, unsigned len, uint64_t value)
{
    unsigned low = 0, high = len;

    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;
        if (steps[middle] <= value) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

unsigned pd_pint_code(const struct pd_pint_plan *plan, unsigned query, uint32_t packet_id,
                      uint32_t hop, uint64_t value)
{
    const struct pd_pint_query *q = &plan->queries[query];

    if (q->rounding == PD_PINT_NEAREST) {
        return greatest_below(q->bounds, q->codes, value);
    }
    const unsigned code = greatest_below(q->values, q->codes, value);
    if (code + 1 == q->codes || value < q->values[code]) {
        return code;
    }
    const unsigned __int128 drawn =
        pd_lookup3_3(plan->seed + 5, packet_id, 256u * query, hop) >> 16;
    const uint64_t gap = q->values[code + 1] - q->values[code];
    return code + (drawn * gap >> 16 < value - q->values[code]);
}

/* ---- a switch */

static void visit_static(const struct pd_pint_plan *plan, const struct pd_pint_visit *visit,
                         const struct pd_pint_query *query, uint32_t tag, uint32_t *bits)
{
    const uint64_t value = query->value == PD_PINT_SWITCH_ID ? visit->sw : visit->values[tag / 256];
    const uint32_t own =
        pd_pint_static_bits(plan, query, visit->packet_id, tag, visit->sw, visit->hop, value);
    const int layer = pd_pint_layer(plan, query, visit->packet_id, tag);

    if (layer < 0) {
        if (pd_pint_writes(plan->seed, visit->packet_id, tag, visit->hop)) {
            *bits = own;
        }
    } else if (pd_lookup3_3(plan->seed + 3, visit->packet_id, tag, visit->hop) >> 16 <
               query->xor_layers[layer]) {
        *bits ^= own;
    }
}

static void visit_packet(const struct pd_pint_plan *plan, const struct pd_pint_visit *visit,
                         const struct pd_pint_query *query, unsigned number, uint32_t *bits)
{
    uint64_t value = visit->values[number];

    if (visit->first) {
        *bits = pd_pint_code(plan, number, visit->packet_id, visit->hop, value);
        return;
    }
    const uint32_t old = *bits < query->codes ? *bits : query->codes - 1u; /* a host's may be */
    if (query->function == PD_PINT_SUM) {
        value += query->values[old];
    }
    const uint32_t own = pd_pint_code(plan, number, visit->packet_id, visit->hop, value);
    if (query->function == PD_PINT_SUM) {
        *bits = own;
    } else if (query->function == PD_PINT_MAX) {
        *bits = own > old ? own : old;
    } else {
        *bits = own < old ? own : old;
    }
}

/* Algorithm 2; `bits` has the counter above the digest. */
static bool visit_loop(const struct pd_pint_plan *plan, const struct pd_pint_visit *visit,
                       const struct pd_pint_query *query, uint32_t tag, uint32_t *bits)
{
    const uint32_t own =
        pd_lookup3_3(plan->seed + 4, visit->packet_id, tag, visit->sw) & mask_of(query);
    uint32_t digest = *bits & mask_of(query), counter = *bits >> query->bits;

    if (!visit->first && digest == own) {
        if (counter >= query->threshold) {
            return true;
        }
        counter++;
    }
    if (counter == 0 && pd_pint_writes(plan->seed, visit->packet_id, tag, visit->hop)) {
        digest = own;
    }
    *bits = counter << query->bits | digest;
    return false;
}

static bool visit_field(const struct pd_pint_plan *plan, const struct pd_pint_visit *visit,
                        const struct pd_pint_field *field, uint32_t *bits)
{
    const struct pd_pint_query *query = &plan->queries[field->query];
    const uint32_t tag = pd_pint_tag(field);

    switch (query->aggregation) {
    case PD_PINT_STATIC: visit_static(plan, visit, query, tag, bits); break;
    case PD_PINT_DYNAMIC:
        if (pd_pint_writes(plan->seed, visit->packet_id, tag, visit->hop)) {
            *bits = pd_pint_code(plan, field->query, visit->packet_id, visit->hop,
                                 visit->values[field->query]);
        }
        break;
    case PD_PINT_PACKET: visit_packet(plan, visit, query, field->query, bits); break;
    case PD_PINT_LOOP: return visit_loop(plan, visit, query, tag, bits);
    }
    return false;
}

bool pd_pint_switch(const struct pd_pint_plan *plan, const struct pd_pint_visit *visit,
                    uint16_t *digest)
{
    const int number = pd_pint_set_of(plan, visit->packet_id);
    const struct pd_pint_set *set = number < 0 ? NULL : &plan->sets[number];
    uint32_t all = visit->first ? 0 : *digest;

    for (unsigned i = 0; set && i < set->fields_len; i++) {
        const struct pd_pint_field *field = &set->fields[i];
        const struct pd_pint_query *query = &plan->queries[field->query];
        const uint32_t mask = (1u << (query->bits + query->counter_bits)) - 1;
        uint32_t bits = all >> field->shift & mask;
        if (visit_field(plan, visit, field, &bits)) {
            return true;
        }
        all = (all & ~(mask << field->shift)) | (bits & mask) << field->shift;
    }
    *digest = (uint16_t)all;
    return false;
}

/* ---- a receiver: g of eight hops at once */

typedef uint32_t lanes __attribute__((vector_size(32)));
#define LANES (sizeof(lanes) / sizeof(uint32_t))

static const struct thresholds {
    uint32_t below[PD_PINT_HOPS_MAX + 256];
} reservoir = {{
#define R1(i)  (i) ? (uint32_t)PD_PINT_ONE / ((i) ? (i) : 1) : 0
#define R4(i)  R1(i), R1((i) + 1), R1((i) + 2), R1((i) + 3)
#define R16(i) R4(i), R4((i) + 4), R4((i) + 8), R4((i) + 12)
#define R64(i) R16(i), R16((i) + 16), R16((i) + 32), R16((i) + 48)
    R64(0), R64(64), R64(128), R64(192), R64(256), R64(320)}};

/* Who asks, for all hops. */
struct question {
    uint32_t start; /* of the hash */
    uint32_t packet_id, tag, first_hop;
    /* Below which draw a hop writes: this, where all bits of `reservoir` are 0, else 1 / i. No
     * branch asks for it: it changes from packet to packet. */
    uint32_t fixed, reservoir;
};

#define ROTATED(x, bits) ((x) << (bits) | (x) >> (32 - (bits)))

/* Of eight hops from a place on: which write, as bits. J as in pd_lookup3_3; vectors stay inside
 * this function, so that it can be compiled for several instruction sets. */
static inline __attribute__((always_inline)) uint64_t eight(const struct question *q, unsigned p)
{
    const lanes steps = {0, 1, 2, 3, 4, 5, 6, 7}, bits = {1, 2, 4, 8, 16, 32, 64, 128};
    const uint32_t first = PD_LOOKUP3_START + 12 + q->start;
    lanes a = (lanes){} + (first + q->packet_id), b = (lanes){} + (first + q->tag);
    lanes c = steps + (first + q->first_hop + p), limit;
    uint64_t pairs[LANES / 2];

    c = (c ^ b) - ROTATED(b, 14);
    a = (a ^ c) - ROTATED(c, 11);
    b = (b ^ a) - ROTATED(a, 25);
    c = (c ^ b) - ROTATED(b, 16);
    a = (a ^ c) - ROTATED(c, 4);
    b = (b ^ a) - ROTATED(a, 14);
    c = (c ^ b) - ROTATED(b, 24);
    memcpy(&limit, reservoir.below + q->first_hop + p, sizeof limit);
    limit = (limit & q->reservoir) | (q->fixed & ~q->reservoir);
    c = (lanes)((c >> 16) < limit) & bits;
    memcpy(pairs, &c, sizeof pairs);
    const uint64_t all = pairs[0] | pairs[1] | pairs[2] | pairs[3];
    return (all | all >> 32) & 0xff;
}

static inline __attribute__((always_inline)) void ask_all(const struct question *q, unsigned len,
                                                          struct pd_pint_hops *hops)
{
    uint64_t words[PD_PINT_HOPS_MAX / 64] = {0};

    if (len <= LANES) { /* as in data centres: no memory is gone through */
        hops->words[0] = eight(q, 0) & ((1u << len) - 1);
        hops->words[1] = 0;
        return;
    }
    for (unsigned p = 0; p < len; p += LANES) {
        words[p / 64] |= eight(q, p) << p % 64;
    }
    if (len % 64) { /* the last ones may go beyond */
        words[len / 64] &= (UINT64_C(1) << len % 64) - 1;
    }
    memcpy(hops->words, words, sizeof words);
}

static void ask_plain(const struct question *q, unsigned len, struct pd_pint_hops *hops)
{
    ask_all(q, len, hops);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void ask_avx2(const struct question *q, unsigned len,
                                                     struct pd_pint_hops *hops)
{
    ask_all(q, len, hops);
}

static void ask(const struct question *q, unsigned len, struct pd_pint_hops *hops)
{
    if (__builtin_cpu_supports("avx2")) {
        ask_avx2(q, len, hops);
    } else {
        ask_plain(q, len, hops);
    }
}
#else
static void ask(const struct question *q, unsigned len, struct pd_pint_hops *hops)
{
    ask_plain(q, len, hops);
}
#endif

/* The highest bit of a word alone; 0 of 0. */
static uint64_t top_of(uint64_t word)
{
    return word ? UINT64_C(1) << (63 - __builtin_clzll(word | 1)) : 0;
}

/* With `mask` 0 nothing happens. */
static void keep_last(struct pd_pint_hops *hops, uint64_t mask)
{
    _Static_assert(PD_PINT_HOPS_MAX == 128, "two words");
    const uint64_t low = hops->words[0], high = hops->words[1];
    const uint64_t last = high ? 0 : top_of(low);

    hops->words[0] = (last & mask) | (low & ~mask);
    hops->words[1] = (top_of(high) & mask) | (high & ~mask);
}

int pd_pint_writer(const struct pd_pint_clue *clue)
{
    for (unsigned w = 0; w < PD_PINT_HOPS_MAX / 64; w++) {
        if (clue->hops.words[w]) {
            return (int)(64 * w) + __builtin_ctzll(clue->hops.words[w]);
        }
    }
    return -1;
}

void pd_pint_clue(const struct pd_pint_plan *plan, const struct pd_pint_field *field,
                  uint32_t packet_id, uint16_t digest, unsigned first_hop, unsigned len,
                  struct pd_pint_clue *ret_clue)
{
    const struct pd_pint_query *query = &plan->queries[field->query];
    const uint32_t tag = pd_pint_tag(field);
    const int layer =
        query->aggregation == PD_PINT_STATIC ? pd_pint_layer(plan, query, packet_id, tag) : -1;

    const struct question question = {.start = plan->seed + 3,
                                      .packet_id = packet_id,
                                      .tag = tag,
                                      .first_hop = first_hop,
                                      .fixed = query->xor_layers[layer < 0 ? 0 : layer],
                                      .reservoir = layer < 0 ? UINT32_MAX : 0};

    ret_clue->packet_id = packet_id;
    ret_clue->tag = tag;
    ret_clue->query = query;
    ret_clue->first_hop = first_hop;
    ret_clue->bits = pd_pint_field_bits(query, field, digest);
    ret_clue->last_writer = layer < 0;
    ask(&question, len < PD_PINT_HOPS_MAX ? len : PD_PINT_HOPS_MAX, &ret_clue->hops);
    keep_last(&ret_clue->hops, layer < 0 ? UINT64_MAX : 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Draws of eight packets side by side, a hop at a time. */
#include "codec/pint/draws.h"

#include <string.h>

typedef uint32_t lanes __attribute__((vector_size(4 * PD_PINT_DRAWS_MAX)));
typedef int32_t signed_lanes __attribute__((vector_size(4 * PD_PINT_DRAWS_MAX)));

#define WORDS (PD_PINT_HOPS_MAX / 32)

/* The packets, and what was worked out for one tag. */
struct packets {
    lanes ids, hops;
    uint32_t hops_max;
};
struct tag {
    uint32_t tag;
    lanes last;         /* all bits: the last writer wins */
    lanes words[WORDS]; /* of each packet: hop i is bit (i - 1) % 32 of word (i - 1) / 32 */
};

/* Vectors are passed by address, and stay inside the functions that are inlined: so those can be
 * compiled for several instruction sets. J of up to three words (pd_lookup3_3); missing ones are 0.
 */
static inline __attribute__((always_inline)) void draw(uint32_t start, unsigned words,
                                                       const lanes *x, uint32_t y, uint32_t z,
                                                       lanes *ret_drawn)
{
    const uint32_t first = PD_LOOKUP3_START + 4 * words + start;
    lanes a = *x + first, b = (lanes){} + (first + y), c = (lanes){} + (first + z);

    PD_LOOKUP3_FINISH(a, b, c);
    *ret_drawn = c >> 16;
}

/* Draws have 16 bits: a comparison of signed numbers, which every instruction set has, will do. */
#define BELOW(x, limit) ((lanes)((signed_lanes)(x) < (signed_lanes)(limit)))

/* Below which draw a hop of an XOR layer writes, and which packets are in none (all bits). */
static inline __attribute__((always_inline)) void find_layers(const struct pd_pint_plan *plan,
                                                              const struct pd_pint_query *query,
                                                              const struct packets *packets,
                                                              struct tag *tag, lanes *ret_limits)
{
    lanes drawn, limits = (lanes){} + query->xor_layers[0];

    if (query->aggregation != PD_PINT_STATIC) {
        tag->last = ~(lanes){};
        *ret_limits = limits;
        return;
    }
    draw(plan->seed + 2, 2, &packets->ids, tag->tag, 0, &drawn);
    tag->last = BELOW(drawn, (lanes){} + query->tau);
    for (unsigned i = 0; query->xor_len > 1 && i < PD_PINT_DRAWS_MAX; i++) {
        if (drawn[i] >= query->tau) {
            limits[i] = query->xor_layers[(drawn[i] - query->tau) * query->xor_len /
                                          (PD_PINT_ONE - query->tau)];
        }
    }
    *ret_limits = limits;
}

static inline __attribute__((always_inline)) void ask_tag(const struct pd_pint_plan *plan,
                                                          const struct pd_pint_query *query,
                                                          const struct packets *packets,
                                                          struct tag *tag)
{
    lanes fixed, drawn;

    find_layers(plan, query, packets, tag, &fixed);
    const lanes last = tag->last;
    for (uint32_t from = 0; from < packets->hops_max; from += 32) {
        lanes got = {};
        for (uint32_t i = 0; i < 32 && from + i < packets->hops_max; i++) {
            const uint32_t hop = from + i + 1;
            draw(plan->seed + 3, 3, &packets->ids, tag->tag, hop, &drawn);
            const lanes limit = (last & (uint32_t)(PD_PINT_ONE / hop)) | (fixed & ~last);
            const lanes writes = BELOW(drawn, limit) & BELOW((lanes){} + from + i, packets->hops);
            got = (got & ~(writes & last)) | (writes & (UINT32_C(1) << i));
        }
        tag->words[from / 32] = got;
    }
}

static inline __attribute__((always_inline)) void ask_sets(const struct pd_pint_plan *plan,
                                                           const struct packets *packets,
                                                           uint32_t drawn[PD_PINT_DRAWS_MAX])
{
    lanes all;

    draw(plan->seed + 1, 1, &packets->ids, 0, 0, &all);
    memcpy(drawn, &all, sizeof all);
}

#define EACH_TARGET(suffix, attribute)                                                      \
    attribute static void ask_tag_##suffix(const struct pd_pint_plan *plan,                 \
                                           const struct pd_pint_query *query,               \
                                           const struct packets *packets, struct tag *tag)  \
    {                                                                                       \
        ask_tag(plan, query, packets, tag);                                                 \
    }                                                                                       \
    attribute static void ask_sets_##suffix(const struct pd_pint_plan *plan,                \
                                            const struct packets *packets, uint32_t *drawn) \
    {                                                                                       \
        ask_sets(plan, packets, drawn);                                                     \
    }

EACH_TARGET(plain, )
#if defined(__x86_64__)
EACH_TARGET(avx2, __attribute__((target("avx2"))))
#define HAS_AVX2 __builtin_cpu_supports("avx2")
#else
#define ask_tag_avx2  ask_tag_plain
#define ask_sets_avx2 ask_sets_plain
#define HAS_AVX2      false
#endif

/* ---- sets and fields */

static int set_at(const struct pd_pint_plan *plan, uint32_t drawn)
{
    uint32_t up_to = 0;

    for (unsigned i = 0; i < plan->sets_len; i++) {
        up_to += plan->sets[i].weight;
        if (up_to > drawn) {
            return (int)i;
        }
    }
    return -1;
}

/* On paths of more than 32 hops each word has a last writer. */
static void keep_last(uint32_t words[WORDS])
{
    bool later = false;

    for (unsigned w = WORDS; w-- > 0;) {
        words[w] = later ? 0 : words[w];
        later |= words[w] != 0;
    }
}

static void tell(const struct tag *tag, unsigned lane, unsigned f, struct pd_pint_draw *draw)
{
    uint32_t words[WORDS];

    for (unsigned w = 0; w < WORDS; w++) {
        words[w] = tag->words[w][lane];
    }
    if (tag->last[lane]) {
        keep_last(words);
        draw->last = (uint16_t)(draw->last | 1u << f);
    }
    for (unsigned w = 0; w < WORDS / 2; w++) {
        draw->writers[f].words[w] = words[2 * w] | (uint64_t)words[2 * w + 1] << 32;
    }
}

/* Tags that several sets have are asked once. */
struct asked {
    struct tag tags[PD_PINT_BITS_MAX];
    unsigned len;
};

static const struct tag *tag_of(const struct pd_pint_plan *plan, const struct pd_pint_field *field,
                                const struct packets *packets, struct asked *asked)
{
    const uint32_t number = pd_pint_tag(field);
    unsigned at = 0;

    while (at < asked->len && asked->tags[at].tag != number) {
        at++;
    }
    at = at < PD_PINT_BITS_MAX ? at : PD_PINT_BITS_MAX - 1; /* many sets: the last one goes */
    struct tag *tag = &asked->tags[at];
    if (at == asked->len || tag->tag != number) {
        tag->tag = number;
        memset(tag->words, 0, sizeof tag->words);
        (HAS_AVX2 ? ask_tag_avx2 : ask_tag_plain)(plan, &plan->queries[field->query], packets, tag);
        asked->len = at + 1;
    }
    return tag;
}

static bool is_drawn(const struct pd_pint_query *query)
{
    return query->aggregation == PD_PINT_STATIC || query->aggregation == PD_PINT_DYNAMIC;
}

/* All packets of one set. */
static void draw_set(const struct pd_pint_plan *plan, int number, const struct packets *packets,
                     struct asked *asked, unsigned len, struct pd_pint_draw *draws)
{
    const struct pd_pint_set *set = &plan->sets[number];

    for (unsigned f = 0; f < set->fields_len; f++) {
        const struct pd_pint_field *field = &set->fields[f];
        if (!is_drawn(&plan->queries[field->query])) {
            continue;
        }
        const struct tag *tag = tag_of(plan, field, packets, asked);
        for (unsigned i = 0; i < len; i++) {
            if (draws[i].set == number) {
                tell(tag, i, f, &draws[i]);
            }
        }
    }
}

void pd_pint_draw(const struct pd_pint_plan *plan, const uint32_t *packet_ids, const uint32_t *hops,
                  unsigned len, struct pd_pint_draw *ret_draws)
{
    struct packets packets = {.hops_max = 1};
    uint32_t drawn[PD_PINT_DRAWS_MAX];
    uint64_t seen = 0;
    struct asked asked;

    asked.len = 0;
    for (unsigned i = 0; i < len; i++) {
        packets.ids[i] = packet_ids[i];
        packets.hops[i] = hops[i] < PD_PINT_HOPS_MAX ? hops[i] : PD_PINT_HOPS_MAX;
        packets.hops_max = hops[i] > packets.hops_max ? hops[i] : packets.hops_max;
    }
    packets.hops_max = packets.hops_max < PD_PINT_HOPS_MAX ? packets.hops_max : PD_PINT_HOPS_MAX;
    (HAS_AVX2 ? ask_sets_avx2 : ask_sets_plain)(plan, &packets, drawn);
    for (unsigned i = 0; i < len; i++) {
        ret_draws[i].set = set_at(plan, drawn[i]);
        ret_draws[i].hops = (uint8_t)packets.hops[i];
        ret_draws[i].last = 0;
    }
    _Static_assert(PD_PINT_SETS_MAX <= 64, "a bit each");
    for (unsigned i = 0; i < len; i++) {
        const int set = ret_draws[i].set;
        if (set >= 0 && !(seen >> set & 1)) {
            seen |= UINT64_C(1) << set;
            draw_set(plan, set, &packets, &asked, len, ret_draws);
        }
    }
}

/* ---- clues */

/* Bits `first` to `first + len - 1`. */
static struct pd_pint_hops shifted(const struct pd_pint_hops *hops, unsigned first, unsigned len)
{
    const unsigned __int128 all = (unsigned __int128)hops->words[1] << 64 | hops->words[0];
    const unsigned __int128 mask =
        len < PD_PINT_HOPS_MAX ? ((unsigned __int128)1 << len) - 1 : ~(unsigned __int128)0;
    const unsigned __int128 out = all >> first & mask;

    return (struct pd_pint_hops){{(uint64_t)out, (uint64_t)(out >> 64)}};
}

void pd_pint_drawn_clue(const struct pd_pint_plan *plan, const struct pd_pint_draw *draw,
                        unsigned f, uint32_t packet_id, uint16_t digest, unsigned first_hop,
                        unsigned len, struct pd_pint_clue *ret_clue)
{
    const struct pd_pint_field *field = &plan->sets[draw->set].fields[f];
    const struct pd_pint_query *query = &plan->queries[field->query];

    *ret_clue = (struct pd_pint_clue){.packet_id = packet_id,
                                      .tag = pd_pint_tag(field),
                                      .query = query,
                                      .first_hop = first_hop,
                                      .bits = pd_pint_field_bits(query, field, digest),
                                      .last_writer = draw->last >> f & 1,
                                      .hops = shifted(&draw->writers[f], first_hop - 1, len)};
}

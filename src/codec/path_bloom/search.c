/* SPDX-License-Identifier: Apache-2.0 */
/* The paths that leave a filter: depth first, leaving every branch whose bits are not all in it. */
#include "codec/path_bloom/path_bloom.h"

#define STEPS_MAX 200000 /* of one search: some ms */

struct search {
    const struct pd_path_bloom *bloom;
    uint32_t dst_tor, filter;
    unsigned hops;
    uint64_t steps;
    bool (*visit)(void *context, const struct pd_walk *walk);
    void *context;
    bool ended;
    struct pd_walk walk;
};

static uint32_t turned(const struct pd_path_bloom_options *options, uint32_t held, unsigned by)
{
    const unsigned bits = options->bits;
    const uint32_t all = bits == 32 ? UINT32_MAX : (1u << bits) - 1;

    const unsigned turn = by % bits;

    return turn ? (held << turn | held >> (bits - turn)) & all : held;
}

/* Whether what was written so far can be part of the filter, `left` links before the end. Where top
 * switches begin anew, nobody can tell before the last of them. */
static bool fits(const struct search *s, uint32_t held, unsigned left)
{
    const struct pd_path_bloom_options *options = &s->bloom->options;

    if (left && options->top) {
        return true;
    }
    return !(turned(options, held, options->order && left ? left - 1 : 0) & ~s->filter);
}

static bool visited(const struct pd_walk *walk, uint32_t sw)
{
    for (uint32_t i = 0; i < walk->len; i++) {
        if (walk->switches[i] == sw) {
            return true;
        }
    }
    return false;
}

static void extend(struct search *s, uint32_t held);

static void step(struct search *s, uint32_t to, uint32_t held)
{
    const uint32_t written = pd_path_bloom_write(s->bloom, held, to, s->dst_tor);
    const unsigned left = s->hops - s->walk.len; /* links behind `to` */

    if (!fits(s, written, left) || visited(&s->walk, to)) {
        return;
    }
    s->walk.switches[s->walk.len++] = to;
    if (left) {
        extend(s, written);
    } else if (written == s->filter) {
        s->ended = !s->visit(s->context, &s->walk);
    }
    s->walk.len--;
}

static void extend(struct search *s, uint32_t held)
{
    const struct pd_topology *topology = s->bloom->head.topology;
    const uint8_t *hops =
        s->bloom->hops + (size_t)s->bloom->tor_numbers[s->dst_tor] * topology->switches_len;
    const struct pd_switch *at = &topology->switches[s->walk.switches[s->walk.len - 1]];
    const unsigned left = s->hops - s->walk.len;

    for (uint32_t i = 0; i < at->switch_neighbours && !s->ended; i++) {
        const uint32_t to = at->neighbours[i].node;

        if (hops[to] > left || (to == s->dst_tor && left)) {
            continue;
        }
        if (++s->steps > STEPS_MAX) {
            s->ended = true;
            return;
        }
        step(s, to, held);
    }
}

int pd_path_bloom_search(const struct pd_path_bloom *bloom, uint32_t src_tor, uint32_t dst_tor,
                         uint32_t filter, unsigned hops,
                         bool (*visit)(void *context, const struct pd_walk *walk), void *context)
{
    struct search s = {.bloom = bloom,
                       .dst_tor = dst_tor,
                       .filter = filter,
                       .hops = hops,
                       .visit = visit,
                       .context = context};

    s.walk.len = 1;
    s.walk.switches[0] = src_tor;
    extend(&s, bloom->masks[src_tor]);
    return s.steps > STEPS_MAX ? -PD_E_LIMIT : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Enumerates the paths between racks, and counts which of them leave the same filter. */
#include "codec/path_bloom/pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "codec/path_bloom/rows.h"

#define SWITCHES_MAX (UINT64_C(1) << 26) /* of all paths together: 256 MB */

/* Filters of the pair at hand; `path` counts from 1, 0: free. */
struct pd_path_bloom_slot {
    uint32_t filter;
    uint32_t path;
    uint32_t shortest, len;
};

struct walker {
    struct pd_path_bloom_pairs *pairs;
    const uint8_t *hops;
    uint32_t dst_tor;
    unsigned length;
    struct pd_walk walk;
};

static int add_path(struct pd_path_bloom_pairs *pairs, const struct pd_walk *walk)
{
    const uint32_t len = walk->len - 1;
    int err = PD_GROW(pairs->paths, pairs->paths_room, pairs->paths_len + 1);

    if (pairs->switches_len + len > SWITCHES_MAX) {
        return -PD_E_TOO_LARGE;
    }
    if (!err) {
        err = PD_GROW(pairs->switches, pairs->switches_room, pairs->switches_len + PD_PATH_MAX + 1);
    }
    if (err) {
        return err;
    }
    pairs->paths[pairs->paths_len++] = (uint64_t)pairs->switches_len << 8 | len;
    memcpy(pairs->switches + pairs->switches_len, walk->switches, len * sizeof *walk->switches);
    pairs->switches_len += len;
    return 0;
}

/* ---- enumeration ---- */

static bool visited(const struct pd_walk *walk, uint32_t sw)
{
    for (uint32_t i = 0; i < walk->len; i++) {
        if (walk->switches[i] == sw) {
            return true;
        }
    }
    return false;
}

static int walk_on(struct walker *w)
{
    const struct pd_topology *topology = w->pairs->bloom->head.topology;
    const struct pd_switch *at = &topology->switches[w->walk.switches[w->walk.len - 1]];
    const unsigned left = w->length - w->walk.len; /* links behind the next switch */
    int err = 0;

    for (uint32_t i = 0; i < at->switch_neighbours && !err; i++) {
        const uint32_t to = at->neighbours[i].node;

        if (w->hops[to] > left || (to == w->dst_tor) != !left || visited(&w->walk, to)) {
            continue;
        }
        w->walk.switches[w->walk.len++] = to;
        err = left ? walk_on(w) : add_path(w->pairs, &w->walk);
        w->walk.len--;
    }
    return err;
}

static int add_pair(struct pd_path_bloom_pairs *pairs, struct walker *w, uint32_t src_tor,
                    unsigned max_hops)
{
    const unsigned shortest = w->hops[src_tor];
    struct pd_path_bloom_pair pair = {
        .src_tor = src_tor, .dst_tor = w->dst_tor, .first = pairs->paths_len};
    int err = PD_GROW(pairs->pairs, pairs->room, pairs->len + 1);

    if (shortest >= PD_PATH_MAX) { /* another part of the network */
        return err;
    }
    w->walk.len = 1;
    w->walk.switches[0] = src_tor;
    for (w->length = shortest; (w->length <= max_hops || w->length == shortest) && !err;
         w->length++) {
        err = walk_on(w);
        pair.len = (uint32_t)(pairs->paths_len - pair.first);
        pair.shortest_len = w->length == shortest ? pair.len : pair.shortest_len;
    }
    if (!err) {
        pairs->pairs[pairs->len++] = pair;
    }
    return err;
}

static int enumerate(struct pd_path_bloom_pairs *pairs, unsigned max_hops)
{
    const struct pd_path_bloom *bloom = pairs->bloom;
    const uint32_t len = bloom->head.topology->switches_len;
    int err = 0;

    for (uint32_t dst = 0; dst < len && !err; dst++) {
        struct walker w = {.pairs = pairs, .dst_tor = dst};

        if (bloom->tor_numbers[dst] == PD_NONE) {
            continue;
        }
        w.hops = bloom->hops + (size_t)bloom->tor_numbers[dst] * len;
        for (uint32_t src = 0; src < len && !err; src++) {
            if (src != dst && bloom->tor_numbers[src] != PD_NONE) {
                err = add_pair(pairs, &w, src, max_hops);
            }
        }
    }
    return err;
}

/* ---- pairs by switch ---- */

static int note_pair(struct pd_path_bloom_pairs *pairs, uint32_t sw, uint32_t pair)
{
    uint32_t *list = pairs->of_switch[sw];
    const uint32_t len = list ? list[0] : 0;

    if (len && list[len] == pair) {
        return 0;
    }
    if (!(len & (len + 1))) { /* full at 0, 1, 3, 7, … */
        uint32_t *grown = realloc(list, (2 * (size_t)len + 2) * sizeof *grown);

        if (!grown) {
            return -ENOMEM;
        }
        pairs->of_switch[sw] = list = grown;
    }
    list[0] = len + 1;
    list[len + 1] = pair;
    return 0;
}

static int index_switches(struct pd_path_bloom_pairs *pairs)
{
    int err = 0;

    pairs->of_switch =
        calloc(pairs->bloom->head.topology->switches_len + 1, sizeof *pairs->of_switch);
    if (!pairs->of_switch) {
        return -ENOMEM;
    }
    for (size_t p = 0; p < pairs->len && !err; p++) {
        const size_t end = pairs->pairs[p].first + pairs->pairs[p].len;

        for (size_t i = pairs->pairs[p].first; i < end && !err; i++) {
            const uint32_t *switches = pairs->switches + (pairs->paths[i] >> 8);
            for (unsigned n = 0; n < (pairs->paths[i] & 0xff) && !err; n++) {
                err = note_pair(pairs, switches[n], (uint32_t)p);
            }
        }
    }
    return err;
}

static int make_slots(struct pd_path_bloom_pairs *pairs)
{
    size_t most = 1;

    for (size_t p = 0; p < pairs->len; p++) {
        most = pairs->pairs[p].len > most ? pairs->pairs[p].len : most;
    }
    for (pairs->slots_room = 64; pairs->slots_room < 2 * most;) {
        pairs->slots_room *= 2;
    }
    pairs->slots = calloc(pairs->slots_room, sizeof *pairs->slots);
    return pairs->slots ? 0 : -ENOMEM;
}

int pd_path_bloom_pairs_init(struct pd_path_bloom_pairs *pairs, const struct pd_path_bloom *bloom,
                             unsigned max_hops)
{
    *pairs = (struct pd_path_bloom_pairs){.bloom = bloom};
    int err = enumerate(pairs, max_hops);

    if (!err) {
        err = index_switches(pairs);
    }
    return err ? err : make_slots(pairs);
}

void pd_path_bloom_pairs_done(struct pd_path_bloom_pairs *pairs)
{
    for (uint32_t i = 0; pairs->of_switch && i < pairs->bloom->head.topology->switches_len; i++) {
        free(pairs->of_switch[i]);
    }
    free(pairs->of_switch);
    free(pairs->pairs);
    free(pairs->paths);
    free(pairs->switches);
    free(pairs->slots);
}

/* ---- counting ---- */

static uint32_t filter_of(const struct pd_path_bloom_pairs *pairs, size_t path,
                          const uint32_t *masks)
{
    const struct pd_path_bloom *bloom = pairs->bloom;
    const struct pd_switch *all = bloom->head.topology->switches;
    const uint32_t *switches = pairs->switches + (pairs->paths[path] >> 8);
    const unsigned len = pairs->paths[path] & 0xff, bits = bloom->options.bits;
    uint32_t held = masks[switches[0]];

    for (unsigned n = 1; n < len; n++) {
        if (bloom->options.top && pd_role_is_top(all[switches[n]].role)) {
            held = 0;
        } else if (bloom->options.order) {
            held = held << 1 | held >> (bits - 1);
            held &= bits == 32 ? UINT32_MAX : (UINT32_C(1) << bits) - 1;
        }
        held |= masks[switches[n]];
    }
    return held;
}

/* The filter's slot, in a table of which `mask + 1` are used for this pair. */
static struct pd_path_bloom_slot *slot_of(struct pd_path_bloom_pairs *pairs, size_t mask,
                                          uint32_t filter)
{
    size_t at = pd_hash_mix(filter) & mask;

    while (pairs->slots[at].path && pairs->slots[at].filter != filter) {
        at = (at + 1) & mask;
    }
    return &pairs->slots[at];
}

uint32_t pd_path_bloom_pairs_count(struct pd_path_bloom_pairs *pairs,
                                   const struct pd_path_bloom_pair *pair, const uint32_t *masks,
                                   struct pd_path_bloom_twins *ret_twins)
{
    uint32_t alike = 0;
    size_t room = 16;

    while (room < 2 * (size_t)pair->len) {
        room *= 2;
    }
    memset(pairs->slots, 0, room * sizeof *pairs->slots);
    for (uint32_t i = 0; i < pair->len; i++) {
        const uint32_t filter = filter_of(pairs, pair->first + i, masks);
        struct pd_path_bloom_slot *slot = slot_of(pairs, room - 1, filter);
        const uint32_t twins = i < pair->shortest_len ? slot->len : slot->shortest;

        if (twins && ret_twins) {
            *ret_twins =
                (struct pd_path_bloom_twins){{pair->first + slot->path - 1, pair->first + i}};
        }
        alike += twins;
        if (!slot->path) {
            *slot = (struct pd_path_bloom_slot){.filter = filter, .path = i + 1};
        }
        slot->len++;
        slot->shortest += i < pair->shortest_len;
    }
    return alike;
}

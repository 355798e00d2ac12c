/* SPDX-License-Identifier: Apache-2.0 */
/* Path IDs for a topology, by local search: while two paths are alike, a switch that only one of
 * them crosses gets another ID, the one of a few that leaves the fewest alike. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "codec/path_bloom/pairs.h"
#include "codec/path_ids.h"

enum { TRIES = 8, ROUNDS_PER_SWITCH = 200, ROUNDS_MIN = 4000 };

struct assigner {
    struct pd_path_bloom_pairs pairs;
    uint64_t *path_ids;
    uint32_t *masks;
    uint64_t state; /* of the random numbers */
    uint64_t alike; /* over all pairs */
    size_t at;      /* pair that was looked at last */
};

static uint64_t draw(struct assigner *a)
{
    return pd_hash_mix(a->state += UINT64_C(0x9e3779b97f4a7c15));
}

/* How many are alike in all pairs with this switch. */
static uint64_t count_around(struct assigner *a, uint32_t sw, bool keep)
{
    const uint32_t *list = a->pairs.of_switch[sw];
    uint64_t alike = 0;

    for (uint32_t i = 1; list && i <= list[0]; i++) {
        struct pd_path_bloom_pair *pair = &a->pairs.pairs[list[i]];
        const uint32_t now = pd_path_bloom_pairs_count(&a->pairs, pair, a->masks, NULL);

        alike += now;
        if (keep) {
            a->alike += now;
            a->alike -= pair->alike;
            pair->alike = now;
        }
    }
    return alike;
}

/* The next pair, in a circle, of which two paths are alike; there is one. */
static const struct pd_path_bloom_pair *find_pair(struct assigner *a)
{
    do {
        a->at = (a->at + 1) % a->pairs.len;
    } while (!a->pairs.pairs[a->at].alike);
    return &a->pairs.pairs[a->at];
}

static bool crosses(const struct pd_path_bloom_pairs *pairs, size_t path, uint32_t sw)
{
    const uint32_t *switches = pairs->switches + (pairs->paths[path] >> 8);

    for (unsigned n = 0; n < (pairs->paths[path] & 0xff); n++) {
        if (switches[n] == sw) {
            return true;
        }
    }
    return false;
}

/* One of the switches that one of the twins crosses and the other does not; PD_NONE: no ID helps.
 */
static uint32_t choose_switch(struct assigner *a, const struct pd_path_bloom_twins *twins)
{
    uint32_t own[2 * PD_PATH_MAX] = {0};
    size_t len = 0;

    for (int i = 0; i < 2; i++) {
        const uint64_t path = a->pairs.paths[twins->paths[i]];
        const uint32_t *switches = a->pairs.switches + (path >> 8);

        for (unsigned n = 0; n < (path & 0xff); n++) {
            if (!crosses(&a->pairs, twins->paths[!i], switches[n])) {
                own[len++] = switches[n];
            }
        }
    }
    return len ? own[draw(a) % len] : PD_NONE;
}

/* The best of some IDs, if it is no worse than the one in force. */
static void redraw(struct assigner *a, uint32_t sw)
{
    const struct pd_path_bloom_options *options = &a->pairs.bloom->options;
    const uint32_t old_mask = a->masks[sw];
    uint64_t best = count_around(a, sw, false), best_id = a->path_ids[sw];
    uint32_t best_mask = old_mask;

    for (int i = 0; i < TRIES && best; i++) {
        const uint64_t id = draw(a) % PD_PATH_ID_MAX + 1;

        a->masks[sw] = pd_path_bloom_mask(id, options);
        const uint64_t alike = count_around(a, sw, false);
        if (alike <= best) {
            best = alike;
            best_id = id;
            best_mask = a->masks[sw];
        }
    }
    a->masks[sw] = best_mask;
    a->path_ids[sw] = best_id;
    if (best_mask != old_mask) {
        count_around(a, sw, true);
    }
}

static int search(struct assigner *a, struct pd_path_ids *ret)
{
    const struct pd_topology *topology = a->pairs.bloom->head.topology;
    const uint64_t per_switch = (uint64_t)ROUNDS_PER_SWITCH * topology->switches_len;
    uint64_t rounds = per_switch > ROUNDS_MIN ? per_switch : ROUNDS_MIN;

    while (a->alike) {
        const struct pd_path_bloom_pair *pair = find_pair(a);
        struct pd_path_bloom_twins twins;

        pd_path_bloom_pairs_count(&a->pairs, pair, a->masks, &twins);
        const uint32_t sw = choose_switch(a, &twins);
        if (sw == PD_NONE || !rounds--) {
            ret->left[0] = topology->switches[pair->src_tor].id;
            ret->left[1] = topology->switches[pair->dst_tor].id;
            return -PD_E_TOPOLOGY;
        }
        redraw(a, sw);
    }
    return 0;
}

static int begin(struct assigner *a, const struct pd_path_bloom *bloom, unsigned max_hops)
{
    const struct pd_topology *topology = bloom->head.topology;
    const size_t len = topology->switches_len;
    int err = pd_path_bloom_pairs_init(&a->pairs, bloom, max_hops);

    a->path_ids = calloc(len + 1, sizeof *a->path_ids);
    a->masks = calloc(len + 1, sizeof *a->masks);
    if (err || !a->path_ids || !a->masks) {
        return err ? err : -ENOMEM;
    }
    memcpy(a->masks, bloom->masks, len * sizeof *a->masks);
    for (size_t i = 0; i < len; i++) {
        a->path_ids[i] = topology->switches[i].path_id;
    }
    for (size_t p = 0; p < a->pairs.len; p++) {
        struct pd_path_bloom_pair *pair = &a->pairs.pairs[p];

        pair->alike = pd_path_bloom_pairs_count(&a->pairs, pair, a->masks, NULL);
        a->alike += pair->alike;
    }
    return 0;
}

int pd_codec_assign(const struct pd_codec *codec, unsigned max_hops, uint64_t seed,
                    struct pd_path_ids *ret_ids)
{
    const struct pd_topology *topology = codec->topology;
    struct assigner a = {.state = seed};

    if (codec->ops != &pd_path_bloom_codec) {
        return -PD_E_UNSUPPORTED;
    }
    int err = begin(&a, pd_path_bloom(codec), max_hops);

    if (!err) {
        err = search(&a, ret_ids);
    }
    if (!err) {
        *ret_ids = (struct pd_path_ids){.path_ids = a.path_ids, .paths = a.pairs.paths_len};
        for (uint32_t i = 0; i < topology->switches_len; i++) {
            ret_ids->changed += a.path_ids[i] != topology->switches[i].path_id;
        }
        a.path_ids = NULL;
    }
    free(a.path_ids);
    free(a.masks);
    pd_path_bloom_pairs_done(&a.pairs);
    return err;
}

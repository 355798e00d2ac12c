/* SPDX-License-Identifier: Apache-2.0 */
/* A set of hashes that samples itself when it is full. */
#include "query/distinct.h"

#include <errno.h>
#include <stdlib.h>

enum { SLOTS_LEAST = 256, DEPTH_MAX = 40 };

/* Where it is, or would be. */
static uint64_t *find(uint64_t *slots, size_t slots_len, uint64_t hash)
{
    size_t mask = slots_len - 1, at = (hash >> DEPTH_MAX) & mask;

    while (slots[at] && slots[at] != hash) {
        at = (at + 1) & mask;
    }
    return &slots[at];
}

static int is_kept(const struct pd_distinct *set, uint64_t hash)
{
    return !(hash & ((UINT64_C(1) << set->depth) - 1));
}

/* What is kept moves into another table. */
static int move_to(struct pd_distinct *set, size_t slots_len)
{
    uint64_t *slots = calloc(slots_len, sizeof *slots);
    size_t len = 0;

    if (!slots) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < set->slots_len; i++) {
        if (set->slots[i] && is_kept(set, set->slots[i])) {
            *find(slots, slots_len, set->slots[i]) = set->slots[i];
            len++;
        }
    }
    free(set->slots);
    set->slots = slots;
    set->slots_len = slots_len;
    set->len = len;
    return 0;
}

static int make_room(struct pd_distinct *set)
{
    if (set->len < PD_DISTINCT_MAX) {
        return move_to(set, set->slots_len ? 2 * set->slots_len : SLOTS_LEAST);
    }
    set->depth += set->depth < DEPTH_MAX;
    return move_to(set, set->slots_len);
}

int pd_query_distinct_add(struct pd_distinct *set, uint64_t hash)
{
    /* 0 is a free slot: a bit that neither chooses nor places stands for it. */
    uint64_t key = hash ? hash : UINT64_C(1) << 63;

    if (!is_kept(set, key) || (set->slots_len && *find(set->slots, set->slots_len, key))) {
        return 0;
    }
    int err = set->len >= set->slots_len / 2 ? make_room(set) : 0;
    if (!err && is_kept(set, key)) {
        *find(set->slots, set->slots_len, key) = key;
        set->len++;
    }
    return err;
}

uint64_t pd_query_distinct_count(const struct pd_distinct *set)
{
    return (uint64_t)set->len << set->depth;
}

void pd_query_distinct_done(struct pd_distinct *set)
{
    free(set->slots);
    *set = (struct pd_distinct){0};
}

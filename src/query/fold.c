/* SPDX-License-Identifier: Apache-2.0 */
/* Folds: sums by a small key over the groups that a store gives out. */
#include "query/fold.h"

#include <stdlib.h>

#include "base/hash.h"
#include "tib/group.h"

void pd_query_fold_init(struct pd_query_fold *fold, struct pd_tib_budget *budget)
{
    *fold = (struct pd_query_fold){.budget = budget};
}

void pd_query_fold_done(struct pd_query_fold *fold)
{
    free(fold->sums);
    free(fold->slots);
}

/* Each look-up that meets another key costs as much as a sum, so there are more slots than tables
 * here have else. */
#define SPARSE 2

/* The slot of a key, or the free one where it belongs. */
static uint32_t *find_slot(const struct pd_query_fold *fold, uint32_t *slots, uint32_t slots_len,
                           uint64_t key)
{
    const size_t mask = (size_t)SPARSE * slots_len - 1;
    size_t at = pd_hash_mix(key) & mask;
    while (slots[at] && fold->sums[slots[at] - 1].key != key) {
        at = (at + 1) & mask;
    }
    return &slots[at];
}

static int grow(struct pd_query_fold *fold)
{
    void *grown;
    uint32_t slots_len;
    int error = pd_tib_double_table(fold->budget, fold->slots_len, SPARSE * sizeof *fold->slots,
                                    &fold->sums, sizeof *fold->sums, &grown, &slots_len);
    if (error) {
        return error;
    }
    for (uint32_t i = 0; i < fold->len; i++) {
        *find_slot(fold, grown, slots_len, fold->sums[i].key) = i + 1;
    }
    free(fold->slots);
    fold->slots = grown;
    fold->slots_len = slots_len;
    return 0;
}

int pd_query_fold_merge(struct pd_query_fold *fold, const struct pd_query_sums *more)
{
    int error = fold->len == pd_tib_most_used(fold->slots_len) ? grow(fold) : 0;
    if (error) {
        return error;
    }
    uint32_t *slot = find_slot(fold, fold->slots, fold->slots_len, more->key);
    if (!*slot) {
        fold->sums[fold->len++] = (struct pd_query_sums){.key = more->key};
        *slot = fold->len;
    }
    struct pd_query_sums *sums = &fold->sums[*slot - 1];
    pd_tib_sum(&sums->bytes, more->bytes);
    pd_tib_sum(&sums->pkts, more->pkts);
    pd_tib_sum(&sums->groups, more->groups);
    return 0;
}

int pd_query_fold_add(struct pd_query_fold *fold, uint64_t key, const struct pd_tib_record *group)
{
    const struct pd_query_sums sums = {key, group->bytes, group->pkts, 1};
    return pd_query_fold_merge(fold, &sums);
}

/* What is known already is added here: most of what a store gives out. */
static bool add_known(struct pd_query_fold *fold, uint64_t key, const struct pd_tib_record *group)
{
    const uint32_t *slot = find_slot(fold, fold->slots, fold->slots_len, key);

    if (!*slot) {
        return false;
    }
    struct pd_query_sums *sums = &fold->sums[*slot - 1];
    pd_tib_sum(&sums->bytes, group->bytes);
    pd_tib_sum(&sums->pkts, group->pkts);
    sums->groups++;
    return true;
}

int pd_query_fold_links(struct pd_query_fold *fold, const struct pd_tib_record *group)
{
    const struct pd_path *path = group->path;
    int err = 0;

    for (unsigned i = 1; i < path->len && !err; i++) {
        uint32_t from = path->switches[i - 1], to = path->switches[i];
        uint64_t key = pd_query_fold_pair(from, to);

        if (from && to && (!fold->slots_len || !add_known(fold, key, group))) {
            err = pd_query_fold_add(fold, key, group);
        }
    }
    return err;
}

static int compare_keys(const void *left, const void *right)
{
    const struct pd_query_sums *a = left, *b = right;
    return (a->key > b->key) - (a->key < b->key);
}

static int compare_bytes(const void *left, const void *right)
{
    const struct pd_query_sums *a = left, *b = right;
    int order = (a->bytes < b->bytes) - (a->bytes > b->bytes);
    return order ? order : compare_keys(left, right);
}

static int compare_pkts(const void *left, const void *right)
{
    const struct pd_query_sums *a = left, *b = right;
    int order = (a->pkts < b->pkts) - (a->pkts > b->pkts);
    return order ? order : compare_keys(left, right);
}

void pd_query_fold_sort(struct pd_query_fold *fold, enum pd_tib_order order)
{
    if (fold->len) {
        qsort(fold->sums, fold->len, sizeof *fold->sums,
              order == PD_TIB_ORDER_BYTES  ? compare_bytes
              : order == PD_TIB_ORDER_PKTS ? compare_pkts
                                           : compare_keys);
    }
}

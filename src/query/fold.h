/* SPDX-License-Identifier: Apache-2.0 */
/* Folds: sums by a small key (a link, a pair of switches, a bin of sizes) over the groups that a
 * store gives out. */
#ifndef PD_QUERY_FOLD_H
#define PD_QUERY_FOLD_H

#include <stdint.h>

#include "tib/budget.h"
#include "tib/filter.h"

/* What trafficMatrix, topLinks and flowSizes answer is coarser than any group of the store. The key
 * is 64 bits: two switch IDs, the first in the upper half, or the lower end of a bin. Sums stay at
 * PD_TIB_SUM_MAX. One thread. */

struct pd_query_sums {
    uint64_t key;
    uint64_t bytes;
    uint64_t pkts;
    uint64_t groups; /* that were added */
};

struct pd_query_fold {
    struct pd_tib_budget *budget;
    struct pd_query_sums *sums; /* in order of arrival until sorted */
    uint32_t *slots;            /* index + 1, 0: free */
    uint32_t len;
    uint32_t slots_len; /* a power of 2; there are twice as many */
};

void pd_query_fold_init(struct pd_query_fold *fold, struct pd_tib_budget *budget);
void pd_query_fold_done(struct pd_query_fold *fold);

/* -PD_E_TOO_LARGE and -ENOMEM leave the fold as it was. */
int pd_query_fold_add(struct pd_query_fold *fold, uint64_t key, const struct pd_tib_record *group);

/* The same for each link of its path, but for gaps; one that is crossed twice is loaded twice. What
 * was added before an error stays. */
int pd_query_fold_links(struct pd_query_fold *fold, const struct pd_tib_record *group);

/* Adds sums of the same key, from another fold. */
int pd_query_fold_merge(struct pd_query_fold *fold, const struct pd_query_sums *more);

/* KEY: ascending; BYTES, PKTS: largest first, equal ones by key. Nothing can be added afterwards.
 */
void pd_query_fold_sort(struct pd_query_fold *fold, enum pd_tib_order order);

static inline uint64_t pd_query_fold_pair(uint32_t first, uint32_t second)
{
    return (uint64_t)first << 32 | second;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Order of groups: comparison, sorting, and the first k of many in memory for k. */
#ifndef PD_TIB_ORDER_H
#define PD_TIB_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "tib/budget.h"
#include "tib/filter.h"

/* What groups are given out in (enum pd_tib_order) is defined by pd_tib_compare alone; backends
 * that order natively have to agree with it. Sorting looks at 24 bytes per record, which decide
 * nearly always, and moves the records once, in place. Thread safety: all work is on the caller's
 * memory. */

/* <0, 0, >0. Paths: as lists of switch IDs, so those of infeasible trajectories come first; NULL
 * comes first of all. Ways: by path, then by the rest of the claim. */
int pd_tib_compare_paths(const struct pd_path *a, const struct pd_path *b);
int pd_tib_compare_ways(const struct pd_tib_record *a, const struct pd_tib_record *b);
int pd_tib_compare(enum pd_tib_order order, const struct pd_tib_record *a,
                   const struct pd_tib_record *b);

int pd_tib_sort(struct pd_tib_record *records, size_t len, enum pd_tib_order order,
                struct pd_tib_budget *budget);

/* Moves the first `most` records in the order (BYTES or PKTS; there have to be more) to the front,
 * where they stay in the order in which they lay; *ret_last is the last of them in the order.
 * Linear. */
int pd_tib_select(struct pd_tib_record *records, size_t len, enum pd_tib_order order, size_t most,
                  struct pd_tib_budget *budget, struct pd_tib_record *ret_last);

/* The first `most` of the records offered, all when `most` is 0: a heap with the last of them at
 * its root. */
struct pd_tib_top {
    struct pd_tib_budget *budget;
    enum pd_tib_order order; /* not NONE */
    uint64_t most;
    struct pd_tib_record *records;
    size_t len, room;
};

void pd_tib_top_init(struct pd_tib_top *top, enum pd_tib_order order, uint64_t most,
                     struct pd_tib_budget *budget);
int pd_tib_top_offer(struct pd_tib_top *top, const struct pd_tib_record *record);
int pd_tib_top_sort(struct pd_tib_top *top); /* after the last offer: records stand in order */
void pd_tib_top_done(struct pd_tib_top *top);

#endif

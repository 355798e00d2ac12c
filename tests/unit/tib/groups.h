/* SPDX-License-Identifier: Apache-2.0 */
/* What grouping has to answer, worked out by sorting, and the comparison with what a store answers.
 */
#ifndef PD_TESTS_TIB_GROUPS_H
#define PD_TESTS_TIB_GROUPS_H

#include "records.h"

/* Any grouping; `live` are its live records. Memory does. */
struct pd_tib_grouping random_grouping(struct random *random, const struct list *live);

/* Fails the test unless pd_tib_group over the snapshot (NULL: live records alone) answers as
 * `stored` and the live ones demand. */
void groups_assert(struct pd_tib_snapshot *snapshot, const struct list *stored,
                   const struct pd_tib_filter *filter, const struct pd_tib_grouping *grouping);

#endif

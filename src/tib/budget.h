/* SPDX-License-Identifier: Apache-2.0 */
/* Budgets: a limit of memory that the tables of one query share. */
#ifndef PD_TIB_BUDGET_H
#define PD_TIB_BUDGET_H

#include <stddef.h>
#include <stdint.h>

/* All memory is charged; when the budget is used up, -PD_E_TOO_LARGE is returned and the data stay
 * as they were. One thread. */

struct pd_tib_budget {
    uint64_t left_bytes;
};

/* Resizes *array, given as the address of a pointer to anything, and charges the difference. New
 * bytes are not zeroed. */
int pd_tib_resize(struct pd_tib_budget *budget, void *array, size_t old_bytes, size_t new_bytes);

/* Hash tables here are arrays of items in order of arrival with slots of indexes beside them, at
 * most three quarters used. */
static inline uint32_t pd_tib_most_used(uint32_t slots_len)
{
    return slots_len / 4 * 3;
}

/* Zeroed slots, twice as many, for the caller to fill and to replace the old ones by; *items, an
 * array of pd_tib_most_used(slots_len) items, grows to match. */
int pd_tib_double_table(struct pd_tib_budget *budget, uint32_t slots_len, size_t slot_bytes,
                        void *items, size_t item_bytes, void **ret_slots, uint32_t *ret_slots_len);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Budgets: a limit of memory that the tables of one query share. */
#include "tib/budget.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define SLOTS_FIRST 64 /* slots of a new table; a power of 2 */

/* One byte more than asked for, since realloc to nothing frees. */
int pd_tib_resize(struct pd_tib_budget *budget, void *array, size_t old_bytes, size_t new_bytes)
{
    void *old, *resized;
    if (new_bytes > old_bytes && new_bytes - old_bytes > budget->left_bytes) {
        return -PD_E_TOO_LARGE;
    }
    memcpy(&old, array, sizeof old);
    resized = realloc(old, new_bytes + 1);
    if (!resized) {
        return -ENOMEM;
    }
    memcpy(array, &resized, sizeof resized);
    budget->left_bytes += old_bytes;
    budget->left_bytes -= new_bytes;
    return 0;
}

int pd_tib_double_table(struct pd_tib_budget *budget, uint32_t slots_len, size_t slot_bytes,
                        void *items, size_t item_bytes, void **ret_slots, uint32_t *ret_slots_len)
{
    uint32_t len = slots_len ? slots_len * 2 : SLOTS_FIRST;
    uint64_t more_bytes = (uint64_t)(len - slots_len) * slot_bytes;
    if (len < slots_len || more_bytes > budget->left_bytes) {
        return -PD_E_TOO_LARGE;
    }
    void *slots = calloc(len, slot_bytes);
    if (!slots) {
        return -ENOMEM;
    }
    budget->left_bytes -= more_bytes;
    int error = pd_tib_resize(budget, items, pd_tib_most_used(slots_len) * item_bytes,
                              pd_tib_most_used(len) * item_bytes);
    if (error) {
        budget->left_bytes += more_bytes;
        free(slots);
        return error;
    }
    *ret_slots = slots;
    *ret_slots_len = len;
    return 0;
}

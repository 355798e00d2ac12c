/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of claims and their paths that never move. */
#ifndef PD_QUERY_BLOCKS_H
#define PD_QUERY_BLOCKS_H

#include <stdint.h>

#include "base/claim.h"
#include "tib/budget.h"

/* Claims from the wire and of snapshots that go outlive their origin here: in blocks, so that
 * pointers stay. What others tell is not put into the process's table of paths, which keeps all
 * that it has. A zeroed one is empty. One thread. */

#define PD_PATH_BLOCK 64u /* claims of a block */

struct pd_path_blocks {
    struct pd_claim **blocks;
    uint32_t blocks_len, len;
};

/* -PD_E_TOO_LARGE (the budget, or a million claims), -ENOMEM. */
int pd_query_path_blocks_add(struct pd_path_blocks *blocks, struct pd_tib_budget *budget,
                             const struct pd_claim *claim, const struct pd_claim **ret_copy);
void pd_query_path_blocks_done(struct pd_path_blocks *blocks);

/* Number `index`, in the order added. */
static inline const struct pd_claim *pd_path_blocks_at(const struct pd_path_blocks *blocks,
                                                       uint64_t index)
{
    return &blocks->blocks[index / PD_PATH_BLOCK][index % PD_PATH_BLOCK];
}

#endif

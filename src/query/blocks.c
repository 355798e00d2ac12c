/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of claims, in blocks. */
#include "query/blocks.h"

#include <stdlib.h>

#include "base/error.h"

#define BLOCKS_MAX (1u << 14) /* 2^20 paths */

static int add_block(struct pd_path_blocks *blocks, struct pd_tib_budget *budget)
{
    struct pd_claim *block = NULL;
    if (blocks->blocks_len == BLOCKS_MAX) {
        return -PD_E_TOO_LARGE;
    }
    int error = pd_tib_resize(budget, &blocks->blocks, blocks->blocks_len * sizeof(void *),
                              (blocks->blocks_len + 1) * sizeof(void *));
    error = error ? error : pd_tib_resize(budget, &block, 0, PD_PATH_BLOCK * sizeof *block);
    if (!error) {
        blocks->blocks[blocks->blocks_len++] = block;
    }
    return error;
}

int pd_query_path_blocks_add(struct pd_path_blocks *blocks, struct pd_tib_budget *budget,
                             const struct pd_claim *claim, const struct pd_claim **ret_copy)
{
    struct pd_path *path = NULL;
    int error = blocks->len == blocks->blocks_len * PD_PATH_BLOCK ? add_block(blocks, budget) : 0;
    error = error ? error : pd_tib_resize(budget, &path, 0, PD_PATH_BYTES(claim->path->len));
    if (error) {
        return error;
    }
    pd_path_copy(path, claim->path);
    struct pd_claim *copy =
        &blocks->blocks[blocks->len / PD_PATH_BLOCK][blocks->len % PD_PATH_BLOCK];
    *copy = *claim;
    copy->path = path;
    blocks->len++;
    *ret_copy = copy;
    return 0;
}

void pd_query_path_blocks_done(struct pd_path_blocks *blocks)
{
    for (uint32_t i = 0; i < blocks->len; i++) {
        free((void *)(uintptr_t)pd_path_blocks_at(blocks, i)->path);
    }
    for (uint32_t i = 0; i < blocks->blocks_len; i++) {
        free(blocks->blocks[i]);
    }
    free(blocks->blocks);
}

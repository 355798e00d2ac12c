/* SPDX-License-Identifier: Apache-2.0 */
/* The LMDB backend: rows' extra bytes, from where a record came or a chunk lay to where the next
 * chunk is made. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tib/lmdb/store.h"

#define BLOCK_BYTES 65536u
_Static_assert(BLOCK_BYTES >= PD_TIB_EXTRA_BYTES, "those of one record fit into a block");

struct pd_extra_block {
    struct pd_extra_block *next;
    size_t used;
    uint8_t bytes[BLOCK_BYTES];
};

static uint8_t *room_for(struct pd_extra_arena *arena, size_t bytes)
{
    struct pd_extra_block *block = arena->blocks;
    if (!block || BLOCK_BYTES - block->used < bytes) {
        block = malloc(sizeof *block);
        if (!block) {
            return NULL;
        }
        block->next = arena->blocks;
        block->used = 0;
        arena->blocks = block;
    }
    block->used += bytes;
    return block->bytes + block->used - bytes;
}

int pd_lmdb_extra_take(struct pd_extra_arena *arena, struct pd_row *row)
{
    uint8_t *bytes;
    if (!row->extra_bytes) {
        return 0;
    }
    if (row->extra_bytes > PD_CHUNK_EXTRA_BYTES - arena->bytes) {
        arena->dropped++;
        row->extra_bytes = 0;
        row->extra = NULL;
        return 0;
    }
    bytes = room_for(arena, row->extra_bytes);
    if (!bytes) {
        return -ENOMEM;
    }
    memcpy(bytes, row->extra, row->extra_bytes);
    row->extra = bytes;
    arena->bytes += row->extra_bytes;
    return 0;
}

void pd_lmdb_extra_done(struct pd_extra_arena *arena)
{
    while (arena->blocks) {
        struct pd_extra_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    *arena = (struct pd_extra_arena){.bytes = 0};
}

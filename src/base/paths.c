/* SPDX-License-Identifier: Apache-2.0 */
/* The table of paths: each path that is kept stands once in the process, under a number. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/path.h"

#define BLOCK       4096u /* pointers that are allocated at once */
#define BLOCKS      (PD_PATHS_KEPT_MAX / BLOCK)
#define ARENA_BYTES (UINT32_C(1) << 16) /* that paths are cut from */
#define FIRST_SLOTS 1024u

const struct pd_path pd_path_empty;

/* `lock` guards adding; `len` counts a path when it is whole, so that readers need no lock. */
static struct {
    pthread_mutex_t lock;
    _Atomic uint32_t len;
    _Atomic uint64_t refused;
    const struct pd_path **blocks[BLOCKS]; /* each set once, before `len` counts a path of it */
    uint32_t *slots;                       /* open addressing: number + 1; 0: free */
    uint32_t slots_len;
    char *arena;
    size_t arena_bytes; /* left of it */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

const struct pd_path *pd_path_at(uint32_t number)
{
    /* Pairs with the release in `add`. */
    if (number >= atomic_load_explicit(&table.len, memory_order_acquire)) {
        return NULL;
    }
    return table.blocks[number / BLOCK][number % BLOCK];
}

/* Slot of the path, or the free slot where it would go. */
static uint32_t *slot_of(const struct pd_path *path)
{
    for (uint64_t at = pd_path_hash(path);; at++) {
        uint32_t *slot = &table.slots[at & (table.slots_len - 1)];

        if (!*slot || pd_path_equal(pd_path_at(*slot - 1), path)) {
            return slot;
        }
    }
}

static int slots_grow(void)
{
    uint32_t old_len = table.slots_len, *old = table.slots;
    uint32_t len = old_len ? 2 * old_len : FIRST_SLOTS;
    uint32_t *slots = calloc(len, sizeof *slots);

    if (!slots) {
        return -ENOMEM;
    }
    table.slots = slots;
    table.slots_len = len;
    for (uint32_t i = 0; i < old_len; i++) {
        if (old[i]) {
            *slot_of(pd_path_at(old[i] - 1)) = old[i];
        }
    }
    free(old);
    return 0;
}

/* Paths lie one behind the other, as long as they are. */
static struct pd_path *place_for(uint32_t len)
{
    size_t bytes = PD_PATH_BYTES(len);
    char *place;

    if (bytes > table.arena_bytes) {
        char *arena = malloc(ARENA_BYTES);

        if (!arena) {
            return NULL;
        }
        table.arena = arena;
        table.arena_bytes = ARENA_BYTES;
    }
    place = table.arena;
    table.arena += bytes;
    table.arena_bytes -= bytes;
    return (struct pd_path *)(void *)place;
}

static int add(const struct pd_path *path, uint32_t *ret_number)
{
    uint32_t number = atomic_load_explicit(&table.len, memory_order_relaxed);
    const struct pd_path ***block;
    struct pd_path *place;

    if (number == PD_PATHS_KEPT_MAX) {
        atomic_fetch_add_explicit(&table.refused, 1, memory_order_relaxed);
        return -PD_E_FULL;
    }
    block = &table.blocks[number / BLOCK];
    if (!*block && !(*block = malloc(BLOCK * sizeof(void *)))) {
        return -ENOMEM;
    }
    place = place_for(path->len);
    if (!place) {
        return -ENOMEM;
    }
    pd_path_copy(place, path);
    (*block)[number % BLOCK] = place;
    atomic_store_explicit(&table.len, number + 1, memory_order_release);
    *ret_number = number;
    return 0;
}

static int intern(const struct pd_path *path, uint32_t *ret_number)
{
    uint32_t len = atomic_load_explicit(&table.len, memory_order_relaxed), *slot;
    int err = 2 * len >= table.slots_len ? slots_grow() : 0;

    if (err) {
        return err;
    }
    slot = slot_of(path);
    if (*slot) {
        *ret_number = *slot - 1;
        return 0;
    }
    err = add(path, ret_number);
    if (!err) {
        *slot = *ret_number + 1;
    }
    return err;
}

int pd_path_intern(const struct pd_path *path, const struct pd_path **ret_path,
                   uint32_t *ret_number)
{
    uint32_t number;
    int err;

    if (path->len > PD_PATH_MAX) {
        return -PD_E_VALUE;
    }
    pthread_mutex_lock(&table.lock);
    err = intern(path, &number);
    pthread_mutex_unlock(&table.lock);
    if (err) {
        return err;
    }
    *ret_path = pd_path_at(number);
    if (ret_number) {
        *ret_number = number;
    }
    return 0;
}

struct pd_path_counters pd_path_counters(void)
{
    return (struct pd_path_counters){
        .kept = atomic_load_explicit(&table.len, memory_order_relaxed),
        .refused = atomic_load_explicit(&table.refused, memory_order_relaxed),
    };
}

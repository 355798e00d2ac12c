/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of known paths: a list that grows, and a hash table of its indexes. */
#include "codec/pint/numbers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"

static struct {
    pthread_mutex_t lock;
    uint32_t **paths; /* length, then switch IDs */
    uint32_t len, room;
    uint32_t *slots; /* number, 0: free; at most half full */
    uint32_t slots_mask;
} numbers = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t hash_of(const uint32_t *switches, uint32_t len)
{
    return pd_hash(switches, len * sizeof *switches);
}

static bool grow(void)
{
    uint32_t room = numbers.room;
    int err = PD_GROW(numbers.paths, room, room ? (size_t)room + 1 : 64);
    uint32_t *slots = err ? NULL : calloc((size_t)room * 2, sizeof *slots);
    uint32_t *const *paths = numbers.paths;

    if (!slots) {
        return false;
    }
    for (uint32_t n = 0; n < numbers.len; n++) {
        uint64_t at = hash_of(paths[n] + 1, paths[n][0]);
        while (slots[at & (2 * room - 1)]) {
            at++;
        }
        slots[at & (2 * room - 1)] = n + 1;
    }
    free(numbers.slots);
    numbers.slots = slots;
    numbers.slots_mask = 2 * room - 1;
    numbers.room = room;
    return true;
}

static uint32_t find_or_add(const struct pd_pint_path *path)
{
    uint64_t at = hash_of(path->switches, path->len);
    const size_t bytes = path->len * sizeof *path->switches;

    if (numbers.len == numbers.room && !grow()) {
        return 0;
    }
    for (; numbers.slots[at & numbers.slots_mask]; at++) {
        const uint32_t number = numbers.slots[at & numbers.slots_mask];
        const uint32_t *known = numbers.paths[number - 1];
        if (known[0] == path->len && !memcmp(known + 1, path->switches, bytes)) {
            return number;
        }
    }
    uint32_t *own = numbers.len < PD_PINT_NUMBERS_MAX ? malloc(bytes + sizeof *own) : NULL;
    if (!own) {
        return 0;
    }
    own[0] = path->len;
    memcpy(own + 1, path->switches, bytes);
    numbers.paths[numbers.len++] = own;
    numbers.slots[at & numbers.slots_mask] = numbers.len;
    return numbers.len;
}

uint32_t pd_pint_number_of(const struct pd_pint_path *path)
{
    pthread_mutex_lock(&numbers.lock);
    const uint32_t number = find_or_add(path);
    pthread_mutex_unlock(&numbers.lock);
    return number;
}

bool pd_pint_number_path(uint64_t number, struct pd_pint_path *ret_path)
{
    bool found = false;

    pthread_mutex_lock(&numbers.lock);
    if (number > 0 && number <= numbers.len) {
        const uint32_t *known = numbers.paths[number - 1];
        *ret_path = (struct pd_pint_path){.len = known[0], .first_hop = 1};
        memcpy(ret_path->switches, known + 1, known[0] * sizeof *known);
        found = true;
    }
    pthread_mutex_unlock(&numbers.lock);
    return found;
}

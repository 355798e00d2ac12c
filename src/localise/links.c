/* SPDX-License-Identifier: Apache-2.0 */
/* Dense numbers for directed links: a growing hash table of keys. */
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "localise/links.h"
#include "localise/localise.h"

static size_t find_slot(const struct pd_links *links, uint64_t key)
{
    size_t mask = links->slots_len - 1, at = pd_hash_mix(key) & mask;
    while (links->slots[at] && links->keys[links->slots[at] - 1] != key) {
        at = (at + 1) & mask;
    }
    return at;
}

/* Twice the room, slots at most half full. */
static int grow(struct pd_links *links)
{
    size_t room = links->room ? links->room * 2 : 64;
    uint64_t *keys = realloc(links->keys, room * sizeof *keys);
    if (!keys) {
        return -ENOMEM;
    }
    links->keys = keys;
    uint32_t *slots = calloc(room * 2, sizeof *slots);
    if (!slots) {
        return -ENOMEM;
    }
    free(links->slots);
    links->slots = slots;
    links->slots_len = room * 2;
    links->room = room;
    for (size_t i = 0; i < links->len; i++) {
        slots[find_slot(links, keys[i])] = (uint32_t)i + 1;
    }
    return 0;
}

int pd_links_add(struct pd_links *links, uint64_t key, uint32_t *ret_number)
{
    if (links->len == links->room) {
        int code = links->len >= PD_LOCALISE_LINKS_MAX ? -PD_E_FULL : grow(links);
        if (code) {
            return code;
        }
    }
    size_t slot = find_slot(links, key);
    if (!links->slots[slot]) {
        links->keys[links->len++] = key;
        links->slots[slot] = (uint32_t)links->len;
    }
    *ret_number = links->slots[slot] - 1;
    return 0;
}

void pd_links_done(struct pd_links *links)
{
    free(links->keys);
    free(links->slots);
    *links = (struct pd_links){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of a store: the table, its hash index, and the index from links to paths. */
#include "tib/lmdb/paths.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/hash.h"
#include "codec/marks.h"
#include "tib/lmdb/paths_private.h"
#include "tib/tib.h"

#define FIRST_SLOTS 256u

struct pd_paths *pd_lmdb_paths_new(void)
{
    struct pd_paths *paths = calloc(1, sizeof *paths);
    if (!paths) {
        return NULL;
    }
    pthread_mutex_init(&paths->lock, NULL);
    pthread_mutex_init(&paths->links_lock, NULL);
    return paths;
}

void pd_lmdb_paths_free(struct pd_paths *paths)
{
    if (!paths) {
        return;
    }
    for (size_t i = 0; i < PD_PATHS_BLOCKS; i++) {
        free(paths->blocks[i]);
        free(paths->ways[i]);
    }
    free(paths->slots);
    for (uint32_t i = 0; i < paths->links.heads_len; i++) {
        free(paths->links.heads[i].paths);
    }
    free(paths->links.heads);
    pthread_mutex_destroy(&paths->lock);
    pthread_mutex_destroy(&paths->links_lock);
    free(paths);
}

uint32_t pd_lmdb_paths_len(const struct pd_paths *paths)
{
    /* Pairs with the release in `add`: a path is whole once it is counted. */
    return atomic_load_explicit(&paths->len, memory_order_acquire);
}

uint32_t pd_lmdb_paths_damaged(const struct pd_paths *paths)
{
    return atomic_load_explicit(&paths->damaged, memory_order_relaxed);
}

static const struct pd_claim *claim_at(const struct pd_paths *paths, uint32_t id)
{
    return &paths->blocks[id / PD_PATHS_BLOCK][id % PD_PATHS_BLOCK];
}

struct pd_paths_way pd_lmdb_paths_way(const struct pd_paths *paths, uint32_t id)
{
    return id < pd_lmdb_paths_len(paths) ? paths->ways[id / PD_PATHS_BLOCK][id % PD_PATHS_BLOCK]
                                         : (struct pd_paths_way){NULL, NULL};
}

const struct pd_path *pd_lmdb_paths_get(const struct pd_paths *paths, uint32_t id)
{
    return pd_lmdb_paths_way(paths, id).path;
}

const struct pd_claim *pd_lmdb_paths_claim(const struct pd_paths *paths, uint32_t id)
{
    return pd_lmdb_paths_way(paths, id).claim;
}

bool pd_lmdb_paths_other_origins(const struct pd_paths *paths)
{
    return atomic_load_explicit(&paths->other_origins, memory_order_relaxed) != 0;
}

bool pd_lmdb_paths_variants(const struct pd_paths *paths)
{
    return atomic_load_explicit(&paths->variants, memory_order_relaxed) != 0;
}

/* Slot of the claim, or the free slot where it would go. */
static uint32_t *slot_of(const struct pd_paths *paths, const struct pd_claim *claim)
{
    for (uint64_t at = pd_claim_hash(claim);; at++) {
        uint32_t *slot = &paths->slots[at & (paths->slots_len - 1)];
        if (!*slot) {
            return slot;
        }
        const struct pd_claim *other = claim_at(paths, *slot - 1);
        if (other->path && pd_claim_equal(other, claim)) {
            return slot;
        }
    }
}

static int slots_grow(struct pd_paths *paths)
{
    uint32_t old_len = paths->slots_len, *old = paths->slots;
    uint32_t len = old_len ? 2 * old_len : FIRST_SLOTS;
    uint32_t *slots = calloc(len, sizeof *slots);
    if (!slots) {
        return -ENOMEM;
    }
    paths->slots = slots;
    paths->slots_len = len;
    for (uint32_t i = 0; i < old_len; i++) {
        if (old[i]) {
            *slot_of(paths, claim_at(paths, old[i] - 1)) = old[i];
        }
    }
    free(old);
    return 0;
}

/* Appends a claim, which is not in the table. */
static int add(struct pd_paths *paths, const struct pd_claim *claim)
{
    uint32_t id = pd_lmdb_paths_len(paths);
    struct pd_claim **block = &paths->blocks[id / PD_PATHS_BLOCK], *kept;
    struct pd_paths_way **ways = &paths->ways[id / PD_PATHS_BLOCK];
    /* Readers look at pointers of blocks that are there: they are written once. */
    if ((!*block && !(*block = malloc(PD_PATHS_BLOCK * sizeof **block))) ||
        (!*ways && !(*ways = malloc(PD_PATHS_BLOCK * sizeof **ways)))) {
        return -ENOMEM;
    }
    kept = &(*block)[id % PD_PATHS_BLOCK];
    *kept = *claim;
    (*ways)[id % PD_PATHS_BLOCK] =
        (struct pd_paths_way){claim->path, claim->path ? pd_tib_claim_kept(kept) : NULL};
    atomic_store_explicit(&paths->len, id + 1, memory_order_release);
    return 0;
}

int pd_lmdb_paths_add_locked(struct pd_paths *paths, const struct pd_claim *given)
{
    struct pd_claim claim = *given;
    uint32_t id = pd_lmdb_paths_len(paths);
    if (id >= PD_PATHS_MAX) {
        return -PD_E_FULL;
    }
    int err = pd_path_intern(given->path, &claim.path, NULL);
    err = err || 2 * id < paths->slots_len ? err : slots_grow(paths);
    err = err ? err : add(paths, &claim);
    if (err) {
        return err;
    }
    uint32_t *slot = slot_of(paths, &claim);
    if (!*slot) { /* taken: a path that was lost with its block, and has got a new ID since */
        *slot = id + 1;
    }
    paths->inexact += claim.state != PD_CLAIM_EXACT;
    atomic_fetch_add_explicit(&paths->variants,
                              claim.path->len && pd_tib_claim_kept(&claim) != NULL,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&paths->other_origins, claim.origin != PD_ORIGIN_TAGS,
                              memory_order_relaxed);
    return 0;
}

int pd_lmdb_paths_skip(struct pd_paths *paths, uint32_t len)
{
    static const struct pd_claim damaged = {.path = NULL};
    int err = len > PD_PATHS_MAX ? -PD_E_CORRUPT : 0;
    pthread_mutex_lock(&paths->lock);
    while (!err && pd_lmdb_paths_len(paths) < len) {
        err = add(paths, &damaged);
        if (!err) {
            atomic_fetch_add_explicit(&paths->damaged, 1, memory_order_relaxed);
        }
    }
    pthread_mutex_unlock(&paths->lock);
    return err;
}

static int find_locked(struct pd_paths *paths, const struct pd_claim *claim, uint32_t *ret_id)
{
    uint32_t *slot = paths->slots_len ? slot_of(paths, claim) : NULL;
    if (!slot || !*slot) {
        return -PD_E_NOT_FOUND;
    }
    *ret_id = *slot - 1;
    return 0;
}

int pd_lmdb_paths_find(struct pd_paths *paths, const struct pd_claim *claim, uint32_t *ret_id)
{
    if (claim->path->len > PD_PATH_MAX) {
        return -PD_E_NOT_FOUND;
    }
    pthread_mutex_lock(&paths->lock);
    int err = find_locked(paths, claim, ret_id);
    pthread_mutex_unlock(&paths->lock);
    return err;
}

static int intern_locked(struct pd_paths *paths, const struct pd_claim *claim, uint32_t *ret_id)
{
    uint32_t id = pd_lmdb_paths_len(paths);
    int err = find_locked(paths, claim, ret_id);
    if (err != -PD_E_NOT_FOUND) {
        return err;
    }
    err = pd_lmdb_paths_add_locked(paths, claim);
    if (!err) {
        *ret_id = id;
    }
    return err;
}

int pd_lmdb_paths_intern(struct pd_paths *paths, const struct pd_claim *claim, uint32_t *ret_id,
                         bool *ret_mark_dropped)
{
    struct pd_claim kept = *claim;
    if (claim->path->len > PD_PATH_MAX || claim->state >= PD_CLAIM_STATE_COUNT ||
        claim->origin >= PD_ORIGIN_COUNT || (!claim->state && !claim->path->len) ||
        (claim->mark.scheme && pd_codec_mark_check(&claim->mark))) {
        return -PD_E_VALUE;
    }
    bool drop = false;
    pthread_mutex_lock(&paths->lock);
    if (claim->state != PD_CLAIM_EXACT && paths->inexact >= PD_PATHS_INEXACT_MAX &&
        (claim->mark.scheme || claim->candidates)) {
        drop = find_locked(paths, claim, &(uint32_t){0}) != 0;
    }
    if (drop) {
        kept.mark = (struct pd_mark){.scheme = PD_MARK_NONE};
        kept.candidates = 0;
    }
    int err = intern_locked(paths, &kept, ret_id);
    pthread_mutex_unlock(&paths->lock);
    if (!err) {
        *ret_mark_dropped = drop;
    }
    return err;
}

/* ---- links ---- */

/* The link's head, or the free one where it would go. */
static struct pd_link_head *head_of(const struct pd_link_index *links, uint32_t from, uint32_t to)
{
    for (uint64_t at = pd_hash_mix((uint64_t)from << 32 | to);; at++) {
        struct pd_link_head *head = &links->heads[at & (links->heads_len - 1)];
        if (!head->paths || (head->from == from && head->to == to)) {
            return head;
        }
    }
}

static int heads_grow(struct pd_link_index *links)
{
    struct pd_link_index grown = {.heads_len =
                                      links->heads_len ? 2 * links->heads_len : FIRST_SLOTS};
    grown.heads = calloc(grown.heads_len, sizeof *grown.heads);
    if (!grown.heads) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < links->heads_len; i++) {
        const struct pd_link_head *head = &links->heads[i];
        if (head->paths) {
            *head_of(&grown, head->from, head->to) = *head;
        }
    }
    free(links->heads);
    links->heads = grown.heads;
    links->heads_len = grown.heads_len;
    return 0;
}

static int index_path(struct pd_link_index *links, const struct pd_path *path, uint32_t id)
{
    for (unsigned i = 1; i < path->len; i++) {
        if (2 * (links->heads_used + 1) > links->heads_len && heads_grow(links)) {
            return -ENOMEM;
        }
        struct pd_link_head *head = head_of(links, path->switches[i - 1], path->switches[i]);
        if (head->paths && head->paths[head->len - 1] == id) {
            continue; /* twice on this path, or indexed before memory ran out */
        }
        bool first = !head->paths;
        if (PD_GROW(head->paths, head->room, (size_t)head->len + 1)) {
            return -ENOMEM;
        }
        links->heads_used += first;
        head->from = path->switches[i - 1];
        head->to = path->switches[i];
        head->paths[head->len++] = id;
    }
    return 0;
}

static int index_all(struct pd_paths *paths)
{
    struct pd_link_index *links = &paths->links;
    int err = 0;
    for (uint32_t len = pd_lmdb_paths_len(paths); !err && links->paths_len < len;
         links->paths_len++) {
        const struct pd_path *path = pd_lmdb_paths_get(paths, links->paths_len);
        err = path ? index_path(links, path, links->paths_len) : 0;
        if (err) {
            break;
        }
    }
    return err;
}

int pd_lmdb_paths_select(struct pd_paths *paths, struct pd_link_match link, uint32_t len,
                         uint64_t *bits)
{
    if (!link.from || !link.to) {
        for (uint32_t id = 0; id < len; id++) {
            const struct pd_path *path = pd_lmdb_paths_get(paths, id);
            if (path && pd_path_crosses(path, link)) {
                bits[id / 64] |= UINT64_C(1) << id % 64;
            }
        }
        return 0;
    }
    pthread_mutex_lock(&paths->links_lock);
    int err = index_all(paths);
    const struct pd_link_head *head =
        !err && paths->links.heads_len ? head_of(&paths->links, link.from, link.to) : NULL;
    for (uint32_t i = 0; head && i < head->len; i++) {
        if (head->paths[i] < len) {
            bits[head->paths[i] / 64] |= UINT64_C(1) << head->paths[i] % 64;
        }
    }
    pthread_mutex_unlock(&paths->links_lock);
    return err;
}

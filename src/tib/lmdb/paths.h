/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of a store: each distinct claim (a path, mostly an exact one from tags) is kept once and
 * has a small number, in memory and in the database `path`. */
#ifndef PD_TIB_LMDB_PATHS_H
#define PD_TIB_LMDB_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/claim.h"

/* IDs count from 0 in the order of arrival and are never given twice. The table only grows, so
 * pointers to paths stay valid as long as the table lives, whatever is added. On disk, the paths
 * that a commit brings stand in one block (docs/formats/tib.md); a process that opens the store
 * loads all blocks. The index from links to paths is made in memory when the first query asks for a
 * link: that takes about 1 ms per 10,000 paths, and on disk it would cost more than the paths.
 *
 * The lists of switches themselves stand in the process's table of paths (base/path.h), so that
 * equal paths of any claims have equal pointers.
 *
 * Limits: PD_PATHS_MAX claims in all, PD_PATHS_INEXACT_MAX of them not exact, since marks are what
 * a hostile sender chooses; beyond that, they are kept without mark and number of candidates.
 *
 * Thread safety: all functions may be called from any thread (inner locks; pd_lmdb_paths_get takes
 * none, and pd_lmdb_paths_select none that adding takes). */

#define PD_PATHS_MAX         (1u << 20)
#define PD_PATHS_INEXACT_MAX (1u << 16)

struct pd_paths;

/* NULL when there is no memory. */
struct pd_paths *pd_lmdb_paths_new(void);
void pd_lmdb_paths_free(struct pd_paths *paths); /* NULL is fine */

uint32_t pd_lmdb_paths_len(const struct pd_paths *paths);

/* IDs that are not known because their block is damaged. */
uint32_t pd_lmdb_paths_damaged(const struct pd_paths *paths);

/* The path with this ID; NULL if there is none, or its block is damaged. */
const struct pd_path *pd_lmdb_paths_get(const struct pd_paths *paths, uint32_t id);

/* The claim with this ID, as records have it: NULL as well where there is no more to tell than the
 * path. */
const struct pd_claim *pd_lmdb_paths_claim(const struct pd_paths *paths, uint32_t id);

/* Both at once, from one line of memory: NULL where there is none. */
struct pd_paths_way {
    const struct pd_path *path;
    const struct pd_claim *claim;
};
struct pd_paths_way pd_lmdb_paths_way(const struct pd_paths *paths, uint32_t id);

/* ID of a claim, a new one if it is new. `ret_mark_dropped`: kept without its mark. -PD_E_FULL,
 * -PD_E_VALUE (no such claim: too many switches, state, origin or mark unknown) or -ENOMEM. */
int pd_lmdb_paths_intern(struct pd_paths *paths, const struct pd_claim *claim, uint32_t *ret_id,
                         bool *ret_mark_dropped);

/* ID of a claim that is in the table, or -PD_E_NOT_FOUND. */
int pd_lmdb_paths_find(struct pd_paths *paths, const struct pd_claim *claim, uint32_t *ret_id);

/* Is any claim from elsewhere than tags? */
bool pd_lmdb_paths_other_origins(const struct pd_paths *paths);
/* Has any claim a path, and is not an exact one from tags? */
bool pd_lmdb_paths_variants(const struct pd_paths *paths);

/* Sets bit id & 63 of word id / 64 for each path with ID < len that has the link; the others stay
 * as they are. */
int pd_lmdb_paths_select(struct pd_paths *paths, struct pd_link_match link, uint32_t len,
                         uint64_t *bits);

/* Block of the paths first … pd_lmdb_paths_len() - 1, which must not be empty. The caller frees
 * *ret_bytes. */
int pd_lmdb_paths_block_encode(const struct pd_paths *paths, uint32_t first, void **ret_bytes,
                               size_t *ret_size_bytes);

/* Adds a block's paths. `first` must be pd_lmdb_paths_len(). -PD_E_CORRUPT adds none of them. */
int pd_lmdb_paths_block_load(struct pd_paths *paths, uint32_t first, const void *bytes,
                             size_t size_bytes);

/* Is this a block of version 2 of the store? */
bool pd_lmdb_paths_block_old(const void *bytes, size_t size_bytes);

/* The same paths as a block of this version. The caller frees *ret_bytes. -PD_E_CORRUPT, -ENOMEM.
 */
int pd_lmdb_paths_block_convert(uint32_t first, const void *bytes, size_t size_bytes,
                                void **ret_bytes, size_t *ret_size_bytes);

/* Counts IDs up to `len` as damaged: theirs was a block that could not be read. */
int pd_lmdb_paths_skip(struct pd_paths *paths, uint32_t len);

#endif

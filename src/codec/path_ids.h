/* SPDX-License-Identifier: Apache-2.0 */
/* Path IDs with which path filters tell the paths of a topology apart: chosen offline. */
#ifndef PD_CODEC_PATH_IDS_H
#define PD_CODEC_PATH_IDS_H

#include "codec/codec.h"

#define PD_CODEC_PATH_FILTERS "path-bloom" /* the scheme whose bits are made of path IDs */

/* Paper 004, section III-B2 (offline enumeration), by local search. */
struct pd_path_ids {
    uint64_t *path_ids; /* by switch; the caller's to free */
    uint32_t changed;   /* how many differ from the topology's */
    uint64_t paths;     /* that were told apart */
    uint32_t left[2];   /* ToRs between which some stay alike; of -PD_E_TOPOLOGY */
};

/* Changes as few path IDs as it can until no two shortest paths between the same ends leave the
 * same filter, and no detour of at most `max_hops` links that of a shortest one. Deterministic for
 * a seed. 0; -PD_E_TOPOLOGY: not found, *ret_ids has the pair; -PD_E_TOO_LARGE: more paths than it
 * can hold; -PD_E_UNSUPPORTED: another scheme; -ENOMEM. */
int pd_codec_assign(const struct pd_codec *codec, unsigned max_hops, uint64_t seed,
                    struct pd_path_ids *ret_ids);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* All paths that filters have to tell apart, pair of racks by pair of racks. */
#ifndef PD_CODEC_PATH_BLOOM_PAIRS_H
#define PD_CODEC_PATH_BLOOM_PAIRS_H

#include "codec/path_bloom/path_bloom.h"

/* Internal to assign.c. A path is the switches that write on it, so all but its last; paths of a
 * pair lie behind each other, shortest ones first. */

struct pd_path_bloom_pair {
    uint32_t src_tor, dst_tor;
    size_t first; /* in `paths` */
    uint32_t shortest_len, len;
    uint32_t alike; /* how many two of its paths leave one filter, at least one of them shortest */
};

struct pd_path_bloom_pairs {
    const struct pd_path_bloom *bloom;
    struct pd_path_bloom_pair *pairs;
    size_t len, room;
    uint64_t *paths; /* first switch in `switches` << 8 | how many */
    size_t paths_len, paths_room;
    uint32_t *switches;
    size_t switches_len, switches_room;
    uint32_t **of_switch; /* pairs by switch, each list with its length in front */
    struct pd_path_bloom_slot *slots;
    size_t slots_room;
};

/* Two paths of a pair that leave one filter, as indexes of `paths`. */
struct pd_path_bloom_twins {
    size_t paths[2];
};

/* Every shortest path between two racks, and detours of at most `max_hops` links. 0;
 * -PD_E_TOO_LARGE: beyond what is held; -ENOMEM. To be ended with pd_path_bloom_pairs_done either
 * way.
 */
int pd_path_bloom_pairs_init(struct pd_path_bloom_pairs *pairs, const struct pd_path_bloom *bloom,
                             unsigned max_hops);
void pd_path_bloom_pairs_done(struct pd_path_bloom_pairs *pairs);

/* How many two of a pair's paths are alike with these bits of switches; the last of them goes to
 * *ret_twins (may be NULL). */
uint32_t pd_path_bloom_pairs_count(struct pd_path_bloom_pairs *pairs,
                                   const struct pd_path_bloom_pair *pair, const uint32_t *masks,
                                   struct pd_path_bloom_twins *ret_twins);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Exhaustive verification: whether marks tell all paths of a topology apart. */
#ifndef PD_CODEC_VERIFY_H
#define PD_CODEC_VERIFY_H

#include "codec/codec.h"

/* Classes: *ambiguous*: not punted, and the mark is that of an earlier path between the same ends;
 * *undecodable*: not punted, and the mark is not read as this path; *misread*: a detour whose mark
 * a shortest path between the same ends leaves as well. */
struct pd_verification {
    /* simple paths between two different ToRs, punted ones too; a hop is a link */
    uint64_t by_hops[PD_PATH_MAX];
    uint64_t paths; /* their sum */
    uint64_t ambiguous;
    uint64_t undecodable;
    uint64_t punted;
    struct {
        uint64_t paths;     /* as short as any between their ends */
        uint64_t ambiguous; /* not punted, mark of another shortest path */
    } shortest;
    uint64_t misread;
    uint64_t membership_undecodable; /* shortest paths that another one passes (ops->passes) */
};

/* Walks every path of the scope of at most `max_hops` (1 to PD_PATH_MAX - 1) links between every
 * two different ToRs, on all cores. The codec's marks are keys (-PD_E_UNSUPPORTED if not).
 * `progress` (may be NULL) is called from the calling thread with the share done, 0..1. 0, -ENOMEM,
 * -PD_E_VALUE. */
int pd_codec_verify(const struct pd_codec *codec, enum pd_verify_scope scope, unsigned max_hops,
                    void (*progress)(void *context, double share), void *context,
                    struct pd_verification *ret_verification);

#endif

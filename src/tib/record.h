/* SPDX-License-Identifier: Apache-2.0 */
/* A record of a TIB ⟨flow ID, path, stime, etime, bytes, pkts⟩, and what groups of them have in
 * common. */
#ifndef PD_TIB_RECORD_H
#define PD_TIB_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/claim.h"
#include "base/flow_id.h"

/* What stores, queries and whoever shows records speak of; who only has records needs no store.
 *
 * Thread safety: plain data. */

#define PD_TIB_SUM_MAX ((UINT64_C(1) << 53) - 1) /* a sum that would be larger stays there */

struct pd_tib_record {
    struct pd_flow_id flow;
    /* append: the caller's, copied if new. scan: the snapshot's, equal paths have equal pointers */
    const struct pd_path *path;
    /* What else is known of the way, with this path; NULL: an exact path from tags, or, where the
     * path is empty, an infeasible trajectory of which no mark was kept. Equal ones have equal
     * pointers, like paths. */
    const struct pd_claim *claim;
    uint64_t stime_us; /* wall clock, microseconds since the epoch, < 2^53 */
    uint64_t etime_us;
    uint64_t bytes;
    uint64_t pkts;
    uint32_t retransmissions; /* of records; groups of several have 0 */
    uint32_t extra_bytes;     /* at most PD_TIB_EXTRA_BYTES; groups have none */
    const uint8_t *extra;     /* further columns (pd_tib_extra_next); scan: until visit returns */
};

/* The claim in full, also where the record has none. Its path is the record's. */
static inline struct pd_claim pd_tib_claim(const struct pd_tib_record *record)
{
    return record->claim ? *record->claim
                         : (struct pd_claim){.path = record->path,
                                             .state = record->path->len ? PD_CLAIM_EXACT
                                                                        : PD_CLAIM_INFEASIBLE};
}
/* Equal in path and all the rest, wherever they stand. */
bool pd_tib_same_way(const struct pd_tib_record *a, const struct pd_tib_record *b);
uint64_t pd_tib_way_hash(const struct pd_tib_record *record); /* of path and claim */
/* NULL where a record needs none. */
static inline const struct pd_claim *pd_tib_claim_kept(const struct pd_claim *claim)
{
    uint8_t state = claim->path->len ? PD_CLAIM_EXACT : PD_CLAIM_INFEASIBLE;

    return claim->state == state && !claim->origin && !claim->candidates && !claim->mark.scheme
               ? NULL
               : claim;
}

/* ---- further columns of a record ---- */

/* A record may have chunks of further columns, of which the store knows nothing but their kind and
 * length (histograms of values per hop, for one): ⟨kind 2, length 4, both little-endian, bytes⟩,
 * one after the other. */
#define PD_TIB_EXTRA_BYTES 65536u /* of a record, in all */

struct pd_tib_extra {
    uint16_t kind;
    uint32_t len;
    const uint8_t *bytes;
};
/* The chunk at *at (0 to begin with), which moves on. False: no more. */
bool pd_tib_extra_next(const struct pd_tib_record *record, uint32_t *at,
                       struct pd_tib_extra *ret_extra);
/* Do chunks fill the bytes? */
bool pd_tib_extra_valid(const uint8_t *bytes, uint32_t len);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Decoder with trajectory cache: from a flow and its mark to the path (paper, section 3.2). */
#ifndef PD_CODEC_DECODER_H
#define PD_CODEC_DECODER_H

#include "base/flow_id.h"
#include "codec/codec.h"

/* Thread safety: a decoder, with its cache, belongs to one thread. */

struct pd_decoder;

/* The cache is keyed by (source ToR, destination ToR, mark) and bounded: `cache_entries` (rounded
 * up to a power of 2, at least 4). 0 or -ENOMEM. */
int pd_decoder_new(const struct pd_codec *codec, size_t cache_entries,
                   struct pd_decoder **ret_decoder);
void pd_decoder_free(struct pd_decoder *decoder); /* NULL is fine */

/* Path of a flow's packets. On success *ret_path points into the decoder, valid until its next
 * call. An infeasible trajectory (cached as well): -PD_E_INFEASIBLE; an address of no rack:
 * -PD_E_UNKNOWN_HOST; a mark of several paths: -PD_E_AMBIGUOUS. */
int pd_decoder_path(struct pd_decoder *decoder, const struct pd_flow_id *flow, uint64_t mark,
                    const struct pd_path **ret_path);

struct pd_decoder_counters {
    uint64_t hits;
    uint64_t misses;
    uint64_t infeasible;    /* answers, cached or not */
    uint64_t unknown_hosts; /* likewise */
};
const struct pd_decoder_counters *pd_decoder_counters(const struct pd_decoder *decoder);

#endif

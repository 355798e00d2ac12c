/* SPDX-License-Identifier: Apache-2.0 */
/* Path filters: each switch sets its own few bits of a number on the packet, and the bits that
 * arrive tell the path. */
#ifndef PD_CODEC_PATH_BLOOM_PATH_BLOOM_H
#define PD_CODEC_PATH_BLOOM_PATH_BLOOM_H

#include "codec/codec.h"

/* Paper 004 (Canary), section III-B. A ToR *begins* a filter with its own bits where a packet comes
 * from a host, all others *add* theirs; with monitors at the top those begin anew; the last ToR
 * writes nothing (the paper's clears the filter, which would take the path from the records). A
 * switch's bits are made of its `path_id` when rows are made: no switch computes a hash.
 *
 * A filter is a set. It is read as the one shortest path that leaves exactly these bits; where none
 * does, as the one detour that does (the paper asks whether each switch passes the filter, which
 * leaves 3 to 22 % of paths undecided). Several are ambiguous. With `order` the filter turns by one
 * bit before each switch adds its own, so that the order of switches is told as well.
 *
 * Thread safety: immutable once made. */

enum pd_path_bloom_carrier { PD_BLOOM_VXLAN, PD_BLOOM_VLAN, PD_BLOOM_VLAN2 };

struct pd_path_bloom_options {
    enum pd_path_bloom_carrier carrier;
    uint8_t bits, hashes; /* of the filter; set by each switch */
    bool top;             /* top switches are monitors, too, and begin anew */
    bool order;
};

struct pd_path_bloom {
    struct pd_codec head;
    struct pd_path_bloom_options options;
    unsigned max_hops; /* of detours that are looked for */
    uint32_t *masks;   /* by switch: its bits */
    uint8_t *hops;     /* to ToR number t from switch s at [t * switches_len + s]; 255: not there */
    uint32_t *tor_numbers; /* by switch; PD_NONE: not a ToR */
};

static inline const struct pd_path_bloom *pd_path_bloom(const struct pd_codec *codec)
{
    return (const struct pd_path_bloom *)codec;
}

/* The bits of a path ID: h_i = mix64(64 path_id + i) mod bits, i below `hashes`, with SplitMix64's
 * finaliser and increment. */
uint32_t pd_path_bloom_mask(uint64_t path_id, const struct pd_path_bloom_options *options);

/* Reads the scheme's member of "codec_options" (JSON text, NULL: all defaults). -PD_E_VALUE with
 * the key. */
int pd_path_bloom_options_read(const char *text, struct pd_path_bloom_options *ret_options,
                               struct pd_error *error);

/* The filter behind a switch that is entered, before it was `held`. */
uint32_t pd_path_bloom_write(const struct pd_path_bloom *bloom, uint32_t held, uint32_t sw,
                             uint32_t dst_tor);

extern const struct pd_codec_ops pd_path_bloom_codec;

/* ---- search.c: the paths that leave a filter */

/* Calls `visit` with each simple path of exactly `hops` links that leaves exactly this filter,
 * until it returns false. 0; -PD_E_LIMIT when there were too many to try. */
int pd_path_bloom_search(const struct pd_path_bloom *bloom, uint32_t src_tor, uint32_t dst_tor,
                         uint32_t filter, unsigned hops,
                         bool (*visit)(void *context, const struct pd_walk *walk), void *context);

#endif

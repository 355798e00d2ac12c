/* SPDX-License-Identifier: Apache-2.0 */
/* Traces: from the tags of a packet that a switch sent here to the links that it went over. */
#ifndef PD_CODEC_TAGGING_TRACE_H
#define PD_CODEC_TAGGING_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/tagging/tagging.h"

/* Several links share a tag, and most links put none on a packet. So the rules of all switches are
 * walked, breadth first, from where the packet started: the links that may have put a tag there are
 * those on some walk that gets exactly these tags and ends where the packet was sent here. Where
 * there is one such link for a tag, it is *exact*: proven, given that switches tag by their rules.
 * The link by which the packet came in is exact as well. Walks may visit switches and links more
 * than once: that is what is looked for.
 *
 * Functions work on the caller's memory only. */

#define PD_TAGGING_STEPS_MAX 160 /* links of a trail */

/* What a packet carried when a switch sent it here. Indexes of the topology. */
struct pd_tagging_set {
    uint64_t mark;
    uint32_t from; /* switch that the packet came from; PD_NONE: not known */
    uint32_t at;   /* switch that sent it here */
};

struct pd_tagging_hop {
    uint32_t from, to; /* indexes of adjacent switches */
    bool exact;
};

/* Links in the order of the packet's way: a shortest walk that fits. */
struct pd_tagging_trail {
    uint32_t len;
    struct pd_tagging_hop steps[PD_TAGGING_STEPS_MAX];
};

/* Adds the walk that `set` tells to the trail. `before` is the set with which the packet was here
 * last; then its tags were taken off and it was sent on through the tables of that switch, as if it
 * came from the same neighbour. NULL: it comes from its source. Racks may be PD_NONE. 0;
 * -PD_E_INFEASIBLE: no walk gets these tags; -PD_E_TOO_LARGE: no room in the trail; -ENOMEM. The
 * trail stays as it was on failure. */
int pd_tagging_trace(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                     const struct pd_tagging_set *before, const struct pd_tagging_set *set,
                     struct pd_tagging_trail *trail);

/* The first two exact steps over one link, in the same direction, from step `from` on: between them
 * lies the loop, [*ret_first, *ret_second). */
bool pd_tagging_trail_repeats(const struct pd_tagging_trail *trail, uint32_t from,
                              uint32_t *ret_first, uint32_t *ret_second);

/* Whether the codec is a tagging scheme: only packets of these can be traced. */
bool pd_tagging_is(const struct pd_codec *codec);

/* The least number of tags with which a switch sends a packet to the controller. */
unsigned pd_tagging_punts_from(const struct pd_codec *codec);

#endif

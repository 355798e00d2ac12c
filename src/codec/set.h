/* SPDX-License-Identifier: Apache-2.0 */
/* The codecs of one topology, side by side. */
#ifndef PD_CODEC_SET_H
#define PD_CODEC_SET_H

#include "codec/codec.h"

/* A topology may name several codecs: what packets carry is then told by each of them. No two write
 * to the same place on a packet, and marks that are keys share the bits of a record's mark. */

struct pd_codec_set {
    const struct pd_topology *topology;
    struct pd_codec *codecs[PD_CODECS_MAX];
    uint32_t len;
    /* Indexes of those whose marks are keys, in the topology's order. */
    uint32_t keys[PD_CODECS_MAX];
    uint32_t keys_len;
    uint64_t mark_bits;               /* of a received mark, of all keys together */
    unsigned carriers;                /* enum pd_carrier, of all */
    pd_packet_mark_reader *read_mark; /* of the keys; NULL: marks are link tags */
    uint16_t tpid;       /* of link tags, where they have their own; 0: all tags are link tags */
    uint16_t aside_tpid; /* of tags that are another codec's, wherever they stand; 0: none */
};

/* All codecs that the topology names; where it names none, the one that stands in for them. As
 * pd_codec_new, and -PD_E_TOPOLOGY when two of them write to the same place. Nothing is left then.
 */
int pd_codec_set_init(struct pd_codec_set *set, const struct pd_topology *topology,
                      struct pd_error *error);
void pd_codec_set_done(struct pd_codec_set *set); /* a zeroed one is fine */

/* Names of all, with commas between them. Returns `text`. */
char *pd_codec_set_names(const struct pd_codec_set *set, char *text, size_t size);

/* The one whose samples have this number; NULL: none. */
const struct pd_codec *pd_codec_set_sampled(const struct pd_codec_set *set, uint8_t scheme);
/* Whether some codec's samples are read off frames. */
bool pd_codec_set_samples(const struct pd_codec_set *set);

/* The codec that commands about one codec mean: the named one, or with NULL the first key; NULL
 * when there is none. */
const struct pd_codec *pd_codec_set_find(const struct pd_codec_set *set, const char *name);

#endif

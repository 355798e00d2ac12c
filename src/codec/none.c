/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in where a topology names no codec: no switch writes anything, and only traffic
 * inside a rack has a known path. */
#include <errno.h>
#include <stdlib.h>

#include "codec/codec.h"
#include "codec/tagging/tagging.h"

static void free_none(struct pd_codec *codec)
{
    free(codec);
}

static void take(const struct pd_codec *codec, uint32_t from, uint32_t rank, uint32_t src_tor,
                 uint32_t dst_tor, struct pd_codec_packet *packet)
{
    (void)codec;
    (void)from;
    (void)rank;
    (void)src_tor;
    (void)dst_tor;
    (void)packet;
}

static int decode(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor, uint64_t mark,
                  struct pd_decoding *ret_decoding, struct pd_error *error)
{
    (void)codec;
    (void)mark;
    if (src_tor != dst_tor) {
        return pd_fail(error, -PD_E_UNSUPPORTED, "the topology names no codec");
    }
    ret_decoding->state = PD_DECODING_EXACT;
    ret_decoding->candidates = 0;
    ret_decoding->walk.len = 1;
    ret_decoding->walk.switches[0] = src_tor;
    return 0;
}

static const struct pd_codec_ops none = {
    .name = "",
    .paper = "",
    .kind = PD_CODEC_KEY,
    .free = free_none,
    .take = take,
    .decode = decode,
    .wrap = pd_tagging_wrap,
};

int pd_codec_none(const struct pd_topology *topology, struct pd_codec **ret_codec)
{
    struct pd_codec *codec = calloc(1, sizeof *codec);
    if (!codec) {
        return -ENOMEM;
    }
    *codec =
        (struct pd_codec){.ops = &none, .topology = topology, .mark_bits = pd_tags_bits(false)};
    *ret_codec = codec;
    return 0;
}

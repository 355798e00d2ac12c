/* SPDX-License-Identifier: Apache-2.0 */
/* A toy codec with keys: each switch appends the rank of the neighbour that the packet came over,
 * five bits each, behind a leading one. */
#include <errno.h>
#include <stdlib.h>

#include "codec/codec.h"

#define RANK_BITS 5u
#define RANKS_MAX 31u
#define HOPS_MAX  12u

extern const struct pd_codec_ops toy_codec;

static int toy_new(const struct pd_codec_ops *ops, const struct pd_topology *topology,
                   const char *options, struct pd_codec **ret_codec, struct pd_error *error)
{
    struct pd_codec *codec;

    (void)options;
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        if (topology->switches[i].switch_neighbours > RANKS_MAX) {
            return pd_fail(error, -PD_E_TOPOLOGY, "the toy knows %u neighbours of a switch",
                           RANKS_MAX);
        }
    }
    codec = calloc(1, sizeof *codec);
    if (!codec) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    codec->ops = ops;
    codec->topology = topology;
    codec->mark_bits = UINT64_MAX;
    *ret_codec = codec;
    return 0;
}

static void toy_free(struct pd_codec *codec)
{
    free(codec);
}

static void toy_take(const struct pd_codec *codec, uint32_t from, uint32_t rank, uint32_t src_tor,
                     uint32_t dst_tor, struct pd_codec_packet *packet)
{
    (void)codec;
    (void)from;
    (void)src_tor;
    (void)dst_tor;
    if (packet->hops > HOPS_MAX) {
        packet->punted = true;
        return;
    }
    packet->mark = (packet->mark ? packet->mark : 1) << RANK_BITS | rank;
}

static int toy_decode(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                      uint64_t mark, struct pd_decoding *ret_decoding, struct pd_error *error)
{
    uint32_t at = src_tor, hops = 0;
    int err;

    while (mark >> RANK_BITS * hops > 1) {
        hops++;
    }
    ret_decoding->state = PD_DECODING_EXACT;
    ret_decoding->walk.len = 0;
    err = pd_walk_add(&ret_decoding->walk, at);
    while (hops-- && !err) {
        const struct pd_switch *sw = &codec->topology->switches[at];
        uint32_t rank = mark >> RANK_BITS * hops & RANKS_MAX;

        if (rank >= sw->switch_neighbours) {
            return pd_fail(error, -PD_E_INFEASIBLE, "a switch has no neighbour %u", rank);
        }
        at = sw->neighbours[rank].node;
        err = pd_walk_add(&ret_decoding->walk, at);
    }
    if (!err && at != dst_tor) {
        err = pd_fail(error, -PD_E_INFEASIBLE, "the ranks lead elsewhere");
    }
    return err ? err : pd_codec_prove(codec, &ret_decoding->walk, mark, error);
}

const struct pd_codec_ops toy_codec = {
    .name = "toy-ranks",
    .paper = "none",
    .kind = PD_CODEC_KEY,
    .carriers = PD_CARRIER_HEADER,
    .new = toy_new,
    .free = toy_free,
    .take = toy_take,
    .decode = toy_decode,
};

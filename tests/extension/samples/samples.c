/* SPDX-License-Identifier: Apache-2.0 */
/* A toy codec with samples: a packet's ID chooses one hop, whose switch writes the rank of the
 * neighbour that the packet came over. Many packets tell the path. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec/codec.h"

#define HOPS_MAX  12u
#define RANK_MAX  254u
#define UDP       17
#define UDP_BYTES 8u
#define SCHEME    250 /* of a toy's marks, which no file keeps */

extern const struct pd_codec_ops toy_samples;

struct seen {
    uint16_t hops;           /* the path's, as its packets counted them; 0: none was seen */
    bool moved;              /* they disagree */
    uint8_t ranks[HOPS_MAX]; /* + 1; 0: not told yet */
};

static int toy_new(const struct pd_codec_ops *ops, const struct pd_topology *topology,
                   const char *options, struct pd_codec **ret_codec, struct pd_error *error)
{
    struct pd_codec *codec;

    (void)options;
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        if (topology->switches[i].switch_neighbours > RANK_MAX) {
            return pd_fail(error, -PD_E_TOPOLOGY, "the toy knows %u neighbours of a switch",
                           RANK_MAX);
        }
    }
    codec = calloc(1, sizeof *codec);
    if (!codec) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    codec->ops = ops;
    codec->topology = topology;
    codec->mark_bits = UINT8_MAX;
    *ret_codec = codec;
    return 0;
}

static void toy_free(struct pd_codec *codec)
{
    free(codec);
}

static uint32_t writer_of(uint32_t packet_id)
{
    return packet_id % HOPS_MAX;
}

static void toy_take(const struct pd_codec *codec, uint32_t from, uint32_t rank, uint32_t src_tor,
                     uint32_t dst_tor, struct pd_codec_packet *packet)
{
    (void)codec;
    (void)from;
    (void)src_tor;
    (void)dst_tor;
    if (packet->hops == writer_of(packet->packet_id) + 1) {
        packet->mark = rank + 1;
    }
}

/* Behind UDP: "toy", then packet ID, hops and mark, a byte each. */
static bool toy_sample(const struct pd_codec *codec, const uint8_t *frame, size_t captured,
                       const struct pd_packet *packet, struct pd_codec_sample *ret_sample)
{
    const size_t at = packet->transport_offset + UDP_BYTES;

    (void)codec;
    if (packet->flow.protocol != UDP || captured < at + 6 || memcmp(frame + at, "toy", 3) != 0) {
        return false;
    }
    *ret_sample = (struct pd_codec_sample){
        .packet_id = frame[at + 3], .hops = frame[at + 4], .mark = frame[at + 5]};
    return true;
}

static void toy_fold(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                     const struct pd_codec_sample *sample, void *state)
{
    struct seen *seen = state;
    uint32_t writer = writer_of(sample->packet_id);

    (void)codec;
    (void)src_tor;
    (void)dst_tor;
    seen->moved |= seen->hops && seen->hops != sample->hops;
    seen->hops = sample->hops;
    if (writer < sample->hops) {
        seen->moved |= seen->ranks[writer] && seen->ranks[writer] != sample->mark;
        seen->ranks[writer] = (uint8_t)sample->mark;
    }
}

static int toy_decide(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                      const void *state, struct pd_decoding *ret_decoding, struct pd_error *error)
{
    const struct seen *seen = state;
    uint32_t at = src_tor;
    int err = seen->moved || seen->hops > HOPS_MAX ? -PD_E_INFEASIBLE : 0;

    *ret_decoding = (struct pd_decoding){.state = PD_DECODING_UNDECIDED};
    if (!err && (!seen->hops || memchr(seen->ranks, 0, seen->hops))) {
        return 0;
    }
    for (uint16_t hop = 0; !err && hop < seen->hops; hop++) {
        const struct pd_switch *sw = &codec->topology->switches[at];

        err = pd_walk_add(&ret_decoding->walk, at);
        if (!err && seen->ranks[hop] > sw->switch_neighbours) {
            err = -PD_E_INFEASIBLE;
        }
        at = err ? at : sw->neighbours[seen->ranks[hop] - 1].node;
    }
    err = err ? err : pd_walk_add(&ret_decoding->walk, at);
    if (err || at != dst_tor) {
        return pd_fail(error, -PD_E_INFEASIBLE, "no path leaves these ranks");
    }
    ret_decoding->state = PD_DECODING_EXACT;
    return 0;
}

const struct pd_codec_ops toy_samples = {
    .name = "toy-samples",
    .paper = "none",
    .kind = PD_CODEC_SAMPLE,
    .carriers = PD_CARRIER_HEADER,
    .new = toy_new,
    .free = toy_free,
    .take = toy_take,
    .sample = toy_sample,
    .scheme = SCHEME,
    .state_bytes = sizeof(struct seen),
    .fold = toy_fold,
    .decide = toy_decide,
};

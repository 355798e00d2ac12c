/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding for all schemes: what a mark says as a path of switch IDs, and the proof by execution.
 */
#include "codec/codec.h"

static bool visited(const struct pd_walk *walk, uint32_t len, uint32_t sw)
{
    for (uint32_t i = 0; i < len; i++) {
        if (walk->switches[i] == sw) {
            return true;
        }
    }
    return false;
}

int pd_codec_prove(const struct pd_codec *codec, const struct pd_walk *walk, uint64_t mark,
                   struct pd_error *error)
{
    const struct pd_topology *topology = codec->topology;
    uint32_t src_tor = walk->switches[0], dst_tor = walk->switches[walk->len - 1];
    struct pd_codec_packet packet = {0};
    if (codec->ops->enter) {
        codec->ops->enter(codec, src_tor, dst_tor, &packet);
    }
    for (uint32_t i = 1; i < walk->len && !packet.punted; i++) {
        uint32_t from = walk->switches[i - 1], to = walk->switches[i];
        const struct pd_neighbour *link = pd_topology_link(topology, from, to);
        if (!link || visited(walk, i, to)) {
            return pd_fail(error, -PD_E_INFEASIBLE,
                           "the mark leads from %u to %u, which no path does",
                           topology->switches[from].id, topology->switches[to].id);
        }
        packet.hops = (uint16_t)i;
        codec->ops->take(codec, from, (uint32_t)(link - topology->switches[from].neighbours),
                         src_tor, dst_tor, &packet);
    }
    if (packet.punted || packet.mark != mark) {
        return pd_fail(error, -PD_E_INFEASIBLE, "no path gets this mark");
    }
    return 0;
}

int pd_codec_decode(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor, uint64_t mark,
                    struct pd_path *ret_path, struct pd_error *error)
{
    const struct pd_topology *topology = codec->topology;
    struct pd_decoding decoding;
    if (src_tor >= topology->switches_len || dst_tor >= topology->switches_len) {
        return pd_fail(error, -PD_E_UNKNOWN_HOST, "%s", pd_error_text(-PD_E_UNKNOWN_HOST));
    }
    int err =
        codec->ops->decode(codec, src_tor, dst_tor, mark & codec->mark_bits, &decoding, error);
    if (!err && decoding.state != PD_DECODING_EXACT) {
        err = pd_fail(error, -PD_E_AMBIGUOUS, "%u paths leave this mark", decoding.candidates);
    }
    if (err) {
        return err;
    }
    ret_path->len = decoding.walk.len;
    for (uint32_t i = 0; i < decoding.walk.len; i++) {
        ret_path->switches[i] = topology->switches[decoding.walk.switches[i]].id;
    }
    return 0;
}

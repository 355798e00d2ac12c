/* SPDX-License-Identifier: Apache-2.0 */
/* Reference encoder: takes a packet along a path and executes each switch's rules, as the switches
 * would. */
#include "codec/codec.h"
#include "codec/edge.h"

/* The path as indexes; checks that it starts and ends at ToRs. */
static int to_walk(const struct pd_topology *topology, const struct pd_path *path,
                   struct pd_walk *ret_walk, struct pd_error *error)
{
    struct pd_walk walk = {.len = path->len};
    if (!path->len || path->len > PD_PATH_MAX) {
        return pd_fail(error, -PD_E_INFEASIBLE, "a path has 1 to %d switches", PD_PATH_MAX);
    }
    for (uint32_t i = 0; i < walk.len; i++) {
        walk.switches[i] = pd_topology_switch(topology, path->switches[i]);
        if (walk.switches[i] == PD_NONE) {
            return pd_fail(error, -PD_E_INFEASIBLE, "no switch has the ID %u", path->switches[i]);
        }
    }
    uint32_t ends[] = {walk.switches[0], walk.switches[walk.len - 1]};
    for (int i = 0; i < 2; i++) {
        if (!pd_topology_role_is_tor(topology->switches[ends[i]].role)) {
            return pd_fail(error, -PD_E_INFEASIBLE,
                           "a path starts and ends at ToRs, %u is of role %s",
                           topology->switches[ends[i]].id,
                           pd_topology_role_name(topology->switches[ends[i]].role));
        }
    }
    *ret_walk = walk;
    return 0;
}

/* The rules of each switch on the way; a packet that was punted goes no further. */
static int take_all(const struct pd_codec *codec, const struct pd_walk *walk,
                    struct pd_codec_packet *packet, uint32_t *ret_at, struct pd_error *error)
{
    const struct pd_switch *switches = codec->topology->switches;
    uint32_t src_tor = walk->switches[0], dst_tor = walk->switches[walk->len - 1];
    for (uint32_t i = 1; i < walk->len; i++) {
        uint32_t from = walk->switches[i - 1], to = walk->switches[i];
        const struct pd_neighbour *link = pd_topology_link(codec->topology, from, to);
        if (!link) {
            return pd_fail(error, -PD_E_INFEASIBLE, "no link joins %u and %u", switches[from].id,
                           switches[to].id);
        }
        if (packet->punted) {
            continue;
        }
        uint32_t rank = (uint32_t)(link - switches[from].neighbours);
        packet->hops = (uint16_t)i;
        codec->ops->take(codec, from, rank, src_tor, dst_tor, packet);
        *ret_at = i;
    }
    return 0;
}

int pd_codec_encode(const struct pd_codec *codec, const struct pd_path *path,
                    struct pd_encoding *ret_encoding, struct pd_error *error)
{
    return pd_codec_encode_own(codec, path, 0, ret_encoding, error);
}

int pd_codec_encode_own(const struct pd_codec *codec, const struct pd_path *path, uint64_t own,
                        struct pd_encoding *ret_encoding, struct pd_error *error)
{
    struct pd_walk walk = {0};
    struct pd_codec_packet packet = {0};
    enum pd_codec_edge_fate fate = PD_EDGE_PASSES;
    uint32_t at = 0;
    int err = to_walk(codec->topology, path, &walk, error);
    if (!err && own) {
        err = pd_codec_edge_pass(codec, walk.switches[0], own, &fate, &packet.mark);
        packet.mark &= codec->mark_bits;
    }
    if (err) {
        return err;
    }
    if (codec->ops->enter) {
        codec->ops->enter(codec, walk.switches[0], walk.switches[walk.len - 1], &packet);
    }
    packet.punted = fate != PD_EDGE_PASSES;
    err = take_all(codec, &walk, &packet, &at, error);
    if (!err) {
        *ret_encoding = (struct pd_encoding){.mark = packet.mark,
                                             .punted = packet.punted && fate != PD_EDGE_DROPPED,
                                             .punted_at = packet.punted ? at : 0,
                                             .dropped = fate == PD_EDGE_DROPPED};
    }
    return err;
}

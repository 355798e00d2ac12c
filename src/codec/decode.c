/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding: the codec rebuilds a walk from the tags, and the rules prove that they put these tags
 * on it. */
#include <string.h>

#include "codec/steps.h"

/* Tags as a rule-abiding network may deliver them. */
static int check_form(const struct pd_codec *codec, const struct pd_tags *tags,
                      struct pd_error *error)
{
    if (tags->len > codec->ops->max_vlans || tags->len > PD_CODEC_TAGS_MAX) {
        return pd_fail(error, -PD_E_INFEASIBLE, "%u tags, switches push at most %u", tags->len,
                       codec->ops->max_vlans);
    }
    for (unsigned i = 0; i < tags->len; i++) {
        if (tags->vids[i] < 1 || tags->vids[i] > 4094) {
            return pd_fail(error, -PD_E_INFEASIBLE, "%u is no link tag", tags->vids[i]);
        }
    }
    return 0;
}

static int same_rack(uint32_t tor, const struct pd_tags *tags, struct pd_walk *ret_walk,
                     struct pd_error *error)
{
    if (tags->len || tags->dscp) {
        return pd_fail(error, -PD_E_INFEASIBLE, "tags on a packet that stays in one rack");
    }
    ret_walk->len = 1;
    ret_walk->switches[0] = tor;
    return 0;
}

static bool visited(const struct pd_walk *walk, uint32_t len, uint32_t sw)
{
    for (uint32_t i = 0; i < len; i++) {
        if (walk->switches[i] == sw) {
            return true;
        }
    }
    return false;
}

/* Takes a packet along the walk: it must be a simple path and come out with the same tags. */
static int prove(const struct pd_codec *codec, const struct pd_walk *walk,
                 const struct pd_tags *tags, struct pd_error *error)
{
    const struct pd_topology *topology = codec->topology;
    uint32_t src_tor = walk->switches[0], dst_tor = walk->switches[walk->len - 1];
    struct pd_packet_state packet = {0};
    for (uint32_t i = 1; i < walk->len; i++) {
        uint32_t from = walk->switches[i - 1], to = walk->switches[i];
        const struct pd_neighbour *link = pd_topology_link(topology, from, to);
        if (!link) {
            return pd_fail(error, -PD_E_INFEASIBLE, "the tags need a link between %u and %u",
                           topology->switches[from].id, topology->switches[to].id);
        }
        if (visited(walk, i, to)) {
            return pd_fail(error, -PD_E_INFEASIBLE, "the tags lead to switch %u twice",
                           topology->switches[to].id);
        }
        pd_steps_take(codec, from, (uint32_t)(link - topology->switches[from].neighbours),
                      pd_steps_inside(codec->steps, to, src_tor, dst_tor), &packet);
    }
    if (packet.punted || packet.tags.len != tags->len || packet.tags.dscp != tags->dscp ||
        memcmp(packet.tags.vids, tags->vids, tags->len * sizeof *tags->vids) != 0) {
        return pd_fail(error, -PD_E_INFEASIBLE, "no path gets these tags");
    }
    return 0;
}

int pd_rebuild_walk(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                    const struct pd_tags *tags, struct pd_walk *ret_walk, struct pd_error *error)
{
    int failed = check_form(codec, tags, error);
    if (failed) {
        return failed;
    }
    if (src_tor == dst_tor) {
        return same_rack(src_tor, tags, ret_walk, error);
    }
    ret_walk->len = 0;
    failed = codec->ops->rebuild(codec, src_tor, dst_tor, tags, ret_walk, error);
    if (!failed && (!ret_walk->len || ret_walk->switches[0] != src_tor ||
                    ret_walk->switches[ret_walk->len - 1] != dst_tor)) {
        failed = pd_fail(error, -PD_E_INFEASIBLE, "the tags do not lead from rack to rack");
    }
    return failed;
}

int pd_codec_decode(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                    const struct pd_tags *tags, struct pd_path *ret_path, struct pd_error *error)
{
    const struct pd_topology *topology = codec->topology;
    struct pd_tags own = *tags;
    struct pd_walk walk = {0};
    if (src_tor >= topology->switches_len || dst_tor >= topology->switches_len) {
        return pd_fail(error, -PD_E_UNKNOWN_HOST, "%s", pd_error_text(-PD_E_UNKNOWN_HOST));
    }
    if (!codec->ops->uses_dscp) {
        own.dscp = 0;
    }
    int failed = pd_rebuild_walk(codec, src_tor, dst_tor, &own, &walk, error);
    if (!failed) {
        failed = prove(codec, &walk, &own, error);
    }
    if (failed) {
        return failed;
    }
    struct pd_path path = {.len = (uint16_t)walk.len};
    for (uint32_t i = 0; i < walk.len; i++) {
        path.switches[i] = topology->switches[walk.switches[i]].id;
    }
    *ret_path = path;
    return 0;
}

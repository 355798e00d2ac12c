/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding of link tags: the scheme rebuilds a walk from the tags, and the rules prove that they
 * put these tags on it. */
#include "codec/tagging/steps.h"

/* Tags as a rule-abiding network may deliver them. */
static int check_form(const struct pd_tagging *tagging, const struct pd_tags *tags,
                      struct pd_error *error)
{
    if (tags->len > tagging->ops->max_vlans) {
        return pd_fail(error, -PD_E_INFEASIBLE, "%u tags, switches push at most %u", tags->len,
                       tagging->ops->max_vlans);
    }
    for (unsigned i = 0; i < tags->len; i++) {
        if (tags->vids[i] < 1 || tags->vids[i] > 4094) {
            return pd_fail(error, -PD_E_INFEASIBLE, "%u is no link tag", tags->vids[i]);
        }
    }
    return 0;
}

static int same_rack(uint32_t tor, uint64_t mark, struct pd_walk *ret_walk, struct pd_error *error)
{
    if (mark) {
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

/* The directed links of a simple path. What switches do on each is fetched ahead: it lies apart
 * from the links, and a decode would wait for one after the other. */
static int find_links(const struct pd_tagging *tagging, const struct pd_walk *walk,
                      uint32_t *ret_links, struct pd_error *error)
{
    const struct pd_topology *topology = tagging->head.topology;
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
        ret_links[i] = link->link;
        __builtin_prefetch(&tagging->steps->steps[link->link]);
    }
    return 0;
}

/* pd_codec_prove with the steps at hand: most of what a decode costs is here. */
static int prove(const struct pd_tagging *tagging, const struct pd_walk *walk, uint64_t mark,
                 struct pd_error *error)
{
    uint32_t src_tor = walk->switches[0], dst_tor = walk->switches[walk->len - 1];
    uint32_t links[PD_PATH_MAX];
    struct pd_codec_packet packet = {0};
    int err = find_links(tagging, walk, links, error);
    if (err) {
        return err;
    }
    for (uint32_t i = 1; i < walk->len; i++) {
        unsigned inside =
            pd_tagging_steps_inside(tagging->steps, walk->switches[i], src_tor, dst_tor);
        pd_tagging_steps_take(tagging, links[i], inside, &packet);
    }
    if (packet.punted || packet.mark != mark) {
        return pd_fail(error, -PD_E_INFEASIBLE, "no path gets these tags");
    }
    return 0;
}

/* Proves nothing yet; *ret_walk is scratch on failure, and only its `len` switches are written. */
static int rebuild(const struct pd_tagging *tagging, uint32_t src_tor, uint32_t dst_tor,
                   uint64_t mark, struct pd_walk *ret_walk, struct pd_error *error)
{
    const struct pd_tags tags = pd_tags_unpack(mark);
    int err = check_form(tagging, &tags, error);
    if (err) {
        return err;
    }
    if (src_tor == dst_tor) {
        return same_rack(src_tor, mark, ret_walk, error);
    }
    ret_walk->len = 0;
    err = tagging->ops->rebuild(tagging, src_tor, dst_tor, &tags, ret_walk, error);
    if (!err && (!ret_walk->len || ret_walk->switches[0] != src_tor ||
                 ret_walk->switches[ret_walk->len - 1] != dst_tor)) {
        err = pd_fail(error, -PD_E_INFEASIBLE, "the tags do not lead from rack to rack");
    }
    return err;
}

int pd_tagging_decode(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                      uint64_t mark, struct pd_decoding *ret_decoding, struct pd_error *error)
{
    const struct pd_tagging *tagging = pd_tagging(codec);
    int err = rebuild(tagging, src_tor, dst_tor, mark, &ret_decoding->walk, error);
    if (!err) {
        err = prove(tagging, &ret_decoding->walk, mark, error);
    }
    ret_decoding->state = PD_DECODING_EXACT;
    ret_decoding->candidates = 0;
    return err;
}

/* The walk is known to leave this mark: what is left of a decode is to come to this walk. */
bool pd_tagging_reads(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                      uint64_t mark, const struct pd_walk *walk)
{
    struct pd_walk rebuilt;
    if (rebuild(pd_tagging(codec), src_tor, dst_tor, mark, &rebuilt, NULL) ||
        rebuilt.len != walk->len) {
        return false;
    }
    for (uint32_t i = 0; i < walk->len; i++) {
        if (rebuilt.switches[i] != walk->switches[i]) {
            return false;
        }
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Life of a tagging scheme's codec, and its rules. */
#include "codec/tagging/tagging.h"

#include <errno.h>
#include <stdlib.h>

#include "codec/tagging/mark.h"
#include "codec/tagging/steps.h"

static int set_max_hops(struct pd_tagging *tagging, struct pd_error *error)
{
    const struct pd_codec_choice *choice =
        pd_topology_codec(tagging->head.topology, tagging->head.ops->name);
    unsigned max_hops = choice ? choice->max_hops : 0;
    if (max_hops && max_hops < tagging->ops->min_hops) {
        return pd_fail(error, -PD_E_VALUE, "max_hops: %u, but shortest paths have %u hops",
                       max_hops, tagging->ops->min_hops);
    }
    tagging->max_hops = (uint16_t)max_hops;
    return 0;
}

unsigned pd_tagging_room(const struct pd_tagging *tagging, const struct pd_rule *rule)
{
    unsigned most = tagging->ops->max_vlans, room = 0;
    if (!tagging->max_hops) {
        return most;
    }
    while (room < most && rule->hops + 2 * room <= tagging->max_hops) {
        room++;
    }
    return room;
}

int pd_tagging_new(const struct pd_codec_ops *ops, const struct pd_topology *topology,
                   const char *options, struct pd_codec **ret_codec, struct pd_error *error)
{
    const struct pd_tagging_ops *scheme = (const struct pd_tagging_ops *)ops;
    struct pd_tagging *tagging = NULL;
    (void)options;
    int err = scheme->new (topology, &tagging, error);
    if (err) {
        return err;
    }
    tagging->head = (struct pd_codec){
        .ops = ops,
        .topology = topology,
        .mark_bits = scheme->uses_dscp ? UINT64_MAX : ~PD_TAGS_DSCP_MASK,
    };
    tagging->ops = scheme;
    err = set_max_hops(tagging, error);
    if (!err) {
        err = pd_tagging_steps_new(tagging, &tagging->steps, error);
    }
    if (err) {
        scheme->free(tagging);
    } else {
        *ret_codec = &tagging->head;
    }
    return err;
}

void pd_tagging_free(struct pd_codec *codec)
{
    struct pd_tagging *tagging = (struct pd_tagging *)codec;
    pd_tagging_steps_free(tagging->steps);
    tagging->ops->free(tagging);
}

int pd_tagging_rules(const struct pd_tagging *tagging, uint32_t sw, struct pd_rule **ret_rules,
                     size_t *ret_len)
{
    size_t max = PD_RULES_MAX(tagging->head.topology->switches[sw].switch_neighbours);
    struct pd_rule *rules = calloc(max, sizeof *rules);
    if (!rules) {
        return -ENOMEM;
    }
    *ret_len = tagging->ops->rules(tagging, sw, rules);
    *ret_rules = rules;
    return 0;
}

void pd_tagging_take(const struct pd_codec *codec, uint32_t from, uint32_t rank, uint32_t src_tor,
                     uint32_t dst_tor, struct pd_codec_packet *packet)
{
    const struct pd_tagging *tagging = pd_tagging(codec);
    const struct pd_neighbour *to = &codec->topology->switches[from].neighbours[rank];
    pd_tagging_steps_take(tagging, to->link,
                          pd_tagging_steps_inside(tagging->steps, to->node, src_tor, dst_tor),
                          packet);
}

struct pd_mark pd_tagging_wrap(const struct pd_codec *codec, uint64_t mark)
{
    const struct pd_tags tags = pd_tags_unpack(mark);
    (void)codec;
    return pd_tagging_mark(tags.vids, tags.len, tags.dscp);
}

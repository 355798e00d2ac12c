/* SPDX-License-Identifier: Apache-2.0 */
/* CherryPick for VL2: numbers of links, rules, rebuilding (paper, section 3.1;
 * src/codec/tagging/vl2/README.md). */
#include "codec/tagging/vl2/vl2.h"

#include <errno.h>
#include <stdlib.h>

#include "topology/shape.h"

struct vl2 {
    struct pd_tagging head;
    struct pd_vl2 *shape;
};

static const struct vl2 *vl2(const struct pd_tagging *tagging)
{
    return (const struct vl2 *)tagging;
}

/* 1 to k, the same numbers in every pair: as DSCP and as link tag. */
static uint16_t tor_agg_number(const struct vl2 *v, uint32_t tor, uint32_t agg)
{
    return (uint16_t)(2 * v->shape->places[tor].position + v->shape->places[agg].position + 1);
}

/* Link tags from k + 1 on, unique in the topology. */
static uint16_t agg_intermediate_tag(const struct vl2 *v, uint32_t agg, uint32_t intermediate)
{
    const struct pd_place *place = &v->shape->places[agg];
    return (uint16_t)(v->shape->k + (2 * place->group + place->position) * (v->shape->k / 2) +
                      v->shape->places[intermediate].position + 1);
}

static size_t rules(const struct pd_tagging *tagging, uint32_t sw, struct pd_rule *ret_rules)
{
    const struct vl2 *v = vl2(tagging);
    const struct pd_switch *entry = &tagging->head.topology->switches[sw];
    size_t len = 0;
    if (entry->role != PD_ROLE_AGG) {
        return 0;
    }
    for (uint32_t i = 0; i < entry->switch_neighbours; i++) {
        uint32_t from = entry->neighbours[i].node;
        bool tor = tagging->head.topology->switches[from].role == PD_ROLE_TOR;
        if (tor) {
            ret_rules[len++] = (struct pd_rule){.ingress = from,
                                                .dscp_zero = true,
                                                .action = PD_TAG_SET_DSCP,
                                                .value = tor_agg_number(v, from, sw)};
        }
        ret_rules[len++] = (struct pd_rule){.ingress = from,
                                            .hops = 4,
                                            .action = PD_TAG_PUSH_VLAN,
                                            .value = tor ? tor_agg_number(v, from, sw)
                                                         : agg_intermediate_tag(v, sw, from)};
    }
    return len;
}

/* ---- rebuilding: every arrival at an agg is told, and where it came from */

/* Goes to the ToR (unless it is there already) and to the agg of this link of the pair. */
static int take_tor_agg(const struct vl2 *v, struct pd_walk *walk, uint32_t pair, uint32_t number)
{
    uint32_t tor = v->shape->tors[pair * (v->shape->k / 2) + (number - 1) / 2];
    int failed = walk->switches[walk->len - 1] == tor ? 0 : pd_walk_add(walk, tor);
    return failed ? failed : pd_walk_add(walk, v->shape->aggs[2 * pair + (number - 1) % 2]);
}

static int take_intermediate_agg(const struct vl2 *v, struct pd_walk *walk, uint32_t number)
{
    uint32_t h = v->shape->k / 2;
    int failed = pd_walk_add(walk, v->shape->intermediates[(number - 1) % h]);
    return failed ? failed : pd_walk_add(walk, v->shape->aggs[(number - 1) / h]);
}

static int rebuild(const struct pd_tagging *tagging, uint32_t src_tor, uint32_t dst_tor,
                   const struct pd_tags *tags, struct pd_walk *ret_walk, struct pd_error *error)
{
    const struct vl2 *v = vl2(tagging);
    uint32_t k = v->shape->k, pair = v->shape->places[src_tor].group;
    ret_walk->len = 1;
    ret_walk->switches[0] = src_tor;
    if (tags->dscp < 1 || tags->dscp > k) {
        return pd_fail(error, -PD_E_INFEASIBLE, "no link of a pair has the DSCP %u", tags->dscp);
    }
    int failed = take_tor_agg(v, ret_walk, pair, tags->dscp);
    for (unsigned i = 0; i < tags->len && !failed; i++) {
        uint32_t tag = tags->vids[i];
        if (tag > k + k * k / 2) {
            return pd_fail(error, -PD_E_INFEASIBLE, "no link has the tag %u", tag);
        }
        pair = v->shape->places[ret_walk->switches[ret_walk->len - 1]].group;
        failed = tag <= k ? take_tor_agg(v, ret_walk, pair, tag)
                          : take_intermediate_agg(v, ret_walk, tag - k);
    }
    return failed ? failed : pd_walk_add(ret_walk, dst_tor);
}

/* ---- life */

static void free_tagging(struct pd_tagging *tagging)
{
    pd_topology_vl2_free(((struct vl2 *)tagging)->shape);
    free(tagging);
}

static int new_tagging(const struct pd_topology *topology, struct pd_tagging **ret_tagging,
                       struct pd_error *error)
{
    struct pd_findings findings = {0};
    struct vl2 *v = calloc(1, sizeof *v);
    if (!v || pd_topology_vl2_new(topology, &findings, &v->shape)) {
        free(v);
        return pd_fail(error, -ENOMEM, "codec: no memory");
    }
    int failed = pd_topology_findings_end(&findings, error);
    if (failed) {
        free(v);
        return failed;
    }
    *ret_tagging = &v->head;
    return 0;
}

const struct pd_tagging_ops pd_vl2_codec = {
    .codec =
        {
            .name = "cherrypick-vl2",
            .paper = "PathDump, OSDI 2016, section 3.1 (CherryPick, SOSR 2015)",
            .carriers = PD_CARRIER_VLAN | PD_CARRIER_DSCP,
            PD_TAGGING_CODEC,
        },
    .uses_dscp = true,
    .max_vlans = 2,
    .min_hops = 4,
    .new = new_tagging,
    .free = free_tagging,
    .rules = rules,
    .rebuild = rebuild,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Leaf-spine: a link tag for every link, pushed by spines on ingress
 * (src/codec/tagging/leaf_spine/README.md). */
#include "codec/tagging/leaf_spine/leaf_spine.h"

#include <errno.h>
#include <stdlib.h>

#include "topology/shape.h"

struct leaf_spine {
    struct pd_tagging head;
    struct pd_leaf_spine *shape;
};

static const struct leaf_spine *leaf_spine(const struct pd_tagging *tagging)
{
    return (const struct leaf_spine *)tagging;
}

static size_t rules(const struct pd_tagging *tagging, uint32_t sw, struct pd_rule *ret_rules)
{
    const struct pd_leaf_spine *shape = leaf_spine(tagging)->shape;
    const struct pd_switch *entry = &tagging->head.topology->switches[sw];
    size_t len = 0;
    if (entry->role != PD_ROLE_SPINE) {
        return 0;
    }
    for (; len < entry->switch_neighbours; len++) {
        uint32_t leaf = entry->neighbours[len].node;
        uint32_t link =
            shape->places[leaf].position * shape->spines_len + shape->places[sw].position;
        ret_rules[len] = (struct pd_rule){
            .ingress = leaf, .hops = 2, .action = PD_TAG_PUSH_VLAN, .value = (uint16_t)(link + 1)};
    }
    return len;
}

/* Each tag tells a leaf and the spine behind it. */
static int rebuild(const struct pd_tagging *tagging, uint32_t src_tor, uint32_t dst_tor,
                   const struct pd_tags *tags, struct pd_walk *ret_walk, struct pd_error *error)
{
    const struct pd_leaf_spine *shape = leaf_spine(tagging)->shape;
    int failed = 0;
    ret_walk->len = 1;
    ret_walk->switches[0] = src_tor;
    for (unsigned i = 0; i < tags->len && !failed; i++) {
        uint32_t link = tags->vids[i] - 1U;
        if (link >= shape->leaves_len * shape->spines_len) {
            return pd_fail(error, -PD_E_INFEASIBLE, "no link has the tag %u", link + 1);
        }
        uint32_t leaf = shape->leaves[link / shape->spines_len];
        if (ret_walk->switches[ret_walk->len - 1] != leaf) {
            failed = pd_walk_add(ret_walk, leaf);
        }
        if (!failed) {
            failed = pd_walk_add(ret_walk, shape->spines[link % shape->spines_len]);
        }
    }
    return failed ? failed : pd_walk_add(ret_walk, dst_tor);
}

/* ---- life */

static void free_tagging(struct pd_tagging *tagging)
{
    pd_topology_leaf_spine_free(((struct leaf_spine *)tagging)->shape);
    free(tagging);
}

static int new_tagging(const struct pd_topology *topology, struct pd_tagging **ret_tagging,
                       struct pd_error *error)
{
    struct pd_findings findings = {0};
    struct leaf_spine *ls = calloc(1, sizeof *ls);
    if (!ls || pd_topology_leaf_spine_new(topology, &findings, &ls->shape)) {
        free(ls);
        return pd_fail(error, -ENOMEM, "codec: no memory");
    }
    int failed = pd_topology_findings_end(&findings, error);
    if (failed) {
        free(ls);
        return failed;
    }
    *ret_tagging = &ls->head;
    return 0;
}

const struct pd_tagging_ops pd_leaf_spine_codec = {
    .codec =
        {
            .name = "cherrypick-leaf-spine",
            .paper = "an addition of this project, after PathDump, OSDI 2016, section 3.1",
            .carriers = PD_CARRIER_VLAN,
            PD_TAGGING_CODEC,
        },
    .max_vlans = 2,
    .min_hops = 2,
    .new = new_tagging,
    .free = free_tagging,
    .rules = rules,
    .rebuild = rebuild,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* CherryPick for fat-trees: link tags, rules, rebuilding (paper, section 3.1;
 * src/codec/tagging/fat_tree/README.md). */
#include "codec/tagging/fat_tree/fat_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "topology/shape.h"

struct fat_tree {
    struct pd_tagging head;
    struct pd_fat_tree *shape;
    uint32_t base; /* the first pod-core tag, B */
};

static const struct fat_tree *fat_tree(const struct pd_tagging *tagging)
{
    return (const struct fat_tree *)tagging;
}

/* ---- link tags; all positions are 0-based */

static uint16_t intra_pod_tag(const struct fat_tree *ft, uint32_t tor, uint32_t agg)
{
    return (uint16_t)(tor * ft->shape->h + agg + 1);
}

/* An edge colouring: unique within the pod and within the core group. */
static uint16_t core_tag(const struct fat_tree *ft, uint32_t pod, uint32_t group, uint32_t core)
{
    uint32_t h = ft->shape->h;
    return (uint16_t)(ft->base + ((pod + group) * h + core) % (ft->shape->k * h));
}

/* ---- rules */

static uint16_t ingress_tag(const struct fat_tree *ft, uint32_t sw, uint32_t from)
{
    const struct pd_place *at = &ft->shape->places[sw], *other = &ft->shape->places[from];
    switch (ft->head.head.topology->switches[sw].role) {
    case PD_ROLE_TOR: return intra_pod_tag(ft, at->position, other->position);
    case PD_ROLE_AGG: return intra_pod_tag(ft, other->position, at->position);
    default: return core_tag(ft, other->group, at->group, at->position);
    }
}

/* Where the length of paths matters: traffic that stays in the pod, and what comes from others over
 * a detour of two hops. */
static size_t split_agg(struct pd_rule rule, struct pd_rule *ret_rules, size_t len)
{
    rule.src_inside = true;
    ret_rules[len++] = rule;
    rule.src_inside = false;
    rule.hops = 4;
    ret_rules[len++] = rule;
    return len;
}

static size_t rules(const struct pd_tagging *tagging, uint32_t sw, struct pd_rule *ret_rules)
{
    const struct fat_tree *ft = fat_tree(tagging);
    const struct pd_topology *topology = tagging->head.topology;
    const struct pd_switch *entry = &topology->switches[sw];
    size_t len = 0;
    if (entry->role == PD_ROLE_TOR) { /* traffic that stays in the pod is tagged by aggs alone */
        ret_rules[len++] = (struct pd_rule){
            .ingress = PD_NONE, .src_inside = true, .dst_inside = true, .action = PD_TAG_NONE};
    }
    for (uint32_t i = 0; i < entry->switch_neighbours; i++) {
        uint32_t from = entry->neighbours[i].node;
        if (entry->role == PD_ROLE_AGG && topology->switches[from].role == PD_ROLE_CORE) {
            continue;
        }
        struct pd_rule rule = {.ingress = from,
                               .src_inside = entry->role == PD_ROLE_TOR,
                               .dst_inside = entry->role == PD_ROLE_AGG,
                               .action = PD_TAG_PUSH_VLAN,
                               .value = ingress_tag(ft, sw, from),
                               .hops = entry->role == PD_ROLE_TOR ? 6 : 2};
        if (entry->role == PD_ROLE_AGG && tagging->max_hops) {
            len = split_agg(rule, ret_rules, len);
        } else {
            ret_rules[len++] = rule;
        }
    }
    return len;
}

/* ---- rebuilding */

static uint32_t hops(const struct fat_tree *ft, uint32_t a, uint32_t b)
{
    const struct pd_switch *switches = ft->head.head.topology->switches;
    if (a == b) {
        return 0;
    }
    if (switches[a].role > switches[b].role) { /* tor < agg < core */
        uint32_t swap = a;
        a = b;
        b = swap;
    }
    const struct pd_place *x = &ft->shape->places[a], *y = &ft->shape->places[b];
    enum pd_switch_role lower = switches[a].role, upper = switches[b].role;
    if (lower == upper) {
        return x->group == y->group || (lower == PD_ROLE_AGG && x->position == y->position) ? 2 : 4;
    }
    if (lower == PD_ROLE_AGG) {
        return x->position == y->group ? 1 : 3;
    }
    if (upper == PD_ROLE_CORE) {
        return 2;
    }
    return x->group == y->group ? 1 : 3;
}

/* Goes on to `to` by the shortest way, if there is only one: over a link, or between ToR and core
 * over the agg of that pod and group. */
static int extend(const struct fat_tree *ft, struct pd_walk *walk, uint32_t to,
                  struct pd_error *error)
{
    const struct pd_topology *topology = ft->head.head.topology;
    uint32_t from = walk->switches[walk->len - 1], way = hops(ft, from, to);
    enum pd_switch_role role = topology->switches[from].role;
    bool tor_core = role != topology->switches[to].role && way == 2;
    if (way > 1 && !tor_core) {
        return pd_fail(error, -PD_E_INFEASIBLE, "the tags do not tell the way from %u to %u",
                       topology->switches[from].id, topology->switches[to].id);
    }
    if (tor_core) {
        uint32_t tor = role == PD_ROLE_TOR ? from : to, core = role == PD_ROLE_TOR ? to : from;
        uint32_t agg = ft->shape->places[tor].group * ft->shape->h + ft->shape->places[core].group;
        if (pd_walk_add(walk, ft->shape->aggs[agg])) {
            return -PD_E_INFEASIBLE;
        }
    }
    return way ? pd_walk_add(walk, to) : 0;
}

/* Goes to the nearer end of the tagged link and crosses it. */
static int cross(const struct fat_tree *ft, struct pd_walk *walk, uint32_t a, uint32_t b,
                 struct pd_error *error)
{
    uint32_t at = walk->switches[walk->len - 1];
    if (a == PD_NONE || b == PD_NONE) {
        return pd_fail(error, -PD_E_INFEASIBLE, "the switch at the tagged link is missing");
    }
    bool a_nearer = hops(ft, at, a) <= hops(ft, at, b);
    int failed = extend(ft, walk, a_nearer ? a : b, error);
    return failed ? failed : pd_walk_add(walk, a_nearer ? b : a);
}

/* The pod-core link of a tag: in the source's pod until a core was seen, then in that core's group.
 * `group` is PD_NONE before. */
static int cross_core(const struct fat_tree *ft, struct pd_walk *walk, uint32_t src_pod,
                      uint32_t *group, uint32_t tag, struct pd_error *error)
{
    const struct pd_fat_tree *shape = ft->shape;
    uint32_t colours = shape->k * shape->h, known = *group == PD_NONE ? src_pod : *group;
    uint32_t rest = (tag - ft->base + colours - known * shape->h) % colours;
    uint32_t pod = *group == PD_NONE ? src_pod : rest / shape->h;
    if (*group == PD_NONE) {
        *group = rest / shape->h;
    }
    if (*group >= shape->h) {
        return pd_fail(error, -PD_E_INFEASIBLE, "pod %u has no link with the tag %u", src_pod + 1,
                       tag);
    }
    return cross(ft, walk, shape->aggs[pod * shape->h + *group],
                 shape->cores[*group * shape->h + rest % shape->h], error);
}

static int cross_intra_pod(const struct fat_tree *ft, struct pd_walk *walk, uint32_t pod,
                           uint32_t tag, struct pd_error *error)
{
    const struct pd_fat_tree *shape = ft->shape;
    return cross(ft, walk, shape->tors[pod * shape->h + (tag - 1) / shape->h],
                 shape->aggs[pod * shape->h + (tag - 1) % shape->h], error);
}

static int rebuild(const struct pd_tagging *tagging, uint32_t src_tor, uint32_t dst_tor,
                   const struct pd_tags *tags, struct pd_walk *ret_walk, struct pd_error *error)
{
    const struct fat_tree *ft = fat_tree(tagging);
    const struct pd_fat_tree *shape = ft->shape;
    uint32_t group = PD_NONE, src_pod = shape->places[src_tor].group;
    uint32_t dst_pod = shape->places[dst_tor].group;
    int failed = 0;
    ret_walk->len = 1;
    ret_walk->switches[0] = src_tor;
    for (unsigned i = 0; i < tags->len && !failed; i++) {
        uint32_t tag = tags->vids[i];
        if (tag <= shape->h * shape->h) {
            failed =
                cross_intra_pod(ft, ret_walk, group == PD_NONE ? src_pod : dst_pod, tag, error);
        } else if (tag >= ft->base && tag < ft->base + shape->k * shape->h) {
            failed = cross_core(ft, ret_walk, src_pod, &group, tag, error);
        } else {
            failed = pd_fail(error, -PD_E_INFEASIBLE, "no link has the tag %u", tag);
        }
    }
    return failed ? failed : extend(ft, ret_walk, dst_tor, error);
}

/* ---- life */

static void free_tagging(struct pd_tagging *tagging)
{
    pd_topology_fat_tree_free(((struct fat_tree *)tagging)->shape);
    free(tagging);
}

static int new_tagging(const struct pd_topology *topology, struct pd_tagging **ret_tagging,
                       struct pd_error *error)
{
    struct pd_findings findings = {0};
    struct fat_tree *ft = calloc(1, sizeof *ft);
    if (!ft || pd_topology_fat_tree_new(topology, &findings, &ft->shape)) {
        free(ft);
        return pd_fail(error, -ENOMEM, "codec: no memory");
    }
    int failed = pd_topology_findings_end(&findings, error);
    if (failed) {
        free(ft);
        return failed;
    }
    ft->base = ft->shape->h * ft->shape->h + ft->shape->k + 1;
    *ret_tagging = &ft->head;
    return 0;
}

const struct pd_tagging_ops pd_fat_tree_codec = {
    .codec =
        {
            .name = "cherrypick-fat-tree",
            .paper = "PathDump, OSDI 2016, section 3.1 (CherryPick, SOSR 2015)",
            .carriers = PD_CARRIER_VLAN,
            PD_TAGGING_CODEC,
        },
    .max_vlans = 2,
    .min_hops = 4,
    .new = new_tagging,
    .free = free_tagging,
    .rules = rules,
    .rebuild = rebuild,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Builds trees from hosts that stand in the order (pod, rack, ID). */
#include "controller/trees.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A host with its place. */
struct leaf {
    const struct pd_inventory_host *host;
    uint32_t pod;  /* 0..: hosts of a pod have the same */
    uint32_t rack; /* index of its switch */
};

struct builder {
    struct leaf *leaves;
    size_t len;
    struct pd_tree *nodes; /* room for each host once */
    size_t used;
};

/* ---- places ---- */

/* Switches above racks, for racks of a topology without pods: the first rack with the same ones
 * gives the pod its number. */
static bool same_above(const struct pd_switch *a, const struct pd_switch *b)
{
    if (a->switch_neighbours != b->switch_neighbours) {
        return false;
    }
    for (uint32_t i = 0; i < a->switch_neighbours; i++) {
        if (a->neighbours[i].node != b->neighbours[i].node) {
            return false;
        }
    }
    return true;
}

/* Racks of a pod mostly stand next to each other, and pods are few: the first one found is asked
 * first. */
static uint32_t pod_by_neighbours(const struct pd_topology *topology, uint32_t rack,
                                  const uint32_t *firsts, uint32_t firsts_len)
{
    for (uint32_t i = firsts_len; i-- > 0;) {
        if (same_above(&topology->switches[firsts[i]], &topology->switches[rack])) {
            return i;
        }
    }
    return firsts_len;
}

/* The pod of each switch with a rack, by its index. */
static int find_pods(const struct pd_topology *topology, uint32_t *pods)
{
    uint32_t *firsts = calloc(topology->switches_len + 1, sizeof *firsts), firsts_len = 0;

    if (!firsts) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        if (!pd_topology_role_is_tor(topology->switches[i].role)) {
            continue;
        }
        pods[i] = topology->switches[i].pod;
        if (pods[i]) {
            continue;
        }
        pods[i] = pod_by_neighbours(topology, i, firsts, firsts_len);
        if (pods[i] == firsts_len) {
            firsts[firsts_len++] = i;
        }
    }
    free(firsts);
    return 0;
}

static int compare(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int by_place(const void *a, const void *b)
{
    const struct leaf *x = a, *y = b;
    int order = compare(x->pod, y->pod);

    if (!order) {
        order = compare(x->rack, y->rack);
    }
    return order ? order : compare(x->host->id, y->host->id);
}

static int place_leaves(const struct pd_inventory *inventory, const struct pd_selection *selection,
                        struct leaf *leaves)
{
    const struct pd_topology *topology = inventory->topology;
    uint32_t *pods = calloc(topology->switches_len + 1, sizeof *pods);
    int err = pods ? find_pods(topology, pods) : -ENOMEM;

    for (size_t i = 0; i < selection->len && !err; i++) {
        const struct pd_inventory_host *host = &inventory->hosts[selection->hosts[i]];
        uint32_t rack = topology->hosts[host->index].tor;

        leaves[i] = (struct leaf){host, pods[rack], rack};
    }
    free(pods);
    if (!err) {
        qsort(leaves, selection->len, sizeof *leaves, by_place);
    }
    return err;
}

/* ---- nodes ---- */

static struct pd_tree *take_nodes(struct builder *builder, size_t len)
{
    struct pd_tree *nodes = builder->nodes + builder->used;

    builder->used += len;
    return nodes;
}

static struct pd_tree make_node(const struct leaf *leaf)
{
    return (struct pd_tree){.host = leaf->host->id, .url = leaf->host->url};
}

/* ---- with a fan-out ---- */

/* Where part i of `parts` begins when `len` things are cut as evenly as can be. */
static size_t cut(size_t len, size_t parts, size_t i)
{
    return i * (len / parts) + (i < len % parts ? i : len % parts);
}

static struct pd_tree *build_even(struct builder *builder, size_t begin, size_t end,
                                  uint32_t fanout, size_t *ret_len)
{
    size_t len = end - begin, parts = len < fanout ? len : fanout;
    struct pd_tree *nodes = take_nodes(builder, parts);

    for (size_t i = 0; i < parts; i++) {
        size_t first = begin + cut(len, parts, i), next = begin + cut(len, parts, i + 1);

        nodes[i] = make_node(&builder->leaves[first]);
        if (next > first + 1) {
            nodes[i].children =
                build_even(builder, first + 1, next, fanout, &nodes[i].children_len);
        }
    }
    *ret_len = parts;
    return nodes;
}

/* ---- from the topology ---- */

static size_t rack_end(const struct builder *builder, size_t begin, size_t end)
{
    size_t i = begin + 1;

    while (i < end && builder->leaves[i].rack == builder->leaves[begin].rack) {
        i++;
    }
    return i;
}

static size_t pod_end(const struct builder *builder, size_t begin)
{
    size_t i = begin + 1;

    while (i < builder->len && builder->leaves[i].pod == builder->leaves[begin].pod) {
        i++;
    }
    return i;
}

static size_t count_racks(const struct builder *builder, size_t begin, size_t end)
{
    size_t racks = 0;

    for (; begin < end; begin = rack_end(builder, begin, end)) {
        racks++;
    }
    return racks;
}

/* The head of the first rack: first the heads of the other racks, who have the most to do, then its
 * own rack. */
static struct pd_tree build_group(struct builder *builder, size_t begin, size_t end)
{
    struct pd_tree top = make_node(&builder->leaves[begin]);
    size_t own = rack_end(builder, begin, end), heads = count_racks(builder, own, end), at = 0;

    top.children_len = heads + (own - begin - 1);
    if (!top.children_len) {
        return top;
    }
    top.children = take_nodes(builder, top.children_len);
    for (size_t rack = own; rack < end; rack = rack_end(builder, rack, end)) {
        top.children[at++] = build_group(builder, rack, rack_end(builder, rack, end));
    }
    for (size_t i = begin + 1; i < own; i++) {
        top.children[at++] = make_node(&builder->leaves[i]);
    }
    return top;
}

static size_t count_pods(const struct builder *builder)
{
    size_t pods = 0;

    for (size_t i = 0; i < builder->len; i = pod_end(builder, i)) {
        pods++;
    }
    return pods;
}

/* Behind `racks` racks. */
static size_t skip_racks(const struct builder *builder, size_t begin, size_t racks)
{
    for (; racks; racks--) {
        begin = rack_end(builder, begin, builder->len);
    }
    return begin;
}

/* As many groups as a group has racks. */
static size_t groups_of_one_pod(size_t racks)
{
    size_t groups = 1;

    while (groups * groups < racks) {
        groups++;
    }
    return groups;
}

static struct pd_tree *build_from_topology(struct builder *builder, size_t *ret_len)
{
    size_t pods = count_pods(builder), racks = count_racks(builder, 0, builder->len);
    size_t groups = pods > 1 ? pods : groups_of_one_pod(racks), begin = 0;
    struct pd_tree *tops = take_nodes(builder, groups);

    for (size_t i = 0; i < groups; i++) {
        size_t end = pods > 1 ? pod_end(builder, begin)
                              : skip_racks(builder, begin,
                                           cut(racks, groups, i + 1) - cut(racks, groups, i));

        tops[i] = build_group(builder, begin, end);
        begin = end;
    }
    *ret_len = groups;
    return tops;
}

/* ---- what came of it ---- */

static uint64_t measure(struct pd_trees *trees, const struct pd_tree *nodes, size_t len,
                        uint32_t depth)
{
    uint64_t longest = 0;

    if (depth > trees->depth) {
        trees->depth = depth;
    }
    if (len > trees->fanout) {
        trees->fanout = (uint32_t)len;
    }
    for (size_t i = 0; i < len; i++) {
        if (nodes[i].children_len) {
            uint64_t chain = measure(trees, nodes[i].children, nodes[i].children_len, depth + 1);

            longest = chain > longest ? chain : longest;
        }
    }
    return longest + len;
}

static int build(const struct pd_inventory *inventory, const struct pd_selection *selection,
                 bool flat, uint32_t fanout, struct pd_trees *ret_trees)
{
    struct builder builder = {.len = selection->len};
    struct pd_trees trees = {.hosts = selection->len};
    int err = -ENOMEM;

    builder.leaves = calloc(selection->len + 1, sizeof *builder.leaves);
    builder.nodes = calloc(selection->len + 1, sizeof *builder.nodes);
    if (builder.leaves && builder.nodes) {
        err = place_leaves(inventory, selection, builder.leaves);
    }
    if (!err && (flat || fanout)) {
        trees.tops = build_even(&builder, 0, builder.len, flat ? (uint32_t)builder.len : fanout,
                                &trees.tops_len);
    } else if (!err) {
        trees.tops = build_from_topology(&builder, &trees.tops_len);
    }
    free(builder.leaves);
    if (err) {
        free(builder.nodes);
        return err;
    }
    *ret_trees = trees;
    ret_trees->chain = measure(ret_trees, trees.tops, trees.tops_len, 1);
    return 0;
}

int pd_controller_trees_new(const struct pd_inventory *inventory,
                            const struct pd_selection *selection, uint32_t fanout,
                            struct pd_trees *ret_trees)
{
    return build(inventory, selection, false, fanout, ret_trees);
}

int pd_controller_trees_direct(const struct pd_inventory *inventory,
                               const struct pd_selection *selection, struct pd_trees *ret_trees)
{
    return build(inventory, selection, true, 0, ret_trees);
}

/* The tops were taken first: they are where the memory begins. */
void pd_controller_trees_done(struct pd_trees *trees)
{
    free(trees->tops);
    *trees = (struct pd_trees){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes: where each switch stands in a fat-tree, a VL2 or a leaf-spine, found from roles and links
 * alone. */
#ifndef PD_TOPOLOGY_SHAPE_H
#define PD_TOPOLOGY_SHAPE_H

#include <stddef.h>
#include <stdint.h>

#include "topology/findings.h"
#include "topology/topology.h"

/* Codecs number links by the positions of their ends. Positions come from the structure, never from
 * arithmetic on IDs, so that an operator's own IDs work. Finding them is also the proof that the
 * topology has the shape: the reader runs it as a check and names what is wrong.
 *
 * A shape with parts missing (cables, racks, pods, upper switches) stays that shape. When it is not
 * complete, each switch has its place by pod and "position", or by a name like a generator's, or by
 * what is linked when only cables are missing; where nothing is, the arrays below have PD_NONE.
 * Sizes are those of "codec_options", else of a name like "fat-tree-8", and at least what is there
 * needs.
 *
 * Thread safety: a shape is immutable. */

/* 0-based group and position of a switch; what they mean depends on shape and role. */
struct pd_place {
    uint16_t group;
    uint16_t position;
};

/* Fat-tree(k), h = k / 2. ToR and agg: group = pod - 1. ToR: position = rank by ID in the pod.
 * Agg: position = its core group. Core: group in the order of the groups' smallest IDs, position =
 * rank by ID in the group. */
struct pd_fat_tree {
    uint32_t k, h;
    struct pd_place *places; /* by switch index */
    uint32_t *tors;          /* index of ToR `position` of pod `group`: group * h + position */
    uint32_t *aggs;          /* likewise */
    uint32_t *cores;         /* likewise */
};

/* VL2(k). ToR and agg: group = pair, in the order of the pairs' smallest agg IDs; position = rank
 * by ID in the pair. Intermediate: position = rank by ID. */
struct pd_vl2 {
    uint32_t k;
    struct pd_place *places;
    uint32_t *tors;          /* pair * (k / 2) + position */
    uint32_t *aggs;          /* pair * 2 + position */
    uint32_t *intermediates; /* position */
};

/* Leaf-spine: position = rank by ID. */
struct pd_leaf_spine {
    uint32_t leaves_len, spines_len;
    struct pd_place *places;
    uint32_t *leaves;
    uint32_t *spines;
};

/* Find the shape. 0 with *ret_shape; 0 and no shape when `findings` got some; -ENOMEM. */
int pd_topology_fat_tree_new(const struct pd_topology *topology, struct pd_findings *findings,
                             struct pd_fat_tree **ret_shape);
int pd_topology_vl2_new(const struct pd_topology *topology, struct pd_findings *findings,
                        struct pd_vl2 **ret_shape);
int pd_topology_leaf_spine_new(const struct pd_topology *topology, struct pd_findings *findings,
                               struct pd_leaf_spine **ret_shape);
void pd_topology_fat_tree_free(struct pd_fat_tree *shape); /* NULL is fine, as for the next two */
void pd_topology_vl2_free(struct pd_vl2 *shape);
void pd_topology_leaf_spine_free(struct pd_leaf_spine *shape);

/* ---- parts (shape_parts.c) */

/* From 1; 0: not known. */
struct pd_spot {
    uint32_t pod, position;
};
struct pd_spot pd_topology_shape_spot(const struct pd_switch *sw);
/* Spots of all switches by pod, position and name; NULL: no memory. *ret_named: all have one. */
struct pd_spot *pd_topology_shape_spots(const struct pd_topology *topology, bool *ret_named);
/* Connected parts of the graph that switches of two roles make, by switch: numbered in the order of
 * their first switch of the role `first`; PD_NONE: a part without one. 0 or -ENOMEM. */
int pd_topology_shape_groups(const struct pd_topology *topology, enum pd_switch_role first,
                             enum pd_switch_role second, uint32_t *ret_groups);
/* The largest position (or pod) that switches of the role have. */
uint32_t pd_topology_shape_largest(const struct pd_topology *topology, enum pd_switch_role role,
                                   bool pods);
/* A size of the full shape: the codec's option `key`, or number `nth` behind `word` in the name of
 * the topology; 0: neither tells. */
uint32_t pd_topology_shape_size(const struct pd_topology *topology, const char *codec,
                                const char *key, const char *word, int nth);
/* Puts a switch at its place; false, with a finding, when another one is there. */
bool pd_topology_shape_put(const struct pd_topology *topology, uint32_t sw, struct pd_place place,
                           uint32_t *slot, struct pd_place *places, struct pd_findings *findings);
/* The finding for a switch whose spot is none of `most` places. */
void pd_topology_shape_no_place(const struct pd_topology *topology, uint32_t sw,
                                struct pd_spot spot, uint32_t most, struct pd_findings *findings);

/* ---- shared by the shapes (shape.c) */

/* How many switches have the role. */
uint32_t pd_topology_shape_count(const struct pd_topology *topology, enum pd_switch_role role);

/* Each link joins one of the `pairs` of roles; a finding for every switch or link that does not
 * fit. */
void pd_topology_shape_check_roles(const struct pd_topology *topology,
                                   const enum pd_switch_role (*pairs)[2], size_t pairs_len,
                                   const char *shape, struct pd_findings *findings);

/* The switch has this number of neighbours of this role; a finding otherwise. */
void pd_topology_shape_check_degree(const struct pd_topology *topology, uint32_t sw,
                                    enum pd_switch_role role, uint32_t expected,
                                    struct pd_findings *findings);

/* Checks the shapes that the topology's codecs need; a codec unknown here needs none. 0 or -ENOMEM.
 */
int pd_topology_shape_check(const struct pd_topology *topology, struct pd_findings *findings);

#endif

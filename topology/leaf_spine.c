/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a leaf-spine: leaves linked with spines alone; or why the topology is none. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/shape.h"

#define MAX_LINKS 4094 /* a link tag for each */

void pd_topology_leaf_spine_free(struct pd_leaf_spine *shape)
{
    if (!shape) {
        return;
    }
    free(shape->places);
    free(shape->leaves);
    free(shape->spines);
    free(shape);
}

static void check_counts(const struct pd_leaf_spine *shape, struct pd_findings *findings)
{
    uint64_t links = (uint64_t)shape->leaves_len * shape->spines_len;
    if (shape->leaves_len < 2 || !links || links > MAX_LINKS) {
        pd_topology_findings_add(
            findings,
            "nodes: %u leaves and %u spines, expected at least 2 and 1 with a product "
            "of at most %d",
            shape->leaves_len, shape->spines_len, MAX_LINKS);
    }
}

static void place_by_id(const struct pd_topology *topology, struct pd_leaf_spine *shape)
{
    uint16_t leaves = 0, spines = 0;
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        bool leaf = topology->switches[i].role == PD_ROLE_LEAF;
        uint16_t *len = leaf ? &leaves : &spines;
        (leaf ? shape->leaves : shape->spines)[*len] = i;
        shape->places[i].position = (*len)++;
    }
}

/* ---- with parts missing: by position */

/* A complete one is a smaller one, too, when whole leaves or spines are missing. What tells it from
 * that: options, positions, the generator's name; or names of which more than half are there. Then
 * the full size of the layer, else 0. */
static uint32_t full_size(const struct pd_topology *topology, enum pd_switch_role role)
{
    bool leaf = role == PD_ROLE_LEAF, given = false;
    uint32_t count = pd_topology_shape_count(topology, role);
    uint32_t largest = pd_topology_shape_largest(topology, role, false);
    uint32_t size = pd_topology_shape_size(topology, "cherrypick-leaf-spine",
                                           leaf ? "leaves" : "spines", "leaf-spine", !leaf);
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        const struct pd_switch *sw = &topology->switches[i];
        given |= sw->role == role && sw->position;
        if (sw->role == role && !pd_topology_shape_spot(sw).position) {
            return 0;
        }
    }
    if (largest <= size) {
        return size;
    }
    return given || 2 * count > largest ? largest : 0;
}

static void place_by_spot(const struct pd_topology *topology, struct pd_leaf_spine *shape,
                          struct pd_findings *findings)
{
    memset(shape->leaves, 0xff, shape->leaves_len * sizeof *shape->leaves);
    memset(shape->spines, 0xff, shape->spines_len * sizeof *shape->spines);
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        uint32_t at = pd_topology_shape_spot(&topology->switches[i]).position - 1;
        bool leaf = topology->switches[i].role == PD_ROLE_LEAF;
        pd_topology_shape_put(topology, i, (struct pd_place){0, (uint16_t)at},
                              &(leaf ? shape->leaves : shape->spines)[at], shape->places, findings);
    }
}

static int fill(const struct pd_topology *topology, struct pd_leaf_spine *shape,
                struct pd_findings *findings)
{
    static const enum pd_switch_role pairs[][2] = {{PD_ROLE_LEAF, PD_ROLE_SPINE}};
    uint32_t leaves = pd_topology_shape_count(topology, PD_ROLE_LEAF);
    uint32_t spines = pd_topology_shape_count(topology, PD_ROLE_SPINE);
    shape->leaves_len = full_size(topology, PD_ROLE_LEAF);
    shape->spines_len = full_size(topology, PD_ROLE_SPINE);
    bool spots = shape->leaves_len && shape->spines_len &&
                 (shape->leaves_len != leaves || shape->spines_len != spines);
    if (!spots) {
        shape->leaves_len = leaves;
        shape->spines_len = spines;
    }
    pd_topology_shape_check_roles(topology, pairs, 1, "leaf-spine", findings);
    check_counts(shape, findings);
    if (findings->len) {
        return 0;
    }
    shape->places = calloc(topology->switches_len, sizeof *shape->places);
    shape->leaves = calloc(shape->leaves_len, sizeof *shape->leaves);
    shape->spines = calloc(shape->spines_len, sizeof *shape->spines);
    if (!shape->places || !shape->leaves || !shape->spines) {
        return -ENOMEM;
    }
    if (spots) {
        place_by_spot(topology, shape, findings);
    } else {
        place_by_id(topology, shape);
    }
    return 0;
}

int pd_topology_leaf_spine_new(const struct pd_topology *topology, struct pd_findings *findings,
                               struct pd_leaf_spine **ret_shape)
{
    struct pd_leaf_spine *shape = calloc(1, sizeof *shape);
    int error = shape ? fill(topology, shape, findings) : -ENOMEM;
    if (error || findings->len) {
        pd_topology_leaf_spine_free(shape);
    } else {
        *ret_shape = shape;
    }
    return error;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a leaf-spine: each leaf linked with each spine; or why the topology is none. */
#include <errno.h>
#include <stdlib.h>

#include "topology/shape.h"

#define MAX_LINKS 4094 /* a link tag for each */

void pd_leaf_spine_free(struct pd_leaf_spine *shape)
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
        pd_findings_add(findings,
                        "nodes: %u leaves and %u spines, expected at least 2 and 1 with a product "
                        "of at most %d",
                        shape->leaves_len, shape->spines_len, MAX_LINKS);
    }
}

static void check_degrees(const struct pd_topology *topology, const struct pd_leaf_spine *shape,
                          struct pd_findings *findings)
{
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        if (topology->switches[i].role == PD_ROLE_LEAF) {
            pd_shape_check_degree(topology, i, PD_ROLE_SPINE, shape->spines_len, findings);
        } else {
            pd_shape_check_degree(topology, i, PD_ROLE_LEAF, shape->leaves_len, findings);
        }
    }
}

static void place(const struct pd_topology *topology, struct pd_leaf_spine *shape)
{
    uint16_t leaves = 0, spines = 0;
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        bool leaf = topology->switches[i].role == PD_ROLE_LEAF;
        uint16_t *len = leaf ? &leaves : &spines;
        (leaf ? shape->leaves : shape->spines)[*len] = i;
        shape->places[i].position = (*len)++;
    }
}

static int fill(const struct pd_topology *topology, struct pd_leaf_spine *shape,
                struct pd_findings *findings)
{
    static const enum pd_switch_role pairs[][2] = {{PD_ROLE_LEAF, PD_ROLE_SPINE}};
    shape->leaves_len = pd_shape_count(topology, PD_ROLE_LEAF);
    shape->spines_len = pd_shape_count(topology, PD_ROLE_SPINE);
    pd_shape_check_roles(topology, pairs, 1, "leaf-spine", findings);
    check_counts(shape, findings);
    if (!findings->len) {
        check_degrees(topology, shape, findings);
    }
    if (findings->len) {
        return 0;
    }
    shape->places = calloc(topology->switches_len, sizeof *shape->places);
    shape->leaves = calloc(shape->leaves_len, sizeof *shape->leaves);
    shape->spines = calloc(shape->spines_len, sizeof *shape->spines);
    if (!shape->places || !shape->leaves || !shape->spines) {
        return -ENOMEM;
    }
    place(topology, shape);
    return 0;
}

int pd_leaf_spine_new(const struct pd_topology *topology, struct pd_findings *findings,
                      struct pd_leaf_spine **ret_shape)
{
    struct pd_leaf_spine *shape = calloc(1, sizeof *shape);
    int error = shape ? fill(topology, shape, findings) : -ENOMEM;
    if (error || findings->len) {
        pd_leaf_spine_free(shape);
    } else {
        *ret_shape = shape;
    }
    return error;
}

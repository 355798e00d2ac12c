/* SPDX-License-Identifier: Apache-2.0 */
/* What the shapes share: counts, roles that may be linked, degrees; and which codec needs which
 * shape. */
#include "topology/shape.h"

#include <string.h>

uint32_t pd_topology_shape_count(const struct pd_topology *topology, enum pd_switch_role role)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        count += topology->switches[i].role == role;
    }
    return count;
}

static bool role_fits(enum pd_switch_role role, const enum pd_switch_role (*pairs)[2],
                      size_t pairs_len)
{
    for (size_t i = 0; i < pairs_len; i++) {
        if (role == pairs[i][0] || role == pairs[i][1]) {
            return true;
        }
    }
    return false;
}

static bool pair_fits(enum pd_switch_role a, enum pd_switch_role b,
                      const enum pd_switch_role (*pairs)[2], size_t pairs_len)
{
    for (size_t i = 0; i < pairs_len; i++) {
        if ((a == pairs[i][0] && b == pairs[i][1]) || (b == pairs[i][0] && a == pairs[i][1])) {
            return true;
        }
    }
    return false;
}

static void check_links_of(const struct pd_topology *topology, uint32_t sw,
                           const enum pd_switch_role (*pairs)[2], size_t pairs_len,
                           const char *shape, struct pd_findings *findings)
{
    const struct pd_switch *a = &topology->switches[sw];
    for (uint32_t i = 0; i < a->switch_neighbours; i++) {
        const struct pd_switch *b = &topology->switches[a->neighbours[i].node];
        if (a->id < b->id && role_fits(b->role, pairs, pairs_len) &&
            !pair_fits(a->role, b->role, pairs, pairs_len)) {
            pd_topology_findings_link(findings, sw, a->neighbours[i].node,
                                      "joins %s %u and %s %u, which no %s does",
                                      pd_topology_role_name(a->role), a->id,
                                      pd_topology_role_name(b->role), b->id, shape);
        }
    }
}

/* Only ToRs and leaves have racks. */
static void check_rack(const struct pd_topology *topology, uint32_t sw, const char *shape,
                       struct pd_findings *findings)
{
    const struct pd_switch *entry = &topology->switches[sw];
    if (!pd_topology_role_is_tor(entry->role) && pd_topology_switch_has_rack(entry)) {
        pd_topology_findings_switch(findings, sw,
                                    "%s %u has hosts or prefixes, which none of a %s has",
                                    pd_topology_role_name(entry->role), entry->id, shape);
    }
}

void pd_topology_shape_check_roles(const struct pd_topology *topology,
                                   const enum pd_switch_role (*pairs)[2], size_t pairs_len,
                                   const char *shape, struct pd_findings *findings)
{
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        const struct pd_switch *sw = &topology->switches[i];
        if (role_fits(sw->role, pairs, pairs_len)) {
            check_links_of(topology, i, pairs, pairs_len, shape, findings);
            check_rack(topology, i, shape, findings);
        } else {
            pd_topology_findings_switch(findings, i, "switch %u is a %s, which no %s has", sw->id,
                                        pd_topology_role_name(sw->role), shape);
        }
    }
}

void pd_topology_shape_check_degree(const struct pd_topology *topology, uint32_t sw,
                                    enum pd_switch_role role, uint32_t expected,
                                    struct pd_findings *findings)
{
    const struct pd_switch *entry = &topology->switches[sw];
    uint32_t count = 0;
    for (uint32_t i = 0; i < entry->switch_neighbours; i++) {
        count += topology->switches[entry->neighbours[i].node].role == role;
    }
    if (count != expected) {
        pd_topology_findings_switch(findings, sw,
                                    "%s %u has %u links to switches of role %s, expected %u",
                                    pd_topology_role_name(entry->role), entry->id, count,
                                    pd_topology_role_name(role), expected);
    }
}

static int check_codec(const struct pd_topology *topology, const char *codec,
                       struct pd_findings *findings)
{
    int error = 0;
    if (!strcmp(codec, "cherrypick-fat-tree")) {
        struct pd_fat_tree *shape = NULL;
        error = pd_topology_fat_tree_new(topology, findings, &shape);
        pd_topology_fat_tree_free(shape);
    } else if (!strcmp(codec, "cherrypick-vl2")) {
        struct pd_vl2 *shape = NULL;
        error = pd_topology_vl2_new(topology, findings, &shape);
        pd_topology_vl2_free(shape);
    } else if (!strcmp(codec, "cherrypick-leaf-spine")) {
        struct pd_leaf_spine *shape = NULL;
        error = pd_topology_leaf_spine_new(topology, findings, &shape);
        pd_topology_leaf_spine_free(shape);
    }
    return error;
}

int pd_topology_shape_check(const struct pd_topology *topology, struct pd_findings *findings)
{
    int error = 0;
    for (uint32_t i = 0; i < topology->codecs_len && !error; i++) {
        error = check_codec(topology, topology->codecs[i].name, findings);
    }
    return error;
}

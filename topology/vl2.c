/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a VL2: pairs of aggs with their dual-homed ToRs, below intermediates; or why it is
 * none. */
#include <errno.h>
#include <stdlib.h>

#include "topology/shape.h"

#define MIN_K 4
#define MAX_K 62

void pd_vl2_free(struct pd_vl2 *shape)
{
    if (!shape) {
        return;
    }
    free(shape->places);
    free(shape->tors);
    free(shape->aggs);
    free(shape->intermediates);
    free(shape);
}

/* k is the number of aggs; the other layers must fit. */
static void check_counts(const struct pd_topology *topology, uint32_t k,
                         struct pd_findings *findings)
{
    if (k < MIN_K || k > MAX_K || k % 2) {
        pd_findings_add(findings,
                        "nodes: %u switches of role agg, expected an even k from %d to %d", k,
                        MIN_K, MAX_K);
        return;
    }
    const struct {
        enum pd_switch_role role;
        uint32_t expected;
    } layers[] = {{PD_ROLE_INTERMEDIATE, k / 2}, {PD_ROLE_TOR, k * k / 4}};
    for (int i = 0; i < 2; i++) {
        uint32_t count = pd_shape_count(topology, layers[i].role);
        if (count != layers[i].expected) {
            pd_findings_add(findings, "nodes: %u switches of role %s and %u aggs, expected %u",
                            count, pd_role_name(layers[i].role), k, layers[i].expected);
        }
    }
}

static void check_degrees(const struct pd_topology *topology, uint32_t k,
                          struct pd_findings *findings)
{
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        enum pd_switch_role role = topology->switches[i].role;
        if (role == PD_ROLE_AGG) {
            pd_shape_check_degree(topology, i, PD_ROLE_TOR, k / 2, findings);
            pd_shape_check_degree(topology, i, PD_ROLE_INTERMEDIATE, k / 2, findings);
        } else {
            pd_shape_check_degree(topology, i, PD_ROLE_AGG, role == PD_ROLE_TOR ? 2 : k, findings);
        }
    }
}

/* Two aggs with a ToR in common are a pair, and have all their ToRs in common. */
static void check_pair(const struct pd_topology *topology, uint32_t tor, uint32_t *partners,
                       struct pd_findings *findings)
{
    const struct pd_switch *sw = &topology->switches[tor];
    uint32_t aggs[2] = {sw->neighbours[0].node, sw->neighbours[1].node};
    for (int i = 0; i < 2; i++) {
        uint32_t *partner = &partners[aggs[i]];
        if (*partner == PD_NONE) {
            *partner = aggs[!i];
        }
        if (*partner != aggs[!i]) {
            pd_findings_link(findings, tor, aggs[i],
                             "tor %u joins agg %u and agg %u, but agg %u is paired with agg %u",
                             sw->id, topology->switches[aggs[i]].id,
                             topology->switches[aggs[!i]].id, topology->switches[aggs[i]].id,
                             topology->switches[*partner].id);
            return;
        }
    }
}

static void check_pairs(const struct pd_topology *topology, uint32_t *partners,
                        struct pd_findings *findings)
{
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        partners[i] = PD_NONE;
    }
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        if (topology->switches[i].role == PD_ROLE_TOR) {
            check_pair(topology, i, partners, findings);
        }
    }
}

/* Pairs in the order of their smaller agg, ToRs and intermediates by ID. */
static void place_upper(const struct pd_topology *topology, struct pd_vl2 *shape,
                        const uint32_t *partners)
{
    uint16_t pairs = 0, intermediates = 0;
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        enum pd_switch_role role = topology->switches[i].role;
        if (role == PD_ROLE_INTERMEDIATE) {
            shape->intermediates[intermediates] = i;
            shape->places[i].position = intermediates++;
        } else if (role == PD_ROLE_AGG && partners[i] > i) {
            shape->aggs[2 * pairs] = i;
            shape->aggs[2 * pairs + 1] = partners[i];
            shape->places[i] = (struct pd_place){pairs, 0};
            shape->places[partners[i]] = (struct pd_place){pairs++, 1};
        }
    }
}

static void place_tors(const struct pd_topology *topology, struct pd_vl2 *shape)
{
    uint16_t lens[MAX_K / 2] = {0};
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        if (topology->switches[i].role == PD_ROLE_TOR) {
            uint16_t pair = shape->places[topology->switches[i].neighbours[0].node].group;
            shape->tors[pair * (shape->k / 2) + lens[pair]] = i;
            shape->places[i] = (struct pd_place){pair, lens[pair]++};
        }
    }
}

static int fill(const struct pd_topology *topology, struct pd_vl2 *shape,
                struct pd_findings *findings)
{
    static const enum pd_switch_role pairs[][2] = {{PD_ROLE_TOR, PD_ROLE_AGG},
                                                   {PD_ROLE_AGG, PD_ROLE_INTERMEDIATE}};
    uint32_t k = shape->k = pd_shape_count(topology, PD_ROLE_AGG);
    pd_shape_check_roles(topology, pairs, 2, "VL2", findings);
    check_counts(topology, k, findings);
    if (!findings->len) {
        check_degrees(topology, k, findings);
    }
    if (findings->len) {
        return 0;
    }
    uint32_t *partners = malloc(topology->switches_len * sizeof *partners);
    shape->places = calloc(topology->switches_len, sizeof *shape->places);
    shape->tors = calloc((size_t)k * k / 4, sizeof *shape->tors);
    shape->aggs = calloc(k, sizeof *shape->aggs);
    shape->intermediates = calloc(k / 2, sizeof *shape->intermediates);
    bool complete = partners && shape->places && shape->tors && shape->aggs && shape->intermediates;
    if (complete) {
        check_pairs(topology, partners, findings);
    }
    if (complete && !findings->len) {
        place_upper(topology, shape, partners);
        place_tors(topology, shape);
    }
    free(partners);
    return complete ? 0 : -ENOMEM;
}

int pd_vl2_new(const struct pd_topology *topology, struct pd_findings *findings,
               struct pd_vl2 **ret_shape)
{
    struct pd_vl2 *shape = calloc(1, sizeof *shape);
    int error = shape ? fill(topology, shape, findings) : -ENOMEM;
    if (error || findings->len) {
        pd_vl2_free(shape);
    } else {
        *ret_shape = shape;
    }
    return error;
}

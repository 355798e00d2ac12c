/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a VL2: pairs of aggs with their dual-homed ToRs, below intermediates; or why it is
 * none. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/shape.h"

#define MIN_K 4
#define MAX_K 62

static const enum pd_switch_role role_pairs[][2] = {{PD_ROLE_TOR, PD_ROLE_AGG},
                                                    {PD_ROLE_AGG, PD_ROLE_INTERMEDIATE}};

void pd_topology_vl2_free(struct pd_vl2 *shape)
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
        pd_topology_findings_add(findings,
                                 "nodes: %u switches of role agg, expected an even k from %d to %d",
                                 k, MIN_K, MAX_K);
        return;
    }
    const struct {
        enum pd_switch_role role;
        uint32_t expected;
    } layers[] = {{PD_ROLE_INTERMEDIATE, k / 2}, {PD_ROLE_TOR, k * k / 4}};
    for (int i = 0; i < 2; i++) {
        uint32_t count = pd_topology_shape_count(topology, layers[i].role);
        if (count != layers[i].expected) {
            pd_topology_findings_add(
                findings, "nodes: %u switches of role %s and %u aggs, expected %u", count,
                pd_topology_role_name(layers[i].role), k, layers[i].expected);
        }
    }
}

static void check_degrees(const struct pd_topology *topology, uint32_t k,
                          struct pd_findings *findings)
{
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        enum pd_switch_role role = topology->switches[i].role;
        if (role == PD_ROLE_AGG) {
            pd_topology_shape_check_degree(topology, i, PD_ROLE_TOR, k / 2, findings);
            pd_topology_shape_check_degree(topology, i, PD_ROLE_INTERMEDIATE, k / 2, findings);
        } else {
            pd_topology_shape_check_degree(topology, i, PD_ROLE_AGG, role == PD_ROLE_TOR ? 2 : k,
                                           findings);
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
            pd_topology_findings_link(
                findings, tor, aggs[i],
                "tor %u joins agg %u and agg %u, but agg %u is paired with agg %u", sw->id,
                topology->switches[aggs[i]].id, topology->switches[aggs[!i]].id,
                topology->switches[aggs[i]].id, topology->switches[*partner].id);
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

static int fill_full(const struct pd_topology *topology, struct pd_vl2 *shape,
                     struct pd_findings *findings)
{
    uint32_t k = shape->k = pd_topology_shape_count(topology, PD_ROLE_AGG);
    pd_topology_shape_check_roles(topology, role_pairs, 2, "VL2", findings);
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

/* ---- with parts missing: by pair and position */

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* k / 2 of the full shape: at least what the largest pair and positions need. */
static uint32_t full_h(const struct pd_topology *topology)
{
    uint32_t h =
        larger(MIN_K / 2, pd_topology_shape_size(topology, "cherrypick-vl2", "k", "vl2", 0) / 2);
    h = larger(h, pd_topology_shape_largest(topology, PD_ROLE_TOR, false));
    h = larger(h, pd_topology_shape_largest(topology, PD_ROLE_TOR, true));
    h = larger(h, pd_topology_shape_largest(topology, PD_ROLE_AGG, true));
    return larger(h, pd_topology_shape_largest(topology, PD_ROLE_INTERMEDIATE, false));
}

/* Where only cables are missing: the aggs and ToRs that are linked are a pair, in the order of the
 * pairs' smallest aggs; positions in the order of IDs, where the pair is whole. */
static int spots_by_links(const struct pd_topology *topology, uint32_t h, struct pd_spot *spots)
{
    size_t len = topology->switches_len;
    uint32_t *groups = malloc((len + 1) * sizeof *groups);
    uint32_t *lens = calloc(2 * len + 3, sizeof *lens); /* ToRs and aggs of pairs; intermediates */
    int error = groups && lens
                    ? pd_topology_shape_groups(topology, PD_ROLE_AGG, PD_ROLE_TOR, groups)
                    : -ENOMEM;
    for (int whole = 0; whole < 2 && !error; whole++) { /* counts, then places what is whole */
        for (uint32_t i = 0; i < len; i++) {
            enum pd_switch_role role = topology->switches[i].role;
            bool top = role == PD_ROLE_INTERMEDIATE;
            uint32_t most = role == PD_ROLE_AGG ? 2 : h;
            spots[i] = (struct pd_spot){0};
            if (!top && groups[i] == PD_NONE) {
                continue;
            }
            uint32_t *count = &lens[top ? 2 * len : 2 * (size_t)groups[i] + (role == PD_ROLE_AGG)];
            if (!whole) {
                ++*count;
            } else if (*count >= most && *count < 2 * most) {
                spots[i] = (struct pd_spot){top ? 0 : groups[i] + 1, (*count)++ - most + 1};
            }
        }
    }
    free(groups);
    free(lens);
    return error;
}

static void put(const struct pd_topology *topology, struct pd_vl2 *shape, uint32_t sw,
                struct pd_spot spot, struct pd_findings *findings)
{
    enum pd_switch_role role = topology->switches[sw].role;
    uint32_t h = shape->k / 2, most = role == PD_ROLE_AGG ? 2 : h;
    if (spot.position < 1 || spot.position > most) {
        pd_topology_shape_no_place(topology, sw, spot, most, findings);
    } else if (role == PD_ROLE_INTERMEDIATE) {
        struct pd_place place = {0, (uint16_t)(spot.position - 1)};
        pd_topology_shape_put(topology, sw, place, &shape->intermediates[place.position],
                              shape->places, findings);
    } else if (spot.pod < 1 || spot.pod > h) {
        pd_topology_findings_switch(findings, sw, "%s %u is in pair %u, expected 1 to %u",
                                    pd_topology_role_name(role), topology->switches[sw].id,
                                    spot.pod, h);
    } else {
        struct pd_place place = {(uint16_t)(spot.pod - 1), (uint16_t)(spot.position - 1)};
        uint32_t *slots = role == PD_ROLE_AGG ? shape->aggs : shape->tors;
        pd_topology_shape_put(topology, sw, place, &slots[place.group * most + place.position],
                              shape->places, findings);
    }
}

/* A ToR hangs at the aggs of its pair alone. */
static void check_tor(const struct pd_topology *topology, const struct pd_vl2 *shape, uint32_t tor,
                      struct pd_findings *findings)
{
    const struct pd_switch *sw = &topology->switches[tor];
    for (uint32_t i = 0; i < sw->switch_neighbours; i++) {
        uint32_t agg = sw->neighbours[i].node;
        if (shape->places[agg].group != shape->places[tor].group) {
            pd_topology_findings_link(
                findings, tor, agg,
                "joins tor %u of pair %u and agg %u of pair %u, expected the same", sw->id,
                shape->places[tor].group + 1, topology->switches[agg].id,
                shape->places[agg].group + 1);
        }
    }
}

static int fill_parts(const struct pd_topology *topology, struct pd_vl2 *shape,
                      struct pd_findings *findings)
{
    uint32_t h = larger(full_h(topology), pd_topology_shape_count(topology, PD_ROLE_AGG) / 2);
    uint32_t k = shape->k = 2 * h;
    pd_topology_shape_check_roles(topology, role_pairs, 2, "VL2", findings);
    if (k > MAX_K) {
        pd_topology_findings_add(findings, "nodes: places for k = %u, expected at most %d", k,
                                 MAX_K);
    }
    if (findings->len) {
        return 0;
    }
    shape->places = calloc(topology->switches_len, sizeof *shape->places);
    shape->tors = malloc((size_t)h * h * sizeof *shape->tors);
    shape->aggs = malloc(k * sizeof *shape->aggs);
    shape->intermediates = malloc(h * sizeof *shape->intermediates);
    if (!shape->places || !shape->tors || !shape->aggs || !shape->intermediates) {
        return -ENOMEM;
    }
    memset(shape->tors, 0xff, (size_t)h * h * sizeof *shape->tors);
    memset(shape->aggs, 0xff, k * sizeof *shape->aggs);
    memset(shape->intermediates, 0xff, h * sizeof *shape->intermediates);
    bool named;
    struct pd_spot *spots = pd_topology_shape_spots(topology, &named);
    if (!spots || (!named && spots_by_links(topology, h, spots))) {
        free(spots);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        put(topology, shape, i, spots[i], findings);
    }
    free(spots);
    for (uint32_t i = 0; i < topology->switches_len && !findings->len; i++) {
        if (topology->switches[i].role == PD_ROLE_TOR) {
            check_tor(topology, shape, i, findings);
        }
    }
    return 0;
}

static int attempt(const struct pd_topology *topology,
                   int (*fill)(const struct pd_topology *topology, struct pd_vl2 *shape,
                               struct pd_findings *findings),
                   struct pd_findings *findings, struct pd_vl2 **ret_shape)
{
    struct pd_vl2 *shape = calloc(1, sizeof *shape);
    int error = shape ? fill(topology, shape, findings) : -ENOMEM;
    if (error || findings->len) {
        pd_topology_vl2_free(shape);
    } else {
        *ret_shape = shape;
    }
    return error;
}

/* A complete one needs no positions and no names. */
int pd_topology_vl2_new(const struct pd_topology *topology, struct pd_findings *findings,
                        struct pd_vl2 **ret_shape)
{
    struct pd_findings quiet = {.draft = findings->draft};
    int error = attempt(topology, fill_full, &quiet, ret_shape);
    return !error && quiet.len ? attempt(topology, fill_parts, findings, ret_shape) : error;
}

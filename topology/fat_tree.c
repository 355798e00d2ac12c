/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a fat-tree: pods, core groups and positions, or why the topology is none. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/shape.h"

#define MIN_K 4
#define MAX_K 72

static const enum pd_switch_role role_pairs[][2] = {{PD_ROLE_TOR, PD_ROLE_AGG},
                                                    {PD_ROLE_AGG, PD_ROLE_CORE}};

void pd_topology_fat_tree_free(struct pd_fat_tree *shape)
{
    if (!shape) {
        return;
    }
    free(shape->places);
    free(shape->tors);
    free(shape->aggs);
    free(shape->cores);
    free(shape);
}

/* k follows from the number of cores; the other layers must fit. */
static void check_counts(const struct pd_topology *topology, struct pd_fat_tree *shape,
                         struct pd_findings *findings)
{
    uint32_t cores = pd_topology_shape_count(topology, PD_ROLE_CORE), h = MIN_K / 2;
    while (h < MAX_K / 2 && h * h < cores) {
        h++;
    }
    shape->h = h;
    shape->k = 2 * h;
    if (h * h != cores) {
        pd_topology_findings_add(
            findings, "nodes: %u cores, expected the square of k/2 for an even k from %d to %d",
            cores, MIN_K, MAX_K);
    }
    static const enum pd_switch_role lower[] = {PD_ROLE_TOR, PD_ROLE_AGG};
    for (int i = 0; i < 2 && h * h == cores; i++) {
        uint32_t count = pd_topology_shape_count(topology, lower[i]);
        if (count != shape->k * h) {
            pd_topology_findings_add(
                findings, "nodes: %u switches of role %s and %u cores, expected %u for k = %u",
                count, pd_topology_role_name(lower[i]), cores, shape->k * h, shape->k);
        }
    }
}

/* ---- pods */

/* Puts each ToR and agg into its pod; aggs get their position later, from their core group. */
static int place_pods(const struct pd_topology *topology, struct pd_fat_tree *shape,
                      struct pd_findings *findings)
{
    uint32_t *lens = calloc(2 * (size_t)shape->k, sizeof *lens); /* ToRs, then aggs of each pod */
    if (!lens) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        const struct pd_switch *sw = &topology->switches[i];
        if (sw->role == PD_ROLE_CORE) {
            continue;
        }
        if (sw->pod < 1 || sw->pod > shape->k) {
            pd_topology_findings_switch(findings, i, "%s %u is in pod %u, expected 1 to %u",
                                        pd_topology_role_name(sw->role), sw->id, sw->pod, shape->k);
            continue;
        }
        uint32_t pod = sw->pod - 1, *len = &lens[pod + (sw->role == PD_ROLE_AGG ? shape->k : 0)];
        if (++*len > shape->h) {
            pd_topology_findings_switch(findings, i, "%s %u is one too many in pod %u, expected %u",
                                        pd_topology_role_name(sw->role), sw->id, sw->pod, shape->h);
        } else {
            (sw->role == PD_ROLE_AGG ? shape->aggs : shape->tors)[pod * shape->h + *len - 1] = i;
        }
        shape->places[i] = (struct pd_place){(uint16_t)pod, (uint16_t)(*len - 1)};
    }
    free(lens);
    return 0;
}

/* A ToR–agg link stays in its pod. */
static void check_pod_links(const struct pd_topology *topology, uint32_t tor,
                            struct pd_findings *findings)
{
    const struct pd_switch *a = &topology->switches[tor];
    for (uint32_t i = 0; i < a->switch_neighbours; i++) {
        const struct pd_switch *b = &topology->switches[a->neighbours[i].node];
        if (b->role == PD_ROLE_AGG && b->pod != a->pod) {
            pd_topology_findings_link(
                findings, tor, a->neighbours[i].node,
                "joins tor %u of pod %u and agg %u of pod %u, expected the same pod", a->id, a->pod,
                b->id, b->pod);
        }
    }
}

static void check_wiring(const struct pd_topology *topology, const struct pd_fat_tree *shape,
                         struct pd_findings *findings)
{
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        enum pd_switch_role role = topology->switches[i].role;
        if (role == PD_ROLE_TOR) {
            check_pod_links(topology, i, findings);
        }
        if (role == PD_ROLE_AGG) {
            pd_topology_shape_check_degree(topology, i, PD_ROLE_TOR, shape->h, findings);
        }
        if (role != PD_ROLE_AGG) {
            pd_topology_shape_check_degree(topology, i, PD_ROLE_AGG,
                                           role == PD_ROLE_CORE ? shape->k : shape->h, findings);
        } else {
            pd_topology_shape_check_degree(topology, i, PD_ROLE_CORE, shape->h, findings);
        }
    }
}

/* ---- core groups */

/* A core has k links to aggs: one into each pod. */
static void check_core(const struct pd_topology *topology, const struct pd_fat_tree *shape,
                       uint32_t core, struct pd_findings *findings)
{
    const struct pd_switch *sw = &topology->switches[core];
    uint32_t linked[MAX_K]; /* agg of each pod */
    for (uint32_t pod = 0; pod < shape->k; pod++) {
        linked[pod] = PD_NONE;
    }
    for (uint32_t i = 0; i < sw->switch_neighbours; i++) {
        uint32_t agg = sw->neighbours[i].node, *first = &linked[shape->places[agg].group];
        if (*first != PD_NONE) {
            pd_topology_findings_link(
                findings, core, agg,
                "core %u has a second link into pod %u, to agg %u besides agg %u, "
                "expected one into each pod",
                sw->id, topology->switches[agg].pod, topology->switches[agg].id,
                topology->switches[*first].id);
        } else {
            *first = agg;
        }
    }
}

static void check_cores(const struct pd_topology *topology, const struct pd_fat_tree *shape,
                        struct pd_findings *findings)
{
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        if (topology->switches[i].role == PD_ROLE_CORE) {
            check_core(topology, shape, i, findings);
        }
    }
}

/* The first agg of the core's that is in the first pod. */
static uint32_t first_pod_agg(const struct pd_topology *topology, const struct pd_fat_tree *shape,
                              uint32_t core)
{
    const struct pd_switch *sw = &topology->switches[core];
    for (uint32_t i = 0; i < sw->switch_neighbours; i++) {
        if (shape->places[sw->neighbours[i].node].group == 0) {
            return sw->neighbours[i].node;
        }
    }
    return PD_NONE;
}

/* The cores of one agg of the first pod are a group; groups stand in the order of their first core.
 */
static void place_cores(const struct pd_topology *topology, struct pd_fat_tree *shape)
{
    uint32_t leaders[MAX_K / 2], lens[MAX_K / 2], groups = 0;
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        if (topology->switches[i].role != PD_ROLE_CORE) {
            continue;
        }
        uint32_t agg = first_pod_agg(topology, shape, i), group = 0;
        while (group < groups && leaders[group] != agg) {
            group++;
        }
        if (group == groups) {
            leaders[groups] = agg;
            lens[groups++] = 0;
        }
        shape->cores[group * shape->h + lens[group]] = i;
        shape->places[i] = (struct pd_place){(uint16_t)group, (uint16_t)lens[group]++};
    }
}

/* All cores of an agg are of one group, which is the agg's position. */
static void place_agg(const struct pd_topology *topology, struct pd_fat_tree *shape, uint32_t agg,
                      struct pd_findings *findings)
{
    const struct pd_switch *sw = &topology->switches[agg];
    uint32_t first = PD_NONE;
    for (uint32_t i = 0; i < sw->switch_neighbours; i++) {
        uint32_t core = sw->neighbours[i].node;
        if (topology->switches[core].role != PD_ROLE_CORE) {
            continue;
        }
        if (first == PD_NONE) {
            first = core;
        } else if (shape->places[core].group != shape->places[first].group) {
            pd_topology_findings_link(
                findings, agg, core,
                "agg %u is linked with core %u and core %u, which share no agg in pod 1", sw->id,
                topology->switches[first].id, topology->switches[core].id);
        }
    }
    shape->places[agg].position = shape->places[first].group;
    shape->aggs[shape->places[agg].group * shape->h + shape->places[agg].position] = agg;
}

static void place_aggs(const struct pd_topology *topology, struct pd_fat_tree *shape,
                       struct pd_findings *findings)
{
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        if (topology->switches[i].role == PD_ROLE_AGG) {
            place_agg(topology, shape, i, findings);
        }
    }
}

static int fill_full(const struct pd_topology *topology, struct pd_fat_tree *shape,
                     struct pd_findings *findings)
{
    pd_topology_shape_check_roles(topology, role_pairs, 2, "fat-tree", findings);
    check_counts(topology, shape, findings);
    if (findings->len) {
        return 0;
    }
    shape->places = calloc(topology->switches_len, sizeof *shape->places);
    shape->tors = calloc((size_t)shape->k * shape->h, sizeof *shape->tors);
    shape->aggs = calloc((size_t)shape->k * shape->h, sizeof *shape->aggs);
    shape->cores = calloc((size_t)shape->h * shape->h, sizeof *shape->cores);
    if (!shape->places || !shape->tors || !shape->aggs || !shape->cores ||
        place_pods(topology, shape, findings)) {
        return -ENOMEM;
    }
    if (!findings->len) {
        check_wiring(topology, shape, findings);
    }
    if (!findings->len) {
        check_cores(topology, shape, findings);
    }
    if (!findings->len) {
        place_cores(topology, shape);
        place_aggs(topology, shape, findings);
    }
    return 0;
}

/* ---- with parts missing: by pod and position */

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* h of the full shape: at least what the largest pod and positions need. */
static uint32_t full_h(const struct pd_topology *topology)
{
    uint32_t h = MIN_K / 2, cores = pd_topology_shape_largest(topology, PD_ROLE_CORE, false);
    h = larger(h, pd_topology_shape_size(topology, "cherrypick-fat-tree", "k", "fat-tree", 0) / 2);
    for (int agg = 0; agg < 2; agg++) {
        enum pd_switch_role role = agg ? PD_ROLE_AGG : PD_ROLE_TOR;
        h = larger(h, pd_topology_shape_largest(topology, role, false));
        h = larger(h, (pd_topology_shape_largest(topology, role, true) + 1) / 2);
    }
    while (h < MAX_K / 2 && h * h < cores) {
        h++;
    }
    return h;
}

/* Where only cables are missing: the cores and aggs that are linked are a group, in the order of
 * the groups' smallest cores; the rest stands in the order of IDs, where the pod or group is whole.
 */
static int spots_by_links(const struct pd_topology *topology, uint32_t h, struct pd_spot *spots)
{
    uint32_t *groups = malloc(((size_t)topology->switches_len + 1) * sizeof *groups);
    uint32_t *lens = calloc(2 * (size_t)UINT16_MAX + 2, sizeof *lens); /* of pods, of groups */
    int error = groups && lens
                    ? pd_topology_shape_groups(topology, PD_ROLE_CORE, PD_ROLE_AGG, groups)
                    : -ENOMEM;
    for (int whole = 0; whole < 2 && !error; whole++) { /* counts, then places what is whole */
        for (uint32_t i = 0; i < topology->switches_len; i++) {
            const struct pd_switch *sw = &topology->switches[i];
            bool core = sw->role == PD_ROLE_CORE;
            uint32_t at = core ? groups[i] : sw->pod;
            if (sw->role == PD_ROLE_AGG) {
                spots[i].position = groups[i] == PD_NONE ? 0 : groups[i] + 1;
            } else if (!whole) {
                lens[at % (UINT16_MAX + 1U) + (core ? UINT16_MAX + 1U : 0)]++;
            } else {
                uint32_t *len = &lens[at % (UINT16_MAX + 1U) + (core ? UINT16_MAX + 1U : 0)];
                uint32_t rank = *len >= h && *len < 2 * h ? (*len)++ - h : PD_NONE;
                spots[i].position = rank == PD_NONE ? 0 : (core ? at * h : 0) + rank + 1;
            }
        }
    }
    free(groups);
    free(lens);
    return error;
}

static void put(const struct pd_topology *topology, struct pd_fat_tree *shape, uint32_t sw,
                struct pd_spot spot, struct pd_findings *findings)
{
    const struct pd_switch *entry = &topology->switches[sw];
    uint32_t h = shape->h, most = entry->role == PD_ROLE_CORE ? h * h : h;
    if (spot.position < 1 || spot.position > most) {
        pd_topology_shape_no_place(topology, sw, spot, most, findings);
    } else if (entry->role == PD_ROLE_CORE) {
        uint32_t at = spot.position - 1;
        struct pd_place place = {(uint16_t)(at / h), (uint16_t)(at % h)};
        pd_topology_shape_put(topology, sw, place, &shape->cores[at], shape->places, findings);
    } else if (entry->pod < 1 || entry->pod > shape->k) {
        pd_topology_findings_switch(findings, sw, "%s %u is in pod %u, expected 1 to %u",
                                    pd_topology_role_name(entry->role), entry->id, entry->pod,
                                    shape->k);
    } else {
        struct pd_place place = {(uint16_t)(entry->pod - 1), (uint16_t)(spot.position - 1)};
        uint32_t *slots = entry->role == PD_ROLE_AGG ? shape->aggs : shape->tors;
        pd_topology_shape_put(topology, sw, place, &slots[place.group * h + place.position],
                              shape->places, findings);
    }
}

/* An agg's position is the group of its cores. */
static void check_agg(const struct pd_topology *topology, const struct pd_fat_tree *shape,
                      uint32_t agg, struct pd_findings *findings)
{
    const struct pd_switch *sw = &topology->switches[agg];
    for (uint32_t i = 0; i < sw->switch_neighbours; i++) {
        uint32_t core = sw->neighbours[i].node;
        if (topology->switches[core].role == PD_ROLE_CORE &&
            shape->places[core].group != shape->places[agg].position) {
            pd_topology_findings_link(
                findings, agg, core,
                "joins agg %u, number %u of its pod, and core %u of group %u, "
                "expected the same",
                sw->id, shape->places[agg].position + 1, topology->switches[core].id,
                shape->places[core].group + 1);
        }
    }
}

static int fill_parts(const struct pd_topology *topology, struct pd_fat_tree *shape,
                      struct pd_findings *findings)
{
    uint32_t h = full_h(topology), cores = pd_topology_shape_count(topology, PD_ROLE_CORE);
    while (h < MAX_K / 2 && h * h < cores) {
        h++;
    }
    uint32_t k = shape->k = 2 * h;
    shape->h = h;
    pd_topology_shape_check_roles(topology, role_pairs, 2, "fat-tree", findings);
    if (k > MAX_K) {
        pd_topology_findings_add(findings, "nodes: places for k = %u, expected at most %d", k,
                                 MAX_K);
    }
    if (findings->len) {
        return 0;
    }
    shape->places = calloc(topology->switches_len, sizeof *shape->places);
    shape->tors = malloc((size_t)k * h * sizeof *shape->tors);
    shape->aggs = malloc((size_t)k * h * sizeof *shape->aggs);
    shape->cores = malloc((size_t)h * h * sizeof *shape->cores);
    if (!shape->places || !shape->tors || !shape->aggs || !shape->cores) {
        return -ENOMEM;
    }
    memset(shape->tors, 0xff, (size_t)k * h * sizeof *shape->tors);
    memset(shape->aggs, 0xff, (size_t)k * h * sizeof *shape->aggs);
    memset(shape->cores, 0xff, (size_t)h * h * sizeof *shape->cores);
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
            check_pod_links(topology, i, findings);
        } else if (topology->switches[i].role == PD_ROLE_AGG) {
            check_agg(topology, shape, i, findings);
        }
    }
    return 0;
}

static int attempt(const struct pd_topology *topology,
                   int (*fill)(const struct pd_topology *topology, struct pd_fat_tree *shape,
                               struct pd_findings *findings),
                   struct pd_findings *findings, struct pd_fat_tree **ret_shape)
{
    struct pd_fat_tree *shape = calloc(1, sizeof *shape);
    int error = shape ? fill(topology, shape, findings) : -ENOMEM;
    if (error || findings->len) {
        pd_topology_fat_tree_free(shape);
    } else {
        *ret_shape = shape;
    }
    return error;
}

/* A complete one needs no positions and no names. */
int pd_topology_fat_tree_new(const struct pd_topology *topology, struct pd_findings *findings,
                             struct pd_fat_tree **ret_shape)
{
    struct pd_findings quiet = {.draft = findings->draft};
    int error = attempt(topology, fill_full, &quiet, ret_shape);
    return !error && quiet.len ? attempt(topology, fill_parts, findings, ret_shape) : error;
}

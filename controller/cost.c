/* SPDX-License-Identifier: Apache-2.0 */
/* Expected sizes of answers, and times along trees. */
#include "controller/cost.h"

#include <inttypes.h>
#include <stdio.h>

#define FLOWS_OF_HOST                                                          \
    UINT64_C(10000) /* flows that a host has records of, when nothing is known \
                     */
#define PATHS_OF_FLOW UINT64_C(4)
#define BINS          UINT64_C(64)
#define VIOLATIONS    UINT64_C(16)
#define UNLIMITED     UINT64_MAX

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t count_racks(const struct pd_topology *topology)
{
    uint64_t racks = 0;

    for (uint32_t i = 0; i < topology->switches_len; i++) {
        racks += pd_role_is_tor(topology->switches[i].role);
    }
    return racks;
}

static uint64_t count_links(const struct pd_topology *topology)
{
    uint64_t links = 0;

    for (uint32_t i = 0; i < topology->switches_len; i++) {
        links += topology->switches[i].switch_neighbours;
    }
    return links;
}

/* A question about one flow ID has few groups, whatever else it is. */
static bool is_one_flow(const struct pd_query *query)
{
    const unsigned needed = 1U << PD_QUERY_PARAM_SRC_IP | 1U << PD_QUERY_PARAM_DST_IP |
                            1U << PD_QUERY_PARAM_SRC_PORT | 1U << PD_QUERY_PARAM_DST_PORT;

    return (query->given & needed) == needed;
}

/* Groups of a host and of all. */
static void shape_query(const struct pd_query *query, const struct pd_topology *topology,
                        struct pd_cost_shape *shape)
{
    uint64_t racks = count_racks(topology), links = count_links(topology);

    switch (query->name) {
    case PD_QUERY_GET_COUNT:
    case PD_QUERY_GET_DURATION: shape->groups = shape->groups_max = 1; return;
    case PD_QUERY_TOP_FLOWS:
    case PD_QUERY_TOP_RECORDS:
        shape->groups = min_u64(query->k, FLOWS_OF_HOST);
        shape->groups_max = query->k;
        return;
    case PD_QUERY_TOP_HOSTS:
        shape->groups = shape->groups_max = topology->hosts_len ? topology->hosts_len : racks;
        return;
    case PD_QUERY_TOP_LINKS: /* a host's packets come over a part of the links, far from it over few
                              */
        shape->groups = min_u64(links, 4 * racks);
        shape->groups_max = links;
        return;
    case PD_QUERY_FLOW_SIZES: shape->groups = shape->groups_max = BINS; return;
    case PD_QUERY_TRAFFIC_MATRIX:
        shape->groups = racks;
        shape->groups_max = racks * racks;
        return;
    case PD_QUERY_GET_PATHS:
    case PD_QUERY_PATH_BYTES: shape->groups = is_one_flow(query) ? PATHS_OF_FLOW : racks; return;
    case PD_QUERY_GET_FLOWS:
    case PD_QUERY_DISTINCT:
        shape->groups = is_one_flow(query) ? PATHS_OF_FLOW : FLOWS_OF_HOST;
        return;
    default: shape->groups = VIOLATIONS; return; /* conformance */
    }
}

struct pd_cost_shape pd_cost_shape(const struct pd_document *document,
                                   const struct pd_topology *topology)
{
    struct pd_cost_shape shape = {
        .groups = 1, .groups_max = UNLIMITED, .answer_ns = PD_COST_ANSWER_NS};

    if (document->is_program) {
        shape.answer_ns += PD_COST_PROGRAM_NS;
        shape.groups_max = 1;
    } else if (document->question) {
        shape.groups = document->question->groups;
    } else {
        shape_query(&document->query, topology, &shape);
    }
    return shape;
}

/* Time until a list of hosts has been asked and taken in, and the groups that come together. */
static uint64_t ask(const struct pd_cost_shape *shape, const struct pd_tree *trees, size_t len,
                    uint64_t *ret_groups)
{
    uint64_t slowest_ns = 0, own_ns = 0, groups = 0;

    for (size_t i = 0; i < len; i++) {
        uint64_t below = 0, ns = 0, of_this;

        if (trees[i].children_len) {
            ns = PD_COST_HOP_NS + ask(shape, trees[i].children, trees[i].children_len, &below);
        }
        slowest_ns = ns > slowest_ns ? ns : slowest_ns;
        of_this = min_u64(below + shape->groups, shape->groups_max);
        own_ns += shape->answer_ns + of_this * PD_COST_GROUP_NS;
        groups = min_u64(groups + of_this, shape->groups_max);
    }
    *ret_groups = groups;
    return slowest_ns + own_ns;
}

uint64_t pd_cost_ns(const struct pd_cost_shape *shape, const struct pd_trees *trees)
{
    uint64_t groups;

    return PD_COST_HOP_NS + ask(shape, trees->tops, trees->tops_len, &groups);
}

void pd_cost_words(const struct pd_cost_shape *shape, const struct pd_trees *tree, uint64_t tree_ns,
                   uint64_t direct_ns, char words[PD_COST_WORDS_BYTES])
{
    char way[160];

    snprintf(way, sizeof way, "a tree of depth %" PRIu32 " and fan-out %" PRIu32, tree->depth,
             tree->fanout);
    snprintf(words, PD_COST_WORDS_BYTES,
             "for %zu host%s with about %" PRIu64 " %s each, %s is estimated to take %.1f ms, "
             "asking each host directly %.1f ms",
             tree->hosts, tree->hosts == 1 ? "" : "s", shape->groups,
             shape->groups == 1 ? "group" : "groups", way, (double)tree_ns / 1e6,
             (double)direct_ns / 1e6);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* How many groups queries have, expected of one host and of all. */
#include "query/size.h"

#define FLOWS_OF_HOST                                                          \
    UINT64_C(10000) /* flows that a host has records of, when nothing is known \
                     */
#define PATHS_OF_FLOW UINT64_C(4)
#define BINS          UINT64_C(64)
#define VIOLATIONS    UINT64_C(16)

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t count_racks(const struct pd_topology *topology)
{
    uint64_t racks = 0;

    for (uint32_t i = 0; i < topology->switches_len; i++) {
        racks += pd_topology_role_is_tor(topology->switches[i].role);
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
void pd_query_size(const void *asked, const struct pd_topology *topology,
                   struct pd_question_size *size)
{
    const struct pd_query *query = asked;
    uint64_t racks = count_racks(topology), links = count_links(topology);

    switch (query->name) {
    case PD_QUERY_GET_COUNT:
    case PD_QUERY_GET_DURATION: size->groups = size->groups_max = 1; return;
    case PD_QUERY_TOP_FLOWS:
    case PD_QUERY_TOP_RECORDS:
        size->groups = min_u64(query->k, FLOWS_OF_HOST);
        size->groups_max = query->k;
        return;
    case PD_QUERY_TOP_HOSTS:
        size->groups = size->groups_max = topology->hosts_len ? topology->hosts_len : racks;
        return;
    case PD_QUERY_LINK_LOAD:
    case PD_QUERY_TOP_LINKS: /* a host's packets come over a part of the links, far from it over few
                              */
        size->groups = min_u64(links, 4 * racks);
        size->groups_max = links;
        return;
    case PD_QUERY_FLOW_SIZES: size->groups = size->groups_max = BINS; return;
    case PD_QUERY_TRAFFIC_MATRIX:
        size->groups = racks;
        size->groups_max = racks * racks;
        return;
    case PD_QUERY_GET_PATHS:
    case PD_QUERY_PATH_BYTES: size->groups = is_one_flow(query) ? PATHS_OF_FLOW : racks; return;
    case PD_QUERY_GET_FLOWS:
    case PD_QUERY_DISTINCT:
        size->groups = is_one_flow(query) ? PATHS_OF_FLOW : FLOWS_OF_HOST;
        return;
    default: size->groups = VIOLATIONS; return; /* conformance */
    }
}

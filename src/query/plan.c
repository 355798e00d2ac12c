/* SPDX-License-Identifier: Apache-2.0 */
/* The table of plans, and what it says of single items. */
#include "query/plan.h"

#include <string.h>

#include "query/conform.h"

#define KEY   PD_TIB_ORDER_KEY
#define GROUP PD_PLAN_GROUPS

// clang-format off
static const struct pd_query_plan plans[PD_QUERY_COUNT] = {
    /*                          kind             local_by             by                   order  top    prune  times  counts */
    [PD_QUERY_GET_FLOWS]      = {GROUP,           PD_TIB_BY_FLOW_PATH, PD_TIB_BY_FLOW_PATH, KEY, false, false, true,  true},
    [PD_QUERY_GET_PATHS]      = {GROUP,           PD_TIB_BY_PATH,      PD_TIB_BY_PATH,      KEY, false, false, false, false},
    [PD_QUERY_GET_COUNT]      = {PD_PLAN_TOTAL,   PD_TIB_BY_PATH,      PD_TIB_BY_PATH,      KEY, false, false, false, true},
    [PD_QUERY_GET_DURATION]   = {PD_PLAN_TOTAL,   PD_TIB_BY_PATH,      PD_TIB_BY_PATH,      KEY, false, false, true,  false},
    [PD_QUERY_TOP_RECORDS]    = {PD_PLAN_RECORDS, PD_TIB_BY_RECORD,    PD_TIB_BY_RECORD,    KEY, true,  true,  true,  true},
    [PD_QUERY_TOP_FLOWS]      = {GROUP,           PD_TIB_BY_FLOW,      PD_TIB_BY_FLOW,      KEY, true,  true,  false, true},
    [PD_QUERY_TOP_HOSTS]      = {GROUP,           PD_TIB_BY_SOURCE,    PD_TIB_BY_SOURCE,    KEY, true,  false, false, true},
    [PD_QUERY_TOP_LINKS]      = {PD_PLAN_SUMS,    PD_TIB_BY_PATH,      PD_TIB_BY_PATH,      KEY, true,  false, false, true},
    [PD_QUERY_LINK_LOAD]      = {PD_PLAN_SUMS,    PD_TIB_BY_PATH,      PD_TIB_BY_PATH,      KEY, true,  false, false, true},
    [PD_QUERY_FLOW_SIZES]     = {PD_PLAN_SUMS,    PD_TIB_BY_FLOW_PATH, PD_TIB_BY_FLOW_PATH, KEY, false, false, false, true},
    [PD_QUERY_TRAFFIC_MATRIX] = {PD_PLAN_SUMS,    PD_TIB_BY_PATH,      PD_TIB_BY_PATH,      KEY, false, false, false, true},
    [PD_QUERY_PATH_BYTES]     = {GROUP,           PD_TIB_BY_PATH,      PD_TIB_BY_PATH,      KEY, false, false, false, true},
    [PD_QUERY_DISTINCT]       = {PD_PLAN_SUMS,    PD_TIB_BY_FLOW,      PD_TIB_BY_FLOW,      PD_TIB_ORDER_NONE, false, false, false, false},
    [PD_QUERY_CONFORMANCE]    = {GROUP,           PD_TIB_BY_RECORD,    PD_TIB_BY_FLOW_PATH, KEY, false, false, false, false},
};
// clang-format on

struct pd_query_plan pd_query_plan_of(const struct pd_query *query)
{
    struct pd_query_plan plan = plans[query->name];
    if (query->name == PD_QUERY_DISTINCT && query->of == PD_TIB_BY_SOURCE) {
        plan.kind = PD_PLAN_GROUPS; /* a source is counted once, however many hosts it sent to */
    }
    if (query->name == PD_QUERY_DISTINCT) {
        plan.local_by = plan.by = query->of;
    }
    if (plan.top) {
        plan.order = query->by;
    }
    return plan;
}

static bool has_path(const struct pd_query_plan *plan)
{
    return plan->kind != PD_PLAN_TOTAL && plan->by != PD_TIB_BY_FLOW &&
           plan->by != PD_TIB_BY_SOURCE;
}

bool pd_query_plan_tells_origin(const struct pd_query *query)
{
    const struct pd_query_plan plan = pd_query_plan_of(query);
    return (plan.kind == PD_PLAN_GROUPS || plan.kind == PD_PLAN_RECORDS) && has_path(&plan);
}

bool pd_query_plan_wants(const struct pd_query *query, const struct pd_tib_record *group)
{
    return query->name != PD_QUERY_CONFORMANCE || pd_query_conformance_check(query, group) ||
           (group->path && !group->path->len && pd_query_conformance_judges_paths(query));
}

struct pd_tib_record pd_query_plan_item(const struct pd_query_plan *plan,
                                        const struct pd_tib_record *group)
{
    struct pd_tib_record item = *group;
    if (!plan->times) {
        item.stime_us = item.etime_us = 0;
    }
    if (!plan->counts) {
        item.bytes = item.pkts = 0;
    }
    return item;
}

/* ---- sums: coarser than any group ---- */

static int fold_pair(struct pd_query_fold *fold, const struct pd_tib_record *group)
{
    const struct pd_path *path = group->path;
    if (!path->len || !path->switches[0] || !path->switches[path->len - 1]) {
        return 0; /* nobody knows where it came from, or went to */
    }
    return pd_query_fold_add(
        fold, pd_query_fold_pair(path->switches[0], path->switches[path->len - 1]), group);
}

int pd_query_plan_fold(const struct pd_query *query, struct pd_query_fold *fold,
                       const struct pd_tib_record *group, bool *complete)
{
    if (query->name == PD_QUERY_TOP_LINKS) {
        return pd_query_fold_links(fold, group);
    }
    if (query->name == PD_QUERY_LINK_LOAD) {
        return group->bytes || group->pkts ? pd_query_fold_links(fold, group) : 0;
    }
    if (query->name == PD_QUERY_TRAFFIC_MATRIX) {
        return fold_pair(fold, group);
    }
    if (query->name == PD_QUERY_DISTINCT) {
        return pd_query_fold_add(fold, 0, &(struct pd_tib_record){.bytes = 0});
    }
    if (group->bytes >= PD_TIB_SUM_MAX || group->pkts >= PD_TIB_SUM_MAX) {
        *complete = false; /* nobody knows which bin it belongs to */
    }
    return pd_query_fold_add(fold, group->bytes - group->bytes % query->bin_bytes, group);
}

/* ---- what others send ---- */

static bool is_zero(const void *bytes, size_t len)
{
    static const uint8_t zero[sizeof(struct pd_flow_id)];
    return memcmp(bytes, zero, len) == 0;
}

/* Of the flow ID: nothing, the source alone, or all of it. */
static bool fits_flow(const struct pd_query_plan *plan, const struct pd_flow_id *flow)
{
    if (plan->kind == PD_PLAN_TOTAL || plan->by == PD_TIB_BY_PATH) {
        return is_zero(flow, sizeof *flow);
    }
    if (plan->by == PD_TIB_BY_SOURCE && (!is_zero(&flow->dst, sizeof flow->dst) || flow->src_port ||
                                         flow->dst_port || flow->protocol)) {
        return false;
    }
    return flow->ip_version == 4 || flow->ip_version == 6;
}

bool pd_query_plan_fits_group(const struct pd_query *query, const struct pd_query_plan *plan,
                              const struct pd_tib_record *group)
{
    if (plan->kind == PD_PLAN_SUMS || !fits_flow(plan, &group->flow) ||
        (group->path != NULL) != has_path(plan) ||
        (group->path && !pd_tib_wants_origin(&query->filter, group->claim))) {
        return false;
    }
    if ((!plan->times && (group->stime_us || group->etime_us)) ||
        (!plan->counts && (group->bytes || group->pkts))) {
        return false;
    }
    return pd_query_plan_wants(query, group);
}

bool pd_query_plan_fits_sums(const struct pd_query *query, const struct pd_query_plan *plan,
                             const struct pd_query_sums *sums)
{
    if (plan->kind != PD_PLAN_SUMS || !sums->groups) {
        return false;
    }
    if (query->name == PD_QUERY_FLOW_SIZES) {
        return sums->key <= PD_TIB_SUM_MAX && sums->key % query->bin_bytes == 0;
    }
    if (query->name == PD_QUERY_DISTINCT) {
        return !sums->key && !sums->bytes && !sums->pkts;
    }
    return sums->key >> 32 && sums->key & UINT32_MAX;
}

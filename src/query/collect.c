/* SPDX-License-Identifier: Apache-2.0 */
/* Collections of items, one table for each kind. */
#include "query/collect.h"

#define SPARE    2          /* times k flows are kept before the least are dropped */
#define ROOM_MAX (1u << 15) /* groups: 2.6 MB */

void pd_query_collect_init(struct pd_collect *collect, const struct pd_query *query)
{
    collect->query = query;
    collect->plan = pd_query_plan_of(query);
    collect->budget.left_bytes = query->memory_bytes;
    pd_tib_groups_init(&collect->groups, collect->plan.by, &collect->budget);
    pd_tib_top_init(&collect->top, collect->plan.order, query->k, &collect->budget);
    pd_query_fold_init(&collect->fold, &collect->budget);
    collect->total = (struct pd_tib_record){0};
    collect->has_total = false;
    collect->complete = true;
    collect->floor = 0;
    collect->most_groups = collect->plan.prunable ? SPARE * query->k : UINT64_MAX;
}

void pd_query_collect_done(struct pd_collect *collect)
{
    pd_tib_groups_done(&collect->groups);
    pd_tib_top_done(&collect->top);
    pd_query_fold_done(&collect->fold);
}

/* ---- adding ---- */

static void add_total(struct pd_collect *collect, const struct pd_tib_record *group)
{
    struct pd_tib_record *total = &collect->total;
    if (!collect->has_total || group->stime_us < total->stime_us) {
        total->stime_us = group->stime_us;
    }
    if (group->etime_us > total->etime_us) {
        total->etime_us = group->etime_us;
    }
    pd_tib_sum(&total->bytes, group->bytes);
    pd_tib_sum(&total->pkts, group->pkts);
    collect->has_total = true;
}

static uint64_t size_of(const struct pd_collect *collect, const struct pd_tib_record *group)
{
    return collect->plan.order == PD_TIB_ORDER_BYTES ? group->bytes : group->pkts;
}

static int drop_least(struct pd_collect *collect)
{
    struct pd_tib_record last;
    int error = pd_tib_groups_keep(&collect->groups, collect->plan.order, collect->query->k, &last);
    if (!error) {
        collect->floor = size_of(collect, &last);
    }
    return error;
}

/* All that will be kept at once, while that is little: then the table does not grow step by step.
 */
static int make_room(struct pd_collect *collect)
{
    uint64_t len = collect->most_groups;
    return len < ROOM_MAX ? pd_tib_groups_reserve(&collect->groups, (uint32_t)len + 1) : 0;
}

static int add_group(struct pd_collect *collect, const struct pd_tib_record *group)
{
    int error = collect->groups.len ? 0 : make_room(collect);
    if (error) {
        return error;
    }
    if (size_of(collect, group) < collect->floor &&
        !pd_tib_groups_has_flow(&collect->groups, &group->flow)) {
        return 0;
    }
    error = pd_tib_groups_add(&collect->groups, group);
    return !error && collect->groups.len > collect->most_groups ? drop_least(collect) : error;
}

int pd_query_collect_group(struct pd_collect *collect, const struct pd_tib_record *group)
{
    switch (collect->plan.kind) {
    case PD_PLAN_GROUPS: return add_group(collect, group);
    case PD_PLAN_RECORDS: return pd_tib_top_offer(&collect->top, group);
    case PD_PLAN_TOTAL: add_total(collect, group); return 0;
    case PD_PLAN_SUMS: break;
    }
    return -PD_E_VALUE;
}

int pd_query_collect_sums(struct pd_collect *collect, const struct pd_query_sums *sums)
{
    return pd_query_fold_merge(&collect->fold, sums);
}

int pd_query_collect_local(struct pd_collect *collect, const struct pd_tib_record *group)
{
    if (!pd_query_plan_wants(collect->query, group)) {
        return 0;
    }
    if (collect->plan.kind == PD_PLAN_SUMS) {
        return pd_query_plan_fold(collect->query, &collect->fold, group, &collect->complete);
    }
    struct pd_tib_record item = pd_query_plan_item(&collect->plan, group);
    return pd_query_collect_group(collect, &item);
}

/* ---- giving ---- */

static int give_sums(struct pd_collect *collect, bool ordered, const struct pd_items *items)
{
    struct pd_query_fold *fold = &collect->fold;
    uint64_t len = fold->len;
    int error = 0;
    if (ordered) {
        pd_query_fold_sort(fold, collect->plan.order);
    }
    if (ordered && collect->plan.top && collect->query->k < len) {
        len = collect->query->k;
    }
    for (uint64_t i = 0; i < len && !error; i++) {
        error = items->sums(items->context, &fold->sums[i]);
    }
    return error;
}

static int give_all(void *context, const struct pd_tib_record *groups, size_t n)
{
    const struct pd_items *items = context;
    int error = 0;
    for (size_t i = 0; i < n && !error; i++) {
        error = items->group(items->context, &groups[i]);
    }
    return error;
}

static int give_groups(struct pd_collect *collect, bool ordered, const struct pd_items *items)
{
    const struct pd_query_plan *plan = &collect->plan;
    const struct pd_tib_grouping grouping = {
        .by = plan->by,
        .order = ordered ? plan->order : PD_TIB_ORDER_NONE,
    };
    if (plan->top && (ordered || plan->prunable) && collect->groups.len > collect->query->k) {
        int error = drop_least(collect);
        if (error) {
            return error;
        }
    }
    struct pd_items target = *items;
    return pd_tib_groups_give(&collect->groups, &grouping, give_all, &target);
}

static int give_records(struct pd_collect *collect, bool ordered, const struct pd_items *items)
{
    struct pd_items target = *items;
    int error = ordered ? pd_tib_top_sort(&collect->top) : 0;
    return error ? error : give_all(&target, collect->top.records, collect->top.len);
}

int pd_query_collect_give(struct pd_collect *collect, bool ordered, const struct pd_items *items)
{
    switch (collect->plan.kind) {
    case PD_PLAN_GROUPS: return give_groups(collect, ordered, items);
    case PD_PLAN_RECORDS: return give_records(collect, ordered, items);
    case PD_PLAN_TOTAL:
        return collect->has_total ? items->group(items->context, &collect->total) : 0;
    case PD_PLAN_SUMS: break;
    }
    return give_sums(collect, ordered, items);
}

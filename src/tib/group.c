/* SPDX-License-Identifier: Apache-2.0 */
/* Grouping for every backend: records become groups in a table, groups are given out in order. */
#include "tib/group.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tib/tib.h"

#define BATCH  256     /* groups that a visitor gets at once */
#define ENOUGH INT_MIN /* stops a scan; no visitor returns that */

/* ---- paths ---- */

static struct pd_tib_record of_way(const struct pd_tib_paths *paths, uint32_t number)
{
    const struct pd_tib_way *way = &paths->paths[number];
    return (struct pd_tib_record){.path = way->path, .claim = way->claim};
}

static int grow_paths(struct pd_tib_paths *paths, struct pd_tib_budget *budget)
{
    void *grown;
    uint32_t slots_len;
    int error = pd_tib_double_table(budget, paths->slots_len, sizeof *paths->slots, &paths->paths,
                                    sizeof *paths->paths, &grown, &slots_len);
    if (error) {
        return error;
    }
    uint32_t *slots = grown;
    for (uint32_t i = 0; i < paths->len; i++) {
        const struct pd_tib_record known = of_way(paths, i);
        uint32_t at = (uint32_t)pd_tib_way_hash(&known) & (slots_len - 1);
        while (slots[at]) {
            at = (at + 1) & (slots_len - 1);
        }
        slots[at] = i + 1;
    }
    free(paths->slots);
    paths->slots = slots;
    paths->slots_len = slots_len;
    return 0;
}

static int find_equal(struct pd_tib_paths *paths, struct pd_tib_budget *budget,
                      const struct pd_tib_record *record, uint32_t *ret_number)
{
    if (paths->len == pd_tib_most_used(paths->slots_len)) {
        int error = grow_paths(paths, budget);
        if (error) {
            return error;
        }
    }
    uint32_t mask = paths->slots_len - 1, at = (uint32_t)pd_tib_way_hash(record) & mask;
    for (; paths->slots[at]; at = (at + 1) & mask) {
        const struct pd_tib_record known = of_way(paths, paths->slots[at] - 1);
        if (pd_tib_same_way(&known, record)) {
            break;
        }
    }
    if (!paths->slots[at]) {
        paths->paths[paths->len++] = (struct pd_tib_way){record->path, record->claim};
        paths->slots[at] = paths->len;
    }
    *ret_number = paths->slots[at] - 1;
    return 0;
}

int pd_tib_paths_number(struct pd_tib_paths *paths, struct pd_tib_budget *budget,
                        const struct pd_tib_record *record, uint32_t *ret_number)
{
    const struct pd_tib_way way = {record->path, record->claim};
    size_t at = pd_hash_mix((uintptr_t)way.path ^ (uintptr_t)way.claim) % PD_TIB_PATH_CACHE;
    if (paths->cache[at].way.path != way.path || paths->cache[at].way.claim != way.claim) {
        int error = find_equal(paths, budget, record, &paths->cache[at].number);
        if (error) {
            return error;
        }
        paths->cache[at].way = way;
    }
    *ret_number = paths->cache[at].number;
    return 0;
}

void pd_tib_paths_forget(struct pd_tib_paths *paths)
{
    memset(paths->cache, 0, sizeof paths->cache);
}

void pd_tib_paths_done(struct pd_tib_paths *paths)
{
    free(paths->paths);
    free(paths->slots);
}

static int intern(struct pd_tib_groups *groups, struct pd_tib_record *key)
{
    uint32_t number;
    int error = pd_tib_paths_number(&groups->paths, groups->budget, key, &number);
    if (!error) {
        key->path = groups->paths.paths[number].path;
        key->claim = groups->paths.paths[number].claim;
    }
    return error;
}

/* ---- groups ---- */

void pd_tib_groups_init(struct pd_tib_groups *groups, enum pd_tib_by by,
                        struct pd_tib_budget *budget)
{
    memset(groups, 0, sizeof *groups);
    groups->by = by;
    groups->budget = budget;
}

void pd_tib_groups_done(struct pd_tib_groups *groups)
{
    free(groups->rows);
    free(groups->slots);
    pd_tib_paths_done(&groups->paths);
}

static int grow_groups(struct pd_tib_groups *groups)
{
    void *grown;
    uint32_t slots_len;
    int error = pd_tib_double_table(groups->budget, groups->slots_len, sizeof *groups->slots,
                                    &groups->rows, sizeof *groups->rows, &grown, &slots_len);
    if (error) {
        return error;
    }
    struct pd_tib_group_slot *slots = grown;
    for (uint32_t i = 0; i < groups->slots_len; i++) {
        if (!groups->slots[i].index) {
            continue;
        }
        uint32_t at = groups->slots[i].hash & (slots_len - 1);
        while (slots[at].index) {
            at = (at + 1) & (slots_len - 1);
        }
        slots[at] = groups->slots[i];
    }
    free(groups->slots);
    groups->slots = slots;
    groups->slots_len = slots_len;
    return 0;
}

/* What the records of a record's group have in common. */
static struct pd_tib_record key_of(enum pd_tib_by by, const struct pd_tib_record *record)
{
    struct pd_tib_record key = {.stime_us = record->stime_us, .etime_us = record->etime_us};
    if (by == PD_TIB_BY_SOURCE) {
        key.flow.src = record->flow.src;
        key.flow.ip_version = record->flow.ip_version;
    } else if (by != PD_TIB_BY_PATH) {
        key.flow = record->flow;
    }
    if (by != PD_TIB_BY_SOURCE && by != PD_TIB_BY_FLOW) {
        key.path = record->path;
        key.claim = record->claim;
    }
    return key;
}

static void merge(struct pd_tib_record *group, const struct pd_tib_record *record)
{
    if (record->stime_us < group->stime_us) {
        group->stime_us = record->stime_us;
    }
    if (record->etime_us > group->etime_us) {
        group->etime_us = record->etime_us;
    }
    pd_tib_sum(&group->bytes, record->bytes);
    pd_tib_sum(&group->pkts, record->pkts);
}

/* The slot of a group, or the free one where it belongs. */
static struct pd_tib_group_slot *find_slot(const struct pd_tib_groups *groups, uint32_t hash,
                                           const struct pd_tib_record *key)
{
    uint32_t mask = groups->slots_len - 1, at = hash & mask;
    for (; groups->slots[at].index; at = (at + 1) & mask) {
        const struct pd_tib_group_slot *slot = &groups->slots[at];
        const struct pd_tib_record *row = &groups->rows[slot->index - 1];
        if (slot->hash == hash && row->path == key->path && row->claim == key->claim &&
            pd_flow_id_equal(&row->flow, &key->flow)) {
            break;
        }
    }
    return &groups->slots[at];
}

static uint32_t hash_of(const struct pd_tib_record *key)
{
    return (uint32_t)pd_hash_mix(pd_flow_id_hash(&key->flow) + (uintptr_t)key->path +
                                 3 * (uintptr_t)key->claim);
}

int pd_tib_groups_add(struct pd_tib_groups *groups, const struct pd_tib_record *record)
{
    struct pd_tib_record key = key_of(groups->by, record);
    int error = key.path ? intern(groups, &key) : 0;
    if (!error && groups->len == pd_tib_most_used(groups->slots_len)) {
        error = grow_groups(groups);
    }
    if (error) {
        return error;
    }
    uint32_t hash = hash_of(&key);
    struct pd_tib_group_slot *slot = find_slot(groups, hash, &key);
    if (!slot->index) {
        groups->rows[groups->len++] = key;
        *slot = (struct pd_tib_group_slot){hash, groups->len};
    }
    merge(&groups->rows[slot->index - 1], record);
    return 0;
}

int pd_tib_groups_reserve(struct pd_tib_groups *groups, uint32_t len)
{
    int error = 0;
    while (!error && pd_tib_most_used(groups->slots_len) < len) {
        error = grow_groups(groups);
    }
    return error;
}

bool pd_tib_groups_has_flow(const struct pd_tib_groups *groups, const struct pd_flow_id *flow)
{
    const struct pd_tib_record key = {.flow = *flow};
    return groups->len && find_slot(groups, hash_of(&key), &key)->index;
}

int pd_tib_groups_keep(struct pd_tib_groups *groups, enum pd_tib_order order, uint64_t most,
                       struct pd_tib_record *ret_last)
{
    int error =
        pd_tib_select(groups->rows, groups->len, order, (size_t)most, groups->budget, ret_last);
    if (error) {
        return error;
    }
    groups->len = (uint32_t)most;
    memset(groups->slots, 0, groups->slots_len * sizeof *groups->slots);
    for (uint32_t i = 0; i < groups->len; i++) {
        uint32_t hash = hash_of(&groups->rows[i]);
        *find_slot(groups, hash, &groups->rows[i]) = (struct pd_tib_group_slot){hash, i + 1};
    }
    return 0;
}

/* ---- giving out ---- */

typedef int visitor(void *context, const struct pd_tib_record *records, size_t n);

static int give(const struct pd_tib_record *rows, uint64_t len, visitor *visit, void *context)
{
    int error = 0;
    for (uint64_t i = 0; i < len && !error; i += BATCH) {
        error = visit(context, rows + i, len - i < BATCH ? (size_t)(len - i) : BATCH);
    }
    return error;
}

static int give_top(struct pd_tib_top *top, visitor *visit, void *context)
{
    int error = pd_tib_top_sort(top);
    return error ? error : give(top->records, top->len, visit, context);
}

int pd_tib_groups_give(struct pd_tib_groups *groups, const struct pd_tib_grouping *grouping,
                       visitor *visit, void *context)
{
    uint64_t len = groups->len;
    struct pd_tib_top top;
    int error = 0;
    if (grouping->order == PD_TIB_ORDER_NONE || !grouping->top_len || grouping->top_len >= len) {
        error = pd_tib_sort(groups->rows, groups->len, grouping->order, groups->budget);
        if (grouping->top_len && grouping->top_len < len) {
            len = grouping->top_len;
        }
        return error ? error : give(groups->rows, len, visit, context);
    }
    pd_tib_top_init(&top, grouping->order, grouping->top_len, groups->budget);
    for (uint32_t i = 0; i < groups->len && !error; i++) {
        error = pd_tib_top_offer(&top, &groups->rows[i]);
    }
    error = error ? error : give_top(&top, visit, context);
    pd_tib_top_done(&top);
    return error;
}

/* ---- by scanning ---- */

struct run {
    const struct pd_tib_grouping *grouping;
    const struct pd_tib_filter *filter;
    visitor *visit;
    void *context;
    uint64_t given; /* streaming */
    struct pd_tib_budget budget;
    struct pd_tib_top top;
    struct pd_tib_groups groups;
};

static struct pd_tib_record capped(const struct pd_tib_record *record)
{
    struct pd_tib_record group = *record;
    group.extra_bytes = 0;
    group.extra = NULL;
    group.bytes = group.bytes < PD_TIB_SUM_MAX ? group.bytes : PD_TIB_SUM_MAX;
    group.pkts = group.pkts < PD_TIB_SUM_MAX ? group.pkts : PD_TIB_SUM_MAX;
    return group;
}

static int stream(void *context, const struct pd_tib_record *records, size_t n)
{
    struct run *run = context;
    struct pd_tib_record batch[BATCH];
    uint64_t most = run->grouping->top_len;
    int error = 0;
    while (n && !error) {
        size_t len = 0;
        for (; len < n && len < BATCH && (!most || run->given < most); len++, run->given++) {
            batch[len] = capped(&records[len]);
        }
        error = len ? run->visit(run->context, batch, len) : ENOUGH;
        records += len;
        n -= len;
    }
    return error;
}

static int offer(void *context, const struct pd_tib_record *records, size_t n)
{
    struct run *run = context;
    int error = 0;
    for (size_t i = 0; i < n && !error; i++) {
        struct pd_tib_record group = capped(&records[i]);
        error = pd_tib_top_offer(&run->top, &group);
    }
    return error;
}

static int add(void *context, const struct pd_tib_record *records, size_t n)
{
    struct run *run = context;
    int error = 0;
    for (size_t i = 0; i < n && !error; i++) {
        error = pd_tib_groups_add(&run->groups, &records[i]);
    }
    return error;
}

static int add_parts(void *context, const struct pd_tib_record *records, size_t n)
{
    struct run *run = context;
    const uint64_t from = run->filter->from_us, to = run->filter->to_us;
    int error = 0;
    for (size_t i = 0; i < n && !error; i++) {
        struct pd_tib_record part = records[i];
        part.bytes = pd_tib_part(part.bytes, part.stime_us, part.etime_us, from, to);
        part.pkts = pd_tib_part(part.pkts, part.stime_us, part.etime_us, from, to);
        error = pd_tib_groups_add(&run->groups, &part);
    }
    return error;
}

static int visit_all(struct run *run, struct pd_tib_snapshot *snapshot,
                     const struct pd_tib_filter *filter, visitor *visit)
{
    const struct pd_tib_grouping *grouping = run->grouping;
    int error = snapshot ? pd_tib_scan(snapshot, filter, visit, run) : 0;
    for (size_t i = 0; i < grouping->live_len && !error; i++) {
        if (pd_tib_filter_matches(filter, &grouping->live[i])) {
            error = visit(run, &grouping->live[i], 1);
        }
    }
    return error == ENOUGH ? 0 : error;
}

int pd_tib_group_scanned(struct pd_tib_snapshot *snapshot, const struct pd_tib_filter *filter,
                         const struct pd_tib_grouping *grouping, visitor *visit, void *context)
{
    struct run *run = malloc(sizeof *run);
    int error;
    if (!run) {
        return -ENOMEM;
    }
    run->grouping = grouping;
    run->filter = filter;
    run->visit = visit;
    run->context = context;
    run->given = 0;
    run->budget.left_bytes = grouping->memory_bytes;
    pd_tib_top_init(&run->top, grouping->order, grouping->top_len, &run->budget);
    pd_tib_groups_init(&run->groups, grouping->by, &run->budget);
    if (grouping->by != PD_TIB_BY_RECORD) {
        error = visit_all(run, snapshot, filter, grouping->prorated ? add_parts : add);
        error = error ? error : pd_tib_groups_give(&run->groups, grouping, visit, context);
    } else if (grouping->order == PD_TIB_ORDER_NONE) {
        error = visit_all(run, snapshot, filter, stream);
    } else {
        error = visit_all(run, snapshot, filter, offer);
        error = error ? error : give_top(&run->top, visit, context);
    }
    pd_tib_groups_done(&run->groups);
    pd_tib_top_done(&run->top);
    free(run);
    return error;
}

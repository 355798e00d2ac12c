/* SPDX-License-Identifier: Apache-2.0 */
/* The LMDB backend's grouping: live records are made ready, and the way is chosen. */
#include "tib/lmdb/group.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "tib/group.h"

#define SKETCH_WORTH_ROWS (1u << 17)

/* Takes the path and the claim that stand for all that are equal: the store's, or those of an
 * earlier live record. */
static void stand_in(struct pd_group *group, struct pd_tib_record *record,
                     const struct pd_tib_record **slots, size_t mask)
{
    struct pd_paths *paths = group->select.snapshot->store->paths;
    const struct pd_claim claim = pd_tib_claim(record);
    uint32_t id;
    if (!pd_lmdb_paths_find(paths, &claim, &id) && pd_lmdb_paths_get(paths, id)) {
        record->path = pd_lmdb_paths_get(paths, id);
        record->claim = pd_lmdb_paths_claim(paths, id);
        return;
    }
    size_t at = pd_tib_way_hash(record) & mask;
    while (slots[at] && !pd_tib_same_way(slots[at], record)) {
        at = (at + 1) & mask;
    }
    if (!slots[at]) {
        slots[at] = record;
    }
    record->path = slots[at]->path;
    record->claim = slots[at]->claim;
}

static int live_take(struct pd_group *group, const struct pd_tib_record **slots, size_t mask)
{
    const struct pd_tib_grouping *grouping = group->grouping;
    for (size_t i = 0; i < grouping->live_len; i++) {
        const struct pd_tib_record *record = &grouping->live[i];
        if (!pd_tib_filter_matches(group->select.filter, record)) {
            continue;
        }
        struct pd_tib_record *live = &group->live[group->live_len++];
        *live = *record;
        if (grouping->by != PD_TIB_BY_RECORD) { /* groups have none */
            live->retransmissions = live->extra_bytes = 0;
            live->extra = NULL;
        }
        stand_in(group, live, slots, mask);
    }
    return 0;
}

static int live_init(struct pd_group *group)
{
    size_t len = group->grouping->live_len, slots_len = 16;
    if (!group->grouping->live || !len) {
        return 0;
    }
    while (slots_len < 2 * len) {
        slots_len *= 2;
    }
    int err = pd_tib_resize(&group->budget, &group->live, 0, len * sizeof *group->live);
    if (err) {
        return err;
    }
    if (slots_len * sizeof(void *) > group->budget.left_bytes) {
        return -PD_E_TOO_LARGE;
    }
    const struct pd_tib_record **slots = calloc(slots_len, sizeof(void *));
    if (!slots) {
        return -ENOMEM;
    }
    err = live_take(group, slots, slots_len - 1);
    free((void *)slots);
    return err;
}

static int run(struct pd_group *group)
{
    const struct pd_tib_grouping *grouping = group->grouping;
    bool by_size = grouping->order == PD_TIB_ORDER_BYTES || grouping->order == PD_TIB_ORDER_PKTS;
    if (grouping->by == PD_TIB_BY_RECORD) {
        return pd_lmdb_group_top_records(group);
    }
    if (grouping->by == PD_TIB_BY_PATH) {
        return pd_lmdb_group_by_path(group);
    }
    if (grouping->by == PD_TIB_BY_FLOW && by_size && grouping->top_len &&
        group->select.rows >= SKETCH_WORTH_ROWS && grouping->top_len < group->select.rows / 8) {
        return pd_lmdb_group_top_flows(group);
    }
    return pd_lmdb_group_by_table(group);
}

/* Nothing to gain: records that are not to be ranked by size, and stores without any. */
static bool by_scanning(const struct pd_store_snapshot *snapshot,
                        const struct pd_tib_grouping *grouping)
{
    return !snapshot->txn || (grouping->by == PD_TIB_BY_RECORD &&
                              (!grouping->top_len || grouping->order == PD_TIB_ORDER_NONE ||
                               grouping->order == PD_TIB_ORDER_KEY));
}

int pd_lmdb_store_group(struct pd_tib_snapshot *head, const struct pd_tib_filter *filter,
                        const struct pd_tib_grouping *grouping,
                        int (*visit)(void *context, const struct pd_tib_record *groups, size_t n),
                        void *context)
{
    struct pd_store_snapshot *snapshot = (struct pd_store_snapshot *)head;
    if (by_scanning(snapshot, grouping)) {
        return pd_tib_group_scanned(head, filter, grouping, visit, context);
    }
    struct pd_group group = {.grouping = grouping,
                             .budget.left_bytes = grouping->memory_bytes,
                             .visit = visit,
                             .context = context};
    int err = pd_lmdb_select_init(&group.select, snapshot, filter);
    err = err ? err : live_init(&group);
    err = err ? err : run(&group);
    free(group.live);
    pd_lmdb_select_done(&group.select);
    return err;
}

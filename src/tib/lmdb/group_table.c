/* SPDX-License-Identifier: Apache-2.0 */
/* Grouping by a hash table: rows come in blocks, so that the misses of one block's look-ups
 * overlap. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "tib/group.h"
#include "tib/lmdb/group.h"
#include "tib/order.h"

#define FIRST_SLOTS 512u /* a block fits */
#define PASSES_MAX  64u

/* Odd numbers at random: a multilinear hash of the words of a key. */
static const uint64_t coefficients[] = {UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xd6e8feb86659fd93),
                                        UINT64_C(0xbf58476d1ce4e5b9), UINT64_C(0x94d049bb133111eb),
                                        UINT64_C(0x9fb21c651e98df25), UINT64_C(0xc2b2ae3d27d4eb4f)};

void pd_lmdb_tally_init(struct pd_tally *table, enum pd_tib_by by, struct pd_tib_budget *budget)
{
    *table = (struct pd_tally){.by = by, .budget = budget, .to = UINT32_MAX};
}

void pd_lmdb_tally_done(struct pd_tally *table)
{
    free(table->groups);
    free(table->slots);
}

/* ---- keys ---- */

unsigned pd_lmdb_tally_parts(const struct pd_tib_grouping *grouping, uint32_t *ret_columns)
{
    unsigned parts = PD_PART_FLOW | PD_PART_COUNTS;
    *ret_columns = PD_COLUMNS_OF_RECORDS;
    if (grouping->by == PD_TIB_BY_SOURCE) {
        parts = PD_PART_SOURCE | PD_PART_COUNTS;
    } else if (grouping->by == PD_TIB_BY_PATH) {
        parts = PD_PART_PATH | PD_PART_COUNTS;
    } else if (grouping->by == PD_TIB_BY_FLOW_PATH) {
        parts |= PD_PART_PATH;
    }
    if (!grouping->without_times) {
        parts |= PD_PART_TIMES;
    } else {
        *ret_columns &= ~(UINT32_C(1) << PD_COLUMN_STIME | UINT32_C(1) << PD_COLUMN_DURATION);
    }
    return parts;
}

static void keys_of(enum pd_tib_by by, struct pd_tib_record *records, size_t len)
{
    for (size_t i = 0; by != PD_TIB_BY_FLOW_PATH && i < len; i++) {
        struct pd_flow_id *flow = &records[i].flow;
        if (by == PD_TIB_BY_FLOW || by == PD_TIB_BY_SOURCE) {
            records[i].path = NULL;
            records[i].claim = NULL;
        }
        if (by == PD_TIB_BY_SOURCE) {
            *flow = (struct pd_flow_id){.src = flow->src, .ip_version = flow->ip_version};
        } else if (by == PD_TIB_BY_PATH) {
            *flow = (struct pd_flow_id){0};
        }
    }
}

static uint32_t hash_of(const struct pd_tib_record *record)
{
    uint64_t words[5], hash = coefficients[5] * ((uint64_t)(uintptr_t)record->path +
                                                 3 * (uint64_t)(uintptr_t)record->claim);
    memcpy(words, &record->flow, sizeof words);
    for (unsigned i = 0; i < 5; i++) {
        hash += coefficients[i] * (words[i] ^ words[i] >> 32);
    }
    return (uint32_t)(pd_hash_mix(hash) >> 32);
}

static bool same_group(const struct pd_tib_record *a, const struct pd_tib_record *b)
{
    return a->path == b->path && a->claim == b->claim &&
           !memcmp(&a->flow, &b->flow, sizeof a->flow);
}

static void merge(struct pd_tib_record *group, const struct pd_tib_record *record)
{
    group->stime_us = record->stime_us < group->stime_us ? record->stime_us : group->stime_us;
    group->etime_us = record->etime_us > group->etime_us ? record->etime_us : group->etime_us;
    pd_tib_sum(&group->bytes, record->bytes);
    pd_tib_sum(&group->pkts, record->pkts);
}

/* ---- table ---- */

static void place(struct pd_tally_slot *slots, uint32_t mask, struct pd_tally_slot slot)
{
    uint32_t at = slot.hash & mask;
    while (slots[at].index) {
        at = (at + 1) & mask;
    }
    slots[at] = slot;
}

/* Twice the slots; four times while they are few, and eight times at first, since each step moves
 * all that is there. */
static int grow(struct pd_tally *table)
{
    uint32_t len = !table->slots_len                 ? FIRST_SLOTS
                   : table->slots_len == FIRST_SLOTS ? 8 * table->slots_len
                   : table->slots_len < 1u << 18     ? 4 * table->slots_len
                                                     : 2 * table->slots_len;
    uint64_t bytes = (uint64_t)len * sizeof *table->slots;
    if (len <= table->slots_len || bytes > table->budget->left_bytes) {
        return -PD_E_TOO_LARGE;
    }
    struct pd_tally_slot *slots = calloc(len, sizeof *slots);
    if (!slots) {
        return -ENOMEM;
    }
    table->budget->left_bytes -= bytes;
    int err = pd_tib_resize(table->budget, &table->groups,
                            pd_tib_most_used(table->slots_len) * sizeof *table->groups,
                            pd_tib_most_used(len) * sizeof *table->groups);
    if (err) {
        table->budget->left_bytes += bytes;
        free(slots);
        return err;
    }
    for (uint32_t i = 0; i < table->slots_len; i++) {
        if (table->slots[i].index) {
            place(slots, len - 1, table->slots[i]);
        }
    }
    free(table->slots);
    table->budget->left_bytes += (uint64_t)table->slots_len * sizeof *slots;
    table->slots = slots;
    table->slots_len = len;
    return 0;
}

static void add_one(struct pd_tally *table, uint32_t hash, const struct pd_tib_record *record)
{
    uint32_t mask = table->slots_len - 1, at = hash & mask;
    for (; table->slots[at].index; at = (at + 1) & mask) {
        struct pd_tib_record *group = &table->groups[table->slots[at].index - 1];
        if (table->slots[at].hash == hash && same_group(group, record)) {
            merge(group, record);
            return;
        }
    }
    /* Copied first: a copy by halves of cache lines waits for words of it that were just written.
     */
    struct pd_tib_record *group = &table->groups[table->len++];
    *group = *record;
    group->bytes = record->bytes < PD_TIB_SUM_MAX ? record->bytes : PD_TIB_SUM_MAX;
    group->pkts = record->pkts < PD_TIB_SUM_MAX ? record->pkts : PD_TIB_SUM_MAX;
    table->slots[at] = (struct pd_tally_slot){hash, table->len};
}

int pd_lmdb_tally_add(struct pd_tally *table, struct pd_tib_record *records, size_t len)
{
    uint32_t hashes[PD_BLOCK_ROWS];
    while (table->len + len > pd_tib_most_used(table->slots_len)) {
        int err = grow(table);
        if (err) {
            return err;
        }
    }
    keys_of(table->by, records, len);
    for (size_t i = 0; i < len; i++) {
        hashes[i] = hash_of(&records[i]);
        __builtin_prefetch(&table->slots[hashes[i] & (table->slots_len - 1)]);
    }
    for (size_t i = 0; i < len; i++) {
        if (hashes[i] >= table->from && hashes[i] <= table->to) {
            add_one(table, hashes[i], &records[i]);
        }
    }
    return 0;
}

/* Keeps only the groups of the lower half of the table's part of the hash. */
static void halve(struct pd_tally *table)
{
    uint32_t kept = 0;
    table->to = table->from + (table->to - table->from) / 2;
    memset(table->slots, 0, table->slots_len * sizeof *table->slots);
    for (uint32_t i = 0; i < table->len; i++) {
        uint32_t hash = hash_of(&table->groups[i]);
        if (hash > table->to) {
            continue;
        }
        table->groups[kept++] = table->groups[i];
        place(table->slots, table->slots_len - 1, (struct pd_tally_slot){hash, kept});
    }
    table->len = kept;
}

static void clear(struct pd_tally *table)
{
    memset(table->slots, 0, table->slots_len * sizeof *table->slots);
    table->len = 0;
}

/* ---- passes ---- */

struct passes {
    struct pd_group *group;
    struct pd_tally table;
    unsigned parts;
    bool may_halve;
    struct pd_rows rows;
    struct pd_tib_record records[PD_BLOCK_ROWS];
};

/* The table is full: what can be left to another pass is. */
static int add(struct passes *passes, size_t len)
{
    int err;
    while ((err = pd_lmdb_tally_add(&passes->table, passes->records, len)) == -PD_E_TOO_LARGE) {
        const struct pd_tally *table = &passes->table;
        if (!passes->may_halve || table->to - table->from < UINT32_MAX / PASSES_MAX) {
            return err;
        }
        halve(&passes->table);
    }
    return err;
}

static int pass_chunk(struct passes *passes, size_t i)
{
    struct pd_block block;
    int err = 0;
    if (!pd_lmdb_rows_begin(&passes->rows, &passes->group->select, i)) {
        return 0;
    }
    while (!err && pd_lmdb_rows_next(&passes->rows, &block)) {
        pd_lmdb_rows_records(&passes->rows, &block, passes->parts, passes->records);
        err = add(passes, block.len);
    }
    return err;
}

static int pass(struct passes *passes)
{
    const struct pd_group *group = passes->group;
    int err = 0;
    for (size_t i = 0; !err && i < group->select.chunks_len; i++) {
        err = pass_chunk(passes, i);
    }
    for (size_t i = 0; !err && i < group->live_len; i += PD_BLOCK_ROWS) {
        size_t len = group->live_len - i < PD_BLOCK_ROWS ? group->live_len - i : PD_BLOCK_ROWS;
        memcpy(passes->records, group->live + i, len * sizeof *group->live);
        if (group->grouping->without_times) {
            for (size_t j = 0; j < len; j++) {
                passes->records[j].stime_us = passes->records[j].etime_us = 0;
            }
        }
        err = add(passes, len);
    }
    return err;
}

/* One part of the hash after the other, until all are done. `each` gets the groups of each. */
static int pass_all(struct passes *passes,
                    int (*each)(struct passes *passes, struct pd_tib_top *top),
                    struct pd_tib_top *top)
{
    struct pd_tally *table = &passes->table;
    int err;
    for (;;) {
        err = each(passes, top);
        if (err || table->to == UINT32_MAX) {
            return err;
        }
        uint64_t span = (uint64_t)table->to - table->from, from = (uint64_t)table->to + 1;
        table->from = (uint32_t)from;
        table->to = from + span < UINT32_MAX ? (uint32_t)(from + span) : UINT32_MAX;
        clear(table);
        err = pass(passes);
        if (err) {
            return err;
        }
    }
}

static int offer(struct passes *passes, struct pd_tib_top *top)
{
    int err = 0;
    for (uint32_t i = 0; !err && i < passes->table.len; i++) {
        err = pd_tib_top_offer(top, &passes->table.groups[i]);
    }
    return err;
}

static int give_unordered(struct passes *passes, struct pd_tib_top *top)
{
    (void)top;
    return pd_lmdb_group_give(passes->group, passes->table.groups, passes->table.len);
}

/* Several passes, and the first k groups of all of them. */
static int top_of_passes(struct passes *passes)
{
    struct pd_group *group = passes->group;
    struct pd_tib_top top;
    pd_tib_top_init(&top, group->grouping->order, group->grouping->top_len, &group->budget);
    int err = pass_all(passes, offer, &top);
    err = err ? err : pd_tib_top_sort(&top);
    for (size_t i = 0; !err && i < top.len; i += PD_BLOCK_ROWS) {
        err = group->visit(group->context, top.records + i,
                           top.len - i < PD_BLOCK_ROWS ? top.len - i : PD_BLOCK_ROWS);
    }
    pd_tib_top_done(&top);
    return err;
}

/* All groups in an order cannot be had part by part; the first k can, and so can all in no order.
 */
static bool may_halve(const struct pd_group *group, uint64_t *ret_heap_bytes)
{
    const struct pd_tib_grouping *grouping = group->grouping;
    *ret_heap_bytes = 0;
    if (grouping->order == PD_TIB_ORDER_NONE) {
        return !grouping->top_len;
    }
    if (!grouping->top_len ||
        grouping->top_len > group->budget.left_bytes / 4 / sizeof(struct pd_tib_record)) {
        return false;
    }
    *ret_heap_bytes = grouping->top_len * sizeof(struct pd_tib_record);
    return true;
}

static int group_by_table(struct passes *passes)
{
    struct pd_group *group = passes->group;
    uint64_t heap_bytes;
    passes->may_halve = may_halve(group, &heap_bytes);
    group->budget.left_bytes -= heap_bytes;
    int err = pass(passes);
    group->budget.left_bytes += heap_bytes;
    if (err) {
        return err;
    }
    if (passes->table.to == UINT32_MAX) {
        return pd_lmdb_group_give(group, passes->table.groups, passes->table.len);
    }
    return group->grouping->order == PD_TIB_ORDER_NONE ? pass_all(passes, give_unordered, NULL)
                                                       : top_of_passes(passes);
}

int pd_lmdb_group_by_table(struct pd_group *group)
{
    struct passes *passes = malloc(sizeof *passes);
    if (!passes) {
        return -ENOMEM;
    }
    memset(passes, 0, offsetof(struct passes, rows.found));
    memset(passes->records, 0, sizeof passes->records); /* what is not read stays as it is */
    passes->group = group;
    passes->parts = pd_lmdb_tally_parts(group->grouping, &passes->rows.columns);
    pd_lmdb_tally_init(&passes->table, group->grouping->by, &group->budget);
    int err = group_by_table(passes);
    pd_lmdb_rows_done(&passes->rows);
    pd_lmdb_tally_done(&passes->table);
    free(passes);
    return err;
}

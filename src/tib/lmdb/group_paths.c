/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by path: the store's paths are numbered, so the groups are an array. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tib/group.h"
#include "tib/lmdb/group.h"

struct sums {
    uint64_t bytes, pkts;
};

struct times {
    uint64_t stime_us, etime_us;
};

/* A window has few of a store's paths, so nothing is cleared for the others, or looked at. */
struct paths {
    struct pd_group *group;
    uint32_t len;        /* paths of the store, then those of live records alone */
    uint64_t *seen;      /* a bit for each that has a record yet */
    struct sums *sums;   /* of those that were seen */
    struct times *times; /* as well; NULL where nobody asks for times */
    struct pd_rows rows;
    uint64_t ids[PD_BLOCK_ROWS], bytes[PD_BLOCK_ROWS], pkts[PD_BLOCK_ROWS];
    uint32_t of_row[PD_BLOCK_ROWS]; /* path IDs of a block */
    uint64_t stime_us[PD_BLOCK_ROWS], etime_us[PD_BLOCK_ROWS];
};

static inline void add(struct paths *paths, uint32_t id, uint64_t bytes, uint64_t pkts)
{
    const uint64_t bit = UINT64_C(1) << id % 64;
    struct sums *sums = &paths->sums[id];
    if (!(paths->seen[id / 64] & bit)) {
        paths->seen[id / 64] |= bit;
        *sums = (struct sums){0};
    }
    pd_tib_sum(&sums->bytes, bytes);
    pd_tib_sum(&sums->pkts, pkts);
}

/* Before the record is added. */
static inline void add_times(struct paths *paths, uint32_t id, uint64_t stime_us, uint64_t etime_us)
{
    struct times *times = &paths->times[id];
    if (!(paths->seen[id / 64] >> id % 64 & 1)) {
        *times = (struct times){stime_us, etime_us};
    }
    times->stime_us = stime_us < times->stime_us ? stime_us : times->stime_us;
    times->etime_us = etime_us > times->etime_us ? etime_us : times->etime_us;
}

/* ---- whole runs, no times: the chunk has the sums ---- */

#define RUN_COLUMNS (UINT32_C(1) << PD_COLUMN_RUN_BYTES | UINT32_C(1) << PD_COLUMN_RUN_PKTS)

static void add_runs(struct paths *paths, size_t first, size_t end)
{
    const struct pd_column *columns = paths->rows.chunk->columns;
    const struct pd_kernels *kernels = paths->group->select.kernels;
    for (size_t len; first < end; first += len) {
        len = end - first < PD_BLOCK_ROWS ? end - first : PD_BLOCK_ROWS;
        kernels->load(&columns[PD_COLUMN_RUN_PATH], first, len, paths->ids);
        kernels->load(&columns[PD_COLUMN_RUN_BYTES], first, len, paths->bytes);
        kernels->load(&columns[PD_COLUMN_RUN_PKTS], first, len, paths->pkts);
        for (size_t i = 0; i < len; i++) {
            add(paths, (uint32_t)paths->ids[i], paths->bytes[i], paths->pkts[i]);
        }
    }
}

static void chunk_by_runs(struct paths *paths)
{
    struct pd_rows *rows = &paths->rows;
    while (pd_lmdb_rows_next_range(rows) &&
           pd_lmdb_rows_load(rows, RUN_COLUMNS, rows->run, rows->next_run)) {
        add_runs(paths, rows->run, rows->next_run);
    }
}

/* ---- row by row ---- */

/* Of each row what lies in the window. */
static void add_parts(struct paths *paths, const struct pd_block *block)
{
    struct pd_rows *rows = &paths->rows;
    const struct pd_tib_filter *filter = paths->group->select.filter;
    pd_rows_column(rows, block, PD_COLUMN_STIME, paths->stime_us);
    pd_rows_column(rows, block, PD_COLUMN_DURATION, paths->etime_us);
    for (uint32_t i = 0; i < block->len; i++) {
        const uint64_t stime = paths->stime_us[i], etime = stime + paths->etime_us[i];
        add(paths, paths->of_row[i],
            pd_tib_part(paths->bytes[i], stime, etime, filter->from_us, filter->to_us),
            pd_tib_part(paths->pkts[i], stime, etime, filter->from_us, filter->to_us));
    }
}

static void add_block(struct paths *paths, const struct pd_block *block)
{
    struct pd_rows *rows = &paths->rows;
    pd_lmdb_rows_path_ids(rows, block, paths->of_row);
    for (uint32_t i = 0; i < block->len; i++) {
        __builtin_prefetch(&paths->sums[paths->of_row[i]], 1); /* while the columns are read */
    }
    pd_rows_column(rows, block, PD_COLUMN_BYTES, paths->bytes);
    pd_rows_column(rows, block, PD_COLUMN_PKTS, paths->pkts);
    if (paths->group->grouping->prorated) {
        add_parts(paths, block);
        return;
    }
    if (paths->times) {
        pd_rows_column(rows, block, PD_COLUMN_STIME, paths->stime_us);
        pd_rows_column(rows, block, PD_COLUMN_DURATION, paths->etime_us);
        for (uint32_t i = 0; i < block->len; i++) {
            const uint32_t id = paths->of_row[i];
            add_times(paths, id, paths->stime_us[i], paths->stime_us[i] + paths->etime_us[i]);
            add(paths, id, paths->bytes[i], paths->pkts[i]);
        }
        return;
    }
    for (uint32_t i = 0; i < block->len; i++) {
        add(paths, paths->of_row[i], paths->bytes[i], paths->pkts[i]);
    }
}

static void add_chunk(struct paths *paths, size_t i)
{
    struct pd_block block;
    if (!pd_lmdb_rows_begin(&paths->rows, &paths->group->select, i)) {
        return;
    }
    const struct pd_tib_grouping *grouping = paths->group->grouping;
    if (grouping->without_times && !grouping->prorated && pd_rows_whole_runs(&paths->rows)) {
        chunk_by_runs(paths);
        return;
    }
    while (pd_lmdb_rows_next(&paths->rows, &block)) {
        add_block(paths, &block);
    }
}

/* ---- output ---- */

static void take(const struct paths *paths, uint32_t id, struct pd_tib_record *record)
{
    const struct pd_paths *known = paths->group->select.snapshot->store->paths;
    const struct pd_paths_way way = pd_lmdb_paths_way(known, id);
    record->path = way.path;
    record->claim = way.claim;
    record->stime_us = paths->times ? paths->times[id].stime_us : 0;
    record->etime_us = paths->times ? paths->times[id].etime_us : 0;
    record->bytes = paths->sums[id].bytes;
    record->pkts = paths->sums[id].pkts;
}

/* The path seen next, from *id on, which moves behind it; false: no more. */
static bool next_seen(const struct paths *paths, uint32_t *id, uint32_t *ret_id)
{
    uint32_t word = *id / 64;
    uint64_t left = word < paths->len / 64 + 1 ? paths->seen[word] >> *id % 64 << *id % 64 : 0;
    while (!left && ++word < paths->len / 64 + 1) {
        left = paths->seen[word];
    }
    if (!left) {
        return false;
    }
    *ret_id = word * 64 + (uint32_t)__builtin_ctzll(left);
    *id = *ret_id + 1;
    return true;
}

/* Live records: into the sums of the store's path, or into a table, since the path has no number.
 */
static int add_live(struct paths *paths, struct pd_tally *unknown)
{
    const struct pd_group *group = paths->group;
    struct pd_paths *known = group->select.snapshot->store->paths;
    int err = 0;
    for (size_t i = 0; !err && i < group->live_len; i++) {
        struct pd_tib_record live = group->live[i];
        uint32_t id;
        const struct pd_claim claim = pd_tib_claim(&live);
        if (group->grouping->prorated) {
            const struct pd_tib_filter *filter = group->select.filter;
            live.bytes = pd_tib_part(live.bytes, live.stime_us, live.etime_us, filter->from_us,
                                     filter->to_us);
            live.pkts = pd_tib_part(live.pkts, live.stime_us, live.etime_us, filter->from_us,
                                    filter->to_us);
        }
        if (pd_lmdb_paths_find(known, &claim, &id) || id >= paths->len) {
            err = pd_lmdb_tally_add(unknown, &live, 1);
            continue;
        }
        if (paths->times) {
            add_times(paths, id, live.stime_us, live.etime_us);
        }
        add(paths, id, live.bytes, live.pkts);
    }
    return err;
}

static size_t count_seen(const struct paths *paths)
{
    size_t len = 0;
    for (uint32_t word = 0; word < paths->len / 64 + 1; word++) {
        len += (size_t)__builtin_popcountll(paths->seen[word]);
    }
    return len;
}

/* All groups at once, for orders, or beside those of paths that have no number. */
static int give_with(struct paths *paths, const struct pd_tally *unknown)
{
    struct pd_group *group = paths->group;
    struct pd_tib_record *groups = NULL;
    size_t room = unknown->len + count_seen(paths), len = 0;
    int err = pd_tib_resize(&group->budget, &groups, 0, room * sizeof *groups);
    if (err) {
        return err;
    }
    for (uint32_t next = 0, id; next_seen(paths, &next, &id); len++) {
        groups[len] = (struct pd_tib_record){0};
        take(paths, id, &groups[len]);
    }
    if (unknown->len) {
        memcpy(groups + len, unknown->groups, unknown->len * sizeof *groups);
    }
    err = pd_lmdb_group_give(group, groups, len + unknown->len);
    free(groups);
    return err;
}

/* A block at a time, which stays in the cache; what groups have not is cleared once. */
static int give_unordered(const struct paths *paths)
{
    const struct pd_group *group = paths->group;
    struct pd_tib_record block[PD_BLOCK_ROWS];
    size_t len = 0;
    int err = 0;
    memset(block, 0, sizeof block);
    for (uint32_t next = 0, id; !err && next_seen(paths, &next, &id);) {
        take(paths, id, &block[len++]);
        if (len == PD_BLOCK_ROWS) {
            err = group->visit(group->context, block, len);
            len = 0;
        }
    }
    return err || !len ? err : group->visit(group->context, block, len);
}

static int give(struct paths *paths)
{
    const struct pd_tib_grouping *grouping = paths->group->grouping;
    struct pd_tally unknown;
    pd_lmdb_tally_init(&unknown, PD_TIB_BY_PATH, &paths->group->budget);
    int err = add_live(paths, &unknown);
    if (!err) {
        bool plain = grouping->order == PD_TIB_ORDER_NONE && !grouping->top_len && !unknown.len;
        err = plain ? give_unordered(paths) : give_with(paths, &unknown);
    }
    pd_lmdb_tally_done(&unknown);
    return err;
}

/* What an array of all paths takes, at most. */
static uint64_t array_bytes(uint32_t len)
{
    return (uint64_t)len * (sizeof(struct sums) + sizeof(struct times)) + len / 8 + 16;
}

/* It is worth its memory when most of the rows are read. */
static bool array_fits(const struct pd_group *group, uint32_t len)
{
    return !group->select.filter->flow.fields && group->select.rows >= len &&
           array_bytes(len) <= group->budget.left_bytes / 2;
}

static struct paths *paths_new(struct pd_group *group, uint32_t len)
{
    struct paths *paths = calloc(1, sizeof *paths);
    const bool times = !group->grouping->without_times && !group->grouping->prorated;
    if (!paths) {
        return NULL;
    }
    paths->group = group;
    paths->len = len;
    paths->rows.columns = UINT32_C(1) << PD_COLUMN_BYTES | UINT32_C(1) << PD_COLUMN_PKTS |
                          UINT32_C(1) << PD_COLUMN_STIME | UINT32_C(1) << PD_COLUMN_DURATION;
    paths->seen = calloc(len / 64 + 1, sizeof *paths->seen);
    paths->sums = malloc(((size_t)len + 1) * sizeof *paths->sums);
    paths->times = times ? malloc(((size_t)len + 1) * sizeof *paths->times) : NULL;
    return paths;
}

static void paths_free(struct paths *paths)
{
    pd_lmdb_rows_done(&paths->rows);
    free(paths->seen);
    free(paths->sums);
    free(paths->times);
    free(paths);
}

static int group_in_array(struct pd_group *group, uint32_t len)
{
    struct paths *paths = paths_new(group, len);
    if (!paths) {
        return -ENOMEM;
    }
    const bool times = !group->grouping->without_times && !group->grouping->prorated;
    int err = paths->seen && paths->sums && (paths->times || !times) ? 0 : -ENOMEM;
    for (size_t i = 0; !err && i < group->select.chunks_len; i++) {
        add_chunk(paths, i);
    }
    err = err ? err : give(paths);
    paths_free(paths);
    return err;
}

int pd_lmdb_group_by_path(struct pd_group *group)
{
    uint32_t len = pd_lmdb_paths_len(group->select.snapshot->store->paths);
    if (array_fits(group, len)) {
        group->budget.left_bytes -= array_bytes(len);
        return group_in_array(group, len);
    }
    return group->grouping->prorated
               ? pd_tib_group_scanned(&group->select.snapshot->head, group->select.filter,
                                      group->grouping, group->visit, group->context)
               : pd_lmdb_group_by_table(group);
}

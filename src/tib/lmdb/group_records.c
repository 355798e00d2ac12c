/* SPDX-License-Identifier: Apache-2.0 */
/* The first k records by size: one column is read, and a row is looked at when it reaches the k-th
 * largest so far. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tib/lmdb/crew.h"
#include "tib/lmdb/group.h"
#include "tib/order.h"

#define FIRST_ROOM 16384u /* candidates */

/* A candidate is a row whose value reached the threshold when it was met. Candidates are counted by
 * size, in steps of a thirty-second of a power of two; the threshold is the highest step that k of
 * them reach. Of N rows in random order little more than k · ln(N / k) ever become candidates. In
 * the end the k-th largest of them is found exactly. */

#define STEPS 2048u

struct search {
    struct pd_group *group;
    struct pd_tib_budget budget; /* its part of the group's */
    size_t most;
    uint64_t threshold;              /* at least `most` candidates reach it; 0 before */
    unsigned step;                   /* that it is the beginning of */
    size_t reach;                    /* candidates that reach it */
    struct pd_group_row *candidates; /* by chunk and row */
    size_t len, room;
    struct pd_rows rows;
    uint64_t values[PD_BLOCK_ROWS];
    uint32_t found[PD_BLOCK_ROWS];
    uint32_t counts[STEPS]; /* candidates by step */
};

/* ---- threshold ---- */

static void swap(uint64_t *a, uint64_t *b)
{
    uint64_t value = *a;
    *a = *b;
    *b = value;
}

uint64_t pd_lmdb_group_kth_largest(uint64_t *values, size_t len, size_t wanted)
{
    size_t low = 0, high = len;
    while (high - low > 1) {
        uint64_t a = values[low], b = values[low + (high - low) / 2], c = values[high - 1];
        uint64_t pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
        size_t above = low, at = low, end = high; /* three parts: above, equal, below */
        while (at < end) {
            if (values[at] > pivot) {
                swap(&values[at++], &values[above++]);
            } else if (values[at] < pivot) {
                swap(&values[at], &values[--end]);
            } else {
                at++;
            }
        }
        if (wanted <= above) {
            high = above;
        } else if (wanted <= end) {
            return pivot;
        } else {
            low = end;
        }
    }
    return values[low];
}

static unsigned step_of(uint64_t value)
{
    unsigned power = value < 32 ? 5 : 63 - (unsigned)__builtin_clzll(value);
    return value < 32 ? (unsigned)value
                      : (power - 4) * 32 + ((unsigned)(value >> (power - 5)) & 31);
}

static uint64_t step_begin(unsigned step)
{
    return step < 32 ? step : (uint64_t)(32 + step % 32) << (step / 32 - 1);
}

static void raise_threshold(struct search *search)
{
    while (search->reach - search->counts[search->step] >= search->most) {
        search->reach -= search->counts[search->step++];
    }
    search->threshold = step_begin(search->step);
}

static void drop_below(struct search *search, uint64_t threshold)
{
    size_t kept = 0;
    for (size_t i = 0; i < search->len; i++) {
        if (search->candidates[i].value >= threshold) {
            search->candidates[kept++] = search->candidates[i];
        }
    }
    search->len = kept;
}

/* Room for a block more. Doubles it where too many are equally large to be told apart yet. */
static int make_room(struct search *search)
{
    raise_threshold(search);
    if (search->len + PD_BLOCK_ROWS <= search->room) {
        return 0;
    }
    drop_below(search, search->threshold);
    if (search->len + PD_BLOCK_ROWS <= search->room / 4 * 3) {
        return 0;
    }
    int err = pd_tib_resize(&search->budget, &search->candidates,
                            search->room * sizeof *search->candidates,
                            2 * search->room * sizeof *search->candidates);
    search->room = err ? search->room : 2 * search->room;
    return err;
}

/* Leaves those that are as large as the k-th largest. */
static int drop_all_below(struct search *search)
{
    uint64_t *values = NULL, left_bytes = search->budget.left_bytes;
    drop_below(search, search->threshold);
    if (search->len <= search->most) {
        return 0;
    }
    int err = pd_tib_resize(&search->budget, &values, 0, search->len * sizeof *values);
    if (err) {
        return err;
    }
    for (size_t i = 0; i < search->len; i++) {
        values[i] = search->candidates[i].value;
    }
    drop_below(search, pd_lmdb_group_kth_largest(values, search->len, search->most));
    free(values);
    search->budget.left_bytes = left_bytes;
    return 0;
}

/* ---- rows ---- */

static void add(struct search *search, size_t chunk, uint32_t row, uint64_t value)
{
    value = value < PD_TIB_SUM_MAX ? value : PD_TIB_SUM_MAX;
    search->candidates[search->len] = (struct pd_group_row){value, (uint32_t)chunk, row};
    if (value >= search->threshold) {
        search->counts[step_of(value)]++;
        search->reach++;
        search->len++;
    }
}

/* Whole runs: the column is compared where it lies. */
static int search_range(struct search *search, size_t chunk, const struct pd_column *column)
{
    struct pd_rows *rows = &search->rows;
    const struct pd_kernels *kernels = search->group->select.kernels;
    uint64_t most =
        column->width_bytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * column->width_bytes) - 1;
    while (rows->next < rows->end) {
        int err = make_room(search);
        if (err) {
            return err;
        }
        uint64_t low = search->threshold > column->base ? search->threshold - column->base : 0;
        if (low > most) {
            return 0;
        }
        size_t len = kernels->find(column, low, UINT64_MAX - low, &rows->next, rows->end,
                                   search->found, PD_BLOCK_ROWS);
        kernels->gather(column, search->found, len, search->values);
        for (size_t i = 0; i < len; i++) {
            add(search, chunk, search->found[i], search->values[i]);
        }
    }
    return 0;
}

static int search_blocks(struct search *search, size_t chunk, enum pd_chunk_column id)
{
    struct pd_block block;
    int err = 0;
    while (!err && pd_lmdb_rows_next(&search->rows, &block)) {
        err = make_room(search);
        pd_rows_column(&search->rows, &block, id, search->values);
        for (uint32_t i = 0; !err && i < block.len; i++) {
            add(search, chunk, block.rows ? block.rows[i] : block.first + i, search->values[i]);
        }
    }
    return err;
}

static int search_chunk(struct search *search, size_t i)
{
    enum pd_chunk_column id = pd_group_column(search->group->grouping->order);
    struct pd_rows *rows = &search->rows;
    int err = 0;
    if (!pd_lmdb_rows_begin(rows, &search->group->select, i)) {
        return 0;
    }
    if (!pd_rows_whole_runs(rows)) {
        return search_blocks(search, i, id);
    }
    while (!err && pd_lmdb_rows_next_range(rows)) {
        if (!pd_lmdb_rows_load(rows, rows->columns, rows->next, rows->end)) {
            break;
        }
        /* A column without width finds nothing to compare: its values are its base. */
        if (rows->chunk->columns[id].width_bytes) {
            err = search_range(search, i, &rows->chunk->columns[id]);
        } else {
            err = search_blocks(search, i, id);
        }
    }
    return err;
}

static int search_init(struct search *search, struct pd_group *group, size_t most,
                       uint64_t budget_bytes)
{
    size_t room = 4 * ((most < FIRST_ROOM ? most : FIRST_ROOM) + PD_BLOCK_ROWS);
    search->group = group;
    search->budget.left_bytes = budget_bytes;
    search->most = most;
    search->rows.columns = UINT32_C(1) << pd_group_column(group->grouping->order);
    int err =
        pd_tib_resize(&search->budget, &search->candidates, 0, room * sizeof *search->candidates);
    search->room = err ? 0 : room;
    return err;
}

static void search_free(struct search *search)
{
    if (!search) {
        return;
    }
    pd_lmdb_rows_done(&search->rows);
    free(search->candidates);
    free(search);
}

/* ---- a crew ---- */

struct hunt {
    struct pd_group *group;
    size_t most;
    struct pd_crew crew;
    struct search *searches[PD_CREW_MAX];
};

static int search_share(void *context, unsigned member)
{
    struct hunt *hunt = context;
    struct search *search = hunt->searches[member] = calloc(1, sizeof *search);
    if (!search) {
        return -ENOMEM;
    }
    int err = search_init(search, hunt->group, hunt->most,
                          hunt->group->budget.left_bytes / hunt->crew.size);
    for (size_t i = hunt->crew.first[member]; !err && i < hunt->crew.first[member + 1]; i++) {
        err = search_chunk(search, i);
    }
    return err ? err : drop_all_below(search);
}

/* Into the first one: candidates stay in the order of chunks and rows. What the others had of the
 * budget is its own now. */
static int gather_candidates(struct hunt *hunt)
{
    struct search *first = hunt->searches[0];
    size_t len = first->len;
    first->budget.left_bytes +=
        hunt->group->budget.left_bytes - hunt->group->budget.left_bytes / hunt->crew.size;
    for (unsigned i = 1; i < hunt->crew.size; i++) {
        len += hunt->searches[i]->len;
    }
    if (hunt->crew.size == 1 || len == first->len) {
        return 0;
    }
    int err =
        pd_tib_resize(&first->budget, &first->candidates, first->room * sizeof *first->candidates,
                      (first->room + len) * sizeof *first->candidates);
    if (err) {
        return err;
    }
    first->room += len;
    for (unsigned i = 1; i < hunt->crew.size; i++) {
        const struct search *search = hunt->searches[i];
        memcpy(first->candidates + first->len, search->candidates,
               search->len * sizeof *search->candidates);
        first->len += search->len;
    }
    first->threshold = 0; /* each has dropped what is below its own */
    return drop_all_below(first);
}

int pd_lmdb_group_largest(struct pd_group *group, size_t most, struct pd_group_row **ret_rows,
                          size_t *ret_len)
{
    struct hunt hunt = {.group = group, .most = most};
    pd_lmdb_crew_init(&hunt.crew, &group->select);
    int err = pd_lmdb_crew_run(&hunt.crew, search_share, &hunt);
    err = err ? err : gather_candidates(&hunt);
    if (!err) {
        struct search *first = hunt.searches[0];
        group->budget.left_bytes = first->budget.left_bytes;
        *ret_rows = first->candidates;
        *ret_len = first->len;
        first->candidates = NULL;
    }
    for (unsigned i = 0; i < hunt.crew.size; i++) {
        search_free(hunt.searches[i]);
    }
    return err;
}

bool pd_lmdb_group_next_block(const struct pd_group *group, struct pd_rows *reader,
                              const struct pd_group_row *rows, size_t len, size_t *at,
                              struct pd_block *ret_block)
{
    while (*at < len) {
        uint32_t chunk = rows[*at].chunk, found = 0;
        bool begun = *at && rows[*at - 1].chunk == chunk;
        bool readable = begun || pd_lmdb_rows_begin(reader, &group->select, chunk);
        for (; found < PD_BLOCK_ROWS && *at < len && rows[*at].chunk == chunk; (*at)++) {
            reader->found[found++] = rows[*at].row;
        }
        *ret_block = (struct pd_block){reader->found, reader->found[0], found};
        if (readable && pd_lmdb_rows_load(reader, reader->columns, reader->found[0],
                                          (size_t)reader->found[found - 1] + 1)) {
            return true;
        }
        while (*at < len && rows[*at].chunk == chunk) {
            (*at)++;
        }
    }
    return false;
}

/* ---- the first k, in order ---- */

static void cap(struct pd_tib_record *records, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        records[i].extra_bytes = 0;
        records[i].extra = NULL;
        records[i].bytes = records[i].bytes < PD_TIB_SUM_MAX ? records[i].bytes : PD_TIB_SUM_MAX;
        records[i].pkts = records[i].pkts < PD_TIB_SUM_MAX ? records[i].pkts : PD_TIB_SUM_MAX;
    }
}

/* So many are equally large that they do not fit beside each other: a heap of k. */
static int top_by_heap(struct pd_group *group)
{
    struct search *search = calloc(1, sizeof *search);
    struct pd_tib_record records[PD_BLOCK_ROWS];
    struct pd_tib_top top;
    struct pd_block block;
    int err = search ? 0 : -ENOMEM;
    pd_tib_top_init(&top, group->grouping->order, group->grouping->top_len, &group->budget);
    if (search) {
        search->rows.columns = PD_COLUMNS_OF_RECORDS;
    }
    for (size_t i = 0; !err && i < group->select.chunks_len; i++) {
        if (!pd_lmdb_rows_begin(&search->rows, &group->select, i)) {
            continue;
        }
        while (!err && pd_lmdb_rows_next(&search->rows, &block)) {
            pd_lmdb_rows_records(&search->rows, &block, PD_PART_ALL, records);
            cap(records, block.len);
            for (size_t j = 0; !err && j < block.len; j++) {
                err = pd_tib_top_offer(&top, &records[j]);
            }
        }
    }
    cap(group->live, group->live_len);
    for (size_t i = 0; !err && i < group->live_len; i++) {
        err = pd_tib_top_offer(&top, &group->live[i]);
    }
    err = err ? err : pd_tib_top_sort(&top);
    for (size_t i = 0; !err && i < top.len; i += PD_BLOCK_ROWS) {
        err = group->visit(group->context, top.records + i,
                           top.len - i < PD_BLOCK_ROWS ? top.len - i : PD_BLOCK_ROWS);
    }
    pd_tib_top_done(&top);
    if (search) {
        pd_lmdb_rows_done(&search->rows);
    }
    free(search);
    return err;
}

/* The largest of the store and all live ones, in order. */
static int give_with_live(struct pd_group *group, struct pd_tib_record **records, size_t len)
{
    size_t live_len = group->live_len;
    int err = pd_tib_resize(&group->budget, records, len * sizeof **records,
                            (len + live_len) * sizeof **records);
    if (err) {
        return err;
    }
    if (live_len) {
        memcpy(*records + len, group->live, live_len * sizeof **records);
    }
    cap(*records, len + live_len);
    return pd_lmdb_group_give(group, *records, len + live_len);
}

static int decode(struct pd_group *group, const struct pd_group_row *rows, size_t rows_len,
                  struct pd_tib_record **ret_records, size_t *ret_len)
{
    struct pd_rows *reader = calloc(1, sizeof *reader);
    struct pd_block block;
    size_t at = 0, len = 0;
    int err = reader
                  ? pd_tib_resize(&group->budget, ret_records, 0, rows_len * sizeof **ret_records)
                  : -ENOMEM;
    if (reader) {
        reader->columns = PD_COLUMNS_OF_RECORDS;
    }
    while (!err && pd_lmdb_group_next_block(group, reader, rows, rows_len, &at, &block)) {
        pd_lmdb_rows_records(reader, &block, PD_PART_ALL, *ret_records + len);
        len += block.len;
    }
    if (reader) {
        pd_lmdb_rows_done(reader);
    }
    free(reader);
    *ret_len = len;
    return err;
}

int pd_lmdb_group_top_records(struct pd_group *group)
{
    struct pd_tib_record *records = NULL;
    struct pd_group_row *rows = NULL;
    size_t rows_len = 0, len = 0;
    uint64_t most = group->grouping->top_len, left_bytes = group->budget.left_bytes;
    most = most < group->select.rows + 1 ? most : group->select.rows + 1;
    int err = pd_lmdb_group_largest(group, (size_t)most, &rows, &rows_len);
    err = err ? err : decode(group, rows, rows_len, &records, &len);
    free(rows);
    group->budget.left_bytes = left_bytes - rows_len * sizeof *records;
    if (!err) {
        err = give_with_live(group, &records, len);
    }
    free(records);
    if (err != -PD_E_TOO_LARGE) {
        return err;
    }
    group->budget.left_bytes = left_bytes;
    return top_by_heap(group);
}

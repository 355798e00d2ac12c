/* SPDX-License-Identifier: Apache-2.0 */
/* Selection: chunks of a view, runs of a chunk, rows of a run. */
#include "tib/lmdb/select.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"

/* ---- paths ---- */

static int all_known_paths(const struct pd_paths *paths, uint32_t len, uint64_t *bits)
{
    for (uint32_t id = 0; id < len; id++) {
        if (pd_lmdb_paths_get(paths, id)) {
            bits[id / 64] |= UINT64_C(1) << id % 64;
        }
    }
    return 0;
}

/* The claims with this path. */
static void one_path(struct pd_paths *paths, const struct pd_path *path, uint32_t len,
                     uint64_t *bits)
{
    const struct pd_claim exact = {.path = path};
    uint32_t id;
    if (path->len && !pd_lmdb_paths_variants(paths)) {
        if (!pd_lmdb_paths_find(paths, &exact, &id) && id < len) {
            bits[id / 64] |= UINT64_C(1) << id % 64;
        }
        return;
    }
    for (id = 0; id < len; id++) {
        const struct pd_path *other = pd_lmdb_paths_get(paths, id);
        if (other && pd_path_equal(other, path)) {
            bits[id / 64] |= UINT64_C(1) << id % 64;
        }
    }
}

/* In most stores all claims are from tags, and most queries want these. */
static bool origins_matter(const struct pd_select *select)
{
    uint32_t origins = select->filter->origins;
    return origins && (pd_lmdb_paths_other_origins(select->snapshot->store->paths) ||
                       !(origins & 1u << PD_ORIGIN_TAGS));
}

static void drop_origins(const struct pd_select *select, uint32_t len, uint64_t *bits)
{
    const struct pd_paths *paths = select->snapshot->store->paths;
    for (uint32_t id = 0; id < len; id++) {
        if (!pd_tib_wants_origin(select->filter, pd_lmdb_paths_claim(paths, id))) {
            bits[id / 64] &= ~(UINT64_C(1) << id % 64);
        }
    }
}

static int paths_pass(const struct pd_select *select, uint32_t len, uint64_t *bits)
{
    const struct pd_tib_filter *filter = select->filter;
    struct pd_paths *paths = select->snapshot->store->paths;
    if (filter->path) {
        if (pd_path_crosses(filter->path, filter->link)) {
            one_path(paths, filter->path, len, bits);
        }
        return 0;
    }
    return filter->link.from || filter->link.to
               ? pd_lmdb_paths_select(paths, filter->link, len, bits)
               : all_known_paths(paths, len, bits);
}

/* As the kernels read them: 32 paths in each of 4 bytes. */
static void bits_halve(uint64_t *words, size_t words_len)
{
    uint32_t *halves = (uint32_t *)(void *)words;
    for (size_t i = 0; i < words_len; i++) {
        uint64_t word = words[i];
        uint32_t half[2] = {(uint32_t)word, (uint32_t)(word >> 32)};
        memcpy(halves + 2 * i, half, sizeof half);
    }
}

/* Rows of a path whose block is damaged have no path, so they are left out; that was counted when
 * the paths were loaded. */
static int paths_init(struct pd_select *select)
{
    const struct pd_tib_filter *filter = select->filter;
    const struct pd_paths *paths = select->snapshot->store->paths;
    if (!filter->path && !filter->link.from && !filter->link.to && !origins_matter(select) &&
        !pd_lmdb_paths_damaged(paths)) {
        return 0;
    }
    uint32_t len = select->snapshot->meta.paths;
    size_t words =
        (size_t)pd_lmdb_paths_len(paths) / 64 + 1; /* every ID that a verified chunk may name */
    uint64_t *bits = calloc(words, sizeof *bits);
    if (!bits) {
        return -ENOMEM;
    }
    int err = paths_pass(select, len, bits);
    if (origins_matter(select)) {
        drop_origins(select, len, bits);
    }
    bits_halve(bits, words);
    select->path_bits = (uint32_t *)(void *)bits;
    return err;
}

/* ---- chunks ---- */

static void keep_times_and_commits(struct pd_select *select, const struct pd_lmdb_view *view)
{
    uint64_t from_us = select->filter->from_us, to_us = select->filter->to_us;
    uint64_t since_row = select->since_row;
    size_t kept = 0;
    for (size_t i = 0; i < view->len; i++) {
        const struct pd_lmdb_view_range *range = &view->ranges[i];
        select->chunks[kept] = (uint32_t)i;
        kept += (range->min_time_us <= to_us) & (range->max_time_us >= from_us) &
                (range->last_commit_row >= since_row) & !range->damaged;
    }
    select->chunks_len = kept;
}

/* A flow's block: in what the columns have of it, where the values are less the base. */
static const uint8_t *bloom_block(const struct pd_lmdb_view_bloom *bloom, uint64_t flow_hash)
{
    return bloom->at +
           pd_bloom_block(flow_hash, bloom->blocks) * PD_BLOOM_BLOCK_WORDS * bloom->width_bytes;
}

static bool bloom_may_have(const struct pd_lmdb_view_bloom *bloom, uint64_t flow_hash)
{
    const uint8_t *block = bloom_block(bloom, flow_hash);
    bool passes = true;
    for (unsigned probe = 0; bloom->blocks && passes && probe < PD_BLOOM_PROBES; probe++) {
        passes = (bloom->base + pd_column_offset_at(block, bloom->width_bytes, probe)) &
                 pd_bloom_bit(flow_hash, probe);
    }
    return passes;
}

/* All blocks are on their way before the first is looked at: each is a miss, and misses can
 * overlap. */
static void keep_flow(struct pd_select *select, const struct pd_lmdb_view *view)
{
    uint64_t flow_hash = select->flow_hash;
    size_t kept = 0;
    for (size_t i = 0; i < select->chunks_len; i++) {
        const uint8_t *block = bloom_block(&view->blooms[select->chunks[i]], flow_hash);
        __builtin_prefetch(block); /* of nothing, where there is no filter */
        __builtin_prefetch(block + 63);
    }
    for (size_t i = 0; i < select->chunks_len; i++) {
        uint32_t chunk = select->chunks[i];
        select->chunks[kept] = chunk;
        kept += bloom_may_have(&view->blooms[chunk], flow_hash);
    }
    select->chunks_len = kept;
}

static int chunks_init(struct pd_select *select)
{
    const struct pd_lmdb_view *view = select->snapshot->view;
    select->chunks = malloc((view->len + 1) * sizeof *select->chunks);
    select->broken = calloc(view->len + 1, sizeof *select->broken);
    if (!select->chunks || !select->broken) {
        return -ENOMEM;
    }
    keep_times_and_commits(select, view);
    if (select->filter->flow.fields == PD_FLOW_ALL) {
        select->flow_hash = pd_flow_id_hash(&select->filter->flow.id);
        keep_flow(select, view);
    }
    for (size_t i = 0; i < select->chunks_len; i++) {
        select->rows += view->ranges[select->chunks[i]].rows;
    }
    return 0;
}

static void count_damage(const struct pd_select *select)
{
    struct pd_store_snapshot *snapshot = select->snapshot;
    uint64_t damaged =
        snapshot->view->damaged + (pd_lmdb_paths_damaged(snapshot->store->paths) ? 1 : 0);
    if (damaged) {
        atomic_fetch_add_explicit(&snapshot->head.damaged, damaged, memory_order_relaxed);
    }
}

int pd_lmdb_select_init(struct pd_select *select, struct pd_store_snapshot *snapshot,
                        const struct pd_tib_filter *filter)
{
    *select =
        (struct pd_select){.snapshot = snapshot, .filter = filter, .kernels = pd_lmdb_kernels()};
    int err = pd_lmdb_store_since(snapshot, filter->since, &select->since_row);
    if (err || !snapshot->txn) {
        return err;
    }
    err = pd_lmdb_view_get(snapshot);
    if (err) {
        return err;
    }
    count_damage(select);
    err = paths_init(select);
    return err ? err : chunks_init(select);
}

void pd_lmdb_select_done(struct pd_select *select)
{
    free(select->path_bits);
    free(select->chunks);
    free((void *)select->broken);
}

/* ---- what the rows of a chunk must pass ---- */

/* False when no row of the column has a value from first to last. A column that has no other values
 * asks for no check. */
static bool want(struct pd_rows *rows, enum pd_chunk_column id, uint64_t first, uint64_t last)
{
    const struct pd_column *column = &rows->chunk->columns[id];
    uint64_t most =
        column->width_bytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * column->width_bytes) - 1;
    uint64_t top = column->base + most < column->base ? UINT64_MAX : column->base + most;
    if (last < column->base || first > top) {
        return false;
    }
    if (first <= column->base && last >= top) {
        return true;
    }
    uint64_t low = first > column->base ? first - column->base : 0;
    rows->predicates[rows->predicates_len++] =
        (struct pd_predicate){column, low, last - column->base - low};
    return true;
}

static bool want_addr(struct pd_rows *rows, enum pd_chunk_column prefix, const struct pd_addr *addr,
                      uint8_t ip_version)
{
    const struct pd_column *columns = rows->chunk->columns;
    uint64_t upper, low;
    pd_addr_halves(addr, ip_version, &upper, &low);
    for (uint32_t code = 0; code < columns[PD_COLUMN_PREFIX_UPPER].len; code++) {
        if (pd_column_get(&columns[PD_COLUMN_PREFIX_UPPER], code) == upper &&
            pd_column_get(&columns[PD_COLUMN_PREFIX_FAMILY], code) == ip_version) {
            return want(rows, prefix + 1, low, low) && want(rows, prefix, code, code);
        }
    }
    return false;
}
_Static_assert(PD_COLUMN_SRC_LOW == PD_COLUMN_SRC_PREFIX + 1 &&
                   PD_COLUMN_DST_LOW == PD_COLUMN_DST_PREFIX + 1,
               "the lower half follows the prefix");

/* Ports first: narrow columns with many values leave the fewest rows for the least reading. */
static bool want_flow(struct pd_rows *rows)
{
    const struct pd_flow_match *match = &rows->select->filter->flow;
    const struct pd_flow_id *id = &match->id;
    unsigned fields = match->fields;
    return (!(fields & PD_FLOW_SRC_PORT) ||
            want(rows, PD_COLUMN_SRC_PORT, id->src_port, id->src_port)) &&
           (!(fields & PD_FLOW_DST_PORT) ||
            want(rows, PD_COLUMN_DST_PORT, id->dst_port, id->dst_port)) &&
           (!(fields & PD_FLOW_SRC_IP) ||
            want_addr(rows, PD_COLUMN_SRC_PREFIX, &id->src, id->ip_version)) &&
           (!(fields & PD_FLOW_DST_IP) ||
            want_addr(rows, PD_COLUMN_DST_PREFIX, &id->dst, id->ip_version)) &&
           (!(fields & PD_FLOW_PROTOCOL) ||
            want(rows, PD_COLUMN_PROTOCOL, id->protocol, id->protocol));
}

static bool want_times(struct pd_rows *rows)
{
    const struct pd_tib_filter *filter = rows->select->filter;
    const struct pd_chunk_header *header = &rows->chunk->header;
    rows->check_etime = filter->from_us > header->min_time_us;
    return filter->to_us >= header->max_time_us || want(rows, PD_COLUMN_STIME, 0, filter->to_us);
}

static bool want_since(struct pd_rows *rows)
{
    if (!rows->select->since_row) {
        return true;
    }
    size_t first = pd_lmdb_chunk_commits_before(rows->chunk, rows->select->since_row);
    return first < rows->chunk->header.len[PD_AXIS_COMMITS] &&
           want(rows, PD_COLUMN_COMMIT, first, UINT64_MAX);
}

void pd_lmdb_rows_done(struct pd_rows *rows)
{
    pd_lmdb_chunk_scratch_done(&rows->scratch);
}

bool pd_lmdb_rows_begin(struct pd_rows *rows, const struct pd_select *select, size_t i)
{
    const struct pd_lmdb_view *view = select->snapshot->view;
    rows->select = select;
    rows->place = i;
    rows->chunk = &view->chunks[select->chunks[i]]->chunk;
    if (rows->chunk->header.encoding != PD_CHUNK_PLAIN) {
        rows->loaded = *rows->chunk;
        rows->chunk = &rows->loaded;
    }
    rows->predicates_len = 0;
    rows->next_run = rows->next = rows->end = rows->run = 0;
    if (!want_flow(rows) || !want_since(rows) || !want_times(rows)) {
        return false;
    }
    rows->indexed =
        select->filter->flow.fields == PD_FLOW_ALL && rows->predicates_len &&
        pd_lmdb_chunk_flow_rows(rows->chunk, select->flow_hash, &rows->next_flow, &rows->flows_end);
    return true;
}

/* ---- runs and rows ---- */

static bool give_up(struct pd_rows *rows)
{
    struct pd_store_snapshot *snapshot = rows->select->snapshot;
    if (!atomic_exchange_explicit(&rows->select->broken[rows->place], 1, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&snapshot->head.damaged, 1, memory_order_relaxed);
    }
    rows->next_run = rows->chunk->columns[PD_COLUMN_RUN_PATH].len;
    rows->next = rows->end = 0;
    return false;
}

bool pd_lmdb_rows_load(struct pd_rows *rows, uint32_t columns, size_t first, size_t end)
{
    return rows->chunk->header.encoding == PD_CHUNK_PLAIN ||
           !pd_lmdb_chunk_load(&rows->loaded, columns, (uint32_t)first, (uint32_t)end,
                               &rows->scratch) ||
           give_up(rows);
}

bool pd_lmdb_rows_next_range(struct pd_rows *rows)
{
    const struct pd_select *select = rows->select;
    const struct pd_column *path_ids = &rows->chunk->columns[PD_COLUMN_RUN_PATH];
    size_t runs = path_ids->len;
    if (rows->next_run == runs) {
        return false;
    }
    size_t first = 0, last = runs;
    if (select->path_bits) {
        first = select->kernels->find_bit(path_ids, select->path_bits, rows->next_run, runs);
        if (first == runs) {
            return false;
        }
        for (last = first + 1; last < runs; last++) {
            uint32_t id = (uint32_t)pd_column_get(path_ids, last);
            if (!(select->path_bits[id / 32] >> id % 32 & 1)) {
                break;
            }
        }
    }
    rows->next_run = last;
    rows->next = first ? pd_rows_run_end(rows, first - 1) : 0;
    rows->end = pd_rows_run_end(rows, last - 1);
    rows->run = first;
    return true;
}

/* etime is a sum of two columns. */
static size_t narrow_etime(const struct pd_rows *rows, uint32_t *found, size_t len)
{
    const struct pd_column *stime = &rows->chunk->columns[PD_COLUMN_STIME];
    const struct pd_column *duration = &rows->chunk->columns[PD_COLUMN_DURATION];
    uint64_t from_us = rows->select->filter->from_us;
    size_t kept = 0;
    for (size_t i = 0; i < len; i++) {
        uint32_t row = found[i];
        found[kept] = row;
        kept += pd_column_get(stime, row) + pd_column_get(duration, row) >= from_us;
    }
    return kept;
}

static bool load_found(struct pd_rows *rows, uint32_t columns, size_t len)
{
    return !len ||
           pd_lmdb_rows_load(rows, columns, rows->found[0], (size_t)rows->found[len - 1] + 1);
}

static uint32_t column_bit(const struct pd_rows *rows, const struct pd_column *column)
{
    return UINT32_C(1) << (column - rows->chunk->columns);
}

/* Rows of the range at hand that pass the first predicate, as many as a block takes. */
static bool find_first(struct pd_rows *rows, size_t *ret_len)
{
    size_t len = rows->end - rows->next < PD_BLOCK_ROWS ? rows->end - rows->next : PD_BLOCK_ROWS;
    const struct pd_predicate *first = &rows->predicates[0];
    if (rows->predicates_len) {
        if (!pd_lmdb_rows_load(rows, column_bit(rows, first->column), rows->next, rows->end)) {
            return false;
        }
        *ret_len = rows->select->kernels->find(first->column, first->low, first->span, &rows->next,
                                               rows->end, rows->found, PD_BLOCK_ROWS);
        return true;
    }
    for (size_t i = 0; i < len; i++) {
        rows->found[i] = (uint32_t)(rows->next + i);
    }
    rows->next += len;
    *ret_len = len;
    return true;
}

#define TIME_COLUMNS (UINT32_C(1) << PD_COLUMN_STIME | UINT32_C(1) << PD_COLUMN_DURATION)

/* Rows that pass, of `len` found ones that passed all predicates before `first`; false when the
 * chunk turned out to be damaged. */
static bool narrow(struct pd_rows *rows, unsigned first, size_t len, size_t *ret_len)
{
    for (unsigned i = first; i < rows->predicates_len && len; i++) {
        const struct pd_predicate *next = &rows->predicates[i];
        if (!load_found(rows, column_bit(rows, next->column), len)) {
            return false;
        }
        len = rows->select->kernels->narrow(next->column, next->low, next->span, rows->found, len);
    }
    if (rows->check_etime) {
        if (!load_found(rows, TIME_COLUMNS, len)) {
            return false;
        }
        len = narrow_etime(rows, rows->found, len);
    }
    *ret_len = len;
    return true;
}

/* Times alone are asked for, in columns of the usual width: `most` and `until` as the kernel takes
 * them. */
static bool times_alone(const struct pd_rows *rows, uint32_t *ret_most, uint32_t *ret_until)
{
    const struct pd_column *stime = &rows->chunk->columns[PD_COLUMN_STIME];
    const struct pd_column *duration = &rows->chunk->columns[PD_COLUMN_DURATION];
    const struct pd_predicate *only = &rows->predicates[0];
    const uint64_t bases = stime->base + duration->base, from_us = rows->select->filter->from_us;
    if (!rows->check_etime || stime->width_bytes != 4 || duration->width_bytes != 4 ||
        bases < stime->base || from_us > bases + UINT32_MAX ||
        bases > UINT64_MAX - 2 * (uint64_t)UINT32_MAX || rows->predicates_len > 1) {
        return false;
    }
    if (rows->predicates_len && (only->column != stime || only->low)) {
        return false;
    }
    *ret_most = rows->predicates_len && only->span < UINT32_MAX ? (uint32_t)only->span : UINT32_MAX;
    *ret_until = from_us > bases ? (uint32_t)(from_us - bases) : 0;
    return true;
}

static bool find(struct pd_rows *rows, size_t *ret_len)
{
    const struct pd_column *columns = rows->chunk->columns;
    uint32_t most, until;
    size_t len = 0;
    if (times_alone(rows, &most, &until)) {
        if (!pd_lmdb_rows_load(rows, TIME_COLUMNS, rows->next, rows->end)) {
            return false;
        }
        *ret_len = rows->select->kernels->find_lasting(
            &columns[PD_COLUMN_STIME], &columns[PD_COLUMN_DURATION], most, until, &rows->next,
            rows->end, rows->found, PD_BLOCK_ROWS);
        return true;
    }
    return find_first(rows, &len) && narrow(rows, 1, len, ret_len);
}

/* ---- rows of one flow ---- */

/* Runs were not looked at: rows whose path does not pass are left out here. */
static size_t narrow_paths(struct pd_rows *rows, size_t len)
{
    const uint32_t *bits = rows->select->path_bits;
    struct pd_block block = {rows->found, rows->found[0], (uint32_t)len};
    size_t kept = 0, run = rows->run;
    if (!bits) {
        return len;
    }
    pd_lmdb_rows_path_ids(rows, &block, rows->ids);
    for (size_t i = 0; i < len; i++) {
        rows->found[kept] = rows->found[i];
        kept += bits[rows->ids[i] / 32] >> rows->ids[i] % 32 & 1;
    }
    rows->run = run; /* for who reads the block */
    return kept;
}

static bool next_of_flow(struct pd_rows *rows, struct pd_block *ret_block)
{
    const struct pd_column *of_flow = &rows->chunk->columns[PD_COLUMN_FLOW_ROW];
    while (rows->next_flow < rows->flows_end) {
        size_t len = 0;
        while (len < PD_BLOCK_ROWS && rows->next_flow < rows->flows_end) {
            rows->found[len++] = (uint32_t)pd_column_get(of_flow, rows->next_flow++);
        }
        if (!narrow(rows, 0, len, &len)) {
            return false;
        }
        len = len ? narrow_paths(rows, len) : 0;
        if (len) {
            *ret_block = (struct pd_block){rows->found, rows->found[0], (uint32_t)len};
            return true;
        }
    }
    return false;
}

bool pd_lmdb_rows_next(struct pd_rows *rows, struct pd_block *ret_block)
{
    if (rows->indexed) {
        return next_of_flow(rows, ret_block);
    }
    for (;;) {
        if (rows->next == rows->end && !pd_lmdb_rows_next_range(rows)) {
            return false;
        }
        size_t len = rows->end - rows->next;
        if (pd_rows_whole_runs(rows)) {
            len = len < PD_BLOCK_ROWS ? len : PD_BLOCK_ROWS;
            *ret_block = (struct pd_block){NULL, (uint32_t)rows->next, (uint32_t)len};
            rows->next += len;
            return pd_lmdb_rows_load(rows, rows->columns, rows->next - len, rows->next);
        }
        if (!find(rows, &len)) {
            return false;
        }
        if (len) {
            *ret_block = (struct pd_block){rows->found, rows->found[0], (uint32_t)len};
            return load_found(rows, rows->columns, len);
        }
    }
}

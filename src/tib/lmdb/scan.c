/* SPDX-License-Identifier: Apache-2.0 */
/* The LMDB backend's scan: which chunks, which runs of rows by their path, which rows by column; the rest is never decoded. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "tib/lmdb/store.h"

#define BLOCK_ROWS     1024u /* rows whose indexes are narrowed together */
#define BATCH_ROWS     256u  /* records that a visitor gets at once */
#define PREDICATES_MAX 12u

/* A row passes when low <= its value's offset <= low + span, unsigned. */
struct predicate {
    const struct pd_column *column;
    uint64_t low, span;
};

struct scan {
    struct pd_store_snapshot *snapshot;
    const struct pd_tib_filter *filter;
    int (*visit)(void *context, const struct pd_tib_record *records, size_t n);
    void *context;
    uint64_t *path_bits; /* IDs of the paths that match; NULL: all do */
    uint32_t paths_len;
    bool whole_flow; /* the filter has all fields of a flow ID */
    uint64_t flow_hash;
    uint64_t since_row; /* records before this one do not count */
    /* of the chunk at hand */
    struct pd_chunk *chunk;
    struct pd_chunk_scratch scratch; /* what is unpacked of it */
    uint32_t asked;                  /* columns that the predicates look at */
    struct predicate predicates[PREDICATES_MAX];
    unsigned predicates_len;
    bool check_etime;
    struct pd_tib_record batch[BATCH_ROWS];
    size_t batch_len;
};

static void damage(struct scan *scan)
{
    atomic_fetch_add_explicit(&scan->snapshot->head.damaged, 1, memory_order_relaxed);
}

/* ---- planning ---- */

/* False when no row of the column has a value from first to last. A column that has no other values asks for no check. */
static bool want(struct scan *scan, enum pd_chunk_column id, uint64_t first, uint64_t last)
{
    const struct pd_column *column = &scan->chunk->columns[id];
    uint64_t most =
        column->width_bytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * column->width_bytes) - 1;
    uint64_t top = column->base + most < column->base ? UINT64_MAX : column->base + most;
    if (last < column->base || first > top)
        return false;
    if (first <= column->base && last >= top)
        return true;
    uint64_t low = first > column->base ? first - column->base : 0;
    scan->asked |= UINT32_C(1) << id;
    scan->predicates[scan->predicates_len++] =
        (struct predicate){column, low, last - column->base - low};
    return true;
}

static bool want_addr(struct scan *scan, enum pd_chunk_column prefix, const struct pd_addr *addr,
                      uint8_t ip_version)
{
    const struct pd_column *columns = scan->chunk->columns;
    uint64_t upper, low;
    pd_addr_halves(addr, ip_version, &upper, &low);
    for (uint32_t code = 0; code < columns[PD_COLUMN_PREFIX_UPPER].len; code++)
        if (pd_column_get(&columns[PD_COLUMN_PREFIX_UPPER], code) == upper &&
            pd_column_get(&columns[PD_COLUMN_PREFIX_FAMILY], code) == ip_version)
            return want(scan, prefix, code, code) && want(scan, prefix + 1, low, low);
    return false;
}
_Static_assert(PD_COLUMN_SRC_LOW == PD_COLUMN_SRC_PREFIX + 1 &&
                   PD_COLUMN_DST_LOW == PD_COLUMN_DST_PREFIX + 1,
               "the lower half follows the prefix");

static bool want_flow(struct scan *scan)
{
    const struct pd_flow_match *match = &scan->filter->flow;
    const struct pd_flow_id *id = &match->id;
    unsigned fields = match->fields;
    return (!(fields & PD_FLOW_SRC_IP) ||
            want_addr(scan, PD_COLUMN_SRC_PREFIX, &id->src, id->ip_version)) &&
           (!(fields & PD_FLOW_DST_IP) ||
            want_addr(scan, PD_COLUMN_DST_PREFIX, &id->dst, id->ip_version)) &&
           (!(fields & PD_FLOW_SRC_PORT) ||
            want(scan, PD_COLUMN_SRC_PORT, id->src_port, id->src_port)) &&
           (!(fields & PD_FLOW_DST_PORT) ||
            want(scan, PD_COLUMN_DST_PORT, id->dst_port, id->dst_port)) &&
           (!(fields & PD_FLOW_PROTOCOL) ||
            want(scan, PD_COLUMN_PROTOCOL, id->protocol, id->protocol));
}

static bool want_times(struct scan *scan)
{
    const struct pd_tib_filter *filter = scan->filter;
    const struct pd_chunk_header *header = &scan->chunk->header;
    scan->check_etime = filter->from_us > header->min_time_us;
    if (scan->check_etime)
        scan->asked |= 1 << PD_COLUMN_STIME | 1 << PD_COLUMN_DURATION;
    return filter->to_us >= header->max_time_us || want(scan, PD_COLUMN_STIME, 0, filter->to_us);
}

static bool want_since(struct scan *scan)
{
    size_t first = pd_chunk_commits_before(scan->chunk, scan->since_row);
    return first < scan->chunk->header.len[PD_AXIS_COMMITS] &&
           want(scan, PD_COLUMN_COMMIT, first, UINT64_MAX);
}

/* What a row of this chunk must pass; false when none can. */
static bool plan(struct scan *scan)
{
    scan->predicates_len = 0;
    scan->asked = 0;
    if (scan->whole_flow && !pd_chunk_may_have(scan->chunk, scan->flow_hash))
        return false;
    return want_since(scan) && want_times(scan) && want_flow(scan);
}

/* ---- narrowing ---- */

static inline __attribute__((always_inline)) size_t narrow_width(const struct predicate *predicate,
                                                                 unsigned width_bytes,
                                                                 uint32_t *rows, size_t len)
{
    const uint8_t *at = predicate->column->at;
    uint64_t low = predicate->low, span = predicate->span;
    size_t kept = 0;
    for (size_t i = 0; i < len; i++) {
        uint32_t row = rows[i];
        rows[kept] = row;
        kept += pd_column_offset_at(at, width_bytes, row) - low <= span;
    }
    return kept;
}

static size_t narrow(const struct predicate *predicate, uint32_t *rows, size_t len)
{
    switch (predicate->column->width_bytes) {
    case 1: return narrow_width(predicate, 1, rows, len);
    case 2: return narrow_width(predicate, 2, rows, len);
    case 4: return narrow_width(predicate, 4, rows, len);
    default: return narrow_width(predicate, 8, rows, len);
    }
}

static size_t narrow_etime(const struct scan *scan, uint32_t *rows, size_t len)
{
    const struct pd_column *stime = &scan->chunk->columns[PD_COLUMN_STIME];
    const struct pd_column *duration = &scan->chunk->columns[PD_COLUMN_DURATION];
    size_t kept = 0;
    for (size_t i = 0; i < len; i++) {
        uint32_t row = rows[i];
        rows[kept] = row;
        kept += pd_column_get(stime, row) + pd_column_get(duration, row) >= scan->filter->from_us;
    }
    return kept;
}

/* ---- giving out ---- */

static int flush(struct scan *scan)
{
    size_t len = scan->batch_len;
    scan->batch_len = 0;
    return len ? scan->visit(scan->context, scan->batch, len) : 0;
}

static int give(struct scan *scan, uint32_t row, const struct pd_path *path)
{
    const struct pd_column *columns = scan->chunk->columns;
    struct pd_tib_record *record = &scan->batch[scan->batch_len++];
    pd_chunk_flow(scan->chunk, row, &record->flow);
    record->path = path;
    record->stime_us = pd_column_get(&columns[PD_COLUMN_STIME], row);
    record->etime_us = record->stime_us + pd_column_get(&columns[PD_COLUMN_DURATION], row);
    record->bytes = pd_column_get(&columns[PD_COLUMN_BYTES], row);
    record->pkts = pd_column_get(&columns[PD_COLUMN_PKTS], row);
    return scan->batch_len == BATCH_ROWS ? flush(scan) : 0;
}

/* Rows in ascending order, with their paths; `run` moves along. */
static int give_rows(struct scan *scan, const uint32_t *rows, size_t len, size_t *run)
{
    const struct pd_column *last = &scan->chunk->columns[PD_COLUMN_RUN_LAST];
    const struct pd_column *path_ids = &scan->chunk->columns[PD_COLUMN_RUN_PATH];
    const struct pd_path *path = NULL;
    size_t of_run = SIZE_MAX;
    int err = 0;
    for (size_t i = 0; !err && i < len; i++) {
        while (pd_column_get(last, *run) < rows[i])
            ++*run;
        if (of_run != *run) {
            of_run = *run;
            path = pd_paths_get(scan->snapshot->store->paths,
                                (uint32_t)pd_column_get(path_ids, of_run));
        }
        if (path) /* else its block is damaged, which was counted when the scan began */
            err = give(scan, rows[i], path);
    }
    return err;
}

/* Unpacks only what is asked for: first what the predicates look at, then the rows that they leave. */
static int scan_rows(struct scan *scan, uint32_t first, uint32_t end, size_t run)
{
    uint32_t rows[BLOCK_ROWS];
    int err = 0;
    for (; !err && first < end; first += BLOCK_ROWS) {
        size_t len = end - first < BLOCK_ROWS ? end - first : BLOCK_ROWS;
        err = pd_chunk_load(scan->chunk, scan->asked, first, first + (uint32_t)len, &scan->scratch);
        if (err)
            break;
        for (uint32_t i = 0; i < len; i++)
            rows[i] = first + i;
        for (unsigned i = 0; i < scan->predicates_len && len; i++)
            len = narrow(&scan->predicates[i], rows, len);
        if (scan->check_etime)
            len = narrow_etime(scan, rows, len);
        if (len)
            err = pd_chunk_load(scan->chunk, PD_CHUNK_ROW_COLUMNS, rows[0], rows[len - 1] + 1,
                                &scan->scratch);
        err = err ? err : give_rows(scan, rows, len, &run);
    }
    return err;
}

static bool path_wanted(const struct scan *scan, uint64_t id)
{
    return !scan->path_bits || (id < scan->paths_len && scan->path_bits[id / 64] >> id % 64 & 1);
}

/* Neighbouring runs whose paths match are scanned as one range of rows. */
static int scan_chunk(struct scan *scan, struct pd_chunk *chunk)
{
    const struct pd_column *last = &chunk->columns[PD_COLUMN_RUN_LAST];
    const struct pd_column *path_ids = &chunk->columns[PD_COLUMN_RUN_PATH];
    scan->chunk = chunk;
    if (!plan(scan))
        return 0;
    if (!scan->path_bits)
        return scan_rows(scan, 0, chunk->header.len[PD_AXIS_ROWS], 0);
    int err = 0;
    for (size_t run = 0; !err && run < last->len; run++) {
        if (!path_wanted(scan, pd_column_get(path_ids, run)))
            continue;
        size_t first = run;
        while (run + 1 < last->len && path_wanted(scan, pd_column_get(path_ids, run + 1)))
            run++;
        uint32_t from = first ? (uint32_t)pd_column_get(last, first - 1) + 1 : 0;
        err = scan_rows(scan, from, (uint32_t)pd_column_get(last, run) + 1, first);
    }
    return err;
}

/* ---- the store ---- */

static bool prunable(const struct scan *scan, const struct pd_directory_entry *entry)
{
    return entry->error || entry->min_time_us > scan->filter->to_us ||
           entry->max_time_us < scan->filter->from_us || entry->last_commit_row < scan->since_row;
}

static int scan_value(struct scan *scan, const MDB_val *key, const MDB_val *value)
{
    struct pd_store *store = scan->snapshot->store;
    struct pd_directory_entry entry;
    struct pd_chunk chunk;
    uint64_t number;
    if (pd_store_key_number(key, &number) &&
        pd_directory_find(store->directory, number, value->mv_data, value->mv_size, &entry) &&
        prunable(scan, &entry)) {
        if (entry.error)
            damage(scan);
        return 0;
    }
    if (pd_store_chunk(store, key, value, &chunk)) {
        damage(scan);
        return 0;
    }
    if (chunk.header.min_time_us > scan->filter->to_us ||
        chunk.header.max_time_us < scan->filter->from_us)
        return 0;
    int err = scan_chunk(scan, &chunk);
    if (err == -PD_E_CORRUPT) {
        damage(scan);
        err = 0;
    }
    return err ? err : flush(scan); /* the batch's fields are copies, its paths the table's */
}

static int scan_db(struct scan *scan, MDB_dbi db)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    int result = mdb_cursor_open(scan->snapshot->txn, db, &cursor), err = 0;
    if (result)
        return pd_lmdb_error(result);
    while (!err && !(result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)))
        err = scan_value(scan, &key, &value);
    mdb_cursor_close(cursor);
    return err || result == MDB_NOTFOUND ? err : pd_lmdb_error(result);
}

/* Which paths match; *ret_none when none does. */
static int paths_plan(struct scan *scan, bool *ret_none)
{
    const struct pd_tib_filter *filter = scan->filter;
    struct pd_paths *paths = scan->snapshot->store->paths;
    uint32_t id;
    *ret_none = false;
    scan->paths_len = scan->snapshot->meta.paths;
    if (!filter->path && !filter->link.from && !filter->link.to)
        return 0;
    scan->path_bits = calloc(scan->paths_len / 64 + 1, sizeof *scan->path_bits);
    if (!scan->path_bits)
        return -ENOMEM;
    if (!filter->path)
        return pd_paths_select(paths, filter->link, scan->paths_len, scan->path_bits);
    if (pd_paths_find(paths, filter->path, &id) || id >= scan->paths_len ||
        !pd_path_crosses(filter->path, filter->link))
        *ret_none = true;
    else
        scan->path_bits[id / 64] |= UINT64_C(1) << id % 64;
    return 0;
}

int pd_store_scan(struct pd_tib_snapshot *head, const struct pd_tib_filter *filter,
                  int (*visit)(void *context, const struct pd_tib_record *records, size_t n),
                  void *context)
{
    struct pd_store_snapshot *snapshot = (struct pd_store_snapshot *)head;
    struct scan *scan;
    bool none;
    uint64_t since_row;
    int err = pd_store_since(snapshot, filter->since, &since_row);
    if (err || !snapshot->txn)
        return err;
    scan = calloc(1, sizeof *scan);
    if (!scan)
        return -ENOMEM;
    scan->snapshot = snapshot;
    scan->filter = filter;
    scan->visit = visit;
    scan->context = context;
    scan->since_row = since_row;
    scan->whole_flow = filter->flow.fields == PD_FLOW_ALL;
    scan->flow_hash = scan->whole_flow ? pd_flow_id_hash(&filter->flow.id) : 0;
    if (pd_paths_damaged(snapshot->store->paths))
        damage(scan);
    err = paths_plan(scan, &none);
    if (!err && !none) {
        err = scan_db(scan, snapshot->store->segment_db);
        err = err ? err : scan_db(scan, snapshot->store->tail_db);
    }
    pd_chunk_scratch_done(&scan->scratch);
    free(scan->path_bits);
    free(scan);
    return err;
}

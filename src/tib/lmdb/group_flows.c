/* SPDX-License-Identifier: Apache-2.0 */
/* The first k flows by size among millions: a sketch says which can be among them, and only those
 * are grouped. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "tib/group.h"
#include "tib/lmdb/group.h"

/* A count-min sketch of one row (G. Cormode, S. Muthukrishnan, "An improved data stream summary",
 * 2005, section 3): each record adds its size to the counter that its flow hashes to, so a counter
 * is no less than the sum of any flow in it. On the other side, records of different counters are
 * of different flows: of the largest records the largest of each counter is kept, and the k-th
 * largest of these is no more than the k-th largest flow. So a flow whose counter stays below
 * cannot be among the first k, and the answer is exact. Sizes of flows are far apart where k is
 * small beside their number: of 24 million rows about one in eighty is left.
 *
 * Counters have 32 bits and stop at the top; sizes are counted in units of 2^SCALE bytes, rounded
 * up. */

#define ROWS_A_COUNTER    16u
#define COUNTERS_A_FLOW   16u /* of the first k: else many counters have one of them */
#define COUNTERS_BITS_MIN 14u
#define COUNTERS_BITS_MAX 22u
#define SCALE_BYTES       8u

#define AHEAD             24u /* rows */

struct sketch {
    struct pd_group *group;
    enum pd_chunk_column column;
    unsigned scale, shift; /* a counter's index is hash >> shift */
    uint32_t *counters;
    uint64_t *passes; /* a bit for each counter: it reaches the bound */
    struct pd_rows rows;
    uint64_t hashes[PD_BLOCK_ROWS], values[PD_BLOCK_ROWS];
    uint32_t found[2 * PD_BLOCK_ROWS];
    size_t found_len;
    unsigned parts;
    struct pd_tib_record records[PD_BLOCK_ROWS];
};

/* ---- hash: sum of coefficient · field, the same from columns and from a record ---- */

enum { SRC, DST, SRC_PREFIX, DST_PREFIX, SRC_PORT, DST_PORT, PROTOCOL, COEFFICIENTS };
static const uint64_t coefficients[COEFFICIENTS] = {
    UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xd6e8feb86659fd93), UINT64_C(0xbf58476d1ce4e5b9),
    UINT64_C(0x94d049bb133111eb), UINT64_C(0x9fb21c651e98df25), UINT64_C(0xc2b2ae3d27d4eb4f),
    UINT64_C(0xa0761d6478bd642f)};

static uint64_t hash_prefix(unsigned which, uint64_t upper, uint64_t family)
{
    return coefficients[which] * (upper + family);
}

static uint64_t hash_record(const struct pd_tib_record *record)
{
    const struct pd_flow_id *flow = &record->flow;
    uint64_t upper, low, hash;
    pd_addr_halves(&flow->src, flow->ip_version, &upper, &low);
    hash = hash_prefix(SRC_PREFIX, upper, flow->ip_version) + coefficients[SRC] * low;
    pd_addr_halves(&flow->dst, flow->ip_version, &upper, &low);
    hash += hash_prefix(DST_PREFIX, upper, flow->ip_version) + coefficients[DST] * low;
    return hash + coefficients[SRC_PORT] * flow->src_port +
           coefficients[DST_PORT] * flow->dst_port + coefficients[PROTOCOL] * flow->protocol;
}

static uint64_t prefix_of(const struct sketch *sketch, unsigned which, uint64_t code)
{
    const struct pd_column *columns = sketch->rows.chunk->columns;
    return hash_prefix(which, pd_column_get(&columns[PD_COLUMN_PREFIX_UPPER], code),
                       pd_column_get(&columns[PD_COLUMN_PREFIX_FAMILY], code));
}

static void add_prefixes(struct sketch *sketch, const struct pd_block *block, unsigned which,
                         enum pd_chunk_column id)
{
    if (!sketch->rows.chunk->columns[id].width_bytes) {
        return; /* in what all rows share */
    }
    pd_rows_column(&sketch->rows, block, id, sketch->values);
    for (uint32_t i = 0; i < block->len; i++) {
        sketch->hashes[i] += prefix_of(sketch, which, sketch->values[i]);
    }
}

static void add_column(struct sketch *sketch, const struct pd_block *block, unsigned which,
                       enum pd_chunk_column id)
{
    const struct pd_column *column = &sketch->rows.chunk->columns[id];
    if (!column->width_bytes) {
        return;
    }
    if (!block->rows) {
        sketch->group->select.kernels->add_scaled(column, coefficients[which], block->first,
                                                  block->len, sketch->hashes);
        return;
    }
    pd_rows_column(&sketch->rows, block, id, sketch->values);
    for (uint32_t i = 0; i < block->len; i++) {
        sketch->hashes[i] += coefficients[which] * sketch->values[i];
    }
}

/* What columns without width add to each row's hash. */
static uint64_t hash_shared(const struct sketch *sketch)
{
    static const enum pd_chunk_column ids[] = {PD_COLUMN_SRC_LOW, PD_COLUMN_DST_LOW,
                                               PD_COLUMN_SRC_PORT, PD_COLUMN_DST_PORT,
                                               PD_COLUMN_PROTOCOL};
    static const unsigned which[] = {SRC, DST, SRC_PORT, DST_PORT, PROTOCOL};
    const struct pd_column *columns = sketch->rows.chunk->columns;
    uint64_t hash = 0;
    for (unsigned i = 0; i < 5; i++) {
        if (!columns[ids[i]].width_bytes) {
            hash += coefficients[which[i]] * columns[ids[i]].base;
        }
    }
    if (!columns[PD_COLUMN_SRC_PREFIX].width_bytes) {
        hash += prefix_of(sketch, SRC_PREFIX, columns[PD_COLUMN_SRC_PREFIX].base);
    }
    if (!columns[PD_COLUMN_DST_PREFIX].width_bytes) {
        hash += prefix_of(sketch, DST_PREFIX, columns[PD_COLUMN_DST_PREFIX].base);
    }
    return hash;
}

static void hash_block(struct sketch *sketch, const struct pd_block *block, uint64_t shared)
{
    for (uint32_t i = 0; i < block->len; i++) {
        sketch->hashes[i] = shared;
    }
    add_column(sketch, block, SRC, PD_COLUMN_SRC_LOW);
    add_column(sketch, block, DST, PD_COLUMN_DST_LOW);
    add_column(sketch, block, SRC_PORT, PD_COLUMN_SRC_PORT);
    add_column(sketch, block, DST_PORT, PD_COLUMN_DST_PORT);
    add_column(sketch, block, PROTOCOL, PD_COLUMN_PROTOCOL);
    add_prefixes(sketch, block, SRC_PREFIX, PD_COLUMN_SRC_PREFIX);
    add_prefixes(sketch, block, DST_PREFIX, PD_COLUMN_DST_PREFIX);
}

/* ---- first pass: counters ---- */

static inline void count(struct sketch *sketch, uint64_t hash, uint64_t value)
{
    uint32_t *counter = &sketch->counters[hash >> sketch->shift];
    value = value < PD_TIB_SUM_MAX ? value : PD_TIB_SUM_MAX;
    uint64_t sum = *counter + (value >> sketch->scale) + (sketch->scale != 0);
    *counter = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
}

static void count_chunk(struct sketch *sketch, size_t i)
{
    struct pd_block block;
    if (!pd_lmdb_rows_begin(&sketch->rows, &sketch->group->select, i)) {
        return;
    }
    uint64_t shared = hash_shared(sketch);
    while (pd_lmdb_rows_next(&sketch->rows, &block)) {
        hash_block(sketch, &block, shared);
        pd_rows_column(&sketch->rows, &block, sketch->column, sketch->values);
        /* Counters lie beyond the second cache: each is on its way before its turn. */
        for (uint32_t j = 0; j < block.len; j++) {
            uint32_t ahead = j + AHEAD < block.len ? j + AHEAD : j;
            __builtin_prefetch(&sketch->counters[sketch->hashes[ahead] >> sketch->shift], 1);
            count(sketch, sketch->hashes[j], sketch->values[j]);
        }
    }
}

static void count_all(struct sketch *sketch)
{
    const struct pd_group *group = sketch->group;
    for (size_t i = 0; i < group->select.chunks_len; i++) {
        count_chunk(sketch, i);
    }
    for (size_t i = 0; i < group->live_len; i++) {
        count(sketch, hash_record(&group->live[i]),
              pd_group_value(group->grouping->order, &group->live[i]));
    }
}

static uint32_t scaled(const struct sketch *sketch, uint64_t value)
{
    uint64_t down = value >> sketch->scale;
    return down < UINT32_MAX ? (uint32_t)down : UINT32_MAX;
}

static void mark_counters(struct sketch *sketch, uint64_t bound)
{
    size_t len = (size_t)1 << (64 - sketch->shift);
    uint32_t least = scaled(sketch, bound);
    for (size_t i = 0; i < len; i += 64) {
        uint64_t bits = 0;
        for (unsigned j = 0; j < 64; j++) {
            bits |= (uint64_t)(sketch->counters[i + j] >= least) << j;
        }
        sketch->passes[i / 64] = bits;
    }
}

/* ---- second pass: groups ---- */

static int add_found(struct sketch *sketch, struct pd_tally *table)
{
    struct pd_rows *rows = &sketch->rows;
    size_t len = sketch->found_len < PD_BLOCK_ROWS ? sketch->found_len : PD_BLOCK_ROWS;
    struct pd_block block = {sketch->found, sketch->found[0], (uint32_t)len};
    if (!len) {
        return 0;
    }
    sketch->found_len -= len;
    if (!pd_lmdb_rows_load(rows, rows->columns, block.first, (size_t)sketch->found[len - 1] + 1)) {
        return 0;
    }
    pd_lmdb_rows_records(rows, &block, sketch->parts, sketch->records);
    memmove(sketch->found, sketch->found + len, sketch->found_len * sizeof *sketch->found);
    return pd_lmdb_tally_add(table, sketch->records, len);
}

static int group_chunk(struct sketch *sketch, size_t i, struct pd_tally *table)
{
    struct pd_block block;
    int err = 0;
    sketch->found_len = 0;
    if (!pd_lmdb_rows_begin(&sketch->rows, &sketch->group->select, i)) {
        return 0;
    }
    uint64_t shared = hash_shared(sketch);
    while (!err && pd_lmdb_rows_next(&sketch->rows, &block)) {
        hash_block(sketch, &block, shared);
        for (uint32_t j = 0; j < block.len; j++) {
            size_t at = sketch->hashes[j] >> sketch->shift;
            sketch->found[sketch->found_len] = block.rows ? block.rows[j] : block.first + j;
            sketch->found_len += sketch->passes[at / 64] >> at % 64 & 1;
        }
        if (sketch->found_len >= PD_BLOCK_ROWS) {
            err = add_found(sketch, table);
        }
    }
    return err ? err : add_found(sketch, table);
}

static int group_all(struct sketch *sketch, struct pd_tally *table)
{
    const struct pd_group *group = sketch->group;
    int err = 0;
    for (size_t i = 0; !err && i < group->select.chunks_len; i++) {
        err = group_chunk(sketch, i, table);
    }
    for (size_t i = 0; !err && i < group->live_len; i++) {
        struct pd_tib_record live = group->live[i];
        if (group->grouping->without_times) {
            live.stime_us = live.etime_us = 0;
        }
        err = pd_lmdb_tally_add(table, &live, 1);
    }
    return err;
}

/* ---- the bound: sizes that k flows reach for certain ---- */

/* Leaves in each counter the largest of the rows that hash to it, scaled; `ret_slots`: the counters
 * that have one. */
static size_t largest_of_counters(struct sketch *sketch, const struct pd_group_row *rows,
                                  size_t len, uint64_t *ret_slots)
{
    struct pd_block block;
    size_t at = 0, slots_len = 0;
    while (pd_lmdb_group_next_block(sketch->group, &sketch->rows, rows, len, &at, &block)) {
        const struct pd_group_row *of_block = rows + at - block.len;
        hash_block(sketch, &block, hash_shared(sketch));
        for (uint32_t i = 0; i < block.len; i++) {
            uint64_t slot = sketch->hashes[i] >> sketch->shift;
            uint32_t value = scaled(sketch, of_block[i].value), *most = &sketch->counters[slot];
            ret_slots[slots_len] = slot;
            slots_len += !*most && value;
            *most = value > *most ? value : *most;
        }
    }
    return slots_len;
}

/* Counters are 0 before and after. The bound is 0 where no k flows are known. */
static int bound_of(struct sketch *sketch, uint64_t *ret_bound)
{
    struct pd_group *group = sketch->group;
    struct pd_group_row *rows = NULL;
    uint64_t *values = NULL, most = group->grouping->top_len;
    size_t len;
    int err = pd_lmdb_group_largest(group, 2 * (size_t)most, &rows, &len);
    err = err ? err : pd_tib_resize(&group->budget, &values, 0, len * sizeof *values);
    if (!err) {
        len = largest_of_counters(sketch, rows, len, values);
        for (size_t i = 0; i < len; i++) {
            uint32_t *counter = &sketch->counters[values[i]];
            values[i] = *counter;
            *counter = 0;
        }
        *ret_bound =
            len < most ? 0 : pd_lmdb_group_kth_largest(values, len, (size_t)most) << sketch->scale;
    }
    free(values);
    free(rows);
    return err;
}

/* ---- all of it ---- */

/* Every page of them will be read and written, in no order: one call fetches them all, where each
 * would fault twice. */
static void map_counters(struct sketch *sketch, size_t len)
{
    void *counters = mmap(NULL, len * sizeof(uint32_t), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (counters != MAP_FAILED) {
        sketch->counters = counters;
    }
}

static int sketch_new(struct pd_group *group, struct sketch **ret_sketch)
{
    unsigned bits = COUNTERS_BITS_MIN;
    uint64_t wanted = group->select.rows / ROWS_A_COUNTER;
    if (wanted < group->grouping->top_len * COUNTERS_A_FLOW) {
        wanted = group->grouping->top_len * COUNTERS_A_FLOW;
    }
    while (bits < COUNTERS_BITS_MAX && UINT64_C(1) << bits < wanted) {
        bits++;
    }
    struct sketch *sketch = calloc(1, sizeof *sketch);
    if (!sketch) {
        return -ENOMEM;
    }
    sketch->group = group;
    sketch->column = pd_group_column(group->grouping->order);
    sketch->scale = group->grouping->order == PD_TIB_ORDER_BYTES ? SCALE_BYTES : 0;
    sketch->shift = 64 - bits;
    map_counters(sketch, (size_t)1 << bits);
    sketch->passes = calloc(((size_t)1 << bits) / 64, sizeof *sketch->passes);
    sketch->parts = pd_lmdb_tally_parts(group->grouping, &sketch->rows.columns);
    *ret_sketch = sketch;
    return sketch->counters && sketch->passes ? 0 : -ENOMEM;
}

static void sketch_free(struct sketch *sketch)
{
    if (!sketch) {
        return;
    }
    pd_lmdb_rows_done(&sketch->rows);
    if (sketch->counters) {
        munmap(sketch->counters, sizeof *sketch->counters << (64 - sketch->shift));
    }
    free(sketch->passes);
    free(sketch);
}

/* *ret_found: whether the sketch told the flows apart. */
static int top_flows(struct sketch *sketch, bool *ret_found)
{
    struct pd_group *group = sketch->group;
    uint64_t bound = 0, left_bytes = group->budget.left_bytes;
    struct pd_tally table;
    int err = bound_of(sketch, &bound);
    group->budget.left_bytes = left_bytes;
    *ret_found = bound;
    if (err || !bound) {
        return err;
    }
    pd_lmdb_tally_init(&table, PD_TIB_BY_FLOW, &group->budget);
    count_all(sketch);
    mark_counters(sketch, bound);
    err = group_all(sketch, &table);
    err = err ? err : pd_lmdb_group_give(group, table.groups, table.len);
    pd_lmdb_tally_done(&table);
    return err;
}

int pd_lmdb_group_top_flows(struct pd_group *group)
{
    uint64_t left_bytes = group->budget.left_bytes;
    struct sketch *sketch = NULL;
    bool found = false;
    int err = sketch_new(group, &sketch);
    err = err ? err : top_flows(sketch, &found);
    sketch_free(sketch);
    if (err ? err != -PD_E_TOO_LARGE : found) {
        return err;
    }
    group->budget.left_bytes =
        left_bytes; /* too few flows, or too many that are alike: all are grouped */
    return pd_lmdb_group_by_table(group);
}

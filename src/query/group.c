/* SPDX-License-Identifier: Apache-2.0 */
/* Grouping: tables of distinct paths and of distinct ⟨flow ID, path⟩ pairs, and their order in answers. */
#include "query/group.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define FIRST_LEN 256 /* slots of a new table; a power of 2 */

/* ---- memory ---- */

/* Resizes *array from `old_bytes` to `new_bytes` and charges the difference. The array is passed as the address of a
 * pointer to anything. One byte more than asked for, since realloc to nothing frees. */
static int resize(struct pd_query_budget *budget, void *array, size_t old_bytes, size_t new_bytes)
{
    void *old, *grown;
    if (new_bytes - old_bytes > budget->left_bytes)
        return -PD_E_TOO_LARGE;
    memcpy(&old, array, sizeof old);
    grown = realloc(old, new_bytes + 1);
    if (!grown)
        return -ENOMEM;
    memcpy(array, &grown, sizeof grown);
    budget->left_bytes -= new_bytes - old_bytes;
    return 0;
}

/* A zeroed table of twice the slots, for the caller to fill. */
static int double_slots(struct pd_query_budget *budget, uint32_t slots_len, uint32_t **ret_slots,
                        uint32_t *ret_slots_len)
{
    uint32_t len = slots_len ? slots_len * 2 : FIRST_LEN;
    size_t more_bytes = (size_t)(len - slots_len) * sizeof **ret_slots;
    if (len < slots_len || more_bytes > budget->left_bytes)
        return -PD_E_TOO_LARGE;

    uint32_t *slots = calloc(len, sizeof *slots);
    if (!slots)
        return -ENOMEM;
    budget->left_bytes -= more_bytes;
    *ret_slots = slots;
    *ret_slots_len = len;
    return 0;
}

/* Puts an index into the first free slot from its hash on. */
static void place(uint32_t *slots, uint32_t slots_len, uint64_t hash, uint32_t index)
{
    uint32_t at = (uint32_t)hash & (slots_len - 1);
    while (slots[at])
        at = (at + 1) & (slots_len - 1);
    slots[at] = index + 1;
}

/* At most three quarters of the slots are used: so many items there may be before the table grows. */
static size_t most_used(uint32_t slots_len)
{
    return slots_len / 4 * 3;
}

void pd_query_sum(uint64_t *sum, uint64_t value, bool *capped)
{
    if (value > PD_QUERY_NUMBER_MAX - *sum) {
        *sum = PD_QUERY_NUMBER_MAX;
        *capped = true;
    } else {
        *sum += value;
    }
}

/* ---- paths ---- */

void pd_query_paths_init(struct pd_query_paths *paths, struct pd_query_budget *budget)
{
    memset(paths, 0, sizeof *paths);
    paths->budget = budget;
}

void pd_query_paths_done(struct pd_query_paths *paths)
{
    free(paths->paths);
    free(paths->rank);
    free(paths->order);
    free(paths->slots);
}

static int grow_paths(struct pd_query_paths *paths)
{
    uint32_t *slots, slots_len;
    int error = double_slots(paths->budget, paths->slots_len, &slots, &slots_len);
    if (error)
        return error;
    error = resize(paths->budget, &paths->paths, most_used(paths->slots_len) * sizeof(void *),
                   most_used(slots_len) * sizeof(void *));
    if (error) {
        free(slots);
        return error;
    }
    for (uint32_t i = 0; i < paths->len; i++)
        place(slots, slots_len, pd_path_hash(paths->paths[i]), i);
    free(paths->slots);
    paths->slots = slots;
    paths->slots_len = slots_len;
    return 0;
}

/* Finds or adds by content. */
static int intern(struct pd_query_paths *paths, const struct pd_path *path, uint32_t *ret_index)
{
    if (paths->len == most_used(paths->slots_len)) {
        int error = grow_paths(paths);
        if (error)
            return error;
    }
    uint32_t mask = paths->slots_len - 1, at = (uint32_t)pd_path_hash(path) & mask;
    for (; paths->slots[at]; at = (at + 1) & mask) {
        if (pd_path_equal(paths->paths[paths->slots[at] - 1], path)) {
            *ret_index = paths->slots[at] - 1;
            return 0;
        }
    }
    paths->paths[paths->len] = path;
    paths->slots[at] = paths->len + 1;
    *ret_index = paths->len++;
    return 0;
}

int pd_query_paths_add(struct pd_query_paths *paths, const struct pd_path *path,
                       uint32_t *ret_index)
{
    size_t at = pd_hash_mix((uintptr_t)path) % PD_QUERY_PATH_CACHE;
    uint32_t index;
    if (paths->cache[at].path == path) {
        *ret_index = paths->cache[at].index;
        return 0;
    }
    int error = intern(paths, path, &index);
    if (error)
        return error;
    paths->cache[at].path = path;
    paths->cache[at].index = index;
    *ret_index = index;
    return 0;
}

static int compare_u32(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int compare_paths(const void *left, const void *right, void *context)
{
    const struct pd_query_paths *paths = context;
    const struct pd_path *a = paths->paths[*(const uint32_t *)left];
    const struct pd_path *b = paths->paths[*(const uint32_t *)right];
    int order = 0;
    for (unsigned i = 0; i < PD_PATH_MAX && !order; i++)
        order = compare_u32(a->switches[i], b->switches[i]);
    for (unsigned i = 0; i < PD_RAW_TAGS_MAX && !order; i++)
        order = compare_u32(a->tags[i], b->tags[i]);
    order = order ? order : compare_u32(a->tags_len, b->tags_len);
    return order ? order : compare_u32(a->dscp, b->dscp);
}

int pd_query_paths_sort(struct pd_query_paths *paths)
{
    size_t bytes = paths->len * sizeof(uint32_t);
    int error = resize(paths->budget, &paths->order, 0, bytes);
    if (!error)
        error = resize(paths->budget, &paths->rank, 0, bytes);
    if (error)
        return error;
    for (uint32_t i = 0; i < paths->len; i++)
        paths->order[i] = i;
    qsort_r(paths->order, paths->len, sizeof *paths->order, compare_paths, paths);
    for (uint32_t i = 0; i < paths->len; i++)
        paths->rank[paths->order[i]] = i;
    return 0;
}

/* ---- rows ---- */

void pd_query_rows_init(struct pd_query_rows *rows, struct pd_query_budget *budget)
{
    memset(rows, 0, sizeof *rows);
    rows->budget = budget;
}

void pd_query_rows_done(struct pd_query_rows *rows)
{
    free(rows->rows);
    free(rows->order);
    free(rows->slots);
}

static int grow_rows(struct pd_query_rows *rows)
{
    uint32_t *slots, slots_len;
    int error = double_slots(rows->budget, rows->slots_len, &slots, &slots_len);
    if (error)
        return error;
    error = resize(rows->budget, &rows->rows, most_used(rows->slots_len) * sizeof *rows->rows,
                   most_used(slots_len) * sizeof *rows->rows);
    if (error) {
        free(slots);
        return error;
    }
    for (uint32_t i = 0; i < rows->len; i++)
        place(slots, slots_len, rows->rows[i].hash, i);
    free(rows->slots);
    rows->slots = slots;
    rows->slots_len = slots_len;
    return 0;
}

static void merge(struct pd_query_rows *rows, struct pd_query_row *row,
                  const struct pd_tib_record *record)
{
    if (record->stime_us < row->stime_us)
        row->stime_us = record->stime_us;
    if (record->etime_us > row->etime_us)
        row->etime_us = record->etime_us;
    pd_query_sum(&row->bytes, record->bytes, &rows->capped);
    pd_query_sum(&row->pkts, record->pkts, &rows->capped);
}

int pd_query_rows_add(struct pd_query_rows *rows, const struct pd_tib_record *record, uint32_t path)
{
    uint32_t hash = (uint32_t)pd_hash_mix(pd_flow_id_hash(&record->flow) + path);
    if (rows->len == most_used(rows->slots_len)) {
        int error = grow_rows(rows);
        if (error)
            return error;
    }
    uint32_t mask = rows->slots_len - 1, at = hash & mask;
    for (; rows->slots[at]; at = (at + 1) & mask) {
        struct pd_query_row *row = &rows->rows[rows->slots[at] - 1];
        if (row->hash == hash && row->path == path && pd_flow_id_equal(&row->flow, &record->flow)) {
            merge(rows, row, record);
            return 0;
        }
    }
    rows->slots[at] = rows->len + 1;
    rows->rows[rows->len++] = (struct pd_query_row){.flow = record->flow,
                                                    .path = path,
                                                    .hash = hash,
                                                    .stime_us = record->stime_us,
                                                    .etime_us = record->etime_us};
    merge(rows, &rows->rows[rows->len - 1], record);
    return 0;
}

/* What decides nearly all comparisons, beside the index so that they touch no row. */
struct sort_key {
    uint64_t addrs; /* IPv4: both addresses; IPv6: first half of the source */
    uint32_t ports; /* IPv4: both ports; IPv6: 0 */
    uint32_t index;
    uint64_t ip_version;
};

struct sort_context {
    const struct pd_query_rows *rows;
    const struct pd_query_paths *paths;
};

static struct sort_key key_of(const struct pd_query_rows *rows, uint32_t index)
{
    const struct pd_flow_id *flow = &rows->rows[index].flow;
    struct sort_key key = {.index = index, .ip_version = flow->ip_version};
    memcpy(&key.addrs, flow->src.bytes, sizeof key.addrs);
    if (flow->ip_version == 4) {
        memcpy((uint8_t *)&key.addrs + 4, flow->dst.bytes, 4);
        key.ports = (uint32_t)flow->src_port << 16 | flow->dst_port;
    }
    key.addrs = be64toh(key.addrs);
    return key;
}

static int compare_rows(const struct sort_context *context, uint32_t left, uint32_t right)
{
    const struct pd_query_row *a = &context->rows->rows[left], *b = &context->rows->rows[right];
    int order = memcmp(&a->flow.src, &b->flow.src, sizeof a->flow.src);
    order = order ? order : memcmp(&a->flow.dst, &b->flow.dst, sizeof a->flow.dst);
    order = order ? order : compare_u32(a->flow.src_port, b->flow.src_port);
    order = order ? order : compare_u32(a->flow.dst_port, b->flow.dst_port);
    order = order ? order : compare_u32(a->flow.protocol, b->flow.protocol);
    return order ? order
                 : compare_u32(context->paths->rank[a->path], context->paths->rank[b->path]);
}

static int compare_keys(const void *left, const void *right, void *context)
{
    const struct sort_key *a = left, *b = right;
    if (a->ip_version != b->ip_version)
        return a->ip_version < b->ip_version ? -1 : 1;
    if (a->addrs != b->addrs)
        return a->addrs < b->addrs ? -1 : 1;
    if (a->ports != b->ports)
        return a->ports < b->ports ? -1 : 1;
    return compare_rows(context, a->index, b->index);
}

int pd_query_rows_sort(struct pd_query_rows *rows, const struct pd_query_paths *paths)
{
    struct sort_context context = {rows, paths};
    struct sort_key *keys = NULL;
    int error = resize(rows->budget, &rows->order, 0, rows->len * sizeof *rows->order);
    if (!error)
        error = resize(rows->budget, &keys, 0, rows->len * sizeof *keys);
    if (error)
        return error;
    for (uint32_t i = 0; i < rows->len; i++)
        keys[i] = key_of(rows, i);
    qsort_r(keys, rows->len, sizeof *keys, compare_keys, &context);
    for (uint32_t i = 0; i < rows->len; i++)
        rows->order[i] = keys[i].index;
    free(keys);
    return 0;
}

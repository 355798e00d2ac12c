/* SPDX-License-Identifier: Apache-2.0 */
/* getTelemetry: rows that merge, read from JSON and written as such. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "query/members.h"
#include "query/telemetry.h"

struct row {
    struct pd_telemetry_row_key key;
    struct pd_telemetry_bins bins;
};

struct pd_telemetry_rows {
    struct row *rows;
    uint32_t len, room;
    uint32_t *slots; /* index + 1; at most half full */
    uint32_t slots_mask;
    uint64_t bins; /* of all rows */
    bool damaged;
};

/* ---- life */

struct pd_telemetry_rows *pd_query_telemetry_rows_new(void)
{
    struct pd_telemetry_rows *rows = calloc(1, sizeof *rows);

    if (rows) {
        rows->slots_mask = 63;
        rows->slots = calloc(rows->slots_mask + 1, sizeof *rows->slots);
    }
    if (rows && !rows->slots) {
        free(rows);
        return NULL;
    }
    return rows;
}

void pd_query_telemetry_rows_free(struct pd_telemetry_rows *rows)
{
    for (uint32_t i = 0; rows && i < rows->len; i++) {
        pd_telemetry_bins_done(&rows->rows[i].bins);
        free((void *)(uintptr_t)rows->rows[i].key.path);
    }
    if (rows) {
        free(rows->rows);
        free(rows->slots);
    }
    free(rows);
}

void pd_query_telemetry_rows_damaged(struct pd_telemetry_rows *rows)
{
    rows->damaged = true;
}

/* ---- the table */

static int compare(const struct pd_telemetry_row_key *a, const struct pd_telemetry_row_key *b)
{
    const uint32_t a_len = a->path ? a->path->len : 0, b_len = b->path ? b->path->len : 0;
    int order = (a->port > b->port) - (a->port < b->port);

    order = order ? order : (a->sw > b->sw) - (a->sw < b->sw);
    order = order ? order : (a->to > b->to) - (a->to < b->to);
    order = order ? order : (a->has_flow > b->has_flow) - (a->has_flow < b->has_flow);
    order = order || !a->has_flow ? order : memcmp(&a->flow, &b->flow, sizeof a->flow);
    order = order ? order : (a_len > b_len) - (a_len < b_len);
    return order || !a_len
               ? order
               : memcmp(a->path->switches, b->path->switches, a_len * sizeof *a->path->switches);
}

static uint64_t hash_of(const struct pd_telemetry_row_key *key)
{
    uint64_t hash = pd_hash_mix((uint64_t)key->sw << 32 | key->to);

    if (key->has_flow) {
        hash ^= pd_flow_id_hash(&key->flow);
    }
    if (key->path) {
        hash ^= pd_hash(key->path->switches, key->path->len * sizeof *key->path->switches);
    }
    return pd_hash_mix(hash);
}

static uint32_t *slot_of(const struct pd_telemetry_rows *rows,
                         const struct pd_telemetry_row_key *key)
{
    uint64_t at = hash_of(key);

    while (rows->slots[at & rows->slots_mask] &&
           compare(&rows->rows[rows->slots[at & rows->slots_mask] - 1].key, key)) {
        at++;
    }
    return &rows->slots[at & rows->slots_mask];
}

static int grow_slots(struct pd_telemetry_rows *rows)
{
    const uint32_t mask = 2 * rows->slots_mask + 1;
    uint32_t *slots = calloc((size_t)mask + 1, sizeof *slots);

    if (!slots) {
        return -ENOMEM;
    }
    free(rows->slots);
    rows->slots = slots;
    rows->slots_mask = mask;
    for (uint32_t i = 0; i < rows->len; i++) {
        *slot_of(rows, &rows->rows[i].key) = i + 1;
    }
    return 0;
}

static struct pd_path *copy_of(const struct pd_path *path)
{
    struct pd_path *copy = calloc(1, sizeof *copy);

    if (copy) {
        pd_path_copy(copy, path);
    }
    return copy;
}

static int add_row(struct pd_telemetry_rows *rows, const struct pd_telemetry_row_key *key,
                   struct row **ret_row)
{
    struct row row = {.key = *key};

    if (rows->len == PD_TELEMETRY_ROWS_MAX) {
        rows->damaged = true;
        return -PD_E_FULL;
    }
    if ((2 * (rows->len + 1) > rows->slots_mask && grow_slots(rows)) ||
        PD_GROW(rows->rows, rows->room, rows->len + 1)) {
        return -ENOMEM;
    }
    row.key.path = key->path ? copy_of(key->path) : NULL;
    if (key->path && !row.key.path) {
        return -ENOMEM;
    }
    *slot_of(rows, key) = rows->len + 1;
    rows->rows[rows->len] = row;
    *ret_row = &rows->rows[rows->len++];
    return 0;
}

int pd_query_telemetry_rows_add(struct pd_telemetry_rows *rows,
                                const struct pd_telemetry_row_key *key,
                                const struct pd_telemetry_bin *bins, size_t len)
{
    const uint32_t known = *slot_of(rows, key);
    struct row *row = known ? &rows->rows[known - 1] : NULL;
    int err = 0;

    if (rows->bins + len > PD_TELEMETRY_ROW_BINS_MAX) {
        rows->damaged = true;
        return -PD_E_FULL;
    }
    if (!row && (err = add_row(rows, key, &row))) {
        return err;
    }
    const uint32_t before = row->bins.len;
    err = pd_telemetry_bins_add(&row->bins, bins, len);
    rows->bins += row->bins.len;
    rows->bins -= before;
    return err;
}

/* ---- from JSON */

static bool read_id(const json_t *row, const char *name, uint32_t *ret_id)
{
    const json_t *id = json_object_get(row, name);
    const json_int_t number = json_integer_value(id);

    if (!id) {
        *ret_id = 0;
        return true;
    }
    *ret_id = (uint32_t)number;
    return json_is_integer(id) && number >= 1 && number <= UINT32_MAX;
}

static bool read_key(const json_t *row, struct pd_telemetry_row_key *ret_key,
                     struct pd_path *ret_path)
{
    const json_t *flow = json_object_get(row, "flow_id"), *path = json_object_get(row, "path");

    *ret_key = (struct pd_telemetry_row_key){.port = json_object_get(row, "switch") != NULL,
                                             .has_flow = flow != NULL,
                                             .path = path ? ret_path : NULL};
    return !flow == !path && read_id(row, "switch", &ret_key->sw) &&
           read_id(row, "to", &ret_key->to) && (ret_key->port || !ret_key->to) &&
           (!flow || (!pd_query_flow_id_read(flow, &ret_key->flow, NULL) &&
                      !pd_query_path_read(path, "path", ret_path, NULL)));
}

static bool read_bins(const json_t *row, struct pd_telemetry_bin *ret_bins, size_t *ret_len)
{
    const json_t *values = json_object_get(row, "values"), *pair;
    size_t i;

    *ret_len = json_array_size(values);
    if (!json_is_array(values) || !*ret_len || *ret_len > PD_TELEMETRY_BINS_MOST) {
        return false;
    }
    json_array_foreach((json_t *)(uintptr_t)values, i, pair)
    {
        struct pd_telemetry_bin *bin = &ret_bins[i];
        if (json_array_size(pair) != 2 || !pd_query_row_number(pair, 0, &bin->value) ||
            !pd_query_row_number(pair, 1, &bin->count) || !bin->count ||
            (i && bin->value <= bin[-1].value)) {
            return false;
        }
    }
    return true;
}

bool pd_query_telemetry_row_valid(const json_t *row)
{
    struct pd_telemetry_bin bins[PD_TELEMETRY_BINS_MOST];
    struct pd_telemetry_row_key key;
    struct pd_path path;
    size_t len;

    return json_is_object(row) && read_key(row, &key, &path) && read_bins(row, bins, &len);
}

int pd_query_telemetry_row_add(struct pd_telemetry_rows *rows, const json_t *row)
{
    struct pd_telemetry_bin bins[PD_TELEMETRY_BINS_MOST];
    struct pd_telemetry_row_key key;
    struct pd_path path;
    size_t len;

    if (!read_key(row, &key, &path) || !read_bins(row, bins, &len)) {
        return -PD_E_VALUE;
    }
    return pd_query_telemetry_rows_add(rows, &key, bins, len);
}

/* ---- to JSON */

static int set_key(json_t *json, const struct pd_telemetry_row_key *key)
{
    int failed = 0;

    if (key->port) {
        failed |= json_object_set_new(json, "switch", json_integer(key->sw));
    }
    if (key->to) {
        failed |= json_object_set_new(json, "to", json_integer(key->to));
    }
    if (key->has_flow) {
        failed |= json_object_set_new(json, "flow_id", pd_query_flow_id_json(&key->flow));
    }
    if (key->path) {
        failed |= json_object_set_new(json, "path", pd_query_path_json(key->path));
    }
    return failed;
}

static json_t *values_json(const struct pd_telemetry_bins *bins)
{
    json_t *values = json_array();

    for (uint32_t i = 0; values && i < bins->len; i++) {
        if (json_array_append_new(values, json_pack("[I, I]", (json_int_t)bins->bins[i].value,
                                                    (json_int_t)bins->bins[i].count))) {
            json_decref(values);
            return NULL;
        }
    }
    return values;
}

/* All that was asked lies between *low and *high. */
static json_t *quantiles_json(const struct pd_telemetry_bins *bins,
                              const struct pd_telemetry_quantiles *quantiles, uint64_t *low,
                              uint64_t *high)
{
    json_t *json = json_object();

    *low = bins->bins[bins->len - 1].value;
    *high = 0;
    for (unsigned i = 0; quantiles && i < quantiles->len; i++) {
        uint64_t from, to;
        pd_telemetry_bins_interval(bins, quantiles->all[i].share, &from, &to);
        *low = from < *low ? from : *low;
        *high = to > *high ? to : *high;
        if (json_object_set_new(json, quantiles->all[i].text,
                                json_integer((json_int_t)pd_telemetry_bins_quantile(
                                    bins, quantiles->all[i].share)))) {
            json_decref(json);
            return NULL;
        }
    }
    return json;
}

static json_t *row_json(const struct row *row, const struct pd_telemetry_quantiles *quantiles)
{
    const struct pd_telemetry_bins *bins = &row->bins;
    uint64_t low, high;
    json_t *values = quantiles_json(bins, quantiles, &low, &high), *json = json_object();
    int failed = !values || set_key(json, &row->key);

    failed |= json_object_set_new(json, "samples", json_integer((json_int_t)bins->samples));
    failed |= json_object_set_new(json, "low", json_integer((json_int_t)low));
    failed |= json_object_set_new(json, "high", json_integer((json_int_t)high));
    failed |= json_object_set_new(json, "quantiles", values);
    failed |=
        json_object_set_new(json, "max", json_integer((json_int_t)bins->bins[bins->len - 1].value));
    failed |= json_object_set_new(json, "values", values_json(bins));
    if (failed) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static int by_key(const void *a, const void *b)
{
    return compare(&(*(const struct row *const *)a)->key, &(*(const struct row *const *)b)->key);
}

json_t *pd_query_telemetry_rows_json(const struct pd_telemetry_rows *rows,
                                     const struct pd_telemetry_quantiles *quantiles)
{
    const struct row **order = calloc(rows->len + 1, sizeof(void *));
    json_t *list = json_array();
    int failed = !order || !list;

    for (uint32_t i = 0; !failed && i < rows->len; i++) {
        order[i] = &rows->rows[i];
    }
    if (!failed) {
        qsort(order, rows->len, sizeof(void *), by_key);
    }
    for (uint32_t i = 0; !failed && i < rows->len; i++) {
        failed = order[i]->bins.len && json_array_append_new(list, row_json(order[i], quantiles));
    }
    free((void *)order);
    if (failed) {
        json_decref(list);
        return NULL;
    }
    return json_pack("{s:o, s:b}", "rows", list, "complete", !rows->damaged);
}

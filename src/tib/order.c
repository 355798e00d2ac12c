/* SPDX-License-Identifier: Apache-2.0 */
/* Order of groups: comparison, sorting, and the first k of many in memory for k. */
#include "tib/order.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"

#define TOP_FIRST 64 /* records that a new heap has room for */

/* ---- comparison ---- */

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

int pd_tib_compare_paths(const struct pd_path *a, const struct pd_path *b)
{
    if (a == b) {
        return 0;
    }
    if (!a || !b) {
        return a ? 1 : -1;
    }
    return pd_path_compare(a, b);
}

int pd_tib_compare_ways(const struct pd_tib_record *a, const struct pd_tib_record *b)
{
    int order = pd_tib_compare_paths(a->path, b->path);
    if (order || !a->path || (!a->claim && !b->claim)) {
        return order;
    }
    const struct pd_claim ca = pd_tib_claim(a), cb = pd_tib_claim(b);
    return pd_claim_compare_rest(&ca, &cb);
}

static int compare_flows(const struct pd_flow_id *a, const struct pd_flow_id *b)
{
    int order = compare_u64(a->ip_version, b->ip_version);
    order = order ? order : memcmp(&a->src, &b->src, sizeof a->src);
    order = order ? order : memcmp(&a->dst, &b->dst, sizeof a->dst);
    order = order ? order : compare_u64(a->src_port, b->src_port);
    order = order ? order : compare_u64(a->dst_port, b->dst_port);
    return order ? order : compare_u64(a->protocol, b->protocol);
}

int pd_tib_compare(enum pd_tib_order order, const struct pd_tib_record *a,
                   const struct pd_tib_record *b)
{
    int result = 0;
    if (order == PD_TIB_ORDER_BYTES) {
        result = compare_u64(b->bytes, a->bytes);
    } else if (order == PD_TIB_ORDER_PKTS) {
        result = compare_u64(b->pkts, a->pkts);
    }
    result = result ? result : compare_flows(&a->flow, &b->flow);
    result = result ? result : pd_tib_compare_ways(a, b);
    result = result ? result : compare_u64(a->stime_us, b->stime_us);
    result = result ? result : compare_u64(a->etime_us, b->etime_us);
    result = result ? result : compare_u64(a->bytes, b->bytes);
    return result ? result : compare_u64(a->pkts, b->pkts);
}

/* ---- sorting ---- */

/* What decides nearly all comparisons, beside the index so that they touch no record. Ascending. */
struct sort_key {
    /* by key: IPv4 both addresses, IPv6 first half of the source; else bytes or packets,
     * complemented */
    uint64_t first;
    uint32_t second; /* by key: IPv4 both ports; else 0 */
    uint32_t index;
    uint64_t ip_version; /* before the first, by key; else 0 */
};

struct sort_context {
    const struct pd_tib_record *records;
    enum pd_tib_order order;
};

static struct sort_key key_of_flow(const struct pd_flow_id *flow)
{
    struct sort_key key = {.ip_version = flow->ip_version};
    memcpy(&key.first, flow->src.bytes, sizeof key.first);
    if (flow->ip_version == 4) {
        memcpy((uint8_t *)&key.first + 4, flow->dst.bytes, 4);
        key.second = (uint32_t)flow->src_port << 16 | flow->dst_port;
    }
    key.first = be64toh(key.first);
    return key;
}

static struct sort_key key_of(const struct pd_tib_record *record, enum pd_tib_order order)
{
    if (order == PD_TIB_ORDER_KEY) {
        return key_of_flow(&record->flow);
    }
    return (struct sort_key){.first =
                                 ~(order == PD_TIB_ORDER_BYTES ? record->bytes : record->pkts)};
}

static int compare_keys(const void *left, const void *right, void *context)
{
    const struct sort_key *a = left, *b = right;
    const struct sort_context *sorted = context;
    if (a->ip_version != b->ip_version) {
        return a->ip_version < b->ip_version ? -1 : 1;
    }
    if (a->first != b->first) {
        return a->first < b->first ? -1 : 1;
    }
    if (a->second != b->second) {
        return a->second < b->second ? -1 : 1;
    }
    return pd_tib_compare(sorted->order, &sorted->records[a->index], &sorted->records[b->index]);
}

/* Moves each record to its place, cycle by cycle. */
static void permute(struct pd_tib_record *records, size_t len, struct sort_key *keys)
{
    for (uint32_t i = 0; i < len; i++) {
        struct pd_tib_record moved = records[i];
        uint32_t at = i, from;
        while ((from = keys[at].index) != i) {
            records[at] = records[from];
            keys[at].index = at;
            at = from;
        }
        records[at] = moved;
        keys[at].index = at;
    }
}

/* Keys of all records, for the caller to free. `spare`: as many bytes again are needed beside them.
 */
static int make_keys(const struct pd_tib_record *records, size_t len, enum pd_tib_order order,
                     bool spare, const struct pd_tib_budget *budget, struct sort_key **ret_keys)
{
    uint64_t bytes = (uint64_t)len * sizeof **ret_keys;
    if (len > UINT32_MAX || (spare ? 2 * bytes : bytes) > budget->left_bytes) {
        return -PD_E_TOO_LARGE;
    }
    struct sort_key *keys = malloc(bytes);
    if (!keys) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < len; i++) {
        keys[i] = key_of(&records[i], order);
        keys[i].index = i;
    }
    *ret_keys = keys;
    return 0;
}

int pd_tib_sort(struct pd_tib_record *records, size_t len, enum pd_tib_order order,
                struct pd_tib_budget *budget)
{
    struct sort_context context = {records, order};
    struct sort_key *keys;
    if (len < 2 || order == PD_TIB_ORDER_NONE) {
        return 0;
    }
    int error = make_keys(records, len, order, true, budget, &keys); /* qsort_r takes the spare */
    if (error) {
        return error;
    }
    qsort_r(keys, len, sizeof *keys, compare_keys, &context);
    permute(records, len, keys);
    free(keys);
    return 0;
}

/* ---- selecting ---- */

#define SELECT_FEW 32u /* are sorted */
/* More than chance ever needs: somebody chose the values, sorting bounds the time. */
#define SELECT_ROUNDS 64u

/* Hoare's: moves keys of [from, to) so that none before the place returned comes after one behind
 * it; from < place < to. */
static size_t partition(struct sort_key *keys, size_t from, size_t to, struct sort_context *context)
{
    size_t at = from + pd_hash_mix(from ^ to) % (to - from);
    struct sort_key pivot = keys[at];
    keys[at] = keys[from];
    keys[from] = pivot;
    for (size_t i = from, j = to - 1;; i++, j--) {
        while (compare_keys(&keys[i], &pivot, context) < 0) {
            i++;
        }
        while (compare_keys(&keys[j], &pivot, context) > 0) {
            j--;
        }
        if (i >= j) {
            return j + 1;
        }
        struct sort_key moved = keys[i];
        keys[i] = keys[j];
        keys[j] = moved;
    }
}

/* Moves the first `most` keys to the front; the last of them stands at most - 1. */
static void select_keys(struct sort_key *keys, size_t len, size_t most,
                        struct sort_context *context)
{
    size_t from = 0, to = len;
    for (unsigned round = 0; to - from > SELECT_FEW && round < SELECT_ROUNDS; round++) {
        size_t at = partition(keys, from, to, context);
        if (at < most) {
            from = at;
        } else {
            to = at;
        }
    }
    qsort_r(keys + from, to - from, sizeof *keys, compare_keys, context);
}

int pd_tib_select(struct pd_tib_record *records, size_t len, enum pd_tib_order order, size_t most,
                  struct pd_tib_budget *budget, struct pd_tib_record *ret_last)
{
    struct sort_context context = {records, order};
    struct sort_key *keys;
    int error = make_keys(records, len, order, false, budget, &keys);
    if (error) {
        return error;
    }
    bool *kept = calloc(len, sizeof *kept);
    if (!kept) {
        free(keys);
        return -ENOMEM;
    }
    select_keys(keys, len, most, &context);
    *ret_last = records[keys[most - 1].index];
    for (size_t i = 0; i < most; i++) {
        kept[keys[i].index] = true;
    }
    for (size_t i = 0, to = 0; i < len; i++) {
        if (kept[i]) {
            records[to++] = records[i];
        }
    }
    free(kept);
    free(keys);
    return 0;
}

/* ---- the first k ---- */

void pd_tib_top_init(struct pd_tib_top *top, enum pd_tib_order order, uint64_t most,
                     struct pd_tib_budget *budget)
{
    *top = (struct pd_tib_top){.budget = budget, .order = order, .most = most};
}

void pd_tib_top_done(struct pd_tib_top *top)
{
    free(top->records);
}

static int grow_top(struct pd_tib_top *top)
{
    size_t room = top->room ? 2 * top->room : TOP_FIRST;
    if (top->most && room > top->most) {
        room = (size_t)top->most;
    }
    int error = pd_tib_resize(top->budget, &top->records, top->room * sizeof *top->records,
                              room * sizeof *top->records);
    if (!error) {
        top->room = room;
    }
    return error;
}

static bool comes_after(const struct pd_tib_top *top, size_t a, size_t b)
{
    return pd_tib_compare(top->order, &top->records[a], &top->records[b]) > 0;
}

static void swap(struct pd_tib_top *top, size_t a, size_t b)
{
    struct pd_tib_record moved = top->records[a];
    top->records[a] = top->records[b];
    top->records[b] = moved;
}

static void sift_up(struct pd_tib_top *top, size_t at)
{
    for (; at && comes_after(top, at, (at - 1) / 2); at = (at - 1) / 2) {
        swap(top, at, (at - 1) / 2);
    }
}

static void sift_down(struct pd_tib_top *top, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= top->len) {
            return;
        }
        if (child + 1 < top->len && comes_after(top, child + 1, child)) {
            child++;
        }
        if (!comes_after(top, child, at)) {
            return;
        }
        swap(top, child, at);
        at = child;
    }
}

int pd_tib_top_offer(struct pd_tib_top *top, const struct pd_tib_record *record)
{
    if (top->most && top->len == top->most) {
        if (pd_tib_compare(top->order, record, &top->records[0]) < 0) {
            top->records[0] = *record;
            sift_down(top, 0);
        }
        return 0;
    }
    if (top->len == top->room) {
        int error = grow_top(top);
        if (error) {
            return error;
        }
    }
    top->records[top->len++] = *record;
    if (top->most) {
        sift_up(top, top->len - 1);
    }
    return 0;
}

int pd_tib_top_sort(struct pd_tib_top *top)
{
    return pd_tib_sort(top->records, top->len, top->order, top->budget);
}

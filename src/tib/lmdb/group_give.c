/* SPDX-License-Identifier: Apache-2.0 */
/* Order and output of groups: a radix sort of what decides nearly always, comparisons for the rest.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tib/lmdb/group.h"
#include "tib/order.h"

/* A group's key or size is made into one 64-bit number, less what all groups have in common: of
 * each field only the bits in which groups differ. Mostly that is all of it (servers have one
 * address, and clients of a few subnets); where it is not, equal numbers are compared in full. */

#define RADIX_BITS  11u
#define RADIX_LEN   (1u << RADIX_BITS)
#define RADIX_WORTH 2048u /* groups from which on it is faster than comparing */

struct item {
    uint64_t number;
    uint32_t index;
};

/* ---- numbers ---- */

enum { FAMILY, SRC_UPPER, SRC_LOW, DST_UPPER, DST_LOW, PORTS, PROTOCOL, FIELDS };

static inline __attribute__((always_inline)) uint64_t field_of(const struct pd_flow_id *flow,
                                                               unsigned field)
{
    uint64_t half;
    switch (field) {
    case FAMILY: return flow->ip_version;
    case SRC_UPPER: memcpy(&half, flow->src.bytes, 8); return be64toh(half);
    case SRC_LOW: memcpy(&half, flow->src.bytes + 8, 8); return be64toh(half);
    case DST_UPPER: memcpy(&half, flow->dst.bytes, 8); return be64toh(half);
    case DST_LOW: memcpy(&half, flow->dst.bytes + 8, 8); return be64toh(half);
    case PORTS: return (uint64_t)flow->src_port << 16 | flow->dst_port;
    default: return flow->protocol;
    }
}

/* What the values of a field have in common, and how they are packed: bits low … low + bits - 1 of
 * the value less `base`. */
struct span {
    uint64_t min, max, any, all;
    unsigned low, bits, drop;
};

static void span_add(struct span *span, uint64_t value)
{
    span->min = value < span->min ? value : span->min;
    span->max = value > span->max ? value : span->max;
    span->any |= value;
    span->all &= value;
}

/* Gives each field its bits, the first ones first. Returns how many are used. */
static unsigned spans_pack(struct span *spans)
{
    unsigned left = 64;
    for (struct span *span = spans; span < spans + FIELDS; span++) {
        uint64_t differs = span->any & ~span->all; /* bits in which two values differ */
        if (!differs) {
            continue;
        }
        span->low = (unsigned)__builtin_ctzll(differs);
        unsigned bits =
            64 - (unsigned)__builtin_clzll((span->max >> span->low) - (span->min >> span->low));
        span->bits = bits < left ? bits : left;
        span->drop = bits - span->bits;
        left -= span->bits;
    }
    return 64 - left;
}

static uint64_t number_of(const struct pd_flow_id *flow, const struct span *spans)
{
    uint64_t number = 0;
    for (unsigned field = 0; field < FIELDS; field++) {
        const struct span *span = &spans[field];
        if (!span->bits) {
            continue;
        }
        uint64_t value = (field_of(flow, field) >> span->low) - (span->min >> span->low);
        number = (span->bits < 64 ? number << span->bits : 0) | value >> span->drop;
    }
    return number;
}

static unsigned key_numbers(const struct pd_tib_record *groups, struct item *items, size_t len)
{
    struct span spans[FIELDS];
    for (unsigned field = 0; field < FIELDS; field++) {
        spans[field] = (struct span){.min = UINT64_MAX, .all = UINT64_MAX};
    }
    for (size_t i = 0; i < len; i++) {
        for (unsigned field = 0; field < FIELDS; field++) {
            span_add(&spans[field], field_of(&groups[i].flow, field));
        }
    }
    unsigned bits = spans_pack(spans);
    for (size_t i = 0; i < len; i++) {
        items[i] = (struct item){number_of(&groups[i].flow, spans), (uint32_t)i};
    }
    return bits;
}

/* Ascending numbers are the order asked for, as far as they tell. Returns how many bits they have.
 */
static unsigned numbers(const struct pd_tib_record *groups, struct item *items, size_t len,
                        enum pd_tib_order order)
{
    if (order == PD_TIB_ORDER_KEY) {
        return key_numbers(groups, items, len);
    }
    for (size_t i = 0; i < len; i++) {
        items[i] = (struct item){PD_TIB_SUM_MAX - pd_group_value(order, &groups[i]), (uint32_t)i};
    }
    return 53;
}

/* ---- sorting ---- */

struct context {
    const struct pd_tib_record *groups;
    enum pd_tib_order order;
};

static int compare(const void *left, const void *right, void *context)
{
    const struct item *a = left, *b = right;
    const struct context *sorted = context;
    if (a->number != b->number) {
        return a->number < b->number ? -1 : 1;
    }
    return pd_tib_compare(sorted->order, &sorted->groups[a->index], &sorted->groups[b->index]);
}

/* One digit: from `items` to `to`, stable. False when all have the same digit, and nothing was
 * moved. */
static bool radix_step(const struct item *items, struct item *to, size_t len, unsigned shift)
{
    uint32_t places[RADIX_LEN] = {0}, next = 0;
    for (size_t i = 0; i < len; i++) {
        places[items[i].number >> shift & (RADIX_LEN - 1)]++;
    }
    if (places[items[0].number >> shift & (RADIX_LEN - 1)] == len) {
        return false;
    }
    for (unsigned digit = 0; digit < RADIX_LEN; digit++) {
        uint32_t count = places[digit];
        places[digit] = next;
        next += count;
    }
    for (size_t i = 0; i < len; i++) {
        to[places[items[i].number >> shift & (RADIX_LEN - 1)]++] = items[i];
    }
    return true;
}

/* Returns where the sorted items are: in `items` or in `spare`. */
static struct item *radix_sort(struct item *items, struct item *spare, size_t len, unsigned bits)
{
    for (unsigned shift = 0; shift < bits; shift += RADIX_BITS) {
        if (radix_step(items, spare, len, shift)) {
            struct item *sorted = spare;
            spare = items;
            items = sorted;
        }
    }
    return items;
}

static void sort_equal_numbers(struct item *items, size_t len, struct context *context)
{
    for (size_t i = 0, end; i < len; i = end) {
        for (end = i + 1; end < len && items[end].number == items[i].number;) {
            end++;
        }
        if (end - i > 1) {
            qsort_r(items + i, end - i, sizeof *items, compare, context);
        }
    }
}

/* ---- output ---- */

static int give_items(struct pd_group *group, const struct pd_tib_record *groups,
                      const struct item *items, size_t len)
{
    struct pd_tib_record batch[PD_BLOCK_ROWS];
    int err = 0;
    for (size_t i = 0; !err && i < len;) {
        size_t n = 0;
        for (; n < PD_BLOCK_ROWS && i < len; n++, i++) {
            if (i + 8 < len) {
                __builtin_prefetch(&groups[items[i + 8].index]);
            }
            batch[n] = groups[items[i].index];
        }
        err = group->visit(group->context, batch, n);
    }
    return err;
}

static int give_plain(struct pd_group *group, const struct pd_tib_record *groups, size_t len)
{
    int err = 0;
    for (size_t i = 0; !err && i < len; i += PD_BLOCK_ROWS) {
        err = group->visit(group->context, groups + i,
                           len - i < PD_BLOCK_ROWS ? len - i : PD_BLOCK_ROWS);
    }
    return err;
}

/* Of numbers that say all but ties: the least one such that `wanted` items are not above it. */
static uint64_t limit_of(struct item *items, struct item *spare, size_t len, unsigned bits,
                         size_t wanted)
{
    memcpy(spare, items, len * sizeof *items);
    uint64_t limit = 0;
    while (bits) {
        uint32_t counts[RADIX_LEN] = {0}, digit = 0;
        unsigned step = bits < RADIX_BITS ? bits : RADIX_BITS;
        bits -= step;
        for (size_t i = 0; i < len; i++) {
            counts[spare[i].number >> bits & ((1u << step) - 1)]++;
        }
        while (counts[digit] < wanted) {
            wanted -= counts[digit++];
        }
        size_t kept = 0;
        for (size_t i = 0; i < len; i++) {
            if ((spare[i].number >> bits & ((1u << step) - 1)) == digit) {
                spare[kept++] = spare[i];
            }
        }
        len = kept;
        limit = limit << step | digit;
    }
    return limit;
}

/* Drops what cannot be among the first `wanted`. */
static size_t keep_first(struct item *items, struct item *spare, size_t len, unsigned bits,
                         size_t wanted)
{
    uint64_t limit = limit_of(items, spare, len, bits, wanted);
    size_t kept = 0;
    for (size_t i = 0; i < len; i++) {
        if (items[i].number <= limit) {
            items[kept++] = items[i];
        }
    }
    return kept;
}

static int give_sorted(struct pd_group *group, const struct pd_tib_record *groups, size_t len,
                       struct item *items, struct item *spare)
{
    struct context context = {groups, group->grouping->order};
    uint64_t top_len = group->grouping->top_len;
    unsigned bits = numbers(groups, items, len, context.order);
    size_t given = top_len && top_len < len ? (size_t)top_len : len, sorted = len;
    if (given < len / 2) {
        sorted = keep_first(items, spare, len, bits, given);
    }
    if (sorted < RADIX_WORTH) {
        qsort_r(items, sorted, sizeof *items, compare, &context);
        return give_items(group, groups, items, given);
    }
    items = radix_sort(items, spare, sorted, bits);
    sort_equal_numbers(items, sorted, &context);
    return give_items(group, groups, items, given);
}

int pd_lmdb_group_give(struct pd_group *group, struct pd_tib_record *groups, size_t len)
{
    const struct pd_tib_grouping *grouping = group->grouping;
    uint64_t bytes = 2 * (uint64_t)len * sizeof(struct item);
    if (grouping->order == PD_TIB_ORDER_NONE || len < 2) {
        return give_plain(group, groups,
                          grouping->top_len && grouping->top_len < len ? grouping->top_len : len);
    }
    if (bytes > group->budget.left_bytes) {
        return -PD_E_TOO_LARGE;
    }
    struct item *items = malloc(bytes);
    if (!items) {
        return -ENOMEM;
    }
    int err = give_sorted(group, groups, len, items, items + len);
    free(items);
    return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What grouping has to answer, worked out by sorting, and the comparison with what a store answers.
 */
#include "groups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct pd_tib_grouping random_grouping(struct random *random, const struct list *live)
{
    static const uint64_t tops[] = {0, 0, 1, 2, 10, 1000, UINT64_MAX};
    return (struct pd_tib_grouping){
        .by = (enum pd_tib_by)random_below(random, PD_TIB_BY_PATH + 1),
        .order = (enum pd_tib_order)random_below(random, PD_TIB_ORDER_PKTS + 1),
        .top_len = tops[random_below(random, sizeof tops / sizeof *tops)],
        .memory_bytes = UINT64_C(256) << 20,
        .live = live->records,
        .live_len = live->len,
    };
}

/* ---- the oracle: sorts records so that those of a group are neighbours ---- */

static const struct pd_path no_path; /* stands for NULL in lists */

static bool has_path(enum pd_tib_by by)
{
    return by != PD_TIB_BY_FLOW && by != PD_TIB_BY_SOURCE;
}

/* A record with nothing but what its group has in common, times and counts. */
static struct pd_tib_record reduce(enum pd_tib_by by, const struct pd_tib_record *record)
{
    struct pd_tib_record key = *record;
    if (by == PD_TIB_BY_SOURCE || by == PD_TIB_BY_PATH) {
        memset(&key.flow, 0, sizeof key.flow);
    }
    if (by == PD_TIB_BY_SOURCE) {
        key.flow.src = record->flow.src;
        key.flow.ip_version = record->flow.ip_version;
    }
    if (!has_path(by)) {
        key.path = &no_path;
        key.claim = NULL;
    }
    if (by != PD_TIB_BY_RECORD) {
        key.retransmissions = 0;
    }
    key.extra_bytes = 0;
    key.extra = NULL;
    key.bytes = key.bytes > PD_TIB_SUM_MAX ? PD_TIB_SUM_MAX : key.bytes;
    key.pkts = key.pkts > PD_TIB_SUM_MAX ? PD_TIB_SUM_MAX : key.pkts;
    return key;
}

static int numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_paths(const struct pd_tib_record *left, const struct pd_tib_record *right)
{
    const struct pd_path *p = left->path, *q = right->path;
    const struct pd_claim a = pd_tib_claim(left), b = pd_tib_claim(right);
    for (unsigned i = 0; i < p->len && i < q->len; i++) {
        if (p->switches[i] != q->switches[i]) {
            return numbers(p->switches[i], q->switches[i]);
        }
    }
    int order[] = {numbers(p->len, q->len),
                   numbers(a.origin, b.origin),
                   numbers(a.state, b.state),
                   numbers(a.candidates, b.candidates),
                   numbers(a.mark.scheme, b.mark.scheme),
                   memcmp(a.mark.bytes, b.mark.bytes, sizeof a.mark.bytes),
                   numbers(a.mark.len, b.mark.len)};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (order[i]) {
            return order[i];
        }
    }
    return 0;
}

static int compare_groups(const struct pd_tib_record *a, const struct pd_tib_record *b)
{
    const struct pd_flow_id *f = &a->flow, *g = &b->flow;
    int order[] = {numbers(f->ip_version, g->ip_version),
                   memcmp(&f->src, &g->src, sizeof f->src),
                   memcmp(&f->dst, &g->dst, sizeof f->dst),
                   numbers(f->src_port, g->src_port),
                   numbers(f->dst_port, g->dst_port),
                   numbers(f->protocol, g->protocol),
                   compare_paths(a, b)};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (order[i]) {
            return order[i];
        }
    }
    return 0;
}

static int compare_by_key(const void *left, const void *right)
{
    const struct pd_tib_record *a = left, *b = right;
    int order[] = {compare_groups(a, b), numbers(a->stime_us, b->stime_us),
                   numbers(a->etime_us, b->etime_us), numbers(a->bytes, b->bytes),
                   numbers(a->pkts, b->pkts)};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (order[i]) {
            return order[i];
        }
    }
    return 0;
}

static int compare_by_bytes(const void *left, const void *right)
{
    const struct pd_tib_record *a = left, *b = right;
    return a->bytes != b->bytes ? numbers(b->bytes, a->bytes) : compare_by_key(a, b);
}

static int compare_by_pkts(const void *left, const void *right)
{
    const struct pd_tib_record *a = left, *b = right;
    return a->pkts != b->pkts ? numbers(b->pkts, a->pkts) : compare_by_key(a, b);
}

static uint64_t sum(uint64_t a, uint64_t b)
{
    return a + b > PD_TIB_SUM_MAX ? PD_TIB_SUM_MAX : a + b; /* both are below 2^53 */
}

/* Of sorted records in place; the number of groups. */
static size_t merge_neighbours(struct pd_tib_record *records, size_t len)
{
    size_t groups = 0;
    for (size_t i = 0; i < len; i++) {
        struct pd_tib_record *group = groups ? &records[groups - 1] : NULL, *r = &records[i];
        if (!group || compare_groups(group, r) != 0) {
            records[groups++] = *r;
            continue;
        }
        group->stime_us = r->stime_us < group->stime_us ? r->stime_us : group->stime_us;
        group->etime_us = r->etime_us > group->etime_us ? r->etime_us : group->etime_us;
        group->bytes = sum(group->bytes, r->bytes);
        group->pkts = sum(group->pkts, r->pkts);
    }
    return groups;
}

static void select_reduced(const struct list *from, const struct pd_tib_filter *filter,
                           enum pd_tib_by by, struct list *ret_reduced)
{
    struct list matching = {0};
    list_select(from, filter, &matching);
    for (size_t i = 0; i < matching.len; i++) {
        struct pd_tib_record key = reduce(by, &matching.records[i]);
        list_add(ret_reduced, &key);
    }
    list_clear(&matching);
}

/* All groups in the order asked for (by key, where none is); their paths belong to `kept`. */
static struct pd_tib_record *make_groups(struct list *kept, const struct pd_tib_grouping *grouping,
                                         size_t *ret_len)
{
    static int (*const compare[])(const void *, const void *) = {
        [PD_TIB_ORDER_NONE] = compare_by_key,
        [PD_TIB_ORDER_KEY] = compare_by_key,
        [PD_TIB_ORDER_BYTES] = compare_by_bytes,
        [PD_TIB_ORDER_PKTS] = compare_by_pkts,
    };
    size_t len = kept->len;
    struct pd_tib_record *groups = calloc(len + 1, sizeof *groups);
    assert_non_null(groups);
    if (len) {
        memcpy(groups, kept->records, len * sizeof *groups);
    }
    qsort(groups, len, sizeof *groups, compare_by_key);
    if (grouping->by != PD_TIB_BY_RECORD) {
        len = merge_neighbours(groups, len);
    }
    qsort(groups, len, sizeof *groups, compare[grouping->order]);
    *ret_len = len;
    return groups;
}

/* ---- the comparison ---- */

struct collected {
    enum pd_tib_by by;
    struct list groups;
};

static int collect(void *context, const struct pd_tib_record *groups, size_t n)
{
    struct collected *collected = context;
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) {
        struct pd_tib_record group = groups[i];
        assert_int_equal(group.path != NULL, has_path(collected->by));
        group.path = group.path ? group.path : &no_path;
        list_add(&collected->groups, &group);
    }
    return 0;
}

/* Every group found is among the wanted ones, none twice; both sorted. */
static void assert_among(struct list *found, const struct pd_tib_record *wanted, size_t len)
{
    size_t j = 0;
    if (found->len) {
        qsort(found->records, found->len, sizeof *found->records, compare_by_key);
    }
    for (size_t i = 0; i < found->len; i++, j++) {
        while (j < len && compare_by_key(&wanted[j], &found->records[i]) < 0) {
            j++;
        }
        assert_true(j < len);
        assert_int_equal(compare_by_key(&wanted[j], &found->records[i]), 0);
    }
}

void groups_assert(struct pd_tib_snapshot *snapshot, const struct list *stored,
                   const struct pd_tib_filter *filter, const struct pd_tib_grouping *grouping)
{
    struct list live = {.records = (struct pd_tib_record *)(uintptr_t)grouping->live,
                        .len = grouping->live_len};
    struct collected found = {.by = grouping->by};
    struct list kept = {0};
    size_t len, most;
    if (snapshot) {
        select_reduced(stored, filter, grouping->by, &kept);
    }
    select_reduced(&live, filter, grouping->by, &kept);
    struct pd_tib_record *wanted = make_groups(&kept, grouping, &len);
    assert_int_equal(pd_tib_group(snapshot, filter, grouping, collect, &found), 0);
    most = grouping->top_len && grouping->top_len < len ? (size_t)grouping->top_len : len;
    assert_int_equal(found.groups.len, most);
    if (grouping->order == PD_TIB_ORDER_NONE) {
        assert_among(&found.groups, wanted, len);
    } else {
        for (size_t i = 0; i < most; i++) {
            assert_int_equal(compare_by_key(&found.groups.records[i], &wanted[i]), 0);
        }
    }
    free(wanted);
    list_clear(&kept);
    list_clear(&found.groups);
}

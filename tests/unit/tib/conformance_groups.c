/* SPDX-License-Identifier: Apache-2.0 */
/* The suite that every TIB backend passes: grouping. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "conformance.h"
#include "groups.h"

/* Live records: some of flows and paths that are stored as well, at other addresses; none of them
 * stored. */
static void make_live(struct list *live, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct pd_tib_record record = pool_record(&pool, &rnd);
        list_add(live, &record);
    }
}

/* Random groupings of random selections, with live records and without, all of the store or what
 * came since a token. */
static void assert_groups(struct pd_tib *tib, const struct list *oracle, size_t since_first,
                          const char *since, unsigned n)
{
    struct list later = {.records = since_first ? oracle->records + since_first : oracle->records,
                         .len = oracle->len - since_first};
    struct pd_tib_snapshot *snapshot;
    struct pd_path path;
    assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
    for (unsigned i = 0; i < questions(n); i++) {
        struct pd_tib_filter filter = PD_TIB_FILTER_ALL;
        struct list live = {0};
        make_live(&live, random_below(&rnd, 2) ? random_below(&rnd, 300) : 0);
        struct pd_tib_grouping grouping = random_grouping(&rnd, &live);
        if (random_below(&rnd, 4)) {
            filter = pool_filter(&pool, &rnd, &path);
        }
        filter.since = random_below(&rnd, 3) ? NULL : since;
        groups_assert(random_below(&rnd, 16) ? snapshot : NULL, filter.since ? &later : oracle,
                      &filter, &grouping);
        list_clear(&live);
    }
    assert_int_equal(pd_tib_snapshot_damaged(snapshot), 0);
    pd_tib_release(snapshot);
}

void test_groups(void **state)
{
    (void)state;
    struct list oracle = {0};
    struct pd_tib *tib = open_tib(PD_TIB_WRITE, NULL);
    char *since = token_of(tib);
    size_t since_first = 0;
    assert_groups(tib, &oracle, 0, since, 20);
    for (unsigned round = 0; round < 8; round++) {
        append(tib, &oracle, random_below(&rnd, 2) ? random_below(&rnd, 5) : few(2000));
        assert_int_equal(pd_tib_commit(tib), 0);
        assert_groups(tib, &oracle, since_first, since, 40);
        if (round == 4) {
            free(since);
            since = token_of(tib);
            since_first = oracle.len;
        }
    }
    append(tib, &oracle, few(70000)); /* segments */
    assert_int_equal(pd_tib_commit(tib), 0);
    assert_groups(tib, &oracle, since_first, since, 6);
    pd_tib_close(tib);
    free(since);
    list_clear(&oracle);
}

static int never(void *context, const struct pd_tib_record *groups, size_t n)
{
    (void)context;
    (void)groups;
    fail_msg("%zu groups of a grouping that failed", n);
    return 0;
}

/* Memory that does for the answer's groups is enough where the others need not be kept; else the
 * limit is told before any group. */
void test_group_limits(void **state)
{
    (void)state;
    struct list oracle = {0};
    struct pd_tib_filter all = PD_TIB_FILTER_ALL;
    struct pd_tib_snapshot *snapshot;
    struct pd_tib_grouping grouping = {
        .by = PD_TIB_BY_RECORD, .order = PD_TIB_ORDER_BYTES, .memory_bytes = 1 << 20};
    size_t visited = 0;
    struct pd_tib *tib = open_tib(PD_TIB_WRITE, NULL);
    append(tib, &oracle, on_server() ? 13500 : 30000);
    assert_int_equal(pd_tib_commit(tib), 0);
    assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
    assert_int_equal(pd_tib_group(snapshot, &all, &grouping, never, NULL), -PD_E_TOO_LARGE);
    grouping.top_len = 1000;
    groups_assert(snapshot, &oracle, &all, &grouping);
    assert_int_equal(pd_tib_group(snapshot, &all, &grouping, stop_at_once, &visited), 42);
    assert_in_range(visited, 1, 1000);
    grouping.by = PD_TIB_BY_FLOW_PATH; /* nearly 200 * 64 groups */
    grouping.memory_bytes = 100 * 1024;
    assert_int_equal(pd_tib_group(snapshot, &all, &grouping, never, NULL), -PD_E_TOO_LARGE);
    pd_tib_release(snapshot);
    pd_tib_close(tib);
    list_clear(&oracle);
}

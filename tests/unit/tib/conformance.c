/* SPDX-License-Identifier: Apache-2.0 */
/* The suite that every TIB backend passes. The backends it runs on are the rows of `locations`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/clock.h"
#include "records.h"
#include "store_files.h"

/* A place for one empty store, made for each test and taken away after it. */
struct location {
    const char *backend;
    void (*make)(char *ret_location, size_t size_bytes);
    void (*wipe)(const char *location);
};

static const struct location locations[] = {{"lmdb", store_make, store_wipe}};
static const struct location *backend;

static char place[256];
static struct pool pool;
static struct random rnd;

static int setup(void **state)
{
    (void)state;
    backend->make(place, sizeof place);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    backend->wipe(place);
    return 0;
}

static struct pd_tib *open_tib(enum pd_tib_mode mode, const struct pd_tib_config *config)
{
    struct pd_tib *tib = NULL;
    struct pd_error error = {0};
    if (pd_tib_open(place, mode, config, &tib, &error))
        fail_msg("%s", error.text);
    return tib;
}

/* n random records into the store and the oracle. */
static void append(struct pd_tib *tib, struct list *oracle, size_t n)
{
    while (n) {
        struct pd_tib_record batch[7];
        size_t len = n < 7 ? n : 7;
        for (size_t i = 0; i < len; i++) {
            batch[i] = pool_record(&pool, &rnd);
            list_add(oracle, &batch[i]);
        }
        assert_int_equal(pd_tib_append(tib, batch, len), 0);
        n -= len;
    }
}

static void assert_answer(struct pd_tib_snapshot *snapshot, const struct list *oracle,
                          const struct pd_tib_filter *filter)
{
    struct list found = {0}, wanted = {0};
    list_select(oracle, filter, &wanted);
    assert_int_equal(list_scan(snapshot, filter, &found), 0);
    assert_int_equal(pd_tib_snapshot_damaged(snapshot), 0);
    list_assert_equal(&found, &wanted);
    list_clear(&found);
    list_clear(&wanted);
}

static void assert_answers(struct pd_tib *tib, const struct list *oracle, unsigned filters)
{
    struct pd_tib_filter all = PD_TIB_FILTER_ALL;
    struct pd_tib_snapshot *snapshot;
    struct pd_path path;
    assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
    assert_answer(snapshot, oracle, &all);
    for (unsigned i = 0; i < filters; i++) {
        struct pd_tib_filter filter = pool_filter(&pool, &rnd, &path);
        assert_answer(snapshot, oracle, &filter);
    }
    pd_tib_release(snapshot);
}

static void assert_check(struct pd_tib *tib);

static void test_empty(void **state)
{
    (void)state;
    struct list oracle = {0};
    struct pd_tib_stat stat;
    struct pd_tib *tib = open_tib(PD_TIB_WRITE, NULL);
    assert_answers(tib, &oracle, 20);
    assert_int_equal(pd_tib_commit(tib), 0);
    assert_int_equal(pd_tib_maintain(tib, pd_clock_wall_us()), 0);
    assert_int_equal(pd_tib_stat(tib, &stat), 0);
    assert_int_equal(stat.records, 0);
    assert_int_equal(stat.min_stime_us, 0);
    assert_check(tib);
    pd_tib_close(tib);
    tib = open_tib(PD_TIB_READ, NULL);
    assert_answers(tib, &oracle, 20);
    pd_tib_close(tib);
}

static void fail_on_finding(void *context, const char *finding)
{
    (void)context;
    fail_msg("%s", finding);
}

static void assert_check(struct pd_tib *tib)
{
    assert_int_equal(pd_tib_check(tib, fail_on_finding, NULL), 0);
}

/* Random commits, random filters after each, reopened in between. */
static void test_random(void **state)
{
    (void)state;
    struct list oracle = {0};
    struct pd_tib *tib = open_tib(PD_TIB_WRITE, NULL);
    for (unsigned round = 0; round < 30; round++) {
        append(tib, &oracle,
               random_below(&rnd, 2) ? random_below(&rnd, 5) : random_below(&rnd, 300));
        assert_int_equal(pd_tib_commit(tib), 0);
        assert_answers(tib, &oracle, 30);
        if (random_below(&rnd, 5) == 0) {
            pd_tib_close(tib);
            tib = open_tib(PD_TIB_WRITE, NULL);
            assert_answers(tib, &oracle, 5);
        }
    }
    assert_check(tib);
    pd_tib_close(tib);
    tib = open_tib(PD_TIB_READ, NULL);
    assert_answers(tib, &oracle, 100);
    assert_check(tib);
    pd_tib_close(tib);
    list_clear(&oracle);
}

/* Enough rows for several segments. */
static void test_segments(void **state)
{
    (void)state;
    struct list oracle = {0};
    struct pd_tib_stat stat;
    struct pd_tib *tib = open_tib(PD_TIB_WRITE, NULL);
    for (unsigned round = 0; round < 10; round++) {
        append(tib, &oracle, 15000 + random_below(&rnd, 3000));
        if (round % 3)
            assert_int_equal(pd_tib_commit(tib), 0);
    }
    assert_int_equal(pd_tib_commit(tib), 0);
    assert_answers(tib, &oracle, 60);
    assert_int_equal(pd_tib_stat(tib, &stat), 0);
    assert_int_equal(stat.records, oracle.len);
    assert_int_equal(stat.stored, oracle.len);
    assert_int_equal(stat.appended, oracle.len);
    assert_check(tib);
    pd_tib_close(tib);
    tib = open_tib(PD_TIB_READ, NULL);
    assert_answers(tib, &oracle, 20);
    assert_int_equal(pd_tib_stat(tib, &stat), 0);
    assert_int_equal(stat.records, oracle.len);
    pd_tib_close(tib);
    list_clear(&oracle);
}

static void assert_cursor(struct pd_tib *tib, uint64_t key, uint64_t value)
{
    uint64_t found = 0;
    assert_int_equal(pd_tib_cursor(tib, key, &found), 0);
    assert_int_equal(found, value);
}

/* A cursor is durable with the records that it goes with, and not before; of very many the latest are kept. */
static void test_cursors(void **state)
{
    (void)state;
    struct list oracle = {0};
    uint64_t value;
    struct pd_tib *tib = open_tib(PD_TIB_WRITE, NULL);
    assert_int_equal(pd_tib_cursor(tib, 7, &value), -PD_E_NOT_FOUND);
    append(tib, &oracle, 10);
    assert_int_equal(pd_tib_set_cursor(tib, 7, 10), 0);
    assert_int_equal(pd_tib_commit(tib), 0);
    assert_int_equal(pd_tib_set_cursor(tib, 7, 11), 0); /* without records: stays behind */
    assert_cursor(tib, 7, 11);
    pd_tib_close(tib);
    tib = open_tib(PD_TIB_WRITE, NULL);
    assert_cursor(tib, 7, 10);
    for (uint64_t key = 100; key < 100 + 2 * PD_TIB_CURSORS; key++)
        assert_int_equal(pd_tib_set_cursor(tib, key, UINT64_MAX - key), 0);
    append(tib, &oracle, 1);
    assert_int_equal(pd_tib_commit(tib), 0);
    pd_tib_close(tib);
    tib = open_tib(PD_TIB_WRITE, NULL);
    assert_int_equal(pd_tib_cursor(tib, 7, &value), -PD_E_NOT_FOUND);
    for (uint64_t key = 100 + PD_TIB_CURSORS; key < 100 + 2 * PD_TIB_CURSORS; key++)
        assert_cursor(tib, key, UINT64_MAX - key);
    assert_answers(tib, &oracle, 5);
    assert_check(tib);
    pd_tib_close(tib);
    list_clear(&oracle);
}

/* A snapshot does not see what is committed after it; what is not committed is seen by nobody. */
static void test_snapshot_isolation(void **state)
{
    (void)state;
    struct list before = {0}, oracle = {0};
    struct pd_tib_filter all = PD_TIB_FILTER_ALL;
    struct pd_tib_snapshot *snapshots[5];
    size_t lens[5];
    struct pd_tib *tib = open_tib(PD_TIB_WRITE, NULL);
    for (unsigned i = 0; i < 5; i++) {
        append(tib, &oracle, 20000);
        assert_int_equal(pd_tib_commit(tib), 0);
        append(tib, &oracle, 5);
        assert_int_equal(pd_tib_snapshot(tib, &snapshots[i]), 0);
        lens[i] = oracle.len - 5;
    }
    for (unsigned i = 0; i < 5; i++) {
        for (size_t j = before.len; j < lens[i]; j++)
            list_add(&before, &oracle.records[j]);
        assert_answer(snapshots[i], &before, &all);
    }
    for (unsigned i = 0; i < 5; i++)
        pd_tib_release(snapshots[i]);
    pd_tib_close(tib); /* commits */
    tib = open_tib(PD_TIB_READ, NULL);
    assert_answers(tib, &oracle, 3);
    pd_tib_close(tib);
    list_clear(&before);
    list_clear(&oracle);
}

static int stop_at_once(void *context, const struct pd_tib_record *records, size_t n)
{
    (void)records;
    *(size_t *)context += n;
    return 42;
}

/* Equal paths have equal pointers within a snapshot. */
static int same_pointers(void *context, const struct pd_tib_record *records, size_t n)
{
    const struct pd_path **seen = context;
    for (size_t i = 0; i < n; i++)
        for (unsigned j = 0; j < POOL_PATHS; j++)
            if (pd_path_equal(records[i].path, &pool.paths[j])) {
                assert_true(!seen[j] || seen[j] == records[i].path);
                seen[j] = records[i].path;
            }
    return 0;
}

static void test_visitor(void **state)
{
    (void)state;
    struct list oracle = {0};
    struct pd_tib_filter all = PD_TIB_FILTER_ALL;
    const struct pd_path *seen[POOL_PATHS] = {NULL};
    struct pd_tib_snapshot *snapshot;
    size_t visited = 0;
    struct pd_tib *tib = open_tib(PD_TIB_WRITE, NULL);
    for (unsigned i = 0; i < 4; i++) {
        append(tib, &oracle, 20000);
        assert_int_equal(pd_tib_commit(tib), 0);
    }
    assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
    assert_int_equal(pd_tib_scan(snapshot, &all, stop_at_once, &visited), 42);
    assert_true(visited > 0 && visited < oracle.len);
    assert_int_equal(pd_tib_scan(snapshot, &all, same_pointers, seen), 0);
    pd_tib_release(snapshot);
    pd_tib_close(tib);
    list_clear(&oracle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(test_random, setup, teardown),
        cmocka_unit_test_setup_teardown(test_segments, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cursors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_snapshot_isolation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_visitor, setup, teardown),
    };
    rnd.state = test_seed();
    pool_init(&pool, &rnd);
    int failed = 0;
    for (size_t i = 0; i < sizeof locations / sizeof *locations; i++) {
        backend = &locations[i];
        failed += cmocka_run_group_tests_name(backend->backend, tests, NULL, NULL);
    }
    return failed;
}

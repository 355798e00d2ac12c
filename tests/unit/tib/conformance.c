/* SPDX-License-Identifier: Apache-2.0 */
/* The suite that every TIB backend passes. The backends it runs on are the rows of `locations`;
 * with PD_TIB_SERVER=mongodb://HOST:PORT in the environment, those on a server. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "conformance.h"
#include "store_files.h"

/* A place for one empty store, made for each test and taken away after it. */
struct location {
    const char *backend;
    void (*make)(char *ret_location, size_t size_bytes);
    void (*wipe)(const char *location);
    bool server;
    /* of one append: a server without indexes takes its time over each question */
    size_t most_records;
    unsigned most_questions;
};

/* A database of its own for each test, which ends with the server, and a spool. */
static char spool[256];

static void server_make(char *ret_location, size_t size_bytes)
{
    static unsigned databases;
    store_make(spool, sizeof spool);
    snprintf(ret_location, size_bytes, "%s/conformance_%d_%u", getenv("PD_TIB_SERVER"),
             (int)getpid(), databases++);
}

static void server_wipe(const char *location)
{
    static const char *const files[] = {"spool.mdb", "spool.mdb-lock", "spool.lock"};
    (void)location;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        unlink(store_file(spool, files[i]));
    }
    assert_int_equal(rmdir(spool), 0);
}

static const struct location locations[] = {
    {"lmdb", store_make, store_wipe, false, SIZE_MAX, UINT_MAX},
    {"mongodb", server_make, server_wipe, true, 200, 3},
};
static const struct location *backend;

size_t few(size_t records)
{
    return records < backend->most_records ? records : backend->most_records;
}

unsigned questions(unsigned n)
{
    return n < backend->most_questions ? n : backend->most_questions;
}

static char place[256];
struct pool pool;
struct random rnd;

bool on_server(void)
{
    return backend->server;
}

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

struct pd_tib *open_tib(enum pd_tib_mode mode, const struct pd_tib_config *config)
{
    struct pd_tib *tib = NULL;
    struct pd_error error = {0};
    struct pd_tib_config shared = config ? *config : (struct pd_tib_config){0};
    shared.host_id = 7;
    shared.spool = spool;
    if (pd_tib_open(place, mode, backend->server ? &shared : config, &tib, &error)) {
        fail_msg("%s", error.text);
    }
    return tib;
}

void append(struct pd_tib *tib, struct list *oracle, size_t n)
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
    for (unsigned i = 0; i < questions(filters); i++) {
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
    for (unsigned round = 0; round < (backend->server ? 10 : 30); round++) {
        append(tib, &oracle,
               few(random_below(&rnd, 2) ? random_below(&rnd, 5) : random_below(&rnd, 300)));
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
        append(tib, &oracle, few(15000 + random_below(&rnd, 3000)));
        if (round % 3) {
            assert_int_equal(pd_tib_commit(tib), 0);
        }
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

/* Segments that have become cold answer as before, also to readers that have them open and to those
 * that ask since a token. */
static void test_cold(void **state)
{
    (void)state;
    struct list oracle = {0}, before = {0};
    struct pd_tib_config config = {.cold_after_s = 60};
    struct pd_tib_filter all = PD_TIB_FILTER_ALL;
    struct pd_tib_snapshot *snapshot;
    uint64_t now_us = pd_clock_wall_us();
    struct pd_tib *tib = open_tib(PD_TIB_WRITE, &config);
    for (unsigned round = 0; round < 6; round++) {
        append(tib, &oracle, few(round % 2 ? 30000 : 500));
        assert_int_equal(pd_tib_commit(tib), 0);
        assert_int_equal(pd_tib_maintain(tib, now_us += UINT64_C(3600000000)), 0);
    }
    assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
    for (size_t i = 0; i < oracle.len; i++) {
        list_add(&before, &oracle.records[i]);
    }
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(pd_tib_maintain(tib, now_us), 0);
    }
    append(tib, &oracle, 30);
    assert_int_equal(pd_tib_commit(tib), 0);
    assert_answer(snapshot, &before, &all);
    pd_tib_release(snapshot);
    assert_answers(tib, &oracle, 25);
    assert_check(tib);
    pd_tib_close(tib);
    tib = open_tib(PD_TIB_READ, NULL);
    assert_answers(tib, &oracle, 15);
    assert_check(tib);
    pd_tib_close(tib);
    list_clear(&before);
    list_clear(&oracle);
}

static void assert_cursor(struct pd_tib *tib, uint64_t key, uint64_t value)
{
    uint64_t found = 0;
    assert_int_equal(pd_tib_cursor(tib, key, &found), 0);
    assert_int_equal(found, value);
}

/* A cursor is durable with the records that it goes with, and not before; of very many the latest
 * are kept. */
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
    for (uint64_t key = 100; key < 100 + 2 * PD_TIB_CURSORS; key++) {
        assert_int_equal(pd_tib_set_cursor(tib, key, UINT64_MAX - key), 0);
    }
    append(tib, &oracle, 1);
    assert_int_equal(pd_tib_commit(tib), 0);
    pd_tib_close(tib);
    tib = open_tib(PD_TIB_WRITE, NULL);
    assert_int_equal(pd_tib_cursor(tib, 7, &value), -PD_E_NOT_FOUND);
    for (uint64_t key = 100 + PD_TIB_CURSORS; key < 100 + 2 * PD_TIB_CURSORS; key++) {
        assert_cursor(tib, key, UINT64_MAX - key);
    }
    assert_answers(tib, &oracle, 5);
    assert_check(tib);
    pd_tib_close(tib);
    list_clear(&oracle);
}

/* The records of `oracle` from `first` on, and those of a later snapshot since an earlier one's
 * token. */
static void assert_since(struct pd_tib_snapshot *snapshot, const struct list *oracle, size_t first,
                         const char *token)
{
    struct list since = {0};
    struct pd_path path;
    for (size_t i = first; i < oracle->len; i++) {
        list_add(&since, &oracle->records[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        struct pd_tib_filter filter = PD_TIB_FILTER_ALL;
        if (i) {
            filter = pool_filter(&pool, &rnd, &path);
        }
        filter.since = token;
        assert_answer(snapshot, &since, &filter);
    }
    list_clear(&since);
}

#define TOKENS 12u
struct tokens {
    char *text[TOKENS];
    size_t first[TOKENS]; /* what the store held then */
    unsigned len;
};

/* A snapshot's token, asked at once and after each later commit. */
static void tokens_take(struct pd_tib *tib, const struct list *oracle, struct tokens *tokens)
{
    struct pd_tib_snapshot *snapshot;
    assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
    assert_int_equal(pd_tib_token(snapshot, &tokens->text[tokens->len]), 0);
    tokens->first[tokens->len++] = oracle->len;
    for (unsigned i = 0; i < questions(tokens->len); i++) {
        unsigned at = backend->server ? (unsigned)random_below(&rnd, tokens->len) : i;
        assert_since(snapshot, oracle, tokens->first[at], tokens->text[at]);
    }
    pd_tib_release(snapshot);
}

/* Small commits and large ones, seals by size and by age, the store opened anew: with every token,
 * each record comes once. */
static void test_since(void **state)
{
    (void)state;
    struct list oracle = {0};
    struct tokens tokens = {.len = 0};
    uint64_t now_us = pd_clock_wall_us();
    struct pd_tib_config config = {.cold_after_s = 60};
    struct pd_tib *tib = open_tib(PD_TIB_WRITE, &config);
    while (tokens.len < TOKENS) {
        unsigned round = tokens.len;
        tokens_take(tib, &oracle, &tokens);
        for (unsigned commits = (unsigned)random_below(&rnd, 4); commits; commits--) {
            append(tib, &oracle, few(random_below(&rnd, round % 6 == 1 ? 12000 : 300)));
            assert_int_equal(pd_tib_commit(tib), 0);
        }
        if (round % 5 == 2) {
            now_us += UINT64_C(3600000000);
        }
        assert_int_equal(pd_tib_maintain(tib, now_us), 0);
        if (round % 7 == 3) {
            pd_tib_close(tib);
            tib = open_tib(PD_TIB_WRITE, &config);
        }
    }
    for (unsigned i = 0; i < tokens.len; i++) {
        free(tokens.text[i]);
    }
    pd_tib_close(tib);
    list_clear(&oracle);
}

char *token_of(struct pd_tib *tib)
{
    struct pd_tib_snapshot *snapshot;
    char *token = NULL;
    assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
    assert_int_equal(pd_tib_token(snapshot, &token), 0);
    pd_tib_release(snapshot);
    return token;
}

/* A token is one store's: others refuse it, and so does the store refuse what is no token. */
static void test_since_refused(void **state)
{
    (void)state;
    const char *const wrong[] = {"", "0", "-", "1-2", " ", "\n", "18446744073709551616"};
    struct list oracle = {0}, found = {0};
    struct pd_tib_snapshot *snapshot;
    struct pd_tib_filter filter = PD_TIB_FILTER_ALL;
    struct pd_tib *tib = open_tib(PD_TIB_WRITE, NULL);
    append(tib, &oracle, 5);
    assert_int_equal(pd_tib_commit(tib), 0);
    char *other = token_of(tib);
    pd_tib_close(tib);
    teardown(NULL);
    setup(NULL);
    tib = open_tib(PD_TIB_WRITE, NULL);
    append(tib, &oracle, 10);
    assert_int_equal(pd_tib_commit(tib), 0);
    char *own = token_of(tib);
    assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
    filter.since = other;
    assert_int_equal(list_scan(snapshot, &filter, &found), -PD_E_VALUE);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        filter.since = wrong[i];
        assert_int_equal(list_scan(snapshot, &filter, &found), -PD_E_VALUE);
    }
    filter.since = own;
    assert_int_equal(list_scan(snapshot, &filter, &found), 0);
    assert_int_equal(found.len, 0);
    pd_tib_release(snapshot);
    pd_tib_close(tib);
    free(own);
    free(other);
    list_clear(&oracle);
}

/* What retention has taken since is gone, and a token from before it is a good one still. */
static void test_since_retention(void **state)
{
    (void)state;
    struct pd_tib_config config = {.max_age_s = 86400};
    struct pd_tib_snapshot *snapshot;
    uint64_t now_us = pd_clock_wall_us();
    struct list kept = {0};
    struct pd_tib_record record;
    struct pd_tib *tib = open_tib(PD_TIB_WRITE, &config);
    char *before = token_of(tib);
    for (unsigned i = 0; i < 6; i++) {
        record = pool_record(&pool, &rnd);
        record.etime_us = now_us - (i < 3 ? 3 * config.max_age_s * 1000000 : 5);
        record.stime_us = record.etime_us - 5;
        assert_int_equal(pd_tib_append(tib, &record, 1), 0);
        assert_int_equal(pd_tib_commit(tib), 0);
        if (i >= 3) {
            list_add(&kept, &record);
        }
    }
    for (unsigned i = 0; i < 8; i++) { /* some work each time */
        assert_int_equal(pd_tib_maintain(tib, now_us), 0);
    }
    char *after = token_of(tib);
    record = pool_record(&pool, &rnd);
    record.stime_us = record.etime_us = now_us;
    assert_int_equal(pd_tib_append(tib, &record, 1), 0);
    assert_int_equal(pd_tib_commit(tib), 0);
    list_add(&kept, &record);
    assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
    assert_since(snapshot, &kept, 0, before);
    assert_since(snapshot, &kept, kept.len - 1, after);
    pd_tib_release(snapshot);
    pd_tib_close(tib);
    free(before);
    free(after);
    list_clear(&kept);
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
        append(tib, &oracle, few(20000));
        assert_int_equal(pd_tib_commit(tib), 0);
        append(tib, &oracle, 5);
        assert_int_equal(pd_tib_snapshot(tib, &snapshots[i]), 0);
        lens[i] = oracle.len - 5;
    }
    for (unsigned i = 0; i < 5; i++) {
        for (size_t j = before.len; j < lens[i]; j++) {
            list_add(&before, &oracle.records[j]);
        }
        assert_answer(snapshots[i], &before, &all);
    }
    for (unsigned i = 0; i < 5; i++) {
        pd_tib_release(snapshots[i]);
    }
    pd_tib_close(tib); /* commits */
    tib = open_tib(PD_TIB_READ, NULL);
    assert_answers(tib, &oracle, 3);
    pd_tib_close(tib);
    list_clear(&before);
    list_clear(&oracle);
}

int stop_at_once(void *context, const struct pd_tib_record *records, size_t n)
{
    (void)records;
    *(size_t *)context += n;
    return 42;
}

/* Equal paths have equal pointers within a snapshot. */
static int same_pointers(void *context, const struct pd_tib_record *records, size_t n)
{
    const struct pd_path **seen = context;
    for (size_t i = 0; i < n; i++) {
        for (unsigned j = 0; j < POOL_PATHS; j++) {
            const struct pd_tib_record wanted = {.path = &pool.paths[j],
                                                 .claim = pd_tib_claim_kept(&pool.claims[j])};
            if (pd_tib_same_way(&records[i], &wanted)) {
                assert_true(!seen[j] || seen[j] == records[i].path);
                seen[j] = records[i].path;
            }
        }
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
        append(tib, &oracle, few(20000));
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
        cmocka_unit_test_setup_teardown(test_cold, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cursors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_since, setup, teardown),
        cmocka_unit_test_setup_teardown(test_since_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_since_retention, setup, teardown),
        cmocka_unit_test_setup_teardown(test_snapshot_isolation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_groups, setup, teardown),
        cmocka_unit_test_setup_teardown(test_group_limits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_visitor, setup, teardown),
    };
    rnd.state = test_seed();
    pool_init(&pool, &rnd);
    int failed = 0;
    for (size_t i = 0; i < sizeof locations / sizeof *locations; i++) {
        backend = &locations[i];
        if (backend->server != (getenv("PD_TIB_SERVER") != NULL)) {
            continue;
        }
        failed += cmocka_run_group_tests_name(backend->backend, tests, NULL, NULL);
    }
    return failed;
}

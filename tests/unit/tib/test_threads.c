/* SPDX-License-Identifier: Apache-2.0 */
/* One writer thread and reader threads, each with a crew of its own, on one open store: each
 * snapshot is a prefix of the commits, whole. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "store_files.h"
#include "tib/lmdb/crew.h"
#include "tib/tib.h"

#define READERS     3u
#define COMMITS     60u
#define COMMIT_ROWS 3000u /* of which 22 make a segment */

static struct pd_tib *tib;
static _Atomic uint64_t
    committed; /* records acknowledged; written with release after each commit */
static _Atomic bool over;

static void make_record(uint64_t number, struct pd_path *path, struct pd_tib_record *ret_record)
{
    memset(path, 0, sizeof *path);
    path->len = 2;
    path->switches[0] = (uint32_t)(number / 50 % 1000) + 1; /* new ones while the store grows */
    path->switches[1] = 5000;
    *ret_record = (struct pd_tib_record){
        .flow = {.ip_version = 4, .protocol = 6, .src_port = (uint16_t)number},
        .path = path,
        .stime_us = number,
        .etime_us = number + 10,
        .pkts = 1,
    };
}

struct sum {
    uint64_t len, numbers;
    bool wrong;
};

static int add_up(void *context, const struct pd_tib_record *records, size_t n)
{
    struct sum *sum = context;
    for (size_t i = 0; i < n; i++) {
        sum->len++;
        sum->numbers += records[i].stime_us;
        sum->wrong |= records[i].path->switches[0] != records[i].stime_us / 50 % 1000 + 1;
    }
    return 0;
}

static int count(void *context, const struct pd_tib_record *records, size_t n)
{
    uint64_t *len = context;
    (void)records;
    *len += n;
    return 0;
}

/* The first records by size, which all are alike. */
static bool finds_first(struct pd_tib_snapshot *snapshot, uint64_t records)
{
    struct pd_tib_filter all = PD_TIB_FILTER_ALL;
    struct pd_tib_grouping grouping = {
        .by = PD_TIB_BY_RECORD, .order = PD_TIB_ORDER_PKTS, .top_len = 10, .memory_bytes = 1 << 20};
    uint64_t len = 0;
    return !pd_tib_group(snapshot, &all, &grouping, count, &len) && len == (records ? 10 : 0);
}

/* NULL, or what is wrong. */
static const char *read_once(uint64_t at_least)
{
    struct pd_tib_filter all = PD_TIB_FILTER_ALL;
    struct pd_tib_filter link = {.link = {8, 5000}, .to_us = UINT64_MAX};
    struct pd_tib_snapshot *snapshot;
    struct sum sum = {0}, linked = {0};
    struct pd_tib_stat stat;
    if (pd_tib_snapshot(tib, &snapshot)) {
        return "no snapshot";
    }
    if (pd_tib_scan(snapshot, &all, add_up, &sum) ||
        pd_tib_scan(snapshot, &link, add_up, &linked)) {
        return "no scan";
    }
    bool found = finds_first(snapshot, sum.len);
    uint64_t damaged = pd_tib_snapshot_damaged(snapshot);
    pd_tib_release(snapshot);
    if (!found) {
        return "not the first records";
    }
    if (damaged || sum.wrong || linked.wrong) {
        return "a record is wrong";
    }
    if (sum.len < at_least || sum.len % COMMIT_ROWS || sum.numbers != sum.len * (sum.len - 1) / 2) {
        return "not a prefix of the commits";
    }
    if (sum.len >= 400 && linked.len < 50) {
        return "records of a link are missing";
    }
    if (pd_tib_stat(tib, &stat) || stat.records < sum.len) {
        return "stat is behind";
    }
    return NULL;
}

static void *read_on(void *context)
{
    (void)context;
    const char *wrong = NULL;
    while (!wrong && !atomic_load_explicit(&over, memory_order_acquire)) {
        wrong = read_once(atomic_load_explicit(&committed, memory_order_acquire));
    }
    return (void *)wrong;
}

static void test_threads(void **state)
{
    (void)state;
    char place[256];
    pthread_t readers[READERS];
    struct pd_tib_record record;
    struct pd_path path;
    uint64_t next = 0;
    pd_lmdb_crew_rows = 10000;
    store_make(place, sizeof place);
    assert_int_equal(pd_tib_open(place, PD_TIB_WRITE, NULL, &tib, NULL), 0);
    for (unsigned i = 0; i < READERS; i++) {
        assert_int_equal(pthread_create(&readers[i], NULL, read_on, NULL), 0);
    }
    for (unsigned i = 0; i < COMMITS; i++) {
        for (unsigned j = 0; j < COMMIT_ROWS; j++) {
            make_record(next++, &path, &record);
            assert_int_equal(pd_tib_append(tib, &record, 1), 0);
        }
        assert_int_equal(pd_tib_commit(tib), 0);
        atomic_store_explicit(&committed, next, memory_order_release);
        assert_int_equal(pd_tib_maintain(tib, 1), 0);
    }
    atomic_store_explicit(&over, true, memory_order_release);
    for (unsigned i = 0; i < READERS; i++) {
        void *wrong;
        assert_int_equal(pthread_join(readers[i], &wrong), 0);
        if (wrong) {
            fail_msg("%s", (const char *)wrong);
        }
    }
    assert_null(read_once(next));
    pd_tib_close(tib);
    store_wipe(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Grouping inside the LMDB backend on a store of several segments: the same groups in the same
 * order as the generic way. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store_files.h"
#include "tests/shared/random.h"
#include "tib/group.h"
#include "tib/lmdb/crew.h"
#include "tib/order.h"

#define RECORDS 200000u /* three segments and a tail; enough for the sketch */
#define FLOWS   60000u
#define PATHS   300u
#define LIVE    500u
#define MEMORY  (UINT64_C(512) << 20)

static struct random rnd;
static struct pd_path paths[PATHS + 3]; /* the last ones are in no store */
static struct pd_tib_record live[LIVE];
static char location[256];
static struct pd_tib *tib;
static char *token; /* of when half was stored */

/* ---- records ---- */

static struct pd_flow_id flow_at(uint32_t i)
{
    struct pd_flow_id flow = {.src_port = (uint16_t)(i * 40503u),
                              .dst_port = (uint16_t)(i % 5 * 1000 + 80),
                              .protocol = i % 7 ? 6 : 17,
                              .ip_version = i % 10 ? 4 : 6};
    uint32_t src = htobe32(0x0a000000 + i % 4096);
    uint64_t host = i % 512;
    memcpy(flow.src.bytes, &src, 4);
    memcpy(flow.dst.bytes, (uint8_t[]){10, 1, 1, 2}, 4);
    if (flow.ip_version == 6) {
        flow.src.bytes[7] = (uint8_t)(i % 3); /* several subnets */
        memcpy(flow.src.bytes + 8, &host, 8);
    }
    return flow;
}

static void make_path(struct pd_path *path, uint32_t i)
{
    memset(path, 0, sizeof *path);
    if (i % 50 == 49) { /* infeasible */
        return;
    }
    path->len = 3;
    path->switches[0] = 1 + i % 40;
    path->switches[1] = 100 + i / 40;
    path->switches[2] = 200 + i % 3;
}

static struct pd_tib_record make_record(unsigned i)
{
    uint32_t flow = (uint32_t)random_below(&rnd, FLOWS);
    uint64_t roll = random_below(&rnd, 1000);
    uint64_t stime_us = UINT64_C(1790000000000000) + i * UINT64_C(1000);
    return (struct pd_tib_record){
        .flow = flow_at(flow),
        .path = &paths[random_below(&rnd, 20) ? flow % PATHS : random_below(&rnd, PATHS)],
        .stime_us = stime_us,
        .etime_us = stime_us + random_below(&rnd, 2000000),
        /* Few large ones, many ties, and one whose sums stop at the top. */
        .bytes = i == 1234  ? UINT64_MAX / 2
                 : roll < 5 ? 1000000 + random_below(&rnd, 1 << 30)
                            : roll,
        .pkts = i == 777 ? PD_TIB_SUM_MAX - 3 : 1 + roll / 100,
    };
}

static int make_store(void **state)
{
    struct pd_tib_snapshot *snapshot;
    struct pd_error error;
    (void)state;
    for (uint32_t i = 0; i < PATHS + 3; i++) {
        make_path(&paths[i], i);
    }
    store_make(location, sizeof location);
    assert_int_equal(pd_tib_open(location, PD_TIB_WRITE, NULL, &tib, &error), 0);
    for (unsigned i = 0; i < RECORDS; i++) {
        struct pd_tib_record record = make_record(i);
        assert_int_equal(pd_tib_append(tib, &record, 1), 0);
        if (i != RECORDS / 2) {
            continue;
        }
        assert_int_equal(pd_tib_commit(tib), 0);
        assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
        assert_int_equal(pd_tib_token(snapshot, &token), 0);
        pd_tib_release(snapshot);
    }
    assert_int_equal(pd_tib_commit(tib), 0);
    for (unsigned i = 0; i < LIVE; i++) {
        live[i] = make_record(RECORDS + i);
        if (i % 9 == 0) {
            live[i].path = &paths[PATHS + i % 3];
        }
    }
    return 0;
}

static int remove_store(void **state)
{
    (void)state;
    free(token);
    pd_tib_close(tib);
    store_wipe(location);
    return 0;
}

/* ---- comparison ---- */

struct groups {
    struct pd_tib_record *records;
    size_t len, room;
};

static int collect(void *context, const struct pd_tib_record *records, size_t n)
{
    struct groups *groups = context;
    assert_true(n > 0);
    if (groups->len + n > groups->room) {
        groups->room = 2 * (groups->len + n);
        groups->records = realloc(groups->records, groups->room * sizeof *records);
        assert_non_null(groups->records);
    }
    memcpy(groups->records + groups->len, records, n * sizeof *records);
    groups->len += n;
    return 0;
}

static int by_key(const void *a, const void *b)
{
    return pd_tib_compare(PD_TIB_ORDER_KEY, a, b);
}

static void assert_equal(struct groups *found, struct groups *wanted,
                         const struct pd_tib_grouping *grouping)
{
    assert_int_equal(found->len, wanted->len);
    if (grouping->order == PD_TIB_ORDER_NONE && found->len) {
        qsort(found->records, found->len, sizeof *found->records, by_key);
        qsort(wanted->records, wanted->len, sizeof *wanted->records, by_key);
    }
    for (size_t i = 0; i < found->len; i++) {
        assert_int_equal(by_key(&found->records[i], &wanted->records[i]), 0);
    }
}

static void without_times(struct groups *groups)
{
    for (size_t i = 0; i < groups->len; i++) {
        groups->records[i].stime_us = groups->records[i].etime_us = 0;
    }
}

/* Returns what the native grouping returned. */
static int compare_both(const struct pd_tib_filter *filter, const struct pd_tib_grouping *grouping)
{
    struct pd_tib_snapshot *snapshot;
    struct groups found = {0}, wanted = {0};
    struct pd_tib_grouping generous = *grouping;
    generous.memory_bytes = MEMORY;
    assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
    int err = pd_tib_group(snapshot, filter, grouping, collect, &found);
    if (!err) {
        assert_int_equal(pd_tib_group_scanned(snapshot, filter, &generous, collect, &wanted), 0);
        if (grouping->without_times && grouping->by != PD_TIB_BY_RECORD) {
            without_times(&found);
            without_times(&wanted);
        }
        assert_equal(&found, &wanted, grouping);
    } else {
        assert_int_equal(found.len, 0);
    }
    assert_int_equal(pd_tib_snapshot_damaged(snapshot), 0);
    pd_tib_release(snapshot);
    free(found.records);
    free(wanted.records);
    return err;
}

/* ---- tests ---- */

static struct pd_tib_filter filter_at(unsigned i)
{
    struct pd_tib_filter filter = PD_TIB_FILTER_ALL;
    if (i == 1) {
        filter.link = (struct pd_link_match){.to = 201};
    }
    if (i == 2) {
        filter.from_us = UINT64_C(1790000000000000) + 60000000;
        filter.to_us = UINT64_C(1790000000000000) + 150000000;
    }
    if (i == 3) {
        filter.since = token;
    }
    if (i == 4) {
        filter.flow = (struct pd_flow_match){flow_at(30), PD_FLOW_ALL};
    }
    if (i == 5) {
        filter.flow = (struct pd_flow_match){flow_at(25), PD_FLOW_SRC_IP};
    }
    return filter;
}

static void all_groupings(void **state)
{
    static const uint64_t tops[] = {0, 1, 7, 1000, 30000};
    (void)state;
    for (unsigned f = 0; f < 6; f++) {
        for (unsigned by = PD_TIB_BY_RECORD; by <= PD_TIB_BY_PATH; by++) {
            for (unsigned order = PD_TIB_ORDER_KEY; order <= PD_TIB_ORDER_PKTS; order++) {
                struct pd_tib_filter filter = filter_at(f);
                unsigned roll = (unsigned)random_next(&rnd);
                struct pd_tib_grouping grouping = {
                    .by = (enum pd_tib_by)by,
                    .order = (enum pd_tib_order)order,
                    .top_len = tops[roll % 5],
                    .memory_bytes = MEMORY,
                    .live = live,
                    .live_len = roll & 8 ? LIVE : 0,
                    .without_times = roll & 16,
                };
                /* Ties of groups are broken by times, which must be known for that. */
                grouping.without_times &= grouping.top_len == 0;
                assert_int_equal(compare_both(&filter, &grouping), 0);
            }
        }
    }
}

static void unordered(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 6; f++) {
        for (unsigned by = PD_TIB_BY_RECORD; by <= PD_TIB_BY_PATH; by++) {
            struct pd_tib_filter filter = filter_at(f);
            struct pd_tib_grouping grouping = {.by = (enum pd_tib_by)by,
                                               .memory_bytes = MEMORY,
                                               .live = live,
                                               .live_len = LIVE,
                                               .without_times = by % 2};
            assert_int_equal(compare_both(&filter, &grouping), 0);
        }
    }
}

/* What lies in a window, by path: windows that cut records, that hold all, that hold nothing. */
static void prorated(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 6; f++) {
        for (unsigned i = 0; i < 12; i++) {
            struct pd_tib_filter filter = filter_at(f);
            struct pd_tib_grouping grouping = {.by = PD_TIB_BY_PATH,
                                               .order = PD_TIB_ORDER_KEY,
                                               .memory_bytes = MEMORY,
                                               .live = live,
                                               .live_len = i % 2 ? LIVE : 0,
                                               .prorated = true,
                                               .without_times = true};
            filter.from_us = UINT64_C(1790000000000000) + random_next(&rnd) % 200000000;
            filter.to_us = filter.from_us + random_next(&rnd) % (i < 6 ? 1000 : 100000000);
            if (i == 11) {
                filter.from_us = 0;
                filter.to_us = UINT64_MAX;
            }
            assert_int_equal(compare_both(&filter, &grouping), 0);
        }
    }
}

/* Where all groups do not fit beside each other they come part by part; where that cannot be, the
 * limit is named. */
static void little_memory(void **state)
{
    struct pd_tib_filter filter = PD_TIB_FILTER_ALL;
    struct pd_tib_grouping grouping = {
        .by = PD_TIB_BY_FLOW_PATH, .memory_bytes = 2 << 20, .live = live, .live_len = LIVE};
    (void)state;
    assert_int_equal(compare_both(&filter, &grouping), 0);
    grouping.order = PD_TIB_ORDER_KEY;
    assert_int_equal(compare_both(&filter, &grouping), -PD_E_TOO_LARGE);
    grouping.top_len = 50;
    assert_int_equal(compare_both(&filter, &grouping), 0);
    grouping.order = PD_TIB_ORDER_BYTES;
    assert_int_equal(compare_both(&filter, &grouping), 0);
    grouping.by = PD_TIB_BY_FLOW;
    assert_int_equal(compare_both(&filter, &grouping), 0);
    grouping.order = PD_TIB_ORDER_PKTS; /* nearly all are alike: the sketch leaves too many */
    assert_int_equal(compare_both(&filter, &grouping), 0);
    grouping.by = PD_TIB_BY_RECORD;
    assert_int_equal(compare_both(&filter, &grouping), 0);
    grouping.memory_bytes = 1000;
    grouping.by = PD_TIB_BY_FLOW;
    assert_int_equal(compare_both(&filter, &grouping), -PD_E_TOO_LARGE);
}

/* Every selection is worth a crew from here on: what it finds is what one thread finds. */
static void crews(void **state)
{
    static const unsigned tops[] = {1, 1000, 30000};
    uint64_t usual = pd_lmdb_crew_rows;
    pd_lmdb_crew_rows = 1000;
    for (unsigned f = 0; f < 6; f++) {
        for (unsigned i = 0; i < 3; i++) {
            struct pd_tib_filter filter = filter_at(f);
            struct pd_tib_grouping grouping = {.by = PD_TIB_BY_RECORD,
                                               .order =
                                                   i % 2 ? PD_TIB_ORDER_PKTS : PD_TIB_ORDER_BYTES,
                                               .top_len = tops[i],
                                               .memory_bytes = MEMORY,
                                               .live = live,
                                               .live_len = LIVE};
            struct groups alone = {0}, together = {0};
            struct pd_tib_snapshot *snapshot;
            assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
            assert_int_equal(pd_tib_scan(snapshot, &filter, collect, &together), 0);
            assert_int_equal(pd_tib_group(snapshot, &filter, &grouping, collect, &together), 0);
            pd_lmdb_crew_rows = usual;
            assert_int_equal(pd_tib_scan(snapshot, &filter, collect, &alone), 0);
            assert_int_equal(pd_tib_group(snapshot, &filter, &grouping, collect, &alone), 0);
            pd_lmdb_crew_rows = 1000;
            grouping.order = PD_TIB_ORDER_NONE; /* members hand out as they come to it */
            assert_equal(&together, &alone, &grouping);
            pd_tib_release(snapshot);
            free(alone.records);
            free(together.records);
        }
    }
    little_memory(state);
    pd_lmdb_crew_rows = usual;
}

static int third_call(void *context, const struct pd_tib_record *records, size_t n)
{
    unsigned *calls = context;
    (void)records;
    (void)n;
    return ++*calls == 3 ? 42 : 0;
}

/* Whoever visits ends the whole crew. */
static void crew_is_ended(void **state)
{
    struct pd_tib_filter all = PD_TIB_FILTER_ALL;
    struct pd_tib_snapshot *snapshot;
    uint64_t usual = pd_lmdb_crew_rows;
    unsigned calls = 0;
    (void)state;
    pd_lmdb_crew_rows = 1000;
    assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
    assert_int_equal(pd_tib_scan(snapshot, &all, third_call, &calls), 42);
    assert_int_equal(calls, 3);
    pd_tib_release(snapshot);
    pd_lmdb_crew_rows = usual;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_groupings), cmocka_unit_test(unordered),
        cmocka_unit_test(prorated),      cmocka_unit_test(little_memory),
        cmocka_unit_test(crews),         cmocka_unit_test(crew_is_ended),
    };
    rnd.state = test_seed();
    return cmocka_run_group_tests(tests, make_store, remove_store);
}

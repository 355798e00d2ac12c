/* SPDX-License-Identifier: Apache-2.0 */
/* The LMDB backend's parts by themselves: chunks, blocks of paths, links, limits, retention and its
 * clock. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/tagging/mark.h"
#include "records.h"
#include "store_files.h"
#include "tib/lmdb/chunk.h"

#define HOUR_US UINT64_C(3600000000)
#define DAY_S   UINT64_C(86400)

static struct random rnd;
static struct pool pool;

static struct pd_row random_row(struct pd_paths *paths)
{
    struct pd_tib_record record = pool_record(&pool, &rnd);
    struct pd_row row = {
        .flow = record.flow,
        .stime_us = random_below(&rnd, 20) ? record.stime_us : random_next(&rnd),
        .etime_us = random_below(&rnd, 20) ? record.etime_us : random_next(&rnd),
        .bytes = record.bytes,
        .pkts = record.pkts,
    };
    bool dropped;
    const struct pd_claim claim = pd_tib_claim(&record);
    assert_int_equal(pd_lmdb_paths_intern(paths, &claim, &row.path, &dropped), 0);
    assert_false(dropped);
    return row;
}

/* Neighbouring rows in some commits, whose numbers have gaps. The caller frees *ret_commits. */
static struct pd_chunk_input chunk_input(struct pd_row *rows, size_t len, uint64_t first_row,
                                         uint64_t **ret_commits)
{
    uint64_t *commits = malloc(len * sizeof *commits);
    struct pd_chunk_input input = {.rows = rows, .len = len, .commits = commits};
    uint64_t number = first_row;
    for (size_t i = 0; i < len; i++, number++) {
        if (!i || !random_below(&rnd, 50)) {
            number += i ? random_below(&rnd, 3) : 0;
            commits[input.commits_len++] = number;
        }
        rows[i].commit = (uint32_t)input.commits_len - 1;
    }
    *ret_commits = commits;
    return input;
}

/* The index leads to each row, and a bucket's rows ascend. */
static void assert_indexed(const struct pd_chunk *chunk)
{
    const struct pd_column *rows = &chunk->columns[PD_COLUMN_FLOW_ROW];
    uint32_t first, end, rows_len = chunk->header.len[PD_AXIS_ROWS];
    for (uint32_t row = 0; row < rows_len; row++) {
        struct pd_flow_id flow;
        bool found = false;
        pd_lmdb_chunk_flow(chunk, row, &flow);
        assert_true(pd_lmdb_chunk_flow_rows(chunk, pd_flow_id_hash(&flow), &first, &end));
        assert_true(first < end && end <= rows_len);
        for (uint32_t i = first; i < end; i++) {
            found |= pd_column_get(rows, i) == row;
            assert_true(i == first || pd_column_get(rows, i - 1) < pd_column_get(rows, i));
        }
        assert_true(found);
    }
}

static int compare_rows(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct pd_row));
}

/* What is encoded is what is decoded, whatever the values; paths are in order; the Bloom filter
 * knows every flow. */
static void test_chunk_round_trip(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 40; round++) {
        size_t len = 1 + random_below(&rnd, round % 8 ? 300 : 5000), size_bytes;
        struct pd_paths *paths = pd_lmdb_paths_new();
        struct pd_row *rows = calloc(len, sizeof *rows), *decoded = calloc(len, sizeof *decoded);
        struct pd_chunk chunk;
        uint64_t *commits;
        void *bytes;
        for (size_t i = 0; i < len; i++) {
            rows[i] = round % 4 == 3 && i ? rows[0] : random_row(paths);
        }
        struct pd_chunk_input input = chunk_input(rows, len, round, &commits);
        input.with_bloom = round & 1;
        assert_int_equal(pd_lmdb_chunk_encode(&input, paths, &bytes, &size_bytes), 0);
        assert_int_equal(pd_lmdb_chunk_open(bytes, size_bytes, round + 1, &chunk), -PD_E_CORRUPT);
        assert_int_equal(pd_lmdb_chunk_open(bytes, size_bytes, round, &chunk), 0);
        assert_int_equal(pd_lmdb_chunk_verify(&chunk, pd_lmdb_paths_len(paths)), 0);
        pd_lmdb_chunk_rows(&chunk, decoded);
        for (size_t i = 0; i < len; i++) {
            assert_true(pd_lmdb_chunk_may_have(&chunk, pd_flow_id_hash(&decoded[i].flow)));
            assert_true(decoded[i].stime_us >= chunk.header.min_time_us);
            assert_true(decoded[i].etime_us <= chunk.header.max_time_us);
        }
        assert_indexed(&chunk);
        for (size_t i = 0; i < input.commits_len; i++) {
            assert_int_equal(pd_lmdb_chunk_commits_before(&chunk, commits[i]), i);
            assert_int_equal(pd_lmdb_chunk_commits_before(&chunk, commits[i] + 1), i + 1);
        }
        qsort(rows, len, sizeof *rows, compare_rows);
        qsort(decoded, len, sizeof *decoded, compare_rows);
        assert_memory_equal(rows, decoded, len * sizeof *rows);
        free(bytes);
        free(commits);
        free(rows);
        free(decoded);
        pd_lmdb_paths_free(paths);
    }
}

static void assert_rows(struct pd_chunk *chunk, const struct pd_row *wanted, uint32_t first,
                        uint32_t end, struct pd_chunk_scratch *scratch)
{
    assert_int_equal(pd_lmdb_chunk_load(chunk, PD_CHUNK_ROW_COLUMNS, first, end, scratch), 0);
    for (uint32_t i = first; i < end; i++) {
        struct pd_flow_id flow;
        pd_lmdb_chunk_flow(chunk, i, &flow);
        assert_memory_equal(&flow, &wanted[i].flow, sizeof flow);
        assert_int_equal(pd_column_get(&chunk->columns[PD_COLUMN_BYTES], i), wanted[i].bytes);
        assert_int_equal(pd_column_get(&chunk->columns[PD_COLUMN_COMMIT], i), wanted[i].commit);
    }
}

/* A packed chunk has the rows of the plain one, in any part of it; one that was tampered with is
 * refused in the end. */
static void test_packed(void **state)
{
    (void)state;
    struct pd_chunk_scratch scratch = {.zstd = NULL};
    for (unsigned round = 0; round < 12; round++) {
        size_t len = round % 3 ? 1 + random_below(&rnd, 30000) : 1 + random_below(&rnd, 3), size,
               small;
        struct pd_paths *paths = pd_lmdb_paths_new();
        struct pd_row *rows = calloc(len, sizeof *rows), *wanted = calloc(len, sizeof *wanted);
        struct pd_row *found = calloc(len, sizeof *found);
        struct pd_chunk plain, packed;
        uint64_t *commits;
        void *bytes, *small_bytes;
        for (size_t i = 0; i < len; i++) {
            rows[i] = round % 4 == 3 && i ? rows[0] : random_row(paths);
        }
        struct pd_chunk_input input = chunk_input(rows, len, round, &commits);
        input.with_bloom = round & 1;
        assert_int_equal(pd_lmdb_chunk_encode(&input, paths, &bytes, &size), 0);
        assert_int_equal(pd_lmdb_chunk_open(bytes, size, round, &plain), 0);
        pd_lmdb_chunk_rows(&plain, wanted);
        assert_int_equal(pd_lmdb_chunk_pack(&plain, &small_bytes, &small), 0);
        for (unsigned i = 0; i < 8; i++) {
            uint32_t first = (uint32_t)random_below(&rnd, len);
            uint32_t end = first + (uint32_t)random_below(&rnd, len - first + 1);
            assert_int_equal(pd_lmdb_chunk_open(small_bytes, small, round, &packed), 0);
            assert_int_equal(pd_lmdb_chunk_verify(&packed, pd_lmdb_paths_len(paths)), 0);
            assert_rows(&packed, wanted, first, end, &scratch);
        }
        assert_int_equal(
            pd_lmdb_chunk_load(&packed, PD_CHUNK_ALL_COLUMNS, 0, PD_CHUNK_ROWS, &scratch), 0);
        pd_lmdb_chunk_rows(&packed, found);
        assert_memory_equal(found, wanted, len * sizeof *found);
        for (size_t i = 0; i < plain.header.len[PD_AXIS_RUNS]; i++) {
            assert_int_equal(pd_column_get(&packed.columns[PD_COLUMN_RUN_BYTES], i),
                             pd_column_get(&plain.columns[PD_COLUMN_RUN_BYTES], i));
        }
        ((uint8_t *)small_bytes)[random_below(&rnd, small)] ^= 1;
        assert_true(pd_lmdb_chunk_open(small_bytes, small, round, &packed) ||
                    pd_lmdb_chunk_verify(&packed, pd_lmdb_paths_len(paths)));
        free(bytes);
        free(small_bytes);
        free(commits);
        free(rows);
        free(wanted);
        free(found);
        pd_lmdb_paths_free(paths);
    }
    pd_lmdb_chunk_scratch_done(&scratch);
}

/* Each run tells the sums of its rows. */
static void test_run_sums(void **state)
{
    (void)state;
    size_t len = 3000, size_bytes;
    struct pd_paths *paths = pd_lmdb_paths_new();
    struct pd_row *rows = calloc(len, sizeof *rows);
    struct pd_chunk chunk;
    uint64_t *commits;
    void *bytes;
    for (size_t i = 0; i < len; i++) {
        rows[i] = random_row(paths);
        rows[i].bytes >>= i % 2 ? 0 : 20;
    }
    struct pd_chunk_input input = chunk_input(rows, len, 0, &commits);
    assert_int_equal(pd_lmdb_chunk_encode(&input, paths, &bytes, &size_bytes), 0);
    assert_int_equal(pd_lmdb_chunk_open(bytes, size_bytes, 0, &chunk), 0);
    for (uint32_t run = 0, i = 0; run < chunk.header.len[PD_AXIS_RUNS]; run++) {
        long double sums[2] = {0, 0}; /* exact beyond 2^53 */
        for (; i <= pd_column_get(&chunk.columns[PD_COLUMN_RUN_LAST], run); i++) {
            sums[0] += (long double)pd_column_get(&chunk.columns[PD_COLUMN_BYTES], i);
            sums[1] += (long double)pd_column_get(&chunk.columns[PD_COLUMN_PKTS], i);
        }
        for (unsigned j = 0; j < 2; j++) {
            uint64_t limit = (UINT64_C(1) << 53) - 1;
            uint64_t wanted = sums[j] > (long double)limit ? limit : (uint64_t)sums[j];
            assert_int_equal(pd_column_get(&chunk.columns[PD_COLUMN_RUN_BYTES + j], run), wanted);
        }
    }
    free(bytes);
    free(commits);
    free(rows);
    pd_lmdb_paths_free(paths);
}

/* Few flows that are not there pass the Bloom filter: the format's promise is 0.2 % when it is
 * full. */
static void test_bloom(void **state)
{
    (void)state;
    size_t len = PD_CHUNK_ROWS, size_bytes, passed = 0, asked = 20 * len;
    struct pd_paths *paths = pd_lmdb_paths_new();
    struct pd_row *rows = calloc(len, sizeof *rows);
    struct pd_chunk chunk;
    uint64_t commit = 0;
    void *bytes;
    for (size_t i = 0; i < len; i++) {
        rows[i] = random_row(paths);
        rows[i].flow.ip_version = 4;
        memcpy(rows[i].flow.src.bytes, &(uint32_t){(uint32_t)i}, 4);
    }
    struct pd_chunk_input input = {
        .rows = rows, .len = len, .commits = &commit, .commits_len = 1, .with_bloom = true};
    assert_int_equal(pd_lmdb_chunk_encode(&input, paths, &bytes, &size_bytes), 0);
    assert_int_equal(pd_lmdb_chunk_open(bytes, size_bytes, 0, &chunk), 0);
    assert_int_equal(chunk.columns[PD_COLUMN_BLOOM].len * 64, 16 * len);
    for (size_t i = 0; i < asked; i++) {
        passed += pd_lmdb_chunk_may_have(&chunk, random_next(&rnd));
    }
    print_message("%.3f %% of unknown flows pass\n", 100.0 * (double)passed / (double)asked);
    assert_true(passed < asked / 500);
    free(bytes);
    free(rows);
    pd_lmdb_paths_free(paths);
}

/* Blocks carry all kinds of paths from one table to another; none of their prefixes is taken for a
 * block. */
static void test_path_blocks(void **state)
{
    (void)state;
    struct pd_paths *paths = pd_lmdb_paths_new(), *copy = pd_lmdb_paths_new();
    uint32_t first = 0, id;
    for (unsigned round = 0; round < 8; round++) {
        bool dropped;
        for (unsigned i = 0; i < 8; i++) {
            assert_int_equal(
                pd_lmdb_paths_intern(paths, &pool.claims[round * 8 + i], &id, &dropped), 0);
        }
        if (pd_lmdb_paths_len(paths) == first) {
            continue;
        }
        void *bytes;
        size_t size_bytes;
        assert_int_equal(pd_lmdb_paths_block_encode(paths, first, &bytes, &size_bytes), 0);
        for (size_t cut = 0; cut < size_bytes; cut++) {
            assert_int_equal(pd_lmdb_paths_block_load(copy, first, bytes, cut), -PD_E_CORRUPT);
        }
        ((uint8_t *)bytes)[random_below(&rnd, size_bytes)] ^= 1;
        assert_int_equal(pd_lmdb_paths_block_load(copy, first, bytes, size_bytes), -PD_E_CORRUPT);
        free(bytes);
        assert_int_equal(pd_lmdb_paths_block_encode(paths, first, &bytes, &size_bytes), 0);
        assert_int_equal(pd_lmdb_paths_block_load(copy, first, bytes, size_bytes), 0);
        free(bytes);
        first = pd_lmdb_paths_len(paths);
        assert_int_equal(pd_lmdb_paths_len(copy), first);
    }
    for (id = 0; id < first; id++) {
        const struct pd_claim *left = pd_lmdb_paths_claim(paths, id),
                              *right = pd_lmdb_paths_claim(copy, id);
        assert_ptr_equal(pd_lmdb_paths_get(paths, id),
                         pd_lmdb_paths_get(copy, id)); /* of the process */
        assert_true(left ? right && pd_claim_equal(left, right) : !right);
    }
    assert_null(pd_lmdb_paths_get(copy, first));
    pd_lmdb_paths_free(paths);
    pd_lmdb_paths_free(copy);
}

/* The index from links to paths says what going through all paths says. */
static void test_links(void **state)
{
    (void)state;
    struct pd_paths *paths = pd_lmdb_paths_new();
    uint32_t id;
    bool dropped;
    for (unsigned round = 0; round < 60; round++) {
        struct pd_link_match link = {(uint32_t)random_below(&rnd, 12),
                                     4 + (uint32_t)random_below(&rnd, 10)};
        uint64_t bits[POOL_PATHS / 64 + 1] = {0};
        assert_int_equal(pd_lmdb_paths_intern(paths, &pool.claims[round], &id, &dropped), 0);
        uint32_t len = pd_lmdb_paths_len(paths) - (round & 1);
        assert_int_equal(pd_lmdb_paths_select(paths, link, len, bits), 0);
        for (id = 0; id < len; id++) {
            assert_int_equal(bits[id / 64] >> id % 64 & 1,
                             pd_path_crosses(pd_lmdb_paths_get(paths, id), link));
        }
        assert_int_equal(bits[len / 64] >> len % 64, 0);
    }
    pd_lmdb_paths_free(paths);
}

/* Marks are what a hostile sender chooses: beyond the limit they are dropped, the record is not. */
static void test_path_limits(void **state)
{
    (void)state;
    struct pd_paths *paths = pd_lmdb_paths_new();
    struct pd_path impossible = {.len = PD_PATH_MAX + 1}, path = {.len = 2, .switches = {1, 2}};
    struct pd_claim claim = {.path = &pd_path_empty, .state = PD_CLAIM_INFEASIBLE};
    uint32_t id, without_mark;
    bool dropped;
    for (uint32_t i = 1; i <= PD_PATHS_INEXACT_MAX; i++) {
        claim.mark = pd_tagging_mark((uint16_t[]){(uint16_t)i, (uint16_t)(i >> 16)}, 2, 1);
        assert_int_equal(pd_lmdb_paths_intern(paths, &claim, &id, &dropped), 0);
        assert_false(dropped);
    }
    claim.mark = pd_tagging_mark((uint16_t[]){1, 2, 3}, 3, 0);
    assert_int_equal(pd_lmdb_paths_intern(paths, &claim, &without_mark, &dropped), 0);
    assert_true(dropped);
    assert_null(pd_lmdb_paths_claim(paths, without_mark));
    assert_int_equal(pd_lmdb_paths_get(paths, without_mark)->len, 0);
    claim.mark = pd_tagging_mark((uint16_t[]){1, 2, 4}, 3, 0);
    assert_int_equal(pd_lmdb_paths_intern(paths, &claim, &id, &dropped), 0);
    assert_true(dropped);
    assert_int_equal(id, without_mark);
    claim.mark = pd_tagging_mark((uint16_t[]){9, 0}, 2, 1); /* known since before the limit */
    assert_int_equal(pd_lmdb_paths_intern(paths, &claim, &id, &dropped), 0);
    assert_false(dropped);
    claim.mark = (struct pd_mark){.scheme = 255, .len = 1};
    assert_int_equal(pd_lmdb_paths_intern(paths, &claim, &id, &dropped), -PD_E_VALUE);
    claim = (struct pd_claim){.path = &impossible};
    assert_int_equal(pd_lmdb_paths_intern(paths, &claim, &id, &dropped), -PD_E_VALUE);
    claim = (struct pd_claim){.path = &pd_path_empty}; /* exact, and no path */
    assert_int_equal(pd_lmdb_paths_intern(paths, &claim, &id, &dropped), -PD_E_VALUE);
    claim = (struct pd_claim){.path = &path};
    assert_int_equal(pd_lmdb_paths_intern(paths, &claim, &id, &dropped), 0);
    assert_false(dropped);
    pd_lmdb_paths_free(paths);
}

/* ---- upkeep, through the interface ---- */

static char place[256];

static int setup(void **state)
{
    (void)state;
    store_make(place, sizeof place);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    store_wipe(place);
    return 0;
}

static struct pd_tib *open_tib(uint64_t max_age_s)
{
    struct pd_tib *tib = NULL;
    struct pd_tib_config config = {.max_age_s = max_age_s};
    assert_int_equal(pd_tib_open(place, PD_TIB_WRITE, &config, &tib, NULL), 0);
    return tib;
}

static void append_at(struct pd_tib *tib, uint64_t etime_us, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        struct pd_tib_record record = pool_record(&pool, &rnd);
        record.stime_us = etime_us - 10;
        record.etime_us = etime_us;
        assert_int_equal(pd_tib_append(tib, &record, 1), 0);
    }
    assert_int_equal(pd_tib_commit(tib), 0);
}

static struct pd_tib_stat stat_of(struct pd_tib *tib)
{
    struct pd_tib_stat stat;
    assert_int_equal(pd_tib_stat(tib, &stat), 0);
    return stat;
}

/* A tail is sealed an hour after it was first seen; a clock that goes back only makes it wait. */
static void test_seal_by_age(void **state)
{
    (void)state;
    struct pd_tib *tib = open_tib(0);
    append_at(tib, 1000, 10);
    assert_int_equal(pd_tib_maintain(tib, 10 * HOUR_US), 0);
    append_at(tib, 1000, 10);
    assert_int_equal(pd_tib_maintain(tib, 11 * HOUR_US - 1), 0);
    assert_int_equal(stat_of(tib).segments, 0);
    assert_int_equal(pd_tib_maintain(tib, 9 * HOUR_US), 0);
    assert_int_equal(stat_of(tib).segments, 0);
    assert_int_equal(pd_tib_maintain(tib, 10 * HOUR_US), 0);
    assert_int_equal(stat_of(tib).segments, 1);
    assert_int_equal(stat_of(tib).records, 20);
    for (unsigned i = 20; i < 30; i++) { /* nothing to seal */
        assert_int_equal(pd_tib_maintain(tib, i * HOUR_US), 0);
    }
    assert_int_equal(stat_of(tib).segments, 1);
    pd_tib_close(tib);
}

/* Whole segments and commits go when their last record is too old. */
static void test_retention_by_age(void **state)
{
    (void)state;
    uint64_t now_us = UINT64_C(1790000000000000), day_us = DAY_S * 1000000;
    struct pd_tib *tib = open_tib(0);
    append_at(tib, now_us - 3 * day_us, 10);
    assert_int_equal(pd_tib_maintain(tib, now_us), 0);
    assert_int_equal(pd_tib_maintain(tib, now_us + HOUR_US), 0); /* sealed */
    append_at(tib, now_us - 2 * day_us, 20);
    append_at(tib, now_us - 1, 30);
    pd_tib_close(tib);
    tib = open_tib(DAY_S);
    assert_int_equal(stat_of(tib).records, 60);
    assert_int_equal(pd_tib_maintain(tib, now_us), 0);
    assert_int_equal(stat_of(tib).records, 30);
    assert_int_equal(stat_of(tib).expired, 30);
    assert_int_equal(stat_of(tib).segments, 0);
    pd_tib_close(tib);
}

/* A clock that jumps ahead, and back again, removes nothing. */
static void test_retention_clock_jump(void **state)
{
    (void)state;
    uint64_t now_us = UINT64_C(1790000000000000), day_us = DAY_S * 1000000;
    struct pd_tib *tib = open_tib(DAY_S);
    append_at(tib, now_us, 10);
    assert_int_equal(pd_tib_maintain(tib, now_us), 0);
    assert_int_equal(pd_tib_maintain(tib, now_us + 30 * day_us), 0);
    assert_int_equal(stat_of(tib).records, 10);
    assert_int_equal(pd_tib_maintain(tib, now_us - 30 * day_us), 0);
    assert_int_equal(pd_tib_maintain(tib, now_us), 0);
    assert_int_equal(stat_of(tib).records, 10);
    pd_tib_close(tib);
}

/* A clock that jumps an hour ahead or back: nothing expires that is younger by the daemon's own
 * time, nothing is lost, and records carry the times that they were given. */
static void test_clock_hour(void **state)
{
    (void)state;
    struct pd_tib_config config = {.max_age_s = 5400, .cold_after_s = 600};
    struct pd_tib_snapshot *snapshot;
    struct pd_tib *tib;
    uint64_t now_us = UINT64_C(1790000000000000);
    const int64_t hours[] = {0, 1, 0, -1, 0, 1, 1, -1};
    assert_int_equal(pd_tib_open(place, PD_TIB_WRITE, &config, &tib, NULL), 0);
    for (unsigned i = 0; i < sizeof hours / sizeof *hours; i++) {
        uint64_t shown_us = now_us + (uint64_t)(hours[i] * (int64_t)HOUR_US);
        append_at(tib, shown_us, 10);
        assert_int_equal(pd_tib_maintain(tib, shown_us), 0);
        assert_int_equal(stat_of(tib).records, 10 * (i + 1));
    }
    for (int64_t hour = -1; hour <= 1; hour++) {
        struct pd_tib_filter filter = PD_TIB_FILTER_ALL;
        struct list found = {0};
        size_t wanted = 0;
        for (unsigned i = 0; i < sizeof hours / sizeof *hours; i++) {
            wanted += hours[i] == hour ? 10 : 0;
        }
        filter.from_us = now_us + (uint64_t)(hour * (int64_t)HOUR_US) - 100;
        filter.to_us = filter.from_us + 200;
        assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
        assert_int_equal(list_scan(snapshot, &filter, &found), 0);
        assert_int_equal(found.len, wanted);
        pd_tib_release(snapshot);
        list_clear(&found);
    }
    pd_tib_close(tib);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunk_round_trip),
        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_run_sums),
        cmocka_unit_test(test_bloom),
        cmocka_unit_test(test_path_blocks),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_path_limits),
        cmocka_unit_test_setup_teardown(test_seal_by_age, setup, teardown),
        cmocka_unit_test_setup_teardown(test_retention_by_age, setup, teardown),
        cmocka_unit_test_setup_teardown(test_retention_clock_jump, setup, teardown),
        cmocka_unit_test_setup_teardown(test_clock_hour, setup, teardown),
    };
    rnd.state = test_seed();
    pool_init(&pool, &rnd);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

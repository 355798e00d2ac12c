/* SPDX-License-Identifier: Apache-2.0 */
/* Grouping tables against a naive oracle on random records, their order, and their limit of memory. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "query/group.h"
#include "tests/shared/random.h"

#define RECORDS 6000
#define FLOWS   300 /* of them distinct, at most */
#define PATHS   40

static unsigned seed;

/* Paths of which many share a beginning; every other one is stored twice, at different addresses. */
static void make_paths(struct pd_path *paths)
{
    for (unsigned i = 0; i < PATHS; i++) {
        struct pd_path *path = &paths[i];
        memset(path, 0, sizeof *path);
        if (i % 10 == 9) {
            path->tags_len = 1;
            path->tags[0] = (uint16_t)(i / 10 % 2);
            continue;
        }
        path->len = (uint16_t)(1 + i / 2 % 5);
        for (unsigned j = 0; j < path->len; j++)
            path->switches[j] = 1 + (i / 2 >> j) % 3;
    }
}

static struct pd_tib_record make_record(const struct pd_path *paths)
{
    unsigned n = (unsigned)rand() % FLOWS;
    struct pd_tib_record record = {.path = &paths[rand() % PATHS],
                                   .stime_us = 1000 + (uint64_t)(rand() % 1000),
                                   .bytes = (uint64_t)rand(),
                                   .pkts = 1 + (uint64_t)(rand() % 100)};
    record.etime_us = record.stime_us + (uint64_t)(rand() % 1000);
    record.flow.ip_version = n % 3 ? 4 : 6;
    record.flow.src.bytes[n % 3 ? 3 : 15] = (uint8_t)(n % 7);
    record.flow.dst.bytes[0] = (uint8_t)(n % 5);
    record.flow.src_port = (uint16_t)(n * 257);
    record.flow.protocol = 6;
    return record;
}

/* The oracle: an array that is searched from its beginning. */
static size_t naive_add(struct pd_tib_record *sums, size_t len, const struct pd_tib_record *record)
{
    size_t i = 0;
    while (i < len && !(pd_flow_id_equal(&sums[i].flow, &record->flow) &&
                        pd_path_equal(sums[i].path, record->path)))
        i++;
    if (i == len) {
        sums[i] = *record;
        return len + 1;
    }
    sums[i].bytes += record->bytes;
    sums[i].pkts += record->pkts;
    if (record->stime_us < sums[i].stime_us)
        sums[i].stime_us = record->stime_us;
    if (record->etime_us > sums[i].etime_us)
        sums[i].etime_us = record->etime_us;
    return len;
}

static int naive_order(const void *left, const void *right)
{
    const struct pd_tib_record *a = left, *b = right;
    int order = (int)a->flow.ip_version - b->flow.ip_version;
    order = order ? order : memcmp(&a->flow.src, &b->flow.src, sizeof a->flow.src);
    order = order ? order : memcmp(&a->flow.dst, &b->flow.dst, sizeof a->flow.dst);
    order = order ? order : (int)a->flow.src_port - b->flow.src_port;
    for (int i = 0; !order && i < PD_PATH_MAX; i++)
        order = (int)a->path->switches[i] - (int)b->path->switches[i];
    return order ? order : (int)a->path->tags[0] - b->path->tags[0];
}

static void rows_are_those_of_the_oracle(void **state)
{
    struct pd_path paths[PATHS];
    struct pd_tib_record *sums = calloc(RECORDS, sizeof *sums);
    struct pd_query_budget budget = {UINT64_C(1) << 30};
    struct pd_query_paths *path_set = malloc(sizeof *path_set);
    struct pd_query_rows rows;
    size_t len = 0;
    (void)state;
    assert_non_null(sums);
    assert_non_null(path_set);
    make_paths(paths);
    pd_query_paths_init(path_set, &budget);
    pd_query_rows_init(&rows, &budget);
    for (int i = 0; i < RECORDS; i++) {
        struct pd_tib_record record = make_record(paths);
        uint32_t path;
        len = naive_add(sums, len, &record);
        assert_int_equal(pd_query_paths_add(path_set, record.path, &path), 0);
        assert_int_equal(pd_query_rows_add(&rows, &record, path), 0);
    }
    assert_int_equal(rows.len, len);
    assert_true(path_set->len < PATHS); /* equal paths at different addresses are one */
    assert_int_equal(pd_query_paths_sort(path_set), 0);
    assert_int_equal(pd_query_rows_sort(&rows, path_set), 0);
    qsort(sums, len, sizeof *sums, naive_order);
    for (size_t i = 0; i < len; i++) {
        const struct pd_query_row *row = &rows.rows[rows.order[i]];
        assert_true(pd_flow_id_equal(&row->flow, &sums[i].flow));
        assert_true(pd_path_equal(path_set->paths[row->path], sums[i].path));
        assert_int_equal(row->bytes, sums[i].bytes);
        assert_int_equal(row->pkts, sums[i].pkts);
        assert_int_equal(row->stime_us, sums[i].stime_us);
        assert_int_equal(row->etime_us, sums[i].etime_us);
    }
    pd_query_rows_done(&rows);
    pd_query_paths_done(path_set);
    free(path_set);
    free(sums);
}

/* As many groups as fit, then an error; what was there stays usable. */
static void memory_is_limited(void **state)
{
    struct pd_query_budget budget = {100 * 1024};
    struct pd_query_rows rows;
    struct pd_tib_record record = {.flow = {.ip_version = 4}, .pkts = 1};
    int code = 0;
    (void)state;
    pd_query_rows_init(&rows, &budget);
    while (!code && rows.len < 100000) {
        record.flow.src_port++;
        record.flow.dst_port = (uint16_t)(record.flow.dst_port + !record.flow.src_port);
        code = pd_query_rows_add(&rows, &record, 0);
    }
    assert_int_equal(code, -PD_E_TOO_LARGE);
    assert_in_range(rows.len, 300, 100 * 1024 / sizeof(struct pd_query_row));
    uint32_t len = rows.len;
    record.flow.src_port = 1;
    assert_int_equal(pd_query_rows_add(&rows, &record, 0), -PD_E_TOO_LARGE);
    assert_int_equal(rows.len, len);
    pd_query_rows_done(&rows);
}

static void sums_stop_where_json_ends(void **state)
{
    uint64_t sum = PD_QUERY_NUMBER_MAX - 1;
    bool capped = false;
    (void)state;
    pd_query_sum(&sum, 1, &capped);
    assert_true(sum == PD_QUERY_NUMBER_MAX && !capped);
    pd_query_sum(&sum, UINT64_MAX, &capped);
    assert_true(sum == PD_QUERY_NUMBER_MAX && capped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_the_oracle),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(sums_stop_where_json_ends),
    };
    seed = (unsigned)test_seed();
    srand(seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

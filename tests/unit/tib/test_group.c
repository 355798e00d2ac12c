/* SPDX-License-Identifier: Apache-2.0 */
/* Order, the first k, and the table of groups with its limit of memory; what groups are is tested
 * in conformance.c. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>
#include <string.h>

#include "records.h"
#include "tib/group.h"

#define RECORDS 3000u

static struct pool pool;
static struct random rnd;

static struct pd_tib_record *make_records(void)
{
    struct pd_tib_record *records = calloc(RECORDS, sizeof *records);
    assert_non_null(records);
    for (unsigned i = 0; i < RECORDS; i++) {
        records[i] = pool_record(&pool, &rnd);
        records[i].bytes %= 20; /* ties */
        records[i].pkts %= 20;
    }
    return records;
}

static enum pd_tib_order order_at_hand;

static int compare(const void *a, const void *b)
{
    return pd_tib_compare(order_at_hand, a, b);
}

static void sorting_is_that_of_the_comparison(void **state)
{
    (void)state;
    for (unsigned order = PD_TIB_ORDER_KEY; order <= PD_TIB_ORDER_PKTS; order++) {
        struct pd_tib_budget budget = {1 << 20};
        struct pd_tib_record *records = make_records(), *wanted = make_records();
        memcpy(wanted, records, RECORDS * sizeof *records);
        order_at_hand = (enum pd_tib_order)order;
        qsort(wanted, RECORDS, sizeof *wanted, compare);
        assert_int_equal(pd_tib_sort(records, RECORDS, order_at_hand, &budget), 0);
        for (unsigned i = 0; i < RECORDS; i++) {
            assert_int_equal(compare(&records[i], &wanted[i]), 0);
        }
        assert_int_equal(budget.left_bytes, 1 << 20);
        free(records);
        free(wanted);
    }
}

static void the_first_k_need_memory_for_k(void **state)
{
    static const unsigned mosts[] = {1, 2, 3, 100, RECORDS - 1, RECORDS, RECORDS + 1};
    (void)state;
    for (unsigned i = 0; i < sizeof mosts / sizeof *mosts; i++) {
        uint64_t bytes = (sizeof(struct pd_tib_record) + 48) * mosts[i];
        struct pd_tib_budget budget = {bytes};
        struct pd_tib_record *records = make_records();
        struct pd_tib_top top;
        pd_tib_top_init(&top, PD_TIB_ORDER_PKTS, mosts[i], &budget);
        for (unsigned j = 0; j < RECORDS; j++) {
            assert_int_equal(pd_tib_top_offer(&top, &records[j]), 0);
        }
        assert_int_equal(pd_tib_top_sort(&top), 0);
        order_at_hand = PD_TIB_ORDER_PKTS;
        qsort(records, RECORDS, sizeof *records, compare);
        assert_int_equal(top.len, mosts[i] < RECORDS ? mosts[i] : RECORDS);
        for (unsigned j = 0; j < top.len; j++) {
            assert_int_equal(compare(&top.records[j], &records[j]), 0);
        }
        pd_tib_top_done(&top);
        free(records);
    }
}

/* As many groups as fit, then an error; what was there stays usable. */
static void memory_is_limited(void **state)
{
    struct pd_tib_budget budget = {100 * 1024};
    struct pd_tib_groups *groups = malloc(sizeof *groups);
    struct pd_tib_record record = {.flow = {.ip_version = 4}, .path = &pool.paths[0], .pkts = 1};
    int err = 0;
    (void)state;
    assert_non_null(groups);
    pd_tib_groups_init(groups, PD_TIB_BY_FLOW_PATH, &budget);
    while (!err && groups->len < 100000) {
        record.flow.src_port++;
        record.flow.dst_port = (uint16_t)(record.flow.dst_port + !record.flow.src_port);
        err = pd_tib_groups_add(groups, &record);
    }
    assert_int_equal(err, -PD_E_TOO_LARGE);
    assert_in_range(groups->len, 300, 100 * 1024 / sizeof record);
    uint32_t len = groups->len;
    assert_int_equal(pd_tib_groups_add(groups, &record), -PD_E_TOO_LARGE);
    assert_int_equal(groups->len, len);
    pd_tib_groups_done(groups);
    free(groups);
}

static void sums_stop_where_json_ends(void **state)
{
    uint64_t sum = PD_TIB_SUM_MAX - 1;
    (void)state;
    pd_tib_sum(&sum, 1);
    assert_true(sum == PD_TIB_SUM_MAX);
    pd_tib_sum(&sum, UINT64_MAX);
    assert_true(sum == PD_TIB_SUM_MAX);
}

/* What is selected is what sorting would have put first, in the order in which it lay. */
static void selecting_keeps_the_first_where_they_lie(void **state)
{
    static const enum pd_tib_order orders[] = {PD_TIB_ORDER_BYTES, PD_TIB_ORDER_PKTS};
    (void)state;
    for (unsigned round = 0; round < 40; round++) {
        struct pd_tib_record *records = make_records(), *sorted = calloc(RECORDS, sizeof *sorted),
                             last;
        struct pd_tib_budget budget = {UINT64_C(1) << 20};
        size_t most = 1 + random_below(&rnd, RECORDS - 1), from = 0;
        assert_non_null(sorted);
        order_at_hand = orders[round % 2];
        if (round % 3 == 0) { /* as answers of children come */
            qsort(records, RECORDS, sizeof *records, compare);
        }
        memcpy(sorted, records, RECORDS * sizeof *records);
        qsort(sorted, RECORDS, sizeof *sorted, compare);
        struct pd_tib_record *before = calloc(RECORDS, sizeof *before);
        assert_non_null(before);
        memcpy(before, records, RECORDS * sizeof *records);
        assert_int_equal(pd_tib_select(records, RECORDS, order_at_hand, most, &budget, &last), 0);
        assert_int_equal(compare(&last, &sorted[most - 1]), 0);
        for (size_t i = 0; i < most; i++) {
            assert_true(compare(&records[i], &last) <= 0);
            while (from < RECORDS && compare(&before[from], &records[i]) != 0) {
                from++;
            }
            assert_true(from++ < RECORDS);
        }
        free(before);
        free(sorted);
        free(records);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorting_is_that_of_the_comparison),
        cmocka_unit_test(the_first_k_need_memory_for_k),
        cmocka_unit_test(selecting_keeps_the_first_where_they_lie),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(sums_stop_where_json_ends),
    };
    rnd.state = test_seed();
    pool_init(&pool, &rnd);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

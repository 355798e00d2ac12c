/* SPDX-License-Identifier: Apache-2.0 */
/* Different hashes are counted exactly while there is room, and closely beyond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/hash.h"
#include "query/distinct.h"

static void add(struct pd_distinct *set, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        assert_int_equal(pd_query_distinct_add(set, pd_hash_mix(i + 1)), 0);
    }
}

static void exact_while_there_is_room(void **state)
{
    struct pd_distinct set = {0};

    (void)state;
    assert_int_equal(pd_query_distinct_count(&set), 0);
    for (int again = 0; again < 3; again++) {
        add(&set, 0, PD_DISTINCT_MAX - 1);
        assert_int_equal(pd_query_distinct_add(&set, 0), 0);
        assert_int_equal(pd_query_distinct_count(&set), PD_DISTINCT_MAX);
    }
    pd_query_distinct_done(&set);
}

static void close_beyond(void **state)
{
    struct pd_distinct set = {0};

    (void)state;
    for (uint64_t n = 200000, before = 0; n <= 3200000; before = n, n *= 4) {
        add(&set, before, n);
        add(&set, before, n); /* once more: nothing new */
        assert_in_range(pd_query_distinct_count(&set), n - n / 40, n + n / 40);
        assert_true(set.len <= PD_DISTINCT_MAX);
    }
    pd_query_distinct_done(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_while_there_is_room),
        cmocka_unit_test(close_beyond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

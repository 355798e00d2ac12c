/* SPDX-License-Identifier: Apache-2.0 */
/* The budget of answers: a sum, and the disk's share. */
#include "http/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_sum(void **state)
{
    struct pd_http_budget *budget = pd_http_budget_new(1000);

    (void)state;
    assert_true(pd_http_budget_take(budget, 600, false));
    assert_false(pd_http_budget_take(budget, 401, false));
    assert_true(pd_http_budget_take(budget, 400, false));
    assert_false(pd_http_budget_take(budget, 1, false));
    pd_http_budget_give(budget, 600);
    assert_int_equal(pd_http_budget_taken(budget), 400);
    assert_true(pd_http_budget_take(budget, 600, false));
    pd_http_budget_free(budget);
}

/* Files have nowhere to be: nothing is kept there. */
static void test_disk(void **state)
{
    struct pd_http_budget *budget = pd_http_budget_new(UINT64_MAX / 2);

    (void)state;
    setenv("TMPDIR", "/proc", 1);
    assert_false(pd_http_budget_take(budget, 1, true));
    assert_true(pd_http_budget_take(budget, 1, false));
    unsetenv("TMPDIR");
    pd_http_budget_free(budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sum),
        cmocka_unit_test(test_disk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

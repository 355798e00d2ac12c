/* SPDX-License-Identifier: Apache-2.0 */
/* Threads for requests: as many as may be, each piece of work once, all done before the end. */
#include "http/crew.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define THREADS 4u
#define ROUNDS  20000u

static atomic_uint done, at_work, most;
static atomic_bool held;

static void work(void *context)
{
    unsigned now = atomic_fetch_add(&at_work, 1) + 1;

    (void)context;
    while (now > atomic_load(&most)) {
        atomic_store(&most, now);
    }
    while (atomic_load(&held)) {
        usleep(1000);
    }
    atomic_fetch_sub(&at_work, 1);
    atomic_fetch_add(&done, 1);
}

static int set_up(void **state)
{
    atomic_store(&done, 0);
    atomic_store(&most, 0);
    atomic_store(&held, false);
    *state = pd_http_crew_new(THREADS);
    return *state ? 0 : -1;
}

static void test_once_each(void **state)
{
    unsigned taken = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        taken += pd_http_crew_do(*state, work, NULL);
    }
    pd_http_crew_free(*state);
    assert_true(taken >= THREADS);
    assert_int_equal(atomic_load(&done), taken);
    assert_in_range(atomic_load(&most), 1, THREADS);
}

static void test_no_more(void **state)
{
    atomic_store(&held, true);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_true(pd_http_crew_do(*state, work, NULL));
    }
    while (atomic_load(&at_work) < THREADS) {
        usleep(1000);
    }
    for (unsigned i = 0; i < PD_HTTP_CREW_WAITING * THREADS; i++) {
        assert_true(pd_http_crew_do(*state, work, NULL));
    }
    assert_false(pd_http_crew_do(*state, work, NULL));
    atomic_store(&held, false);
    pd_http_crew_stop(*state);
    assert_int_equal(atomic_load(&done), (1 + PD_HTTP_CREW_WAITING) * THREADS);
    assert_false(pd_http_crew_do(*state, work, NULL));
    pd_http_crew_free(*state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_once_each, set_up),
        cmocka_unit_test_setup(test_no_more, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

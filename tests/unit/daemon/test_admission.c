/* SPDX-License-Identifier: Apache-2.0 */
/* The fair queue: never more at work than may be, no client in another one's way, limits and
 * deadlines of those who wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "daemon/admission.h"

#define FOREVER (UINT64_C(1) << 62)

static struct pd_daemon_admission *make(unsigned working, unsigned waiting, unsigned per_client)
{
    struct pd_daemon_admission_limits limits = {working, waiting, per_client};
    struct pd_daemon_admission *admission;
    assert_int_equal(pd_daemon_admission_new(&limits, &admission), 0);
    return admission;
}

static unsigned waiting(struct pd_daemon_admission *admission)
{
    struct pd_daemon_admission_counters counters;
    pd_daemon_admission_counters(admission, &counters);
    return counters.waiting;
}

/* One that waits, and notes when it was called. */
struct asker {
    pthread_t thread;
    struct pd_daemon_admission *admission;
    const char *client;
    atomic_int *place; /* the next one */
    int got;           /* its own, from 1 */
};

static void *ask(void *context)
{
    struct asker *asker = context;
    if (!pd_daemon_admission_take(asker->admission, asker->client, FOREVER)) {
        asker->got = atomic_fetch_add(asker->place, 1) + 1;
        pd_daemon_admission_give(asker->admission, asker->client);
    }
    return NULL;
}

static void begin(struct asker *asker, struct pd_daemon_admission *admission, const char *client,
                  atomic_int *place)
{
    unsigned before = waiting(admission);
    *asker = (struct asker){.admission = admission, .client = client, .place = place};
    assert_int_equal(pthread_create(&asker->thread, NULL, ask, asker), 0);
    while (waiting(admission) == before) {
        sched_yield();
    }
}

static void clients_take_turns(void **state)
{
    static const char *const clients[] = {"a", "a", "a", "a", "b", "b", "c"};
    static const int wanted[] = {3, 5, 6, 7, 1, 4, 2};
    enum { LEN = sizeof clients / sizeof *clients };
    struct pd_daemon_admission *admission = make(1, 10, 10);
    struct asker askers[LEN];
    struct pd_daemon_admission_counters counters;
    atomic_int place = 0;
    (void)state;
    assert_int_equal(pd_daemon_admission_take(admission, "a", 0), 0);
    for (int i = 0; i < LEN; i++) {
        begin(&askers[i], admission, clients[i], &place);
    }
    pd_daemon_admission_give(admission, "a");
    for (int i = 0; i < LEN; i++) {
        pthread_join(askers[i].thread, NULL);
    }
    for (int i = 0; i < LEN; i++) {
        assert_int_equal(askers[i].got, wanted[i]);
    }
    pd_daemon_admission_counters(admission, &counters);
    assert_int_equal(counters.taken, LEN + 1);
    assert_int_equal(counters.waited, LEN);
    assert_int_equal(counters.working + counters.waiting, 0);
    pd_daemon_admission_free(admission);
}

static void limits(void **state)
{
    struct pd_daemon_admission *admission = make(2, 2, 1);
    struct asker first, second;
    struct pd_daemon_admission_counters counters;
    atomic_int place = 0;
    (void)state;
    assert_int_equal(pd_daemon_admission_take(admission, "a", 0), 0);
    assert_int_equal(pd_daemon_admission_take(admission, "a", 0), 0);
    assert_int_equal(
        pd_daemon_admission_take(admission, "a", pd_clock_monotonic_ns() + PD_NS_PER_MS),
        -PD_E_DEADLINE);
    assert_int_equal(pd_daemon_admission_take(admission, "b", 0), -PD_E_DEADLINE);
    begin(&first, admission, "a", &place);
    assert_int_equal(pd_daemon_admission_take(admission, "a", FOREVER),
                     -PD_E_BUSY); /* its own share */
    begin(&second, admission, "b", &place);
    assert_int_equal(pd_daemon_admission_take(admission, "c", FOREVER), -PD_E_BUSY); /* all */
    pd_daemon_admission_give(admission, "a");
    pd_daemon_admission_give(admission, "a");
    pthread_join(first.thread, NULL);
    pthread_join(second.thread, NULL);
    pd_daemon_admission_counters(admission, &counters);
    assert_int_equal(counters.refused, 2);
    assert_int_equal(counters.late, 2);
    assert_int_equal(counters.taken, 4);
    assert_int_equal(counters.working + counters.waiting, 0);
    pd_daemon_admission_free(admission);
}

enum { THREADS = 16, ROUNDS = 500, WORKING = 3 };
static atomic_int at_work, most;

static void *work(void *context)
{
    struct pd_daemon_admission *admission = context;
    static atomic_int number;
    char name[100];
    int own = atomic_fetch_add(&number, 1);
    snprintf(name, sizeof name, "client %d with a name that is longer than what counts of it %s",
             own % 5, "......................................");
    for (int i = 0; i < ROUNDS; i++) {
        if (pd_daemon_admission_take(admission, name,
                                     i % 7 ? FOREVER : pd_clock_monotonic_ns() + 20000)) {
            continue;
        }
        int now = atomic_fetch_add(&at_work, 1) + 1, before = atomic_load(&most);
        while (now > before && !atomic_compare_exchange_weak(&most, &before, now))
            ;
        sched_yield();
        atomic_fetch_sub(&at_work, 1);
        pd_daemon_admission_give(admission, name);
    }
    return NULL;
}

static void never_too_many(void **state)
{
    struct pd_daemon_admission *admission = make(WORKING, THREADS, THREADS);
    struct pd_daemon_admission_counters counters;
    pthread_t threads[THREADS];
    (void)state;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work, admission), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_in_range(atomic_load(&most), 1, WORKING);
    pd_daemon_admission_counters(admission, &counters);
    assert_int_equal(counters.taken + counters.late, THREADS * ROUNDS);
    assert_int_equal(counters.refused + counters.working + counters.waiting, 0);
    pd_daemon_admission_free(admission);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clients_take_turns),
        cmocka_unit_test(limits),
        cmocka_unit_test(never_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

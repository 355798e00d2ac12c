/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's alarms: each once, numbers, restarts, kills, retention, readers, listeners, many
 * at once. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "alarm_store.h"
#include "base/clock.h"

enum { WAIT_S = 20 };

/* What was sent again is passed over; gaps are counted; spools do not know of each other; all of it
 * after a restart, too. */
static void test_once(void **state)
{
    struct pd_alarm_store *store = alarm_store_open();
    struct alarm_store_seen seen;
    uint64_t last = 0;

    (void)state;
    assert_int_equal(alarm_store_add(store, 7, 1, 3, "A", &last), 0);
    assert_int_equal(last, 3);
    assert_int_equal(alarm_store_add(store, 7, 2, 3, "A", &last), 0);
    assert_int_equal(last, 4);
    assert_int_equal(alarm_store_add(store, 7, 1, 2, "A", &last), 0);
    assert_int_equal(last, 4);
    assert_int_equal(alarm_store_stat(store).accepted, 4);
    assert_int_equal(alarm_store_stat(store).repeated, 4);
    assert_int_equal(alarm_store_add(store, 8, 100, 1, "B", &last),
                     0); /* the first that we alarm_store_see of it */
    assert_int_equal(alarm_store_stat(store).missing, 0);
    assert_int_equal(alarm_store_add(store, 8, 103, 2, "B", &last), 0);
    assert_int_equal(alarm_store_stat(store).missing, 2);
    pd_alarm_store_close(store);

    store = alarm_store_open();
    assert_int_equal(alarm_store_add(store, 7, 4, 2, "A", &last), 0);
    assert_int_equal(last, 5);
    seen = alarm_store_read_all(store, 0, NULL, SIZE_MAX);
    assert_int_equal(seen.len, 8);
    assert_int_equal(seen.first_id, 1);
    assert_int_equal(seen.last_id, 8);
    assert_int_equal(alarm_store_read_all(store, 6, NULL, SIZE_MAX).len, 2);
    assert_int_equal(alarm_store_read_all(store, 0, NULL, 3).last_id, 3);
    assert_int_equal(alarm_store_read_all(store, 0, "B", SIZE_MAX).len, 3);
    assert_int_equal(alarm_store_read_all(store, 6, "B", SIZE_MAX).len, 1);
    assert_int_equal(alarm_store_read_all(store, 0, "C", SIZE_MAX).len, 0);
    assert_int_equal(alarm_store_read_all(store, 8, NULL, SIZE_MAX).len, 0);
    assert_int_equal(alarm_store_read_all(store, 100, "A", SIZE_MAX).len, 0);
    pd_alarm_store_close(store);
}

static void test_not_ascending(void **state)
{
    struct pd_alarm_message messages[2] = {alarm_store_message("A", 1),
                                           alarm_store_message("A", 2)};
    const uint64_t seqs[] = {2, 2};
    struct pd_alarm_delivery delivery = {ALARM_STORE_HOST, 1, 2, messages, seqs};
    struct pd_alarm_store *store = alarm_store_open();
    uint64_t last;

    (void)state;
    assert_int_equal(pd_alarm_store_add(store, &delivery, &last), -PD_E_VALUE);
    assert_int_equal(alarm_store_stat(store).last_id, 0);
    pd_alarm_store_close(store);
}

/* More than one step of a reader, and a visitor that has enough in between. */
static void test_steps(void **state)
{
    struct pd_alarm_store *store = alarm_store_open();
    struct alarm_store_seen seen = {.most = 1201};
    uint64_t last, next;
    bool more;

    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(alarm_store_add(store, 1, 1 + 200 * i, 200, i % 2 ? "A" : "B", &last), 0);
    }
    assert_int_equal(alarm_store_read_all(store, 0, NULL, SIZE_MAX).len, 2000);
    assert_int_equal(alarm_store_read_all(store, 0, "A", SIZE_MAX).len, 1000);
    assert_int_equal(
        pd_alarm_store_read(store, 0, NULL, SIZE_MAX, alarm_store_see, &seen, &next, &more), 0);
    assert_int_equal(seen.len, 1201);
    assert_int_equal(next, 1201);
    assert_true(more);
    seen = alarm_store_read_all(store, next, NULL, SIZE_MAX);
    assert_int_equal(seen.first_id, 1202);
    assert_int_equal(seen.len, 799);
    pd_alarm_store_close(store);
}

static void test_retention(void **state)
{
    struct pd_alarm_store *store = alarm_store_open_with(1000, 0);
    struct alarm_store_seen seen;
    uint64_t last;

    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(alarm_store_add(store, 1, 1 + 100 * i, 100, i % 2 ? "A" : "B", &last), 0);
    }
    seen = alarm_store_read_all(store, 0, NULL, SIZE_MAX);
    assert_int_equal(seen.len, 1000);
    assert_int_equal(seen.first_id, 1001);
    assert_int_equal(alarm_store_read_all(store, 0, "A", SIZE_MAX).len, 500);
    assert_int_equal(alarm_store_stat(store).removed, 1000);
    assert_int_equal(alarm_store_stat(store).kept, 1000);
    assert_int_equal(alarm_store_stat(store).first_id, 1001);
    pd_alarm_store_close(store);

    sleep(1);
    store = alarm_store_open_with(1000,
                                  1); /* all are older, and the next commit sees to it; IDs go on */
    usleep(100000);
    assert_int_equal(alarm_store_add(store, 1, 2001, 1, "C", &last), 0);
    seen = alarm_store_read_all(store, 0, NULL, SIZE_MAX);
    assert_int_equal(seen.len, 1);
    assert_int_equal(seen.first_id, 2001);
    assert_int_equal(alarm_store_read_all(store, 0, "A", SIZE_MAX).len, 0);
    pd_alarm_store_close(store);
}

/* More than fits into the map: the oldest go, nothing fails. */
static void test_map_full(void **state)
{
    struct pd_alarm_store_config config = {
        .directory = alarm_store_folder, .max_alarms = 1000000, .map_bytes = 4 << 20};
    struct pd_alarm_store *store;
    uint64_t last;

    (void)state;
    assert_int_equal(pd_alarm_store_open(&config, &store, NULL), 0);
    for (unsigned i = 0; i < 300; i++) {
        assert_int_equal(alarm_store_add(store, 1, 1 + 100 * i, 100, "A", &last), 0);
    }
    assert_int_equal(alarm_store_stat(store).last_id, 30000);
    assert_int_equal(alarm_store_stat(store).kept + alarm_store_stat(store).removed, 30000);
    assert_in_range(alarm_store_stat(store).kept, 5000, 29000);
    pd_alarm_store_close(store);
}

static void test_spools_forgotten(void **state)
{
    struct pd_alarm_store *store = alarm_store_open();
    uint64_t last;

    (void)state;
    for (uint64_t spool = 1; spool <= PD_ALARM_SPOOLS_MAX + 10; spool++) {
        assert_int_equal(alarm_store_add(store, spool, 1, 1, "A", &last), 0);
    }
    assert_int_equal(alarm_store_stat(store).forgotten, 10);
    assert_int_equal(alarm_store_add(store, PD_ALARM_SPOOLS_MAX, 1, 1, "A", &last), 0);
    assert_int_equal(alarm_store_stat(store).repeated, 1);
    pd_alarm_store_close(store);
}

/* ---- kills ---- */

/* A child that stores until it is killed, and tells what was durable: all of that is there, once,
 * and in order. */
static void test_killed(void **state)
{
    (void)state;
    for (unsigned round = 1; round <= 8; round++) {
        struct pd_alarm_store *store;
        uint64_t told = 0, last = 0;
        struct alarm_store_seen seen;
        int pipes[2];
        pid_t child;

        assert_int_equal(pipe(pipes), 0);
        child = fork();
        if (!child) {
            store = alarm_store_open_with(1500, 0);
            for (uint64_t i = 1;; i += 7) {
                if (alarm_store_add(store, round, i, 7, "A", &last) ||
                    write(pipes[1], &last, sizeof last) != sizeof last) {
                    _exit(1);
                }
            }
        }
        close(pipes[1]);
        for (unsigned i = 0; i < 20 * round; i++) {
            assert_int_equal(read(pipes[0], &told, sizeof told), sizeof told);
        }
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        while (read(pipes[0], &last, sizeof last) == sizeof last) {
            told = last;
        }
        close(pipes[0]);
        store = alarm_store_open_with(1500, 0);
        assert_int_equal(alarm_store_add(store, round, told, 1, "A", &last), 0); /* sent again */
        assert_true(last == told || last == told + 7);
        seen = alarm_store_read_all(store, 0, NULL, SIZE_MAX);
        assert_int_equal(seen.times[seen.len - 1], last);
        for (size_t i = seen.len - 1; i > 0 && seen.times[i] > 1; i--) {
            assert_int_equal(seen.times[i - 1], seen.times[i] - 1);
        }
        assert_int_equal(seen.last_id - seen.first_id + 1, seen.len);
        pd_alarm_store_close(store);
    }
}

/* ---- threads ---- */

struct heard {
    pthread_mutex_t lock;
    uint64_t len, last_id, of_controller;
};

static void hear(void *context, uint64_t id, uint32_t host, const struct pd_alarm_message *message)
{
    struct heard *heard = context;

    pthread_mutex_lock(&heard->lock);
    assert_true(id > heard->last_id);
    assert_int_equal(message->paths[0].switches[1], 9);
    heard->last_id = id;
    heard->len++;
    heard->of_controller += host == 0;
    pthread_mutex_unlock(&heard->lock);
}

static void wait_heard(struct heard *heard, uint64_t wanted)
{
    uint64_t until_ns = pd_clock_monotonic_ns() + WAIT_S * PD_NS_PER_S, len;

    do {
        usleep(1000);
        pthread_mutex_lock(&heard->lock);
        len = heard->len;
        pthread_mutex_unlock(&heard->lock);
    } while (len < wanted && pd_clock_monotonic_ns() < until_ns);
    assert_int_equal(len, wanted);
}

struct poster {
    struct pd_alarm_store *store;
    uint64_t spool;
};

enum { POSTERS = 6, POSTS = 40, EACH = 5 };

static void *post(void *context)
{
    struct poster *poster = context;
    uint64_t last;

    for (unsigned i = 0; i < POSTS; i++) {
        assert_int_equal(
            alarm_store_add(poster->store, poster->spool, 1 + i * EACH, EACH, "A", &last), 0);
        assert_int_equal(last, (i + 1) * EACH);
    }
    return NULL;
}

static void *follow(void *context)
{
    struct pd_alarm_store *store = context;
    struct alarm_store_seen *seen = calloc(1, sizeof *seen);
    uint64_t since = 0;
    bool more;

    seen->most = SIZE_MAX;
    while (pd_alarm_store_wait(store, since, pd_clock_monotonic_ns() + PD_NS_PER_S)) {
        assert_int_equal(
            pd_alarm_store_read(store, since, NULL, 50, alarm_store_see, seen, &since, &more), 0);
    }
    assert_int_equal(
        pd_alarm_store_read(store, since, NULL, 5000, alarm_store_see, seen, &since, &more), 0);
    assert_int_equal(seen->len, POSTERS * POSTS * EACH + 20);
    assert_int_equal(seen->last_id, seen->len);
    free(seen);
    return NULL;
}

static void test_threads(void **state)
{
    struct heard heard = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct pd_alarm_store *store = alarm_store_open();
    struct pd_alarm_message own = alarm_store_message("SWITCH_UNKNOWN", 1);
    pthread_t threads[POSTERS], followers[2];
    struct poster posters[POSTERS];

    (void)state;
    pd_alarm_store_listen(store, hear, &heard);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&followers[i], NULL, follow, store), 0);
    }
    for (unsigned i = 0; i < POSTERS; i++) {
        posters[i] = (struct poster){store, i};
        assert_int_equal(pthread_create(&threads[i], NULL, post, &posters[i]), 0);
    }
    for (int i = 0; i < 20; i++) {
        pd_alarm_store_raise(store, &own);
    }
    for (int i = 0; i < POSTERS; i++) {
        pthread_join(threads[i], NULL);
    }
    wait_heard(&heard, POSTERS * POSTS * EACH + 20);
    assert_int_equal(heard.of_controller, 20);
    assert_int_equal(alarm_store_stat(store).accepted, POSTERS * POSTS * EACH + 20);
    assert_in_range(alarm_store_stat(store).commits, 1, POSTERS * POSTS + 20);
    pd_alarm_store_stop(store);
    for (int i = 0; i < 2; i++) {
        pthread_join(followers[i], NULL);
    }
    pd_alarm_store_close(store);
}

/* By time: before all of them, between two deliveries, after all of them. Whoever was taken off the
 * list of listeners hears nothing more. */
static void test_find(void **state)
{
    struct heard heard = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct pd_alarm_store *store = alarm_store_open();
    uint64_t since = 7, between_us, last;

    (void)state;
    assert_int_equal(pd_alarm_store_find(store, 0, &since), 0);
    assert_int_equal(since, 0);
    pd_alarm_store_listen(store, hear, &heard);
    assert_int_equal(alarm_store_add(store, 1, 1, 200, "A", &last), 0);
    wait_heard(&heard, 200);
    pd_alarm_store_deafen(store, &heard);
    between_us = pd_clock_wall_us() + 1;
    while (pd_clock_wall_us() <= between_us)
        ;
    assert_int_equal(alarm_store_add(store, 1, 201, 100, "A", &last), 0);
    assert_int_equal(pd_alarm_store_find(store, 0, &since), 0);
    assert_int_equal(since, 0);
    assert_int_equal(pd_alarm_store_find(store, between_us, &since), 0);
    assert_int_equal(since, 200);
    assert_int_equal(pd_alarm_store_find(store, UINT64_MAX, &since), 0);
    assert_int_equal(since, 300);
    pd_alarm_store_close(store);
    assert_int_equal(heard.len, 200);
}

/* What is no file of its own is not written to. */
static void test_links(void **state)
{
    static const char *const names[] = {"data.mdb", "lock.mdb"};
    struct pd_alarm_store_config config = {.directory = alarm_store_folder};
    struct pd_alarm_store *store = NULL;
    char name[100];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s/%s", alarm_store_folder, names[i]);
        assert_int_equal(symlink("/dev/null", name), 0);
        assert_int_equal(pd_alarm_store_open(&config, &store, NULL), -ELOOP);
        assert_int_equal(unlink(name), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_find, alarm_store_set_up, alarm_store_tear_down),
        cmocka_unit_test_setup_teardown(test_once, alarm_store_set_up, alarm_store_tear_down),
        cmocka_unit_test_setup_teardown(test_not_ascending, alarm_store_set_up,
                                        alarm_store_tear_down),
        cmocka_unit_test_setup_teardown(test_steps, alarm_store_set_up, alarm_store_tear_down),
        cmocka_unit_test_setup_teardown(test_retention, alarm_store_set_up, alarm_store_tear_down),
        cmocka_unit_test_setup_teardown(test_map_full, alarm_store_set_up, alarm_store_tear_down),
        cmocka_unit_test_setup_teardown(test_spools_forgotten, alarm_store_set_up,
                                        alarm_store_tear_down),
        cmocka_unit_test_setup_teardown(test_links, alarm_store_set_up, alarm_store_tear_down),
        cmocka_unit_test_setup_teardown(test_killed, alarm_store_set_up, alarm_store_tear_down),
        cmocka_unit_test_setup_teardown(test_threads, alarm_store_set_up, alarm_store_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

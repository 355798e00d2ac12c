/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's alarms: each once, numbers, restarts, kills, retention, readers, listeners, many
 * at once. */
#include <ftw.h>
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

#include "base/clock.h"
#include "controller/alarms/store.h"

enum { HOST = 21, WAIT_S = 20 };

static char folder[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/pd-alarms-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return 0;
}

static int remove_one(const char *path, const struct stat *stat, int kind, struct FTW *level)
{
    (void)stat, (void)kind, (void)level;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static struct pd_alarm_store *open_with(uint64_t max_alarms, uint64_t max_age_s)
{
    struct pd_alarm_store_config config = {.directory = folder,
                                           .max_alarms = max_alarms,
                                           .max_age_s = max_age_s,
                                           .map_bytes = UINT64_C(64) << 20};
    struct pd_alarm_store *store = NULL;
    struct pd_error error = {0};

    if (pd_alarm_store_open(&config, &store, &error)) {
        fail_msg("%s", error.text);
    }
    return store;
}

static struct pd_alarm_store *open_store(void)
{
    return open_with(1000000, 0);
}

static struct pd_alarm_message message_of(const char *reason, uint64_t number)
{
    struct pd_alarm_message message = {.time_us = number, .paths_len = 1};

    snprintf(message.reason, sizeof message.reason, "%s", reason);
    snprintf(message.detail, sizeof message.detail, "n%llu", (unsigned long long)number);
    message.paths[0] = (struct pd_path){.len = 2, .switches = {1, 9}};
    return message;
}

/* seq and time are the number. */
static int add(struct pd_alarm_store *store, uint64_t spool, uint64_t first, size_t len,
               const char *reason, uint64_t *ret_last)
{
    static __thread struct pd_alarm_message messages[256];
    uint64_t seqs[256];
    struct pd_alarm_delivery delivery = {HOST, spool, len, messages, seqs};

    for (size_t i = 0; i < len; i++) {
        seqs[i] = first + i;
        messages[i] = message_of(reason, first + i);
    }
    return pd_alarm_store_add(store, &delivery, ret_last);
}

struct seen {
    size_t len, most;
    uint64_t first_id, last_id;
    uint64_t times[2000];
};

static int see(void *context, uint64_t id, const char *json, size_t len)
{
    struct seen *seen = context;
    char text[20000] = "{";
    json_t *object;

    if (seen->len == seen->most) {
        return 1;
    }
    memcpy(text + 1, json, len);
    object = json_loadb(text, len + 1, JSON_REJECT_DUPLICATES, NULL);
    assert_int_equal(json_object_size(object), 6);
    assert_true(id > seen->last_id);
    seen->first_id = seen->len ? seen->first_id : id;
    seen->last_id = id;
    if (seen->len < 2000) {
        seen->times[seen->len] = (uint64_t)json_integer_value(json_object_get(object, "time_us"));
    }
    seen->len++;
    json_decref(object);
    return 0;
}

static struct seen read_all(struct pd_alarm_store *store, uint64_t since, const char *reason,
                            size_t most)
{
    static struct seen seen;
    uint64_t next;
    bool more;

    seen = (struct seen){.most = SIZE_MAX};
    assert_int_equal(pd_alarm_store_read(store, since, reason, most, see, &seen, &next, &more), 0);
    assert_int_equal(next, seen.len ? seen.last_id : since);
    if (seen.len < most) {
        assert_false(more);
    }
    return seen;
}

static struct pd_alarm_store_stat stat_of(struct pd_alarm_store *store)
{
    struct pd_alarm_store_stat stat;

    pd_alarm_store_stat(store, &stat);
    return stat;
}

/* What was sent again is passed over; gaps are counted; spools do not know of each other; all of it
 * after a restart, too. */
static void test_once(void **state)
{
    struct pd_alarm_store *store = open_store();
    struct seen seen;
    uint64_t last = 0;

    (void)state;
    assert_int_equal(add(store, 7, 1, 3, "A", &last), 0);
    assert_int_equal(last, 3);
    assert_int_equal(add(store, 7, 2, 3, "A", &last), 0);
    assert_int_equal(last, 4);
    assert_int_equal(add(store, 7, 1, 2, "A", &last), 0);
    assert_int_equal(last, 4);
    assert_int_equal(stat_of(store).accepted, 4);
    assert_int_equal(stat_of(store).repeated, 4);
    assert_int_equal(add(store, 8, 100, 1, "B", &last), 0); /* the first that we see of it */
    assert_int_equal(stat_of(store).missing, 0);
    assert_int_equal(add(store, 8, 103, 2, "B", &last), 0);
    assert_int_equal(stat_of(store).missing, 2);
    pd_alarm_store_close(store);

    store = open_store();
    assert_int_equal(add(store, 7, 4, 2, "A", &last), 0);
    assert_int_equal(last, 5);
    seen = read_all(store, 0, NULL, SIZE_MAX);
    assert_int_equal(seen.len, 8);
    assert_int_equal(seen.first_id, 1);
    assert_int_equal(seen.last_id, 8);
    assert_int_equal(read_all(store, 6, NULL, SIZE_MAX).len, 2);
    assert_int_equal(read_all(store, 0, NULL, 3).last_id, 3);
    assert_int_equal(read_all(store, 0, "B", SIZE_MAX).len, 3);
    assert_int_equal(read_all(store, 6, "B", SIZE_MAX).len, 1);
    assert_int_equal(read_all(store, 0, "C", SIZE_MAX).len, 0);
    assert_int_equal(read_all(store, 8, NULL, SIZE_MAX).len, 0);
    assert_int_equal(read_all(store, 100, "A", SIZE_MAX).len, 0);
    pd_alarm_store_close(store);
}

static void test_not_ascending(void **state)
{
    struct pd_alarm_message messages[2] = {message_of("A", 1), message_of("A", 2)};
    const uint64_t seqs[] = {2, 2};
    struct pd_alarm_delivery delivery = {HOST, 1, 2, messages, seqs};
    struct pd_alarm_store *store = open_store();
    uint64_t last;

    (void)state;
    assert_int_equal(pd_alarm_store_add(store, &delivery, &last), -PD_E_VALUE);
    assert_int_equal(stat_of(store).last_id, 0);
    pd_alarm_store_close(store);
}

/* More than one step of a reader, and a visitor that has enough in between. */
static void test_steps(void **state)
{
    struct pd_alarm_store *store = open_store();
    struct seen seen = {.most = 1201};
    uint64_t last, next;
    bool more;

    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(add(store, 1, 1 + 200 * i, 200, i % 2 ? "A" : "B", &last), 0);
    }
    assert_int_equal(read_all(store, 0, NULL, SIZE_MAX).len, 2000);
    assert_int_equal(read_all(store, 0, "A", SIZE_MAX).len, 1000);
    assert_int_equal(pd_alarm_store_read(store, 0, NULL, SIZE_MAX, see, &seen, &next, &more), 0);
    assert_int_equal(seen.len, 1201);
    assert_int_equal(next, 1201);
    assert_true(more);
    seen = read_all(store, next, NULL, SIZE_MAX);
    assert_int_equal(seen.first_id, 1202);
    assert_int_equal(seen.len, 799);
    pd_alarm_store_close(store);
}

static void test_retention(void **state)
{
    struct pd_alarm_store *store = open_with(1000, 0);
    struct seen seen;
    uint64_t last;

    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(add(store, 1, 1 + 100 * i, 100, i % 2 ? "A" : "B", &last), 0);
    }
    seen = read_all(store, 0, NULL, SIZE_MAX);
    assert_int_equal(seen.len, 1000);
    assert_int_equal(seen.first_id, 1001);
    assert_int_equal(read_all(store, 0, "A", SIZE_MAX).len, 500);
    assert_int_equal(stat_of(store).removed, 1000);
    assert_int_equal(stat_of(store).kept, 1000);
    assert_int_equal(stat_of(store).first_id, 1001);
    pd_alarm_store_close(store);

    sleep(1);
    store = open_with(1000, 1); /* all are older, and the next commit sees to it; IDs go on */
    usleep(100000);
    assert_int_equal(add(store, 1, 2001, 1, "C", &last), 0);
    seen = read_all(store, 0, NULL, SIZE_MAX);
    assert_int_equal(seen.len, 1);
    assert_int_equal(seen.first_id, 2001);
    assert_int_equal(read_all(store, 0, "A", SIZE_MAX).len, 0);
    pd_alarm_store_close(store);
}

/* More than fits into the map: the oldest go, nothing fails. */
static void test_map_full(void **state)
{
    struct pd_alarm_store_config config = {
        .directory = folder, .max_alarms = 1000000, .map_bytes = 4 << 20};
    struct pd_alarm_store *store;
    uint64_t last;

    (void)state;
    assert_int_equal(pd_alarm_store_open(&config, &store, NULL), 0);
    for (unsigned i = 0; i < 300; i++) {
        assert_int_equal(add(store, 1, 1 + 100 * i, 100, "A", &last), 0);
    }
    assert_int_equal(stat_of(store).last_id, 30000);
    assert_int_equal(stat_of(store).kept + stat_of(store).removed, 30000);
    assert_in_range(stat_of(store).kept, 5000, 29000);
    pd_alarm_store_close(store);
}

static void test_spools_forgotten(void **state)
{
    struct pd_alarm_store *store = open_store();
    uint64_t last;

    (void)state;
    for (uint64_t spool = 1; spool <= PD_ALARM_SPOOLS_MAX + 10; spool++) {
        assert_int_equal(add(store, spool, 1, 1, "A", &last), 0);
    }
    assert_int_equal(stat_of(store).forgotten, 10);
    assert_int_equal(add(store, PD_ALARM_SPOOLS_MAX, 1, 1, "A", &last), 0);
    assert_int_equal(stat_of(store).repeated, 1);
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
        struct seen seen;
        int pipes[2];
        pid_t child;

        assert_int_equal(pipe(pipes), 0);
        child = fork();
        if (!child) {
            store = open_with(1500, 0);
            for (uint64_t i = 1;; i += 7) {
                if (add(store, round, i, 7, "A", &last) ||
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
        store = open_with(1500, 0);
        assert_int_equal(add(store, round, told, 1, "A", &last), 0); /* sent again */
        assert_true(last == told || last == told + 7);
        seen = read_all(store, 0, NULL, SIZE_MAX);
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
        assert_int_equal(add(poster->store, poster->spool, 1 + i * EACH, EACH, "A", &last), 0);
        assert_int_equal(last, (i + 1) * EACH);
    }
    return NULL;
}

static void *follow(void *context)
{
    struct pd_alarm_store *store = context;
    struct seen *seen = calloc(1, sizeof *seen);
    uint64_t since = 0;
    bool more;

    seen->most = SIZE_MAX;
    while (pd_alarm_store_wait(store, since, pd_clock_monotonic_ns() + PD_NS_PER_S)) {
        assert_int_equal(pd_alarm_store_read(store, since, NULL, 50, see, seen, &since, &more), 0);
    }
    assert_int_equal(pd_alarm_store_read(store, since, NULL, 5000, see, seen, &since, &more), 0);
    assert_int_equal(seen->len, POSTERS * POSTS * EACH + 20);
    assert_int_equal(seen->last_id, seen->len);
    free(seen);
    return NULL;
}

static void test_threads(void **state)
{
    struct heard heard = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct pd_alarm_store *store = open_store();
    struct pd_alarm_message own = message_of("SWITCH_UNKNOWN", 1);
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
    assert_int_equal(stat_of(store).accepted, POSTERS * POSTS * EACH + 20);
    assert_in_range(stat_of(store).commits, 1, POSTERS * POSTS + 20);
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
    struct pd_alarm_store *store = open_store();
    uint64_t since = 7, between_us, last;

    (void)state;
    assert_int_equal(pd_alarm_store_find(store, 0, &since), 0);
    assert_int_equal(since, 0);
    pd_alarm_store_listen(store, hear, &heard);
    assert_int_equal(add(store, 1, 1, 200, "A", &last), 0);
    wait_heard(&heard, 200);
    pd_alarm_store_deafen(store, &heard);
    between_us = pd_clock_wall_us() + 1;
    while (pd_clock_wall_us() <= between_us)
        ;
    assert_int_equal(add(store, 1, 201, 100, "A", &last), 0);
    assert_int_equal(pd_alarm_store_find(store, 0, &since), 0);
    assert_int_equal(since, 0);
    assert_int_equal(pd_alarm_store_find(store, between_us, &since), 0);
    assert_int_equal(since, 200);
    assert_int_equal(pd_alarm_store_find(store, UINT64_MAX, &since), 0);
    assert_int_equal(since, 300);
    pd_alarm_store_close(store);
    assert_int_equal(heard.len, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_find, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_ascending, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_steps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_retention, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_map_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_spools_forgotten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_killed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

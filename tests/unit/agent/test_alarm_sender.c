/* SPDX-License-Identifier: Apache-2.0 */
/* Alarms on their way to a controller: at once, in order, once; one that is away, lies, refuses, or
 * hangs. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/alarms/sender.h"
#include "base/clock.h"
#include "codec/tagging/mark.h"
#include "http/body.h"
#include "http/server.h"

enum { HOST = 21, WAIT_S = 30 };

enum mood { TAKES, LIES, REFUSES_ODD, FAILS, HANGS };

static struct fixture {
    char folder[64], file[96], address[108], url[120];
    struct pd_listener listener;
    struct pd_http *http;
    struct pd_fanout *fanout;
    struct pd_alarms *alarms;
    struct pd_alarm_sender *sender;
    _Atomic enum mood mood;
    atomic_bool release;
    atomic_uint requests;
    pthread_mutex_t lock; /* of what follows */
    uint64_t last_seq;
    unsigned taken, repeated, gaps;
    uint64_t came_ns;
    char detail[PD_ALARM_MESSAGE_DETAIL];
    uint64_t budget; /* of the next sender */
} fixture = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- a controller ---- */

static void take_one(const json_t *alarm)
{
    struct pd_alarm_message message;
    uint64_t seq;

    assert_int_equal(pd_fleet_alarm_message_read(alarm, "seq", &message, &seq, NULL), 0);
    pthread_mutex_lock(&fixture.lock);
    if (seq <= fixture.last_seq) {
        fixture.repeated++;
    } else {
        fixture.gaps += seq != fixture.last_seq + 1;
        fixture.last_seq = seq;
        fixture.taken++;
        fixture.came_ns = pd_clock_monotonic_ns();
        snprintf(fixture.detail, sizeof fixture.detail, "%s", message.detail);
    }
    pthread_mutex_unlock(&fixture.lock);
}

static bool has_odd(const json_t *alarms)
{
    for (size_t i = 0; i < json_array_size(alarms); i++) {
        if (!strcmp(json_string_value(json_object_get(json_array_get(alarms, i), "reason")),
                    "ODD")) {
            return true;
        }
    }
    return false;
}

static void refuse(struct pd_answer *answer, int err)
{
    struct pd_problem problem = {0};

    pd_fail(&problem.error, err, "in a mood");
    pd_http_answer_problem(answer, &problem);
}

static void answer(void *context, const struct pd_http_request *request, struct pd_answer *answer)
{
    enum mood mood = atomic_load(&fixture.mood);
    const json_t *alarms;
    json_t *body;

    (void)context;
    atomic_fetch_add(&fixture.requests, 1);
    while (mood == HANGS && !atomic_load(&fixture.release)) {
        usleep(1000);
    }
    assert_int_equal(pd_http_body_json(request->body, request->body_bytes, &body, NULL), 0);
    alarms = json_object_get(body, "alarms");
    if (mood == FAILS) {
        refuse(answer, -PD_E_FULL);
    } else if (mood == LIES) {
        pd_http_answer_json(answer, 200, "application/json", json_pack("{s:s}", "last", "many"));
    } else if (mood == REFUSES_ODD && has_odd(alarms)) {
        refuse(answer, -PD_E_VALUE);
    } else {
        for (size_t i = 0; i < json_array_size(alarms); i++) {
            take_one(json_array_get(alarms, i));
        }
        pthread_mutex_lock(&fixture.lock);
        pd_http_answer_json(answer, 200, "application/json",
                            json_pack("{s:I}", "last", (json_int_t)fixture.last_seq));
        pthread_mutex_unlock(&fixture.lock);
    }
    json_decref(body);
}

static void count(void *context, enum pd_http_event event)
{
    (void)context, (void)event;
}

static void start_controller(void)
{
    struct pd_http_service service = {.answer = answer, .count = count, .body_max_bytes = 1 << 20};

    assert_int_equal(pd_http_listen_open(fixture.address, &fixture.listener, NULL), 0);
    assert_int_equal(pd_http_start(&service, &fixture.listener, &fixture.http), 0);
}

static void stop_controller(void)
{
    pd_http_stop(fixture.http);
    pd_http_listen_close(&fixture.listener);
    fixture.http = NULL;
}

/* ---- an agent ---- */

static void start_sender(void)
{
    struct pd_alarm_sender_config config = {
        .spool = {fixture.file, HOST, 1 << 20},
        .controller = fixture.address,
        .alarms = fixture.alarms,
        .fanout = fixture.fanout,
        .budget = fixture.budget,
    };

    assert_int_equal(pd_alarm_sender_new(&config, &fixture.sender, NULL), 0);
    assert_int_equal(pd_alarm_sender_start(fixture.sender), 0);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(fixture.folder, sizeof fixture.folder, "/tmp/pd-sender-XXXXXX");
    assert_non_null(mkdtemp(fixture.folder));
    snprintf(fixture.file, sizeof fixture.file, "%s/spool", fixture.folder);
    snprintf(fixture.address, sizeof fixture.address, "unix:%s/socket", fixture.folder);
    fixture.taken = fixture.repeated = fixture.gaps = 0;
    fixture.last_seq = 0;
    atomic_store(&fixture.mood, TAKES);
    atomic_store(&fixture.release, false);
    atomic_store(&fixture.requests, 0);
    fixture.fanout = pd_fleet_fanout_new();
    assert_int_equal(pd_alarms_new(&fixture.alarms), 0);
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"spool", "spool.lock", "spool.new"};
    char name[128];

    (void)state;
    pd_alarm_sender_stop(fixture.sender);
    pd_alarm_sender_free(fixture.sender);
    fixture.sender = NULL;
    if (fixture.http) {
        stop_controller();
    }
    pd_alarms_free(fixture.alarms);
    pd_fleet_fanout_free(fixture.fanout);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(name, sizeof name, "%s/%s", fixture.folder, names[i]);
        unlink(name);
    }
    return rmdir(fixture.folder);
}

static void raise_some(const char *reason, unsigned first, unsigned len)
{
    for (unsigned i = first; i < first + len; i++) {
        struct pd_path path = {.len = 2, .switches = {1, i + 1}};

        pd_alarms_raise(fixture.alarms,
                        &(struct pd_alarm_raise){.reason = reason, .paths = &path, .paths_len = 1});
    }
}

static struct pd_alarm_sender_stat stat_of(void)
{
    struct pd_alarm_sender_stat stat;

    pd_alarm_sender_stat(fixture.sender, &stat);
    return stat;
}

static unsigned taken(void)
{
    unsigned n;

    pthread_mutex_lock(&fixture.lock);
    n = fixture.taken;
    pthread_mutex_unlock(&fixture.lock);
    return n;
}

#define WAIT_FOR(condition)                                                 \
    do {                                                                    \
        uint64_t until_ns = pd_clock_monotonic_ns() + WAIT_S * PD_NS_PER_S; \
        while (!(condition) && pd_clock_monotonic_ns() < until_ns)          \
            usleep(500);                                                    \
        assert_true(condition);                                             \
    } while (0)

static void check_once(unsigned wanted)
{
    WAIT_FOR(taken() == wanted);
    pthread_mutex_lock(&fixture.lock);
    assert_int_equal(fixture.gaps, 0);
    pthread_mutex_unlock(&fixture.lock);
    WAIT_FOR(stat_of().spool.waiting == 0);
}

static void test_at_once(void **state)
{
    (void)state;
    start_controller();
    start_sender();
    for (unsigned i = 0; i < 50; i++) {
        raise_some("A", i, 1);
        WAIT_FOR(taken() == i + 1);
    }
    check_once(50);
    assert_int_equal(stat_of().spool.sent, 50);
    assert_int_equal(stat_of().retries, 0);
    WAIT_FOR(stat_of().reached);
    assert_int_equal(fixture.repeated, 0);
}

/* What the controller has no member for stands in the words. */
static void test_words(void **state)
{
    const struct pd_mark mark = pd_tagging_mark((uint16_t[]){7, 4000}, 2, 3);
    struct pd_alarm_raise raise = {.reason = "INFEASIBLE_PATH", .mark = &mark, .detail = "words"};

    (void)state;
    start_controller();
    start_sender();
    pd_alarms_raise(fixture.alarms, &raise);
    check_once(1);
    assert_string_equal(fixture.detail, "words; tags 7 4000, DSCP 3");
}

/* So many in a minute, the first of each reason, and one that says how many more there were. */
static void test_budget(void **state)
{
    (void)state;
    fixture.budget = 5;
    start_controller();
    start_sender();
    fixture.budget = 0;
    raise_some("A", 0, 20);
    raise_some("B", 0, 3);
    check_once(6);
    pd_alarm_sender_stop(fixture.sender);
    check_once(7);
    assert_non_null(strstr(fixture.detail, "17 alarms of a minute were more than the 5"));
}

/* Nobody there, then somebody: all come, in order, once. */
static void test_away(void **state)
{
    (void)state;
    start_sender();
    raise_some("A", 0, 90);
    WAIT_FOR(stat_of().retries >= 2);
    assert_false(stat_of().reached);
    start_controller();
    check_once(90);
    WAIT_FOR(stat_of().reached);
    stop_controller();
    raise_some("B", 0, 40);
    start_controller();
    check_once(130);
}

/* Errors and answers that are none are reasons to try again. */
static void test_moods(void **state)
{
    (void)state;
    start_controller();
    start_sender();
    for (enum mood mood = LIES; mood <= FAILS; mood++) {
        uint64_t retries = stat_of().retries;

        if (mood == REFUSES_ODD) {
            continue;
        }
        atomic_store(&fixture.mood, mood);
        raise_some("A", 100 * mood, 10);
        WAIT_FOR(stat_of().retries > retries);
        WAIT_FOR(stat_of().spool.waiting ==
                 10); /* the first try may fail before the last is spooled */
        atomic_store(&fixture.mood, TAKES);
        WAIT_FOR(stat_of().spool.waiting == 0);
    }
    check_once(20);
}

/* One alarm that the controller will never have: it alone is given up. */
static void test_refused(void **state)
{
    (void)state;
    atomic_store(&fixture.mood, REFUSES_ODD);
    start_sender();
    raise_some("A", 1, 30);
    raise_some("ODD", 1, 1);
    raise_some("B", 1, 30);
    WAIT_FOR(stat_of().spool.spooled == 61);
    start_controller();
    WAIT_FOR(stat_of().spool.waiting == 0);
    assert_int_equal(taken(), 60);
    assert_int_equal(stat_of().spool.refused, 1);
    assert_int_equal(stat_of().spool.sent, 60);
}

/* A controller that hangs holds nobody up: neither who raises, nor the spool, nor the end; and the
 * next process goes on. */
static void test_hangs(void **state)
{
    uint64_t began_ns;

    (void)state;
    atomic_store(&fixture.mood, HANGS);
    start_controller();
    start_sender();
    raise_some("A", 0, 1);
    WAIT_FOR(atomic_load(&fixture.requests) == 1);
    raise_some("A", 1, 50);
    WAIT_FOR(stat_of().spool.spooled == 51);
    began_ns = pd_clock_monotonic_ns();
    pd_alarm_sender_stop(fixture.sender);
    assert_in_range(pd_clock_monotonic_ns() - began_ns, 0, 8 * PD_NS_PER_S);
    pd_alarm_sender_free(fixture.sender);
    fixture.sender = NULL;
    pd_alarms_free(fixture.alarms);
    assert_int_equal(pd_alarms_new(&fixture.alarms), 0);
    atomic_store(&fixture.mood, TAKES);
    atomic_store(&fixture.release, true);
    start_sender();
    assert_int_equal(stat_of().spool.recovered, 51);
    WAIT_FOR(stat_of().spool.waiting == 0);
    assert_int_equal(taken(), 51);
}

/* What is raised last is still brought away. */
static void test_end(void **state)
{
    (void)state;
    start_controller();
    start_sender();
    raise_some("A", 0, 80);
    pd_alarm_sender_stop(fixture.sender);
    assert_int_equal(taken(), 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_budget, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_moods, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hangs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_end, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

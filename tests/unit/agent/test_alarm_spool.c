/* SPDX-License-Identifier: Apache-2.0 */
/* The spool of alarms: order and identity, what a new process finds, every cut and every flipped
 * byte, its bounds, a file that fails. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/alarms/file.h"
#include "agent/alarms/spool.h"

enum { HOST = 21, ROOM = 1 << 20 };

static char folder[64], file[128];

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/pd-spool-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/alarms", folder);
    return 0;
}

static int tear_down(void **state)
{
    static const char *const ends[] = {"", ".lock", ".old", ".new"};
    char name[160];

    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        snprintf(name, sizeof name, "%s%s", file, ends[i]);
        unlink(name);
    }
    assert_int_equal(rmdir(folder), 0);
    return 0;
}

static struct pd_alarm_spool *open_as(uint32_t host, uint64_t room, bool aside)
{
    struct pd_alarm_spool_config config = {file, host, room};
    struct pd_alarm_spool *spool = NULL;
    bool was_aside = false;

    assert_int_equal(pd_alarm_spool_open(&config, &spool, &was_aside, NULL), 0);
    assert_int_equal(was_aside, aside);
    return spool;
}

static struct pd_alarm_spool *open_spool(void)
{
    return open_as(HOST, ROOM, false);
}

static int add(struct pd_alarm_spool *spool, const char *reason, unsigned number)
{
    struct pd_alarm_message message = {.time_us = number};

    snprintf(message.reason, sizeof message.reason, "%s", reason);
    snprintf(message.detail, sizeof message.detail, "number %u", number);
    return pd_alarm_spool_add(spool, &message);
}

static struct pd_alarm_spool_stat stat_of(struct pd_alarm_spool *spool)
{
    struct pd_alarm_spool_stat stat;

    pd_alarm_spool_stat(spool, &stat);
    return stat;
}

/* Takes all there is, and checks that each body is what the controller reads; their times, in
 * order. */
static size_t take_all(struct pd_alarm_spool *spool, uint64_t *times, size_t most)
{
    struct pd_alarm_batch batch;
    size_t len = 0;

    while (!pd_alarm_spool_take(spool, SIZE_MAX, &batch)) {
        json_t *body = json_loadb(batch.body, batch.body_bytes, JSON_REJECT_DUPLICATES, NULL);
        const json_t *alarms = json_object_get(body, "alarms");
        char identity[17];

        snprintf(identity, sizeof identity, "%016" PRIx64, batch.spool);
        assert_string_equal(json_string_value(json_object_get(body, "spool")), identity);
        assert_int_equal(json_integer_value(json_object_get(body, "host")), HOST);
        assert_int_equal(json_array_size(alarms), batch.len);
        for (size_t i = 0; i < batch.len; i++) {
            struct pd_alarm_message message;
            uint64_t seq;

            assert_int_equal(
                pd_fleet_alarm_message_read(json_array_get(alarms, i), "seq", &message, &seq, NULL),
                0);
            assert_in_range(seq, i + 1, batch.last);
            if (len < most) {
                times[len] = message.time_us;
            }
            len++;
        }
        pd_alarm_spool_end(spool, batch.spool, batch.last, false);
        json_decref(body);
        free(batch.body);
    }
    return len;
}

static void test_in_order(void **state)
{
    struct pd_alarm_spool *spool = open_spool();
    uint64_t times[1000];

    (void)state;
    for (unsigned i = 0; i < 600; i++) {
        assert_int_equal(add(spool, "A", i), 0);
    }
    assert_int_equal(take_all(spool, times, 1000), 600);
    for (unsigned i = 0; i < 600; i++) {
        assert_int_equal(times[i], i);
    }
    assert_int_equal(stat_of(spool).sent, 600);
    assert_int_equal(stat_of(spool).waiting, 0);
    assert_int_equal(stat_of(spool).waiting_bytes, 0);
    pd_alarm_spool_close(spool);
    spool = open_spool(); /* what was acknowledged stays so */
    assert_int_equal(stat_of(spool).recovered, 0);
    pd_alarm_spool_close(spool);
}

/* Three processes, each with an identity of its own; partly acknowledged. */
static void test_processes(void **state)
{
    struct pd_alarm_batch batch, later;
    struct pd_alarm_spool *spool;
    uint64_t times[10], first;

    (void)state;
    spool = open_spool();
    for (unsigned i = 0; i < 3; i++) {
        add(spool, "A", i);
    }
    assert_int_equal(pd_alarm_spool_take(spool, 1, &batch), 0);
    assert_int_equal(batch.len, 1);
    first = batch.spool;
    pd_alarm_spool_end(spool, batch.spool, batch.last, false);
    free(batch.body);
    pd_alarm_spool_close(spool);

    spool = open_spool();
    assert_int_equal(stat_of(spool).recovered, 2);
    add(spool, "A", 3);
    pd_alarm_spool_close(spool);

    spool = open_spool();
    add(spool, "A", 4);
    assert_int_equal(stat_of(spool).recovered, 3);
    assert_int_equal(pd_alarm_spool_take(spool, SIZE_MAX, &batch), 0);
    assert_int_equal(batch.len, 2);
    assert_true(batch.spool == first);
    assert_int_equal(batch.last, 3);
    pd_alarm_spool_end(spool, batch.spool, batch.last, false);
    assert_int_equal(pd_alarm_spool_take(spool, SIZE_MAX, &later), 0);
    assert_int_equal(later.len, 1);
    assert_true(later.spool != first);
    free(batch.body);
    free(later.body);
    assert_int_equal(take_all(spool, times, 10), 2);
    assert_int_equal(times[0], 3);
    assert_int_equal(times[1], 4);
    pd_alarm_spool_close(spool);
}

static void test_other_host(void **state)
{
    struct pd_alarm_spool_config config = {file, HOST, ROOM};
    struct pd_alarm_spool *spool = open_spool(), *second = NULL;
    struct pd_error error = {0};
    bool aside;

    (void)state;
    add(spool, "A", 1);
    assert_int_equal(pd_alarm_spool_open(&config, &second, &aside, &error), -PD_E_BUSY);
    assert_non_null(strstr(error.text, file));
    pd_alarm_spool_close(spool);
    spool = open_as(22, ROOM, true);
    assert_int_equal(stat_of(spool).recovered, 0);
    pd_alarm_spool_close(spool);
}

/* ---- damage ---- */

static size_t read_file(char *bytes, size_t size)
{
    int fd = open(file, O_RDONLY);
    ssize_t len = read(fd, bytes, size);

    assert_in_range(len, 1, size - 1);
    close(fd);
    return (size_t)len;
}

static void write_file(const char *bytes, size_t len)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0640);

    assert_int_equal(write(fd, bytes, len), len);
    close(fd);
}

static size_t make_file(char *bytes, size_t size, unsigned alarms)
{
    struct pd_alarm_spool *spool = open_spool();

    for (unsigned i = 0; i < alarms; i++) {
        add(spool, "A", i);
    }
    pd_alarm_spool_close(spool);
    return read_file(bytes, size);
}

/* Cut anywhere: the alarms that are whole are there, in order. */
static void test_cut(void **state)
{
    enum { ALARMS = 4 };
    static char bytes[4096];
    size_t len = make_file(bytes, sizeof bytes, ALARMS), before = 0;

    (void)state;
    for (size_t cut = 0; cut <= len; cut++) {
        struct pd_alarm_spool_config config = {file, HOST, ROOM};
        struct pd_alarm_spool *spool;
        uint64_t times[ALARMS];
        bool aside = false;
        size_t n;

        write_file(bytes, cut);
        assert_int_equal(pd_alarm_spool_open(&config, &spool, &aside, NULL), 0);
        assert_int_equal(aside, cut && cut < sizeof(struct pd_alarm_spool_header));
        n = take_all(spool, times, ALARMS);
        assert_in_range(n, before, before + 1);
        before = n;
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(times[i], i);
        }
        pd_alarm_spool_close(spool);
    }
    assert_int_equal(before, ALARMS);
}

/* One byte wrong: at most that alarm is missing, and it is counted; one in the header sets the file
 * aside. */
static void test_flipped(void **state)
{
    enum { ALARMS = 4 };
    static char bytes[4096];
    size_t len = make_file(bytes, sizeof bytes, ALARMS),
           head = sizeof(struct pd_alarm_spool_header);

    (void)state;
    for (size_t at = 0; at < len; at++) {
        struct pd_alarm_spool_config config = {file, HOST, ROOM};
        struct pd_alarm_spool *spool;
        struct pd_alarm_spool_stat stat;
        uint64_t times[ALARMS];
        bool aside = false;
        size_t n;

        bytes[at] ^= 0x20;
        write_file(bytes, len);
        bytes[at] ^= 0x20;
        assert_int_equal(pd_alarm_spool_open(&config, &spool, &aside, NULL), 0);
        assert_int_equal(aside, at < head);
        pd_alarm_spool_stat(spool, &stat);
        n = take_all(spool, times, ALARMS);
        if (!aside) {
            assert_in_range(n, ALARMS - 1, ALARMS); /* padding may be wrong */
            assert_int_equal(stat.damaged, n < ALARMS);
        }
        for (size_t i = 1; i < n; i++) {
            assert_true(times[i] > times[i - 1]);
        }
        pd_alarm_spool_close(spool);
    }
}

/* A child adds and acknowledges until it is killed: nothing that it was told is spooled is missing,
 * nothing is there twice. */
static void test_killed(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 20; round++) {
        int pipes[2];
        unsigned told = 0, number, ended = 0;
        static uint64_t times[100000];
        struct pd_alarm_spool *spool;
        pid_t child;
        size_t n;

        unlink(file);
        assert_int_equal(pipe(pipes), 0);
        child = fork();
        if (!child) {
            spool = open_spool();
            for (unsigned i = 1;; i++) {
                struct pd_alarm_batch batch;

                add(spool, "A", i);
                if (write(pipes[1], &i, sizeof i) != sizeof i) {
                    _exit(1);
                }
                if (i % 50 == 0 && !pd_alarm_spool_take(spool, 30, &batch)) {
                    pd_alarm_spool_end(spool, batch.spool, batch.last, false);
                    free(batch.body);
                }
            }
        }
        close(pipes[1]);
        for (unsigned i = 0; i < 100 + 97 * round; i++) {
            assert_int_equal(read(pipes[0], &number, sizeof number), sizeof number);
        }
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        told = number;
        while (read(pipes[0], &number, sizeof number) == sizeof number) {
            told = number;
        }
        close(pipes[0]);
        spool = open_spool();
        assert_in_range(stat_of(spool).damaged, 0, 1); /* the last write, cut at a page's end */
        n = take_all(spool, times, 100000);
        ended = (unsigned)times[0] - 1;
        assert_in_range(ended + n, told, told + 1);
        assert_in_range(ended, told / 50 * 30 - 30, told / 50 * 30 + 30);
        for (size_t i = 1; i < n; i++) {
            assert_int_equal(times[i], times[i - 1] + 1);
        }
        pd_alarm_spool_close(spool);
    }
}

/* ---- bounds ---- */

static void test_full(void **state)
{
    enum { SMALL = 40000 };
    struct pd_alarm_spool *spool = open_as(HOST, SMALL, false);
    struct pd_alarm_spool_stat stat;
    struct pd_alarm_batch batch;
    unsigned added = 0, lost = 0;
    json_t *body;

    (void)state;
    while (lost < 100) {
        *(add(spool, "STORM", added + lost) ? &lost : &added) += 1;
    }
    stat = stat_of(spool);
    assert_in_range(stat.waiting_bytes, SMALL / 4 - 200, SMALL / 4);
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(add(spool, "RARE", i), 0); /* a reason does not take another one's room */
    }
    for (unsigned i = 0; i < 1000; i++) {
        char reason[PD_ALARM_REASON_BYTES];

        snprintf(reason, sizeof reason, "R%u", i);
        *(add(spool, reason, i) ? &lost : &added) += 1;
    }
    stat = stat_of(spool);
    assert_int_equal(stat.dropped, lost);
    assert_int_equal(stat.spooled, added + 10);
    assert_int_equal(stat.waiting, added + 10);
    assert_true(stat.waiting_bytes <= SMALL);

    while (stat_of(spool).waiting_bytes > SMALL / 8) {
        assert_int_equal(pd_alarm_spool_take(spool, 10, &batch), 0);
        pd_alarm_spool_end(spool, batch.spool, batch.last, false);
        free(batch.body);
    }
    add(spool, "LATER", 1); /* there is room again: what was lost is told before it */
    while (stat_of(spool).waiting > 2) {
        assert_int_equal(pd_alarm_spool_take(spool, stat_of(spool).waiting - 2, &batch), 0);
        pd_alarm_spool_end(spool, batch.spool, batch.last, false);
        free(batch.body);
    }
    assert_int_equal(pd_alarm_spool_take(spool, 2, &batch), 0);
    body = json_loadb(batch.body, batch.body_bytes, 0, NULL);
    const json_t *alarm = json_array_get(json_object_get(body, "alarms"), 0);
    assert_string_equal(json_string_value(json_object_get(alarm, "reason")), "ALARMS_LOST");
    assert_int_equal(atoi(json_string_value(json_object_get(alarm, "detail"))), lost);
    json_decref(body);
    free(batch.body);
    pd_alarm_spool_close(spool);
}

/* However much goes through it, the file stays short; and without a folder to write in, all goes on
 * in memory. */
static void test_file(void **state)
{
    struct pd_alarm_spool *spool = open_spool();
    static uint64_t times[300];
    char moved[80];
    struct stat stat_buffer;

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        for (unsigned k = 0; k < 200; k++) {
            assert_int_equal(add(spool, "A", k), 0);
        }
        assert_int_equal(take_all(spool, times, 300), 200);
        pd_alarm_spool_sync(spool);
        assert_int_equal(stat(file, &stat_buffer), 0);
        assert_in_range(stat_buffer.st_size, 0, 600000);
    }
    assert_int_equal(stat_of(spool).sent, 20000);
    pd_alarm_spool_close(spool);

    struct pd_alarm_spool_config config = {file, HOST, ROOM};
    bool aside;
    snprintf(moved, sizeof moved, "%s-moved", folder);
    assert_int_equal(rename(folder, moved), 0);
    assert_int_equal(pd_alarm_spool_open(&config, &spool, &aside, NULL), -ENOENT);
    assert_int_equal(rename(moved, folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_processes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_host, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_flipped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_killed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_file, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

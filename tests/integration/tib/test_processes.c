/* SPDX-License-Identifier: Apache-2.0 */
/* One writer and readers in other processes: what they see, what a killed one leaves behind, who
 * may read, who is refused. */
#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "numbered.h"

#define COMMIT 3000u
#define OWNER  12345u /* IDs that need not exist */
#define GROUP  23456u
#define OTHER  34567u

static pid_t start(void (*run)(const void *context), const void *context)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody stays behind a test that failed */
        run(context);
        _exit(0);
    }
    return pid;
}

static void assert_succeeds(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void kill_and_wait(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static struct pd_tib *open_or_exit(const char *place, enum pd_tib_mode mode)
{
    struct pd_tib *tib;
    struct pd_error error = {0};
    if (pd_tib_open(place, mode, NULL, &tib, &error)) {
        fprintf(stderr, "%s\n", error.text);
        _exit(10);
    }
    return tib;
}

/* A reader: for a second, each snapshot holds a prefix of what is written, and no less than the one
 * before. */
static void read_for_a_second(const void *context)
{
    uint64_t until_ns = pd_clock_monotonic_ns() + PD_NS_PER_S, first, end, before = 0;
    struct pd_tib *tib = open_or_exit(context, PD_TIB_READ);
    while (pd_clock_monotonic_ns() < until_ns) {
        if (numbered_range(tib, &first, &end)) {
            _exit(11);
        }
        if (first != 0 || end < before) {
            _exit(12);
        }
        before = end;
    }
    pd_tib_close(tib);
    _exit(before ? 0 : 13);
}

static void test_readers_beside_writer(void **state)
{
    (void)state;
    char place[256];
    pid_t readers[3];
    struct pd_tib *tib;
    uint64_t next = 0;
    numbered_make(place, sizeof place);
    pd_tib_close(open_or_exit(place, PD_TIB_WRITE));
    for (unsigned i = 0; i < 3;
         i++) { /* before this process has the store open: it must not be forked then */
        readers[i] = start(read_for_a_second, place);
    }
    tib = open_or_exit(place, PD_TIB_WRITE);
    uint64_t until_ns = pd_clock_monotonic_ns() + PD_NS_PER_S * 5 / 4;
    while (pd_clock_monotonic_ns() < until_ns && next < 1000000) {
        assert_int_equal(numbered_append(tib, next, next + COMMIT), 0);
        assert_int_equal(pd_tib_commit(tib), 0);
        next += COMMIT;
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_succeeds(readers[i]);
    }
    pd_tib_close(tib);
    numbered_wipe(place);
}

static void write_until_killed(const void *context)
{
    struct pd_tib *tib = open_or_exit(context, PD_TIB_WRITE);
    numbered_append(tib, 0, 10);
    pd_tib_commit(tib);
    for (;;) {
        pause();
    }
}

static void wait_for_records(const char *place)
{
    uint64_t first, end = 0;
    for (unsigned i = 0; i < 500 && !end; i++) {
        struct pd_tib *tib;
        usleep(10000);
        if (pd_tib_open(place, PD_TIB_READ, NULL, &tib, NULL)) {
            continue;
        }
        assert_int_equal(numbered_range(tib, &first, &end), 0);
        pd_tib_close(tib);
    }
    assert_int_equal(end, 10);
}

static void test_second_writer(void **state)
{
    (void)state;
    char place[256];
    struct pd_tib *tib;
    struct pd_error error = {0};
    numbered_make(place, sizeof place);
    pid_t writer = start(write_until_killed, place);
    wait_for_records(place);
    assert_int_equal(pd_tib_open(place, PD_TIB_WRITE, NULL, &tib, &error), -PD_E_BUSY);
    assert_non_null(strstr(error.text, place));
    kill_and_wait(writer);
    assert_int_equal(pd_tib_open(place, PD_TIB_WRITE, NULL, &tib, &error), 0);
    struct pd_tib *again;
    assert_int_equal(pd_tib_open(place, PD_TIB_READ, NULL, &again, &error), -PD_E_BUSY);
    pd_tib_close(tib);
    numbered_wipe(place);
}

static void hold_snapshot(const void *context)
{
    struct pd_tib_snapshot *snapshot;
    struct pd_tib *tib = open_or_exit(context, PD_TIB_READ);
    if (pd_tib_snapshot(tib, &snapshot)) {
        _exit(14);
    }
    for (;;) {
        pause();
    }
}

static uint64_t write_some(struct pd_tib *tib, uint64_t *next, unsigned commits)
{
    struct pd_tib_stat stat;
    for (unsigned i = 0; i < commits; i++, *next += COMMIT) {
        assert_int_equal(numbered_append(tib, *next, *next + COMMIT), 0);
        assert_int_equal(pd_tib_commit(tib), 0);
        assert_int_equal(pd_tib_maintain(tib, UINT64_C(1790000000000000)), 0);
    }
    assert_int_equal(pd_tib_stat(tib, &stat), 0);
    return stat.bytes_file;
}

/* A reader with a snapshot keeps pages from being used again, until it is killed. */
static void test_killed_reader(void **state)
{
    (void)state;
    char place[256];
    struct pd_tib *tib;
    struct pd_tib_config config = {.max_bytes = 4 << 20};
    uint64_t next = 0;
    numbered_make(place, sizeof place);
    assert_int_equal(pd_tib_open(place, PD_TIB_WRITE, &config, &tib, NULL), 0);
    write_some(tib, &next, 100);
    pd_tib_close(tib);
    pid_t reader = start(hold_snapshot, place);
    usleep(300000);
    assert_int_equal(pd_tib_open(place, PD_TIB_WRITE, &config, &tib, NULL), 0);
    uint64_t before = write_some(tib, &next, 1), pinned = write_some(tib, &next, 100);
    assert_true(pinned > before + (4 << 20)); /* held: the test would see nothing otherwise */
    kill_and_wait(reader);
    write_some(tib, &next, 2);
    uint64_t freed = write_some(tib, &next, 100);
    assert_true(freed < pinned + (2 << 20));
    pd_tib_close(tib);
    numbered_wipe(place);
}

static void test_nothing_there(void **state)
{
    (void)state;
    char place[256], missing[300];
    struct pd_tib *tib;
    struct pd_error error = {0};
    numbered_make(place, sizeof place);
    assert_int_equal(pd_tib_open(place, PD_TIB_READ, NULL, &tib, &error), -PD_E_NOT_FOUND);
    assert_non_null(strstr(error.text, place));
    assert_int_equal(rmdir(place), 0); /* no file was made */
    assert_int_equal(pd_tib_open(place, PD_TIB_READ, NULL, &tib, &error), -PD_E_NOT_FOUND);
    snprintf(missing, sizeof missing, "%s/not/there", place);
    assert_int_equal(pd_tib_open(missing, PD_TIB_WRITE, NULL, &tib, &error), -ENOENT);
    assert_int_equal(pd_tib_open("mysql://x/y", PD_TIB_READ, NULL, &tib, &error),
                     -PD_E_UNSUPPORTED);
}

struct person {
    const char *place;
    uid_t user;
    gid_t group;
    int wanted; /* from pd_tib_open */
};

static void read_as(const void *context)
{
    const struct person *person = context;
    struct pd_tib *tib;
    struct pd_error error = {0};
    uint64_t first, end;
    if (setgroups(0, NULL) || setgid(person->group) || setuid(person->user)) {
        _exit(15);
    }
    int err = pd_tib_open(person->place, PD_TIB_READ, NULL, &tib, &error);
    if (err != person->wanted) {
        fprintf(stderr, "user %u group %u: error %d, expected %d: %s\n", person->user,
                person->group, err, person->wanted, error.text);
        _exit(16);
    }
    if (!err && (numbered_range(tib, &first, &end) || end != 10)) {
        _exit(17);
    }
    if (!err) {
        pd_tib_close(tib);
    }
}

static void give_away(const char *place)
{
    static const char *const files[] = {"", "data.mdb", "lock.mdb", "writer.lock"};
    char name[300];
    for (size_t i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s/%s", place, files[i]);
        assert_int_equal(chown(name, OWNER, GROUP), 0);
    }
    assert_int_equal(chmod(place, 0750), 0);
}

/* The group reads while the daemon writes; others do not; who cannot register as a reader reads
 * while nobody writes. */
static void test_other_users(void **state)
{
    (void)state;
    char place[256], lock[300];
    if (geteuid()) {
        print_message("NOT TESTED: other users need root\n");
        skip();
    }
    numbered_make(place, sizeof place);
    snprintf(lock, sizeof lock, "%s/lock.mdb", place);
    umask(027);
    pid_t writer = start(write_until_killed, place);
    wait_for_records(place);
    give_away(place);
    assert_succeeds(start(read_as, &(struct person){place, OTHER, GROUP, 0}));
    assert_succeeds(start(read_as, &(struct person){place, OTHER, OTHER, -EACCES}));
    assert_int_equal(chmod(lock, 0640), 0);
    assert_succeeds(start(read_as, &(struct person){place, OTHER, GROUP, -PD_E_BUSY}));
    kill_and_wait(writer);
    assert_succeeds(start(read_as, &(struct person){place, OTHER, GROUP, 0}));
    assert_succeeds(start(read_as, &(struct person){place, OWNER, GROUP, 0}));
    numbered_wipe(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_readers_beside_writer), cmocka_unit_test(test_second_writer),
        cmocka_unit_test(test_killed_reader),         cmocka_unit_test(test_nothing_there),
        cmocka_unit_test(test_other_users),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The LMDB backend's file: free pages go back to the file system, compaction, writes that fail. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "records.h"
#include "store_files.h"

#define DAY_S UINT64_C(86400)

static struct random rnd;
static struct pool pool;
static struct list oracle;
static char place[256];
static bool metas_fail; /* writes of meta pages do */

/* liblmdb writes through this one: page 0 or 1, without the page's header. */
ssize_t pwrite(int fd, const void *bytes, size_t size_bytes, off_t offset)
{
    if (metas_fail && size_bytes < 4096 && offset < 2 * 4096) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pwrite64, fd, bytes, size_bytes, offset);
}

static int setup(void **state)
{
    (void)state;
    store_make(place, sizeof place);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    store_wipe(place);
    list_clear(&oracle);
    return 0;
}

static struct pd_tib *open_tib(enum pd_tib_mode mode, const struct pd_tib_config *config)
{
    struct pd_tib *tib = NULL;
    struct pd_error error = {0};
    if (pd_tib_open(place, mode, config, &tib, &error)) {
        fail_msg("%s", error.text);
    }
    return tib;
}

static void append(struct pd_tib *tib, size_t len, uint64_t etime_us)
{
    for (size_t i = 0; i < len; i++) {
        struct pd_tib_record record = pool_record(&pool, &rnd);
        record.stime_us = etime_us - random_below(&rnd, 1000000);
        record.etime_us = etime_us;
        list_add(&oracle, &record);
        assert_int_equal(pd_tib_append(tib, &record, 1), 0);
    }
    assert_int_equal(pd_tib_commit(tib), 0);
}

static void assert_all(struct pd_tib_snapshot *snapshot, const struct list *stored,
                       const char *since)
{
    struct pd_tib_filter all = PD_TIB_FILTER_ALL;
    struct list found = {0}, wanted = {0};
    all.since = since;
    list_select(stored, &all, &wanted);
    assert_int_equal(list_scan(snapshot, &all, &found), 0);
    assert_int_equal(pd_tib_snapshot_damaged(snapshot), 0);
    list_assert_equal(&found, &wanted);
    list_clear(&found);
    list_clear(&wanted);
}

static void fail_on_finding(void *context, const char *finding)
{
    (void)context;
    fail_msg("%s", finding);
}

static void assert_store(struct pd_tib *tib)
{
    struct pd_tib_snapshot *snapshot;
    assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
    assert_all(snapshot, &oracle, NULL);
    pd_tib_release(snapshot);
    assert_int_equal(pd_tib_check(tib, fail_on_finding, NULL), 0);
}

/* What `du` says. */
static uint64_t disk_bytes(void)
{
    static const char *const files[] = {"data.mdb", "lock.mdb", "writer.lock"};
    uint64_t bytes = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct stat stat_of;
        assert_int_equal(stat(store_file(place, files[i]), &stat_of), 0);
        bytes += (uint64_t)stat_of.st_blocks * 512;
    }
    return bytes;
}

static void assert_disk(struct pd_tib *tib)
{
    struct pd_tib_stat stat;
    sync(); /* delayed allocation */
    assert_int_equal(pd_tib_stat(tib, &stat), 0);
    assert_int_equal(stat.bytes_file, disk_bytes());
}

static void maintain(struct pd_tib *tib, uint64_t now_us, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        assert_int_equal(pd_tib_maintain(tib, now_us), 0);
    }
}

/* What retention removes goes back to the file system, but not under a reader; what is written
 * there later is read again. */
static void test_bytes_back(void **state)
{
    (void)state;
    struct pd_tib_config config = {.max_age_s = DAY_S};
    struct pd_tib_snapshot *snapshot;
    struct list before = {0};
    uint64_t now_us = pd_clock_wall_us(), old_us = now_us - 2 * DAY_S * 1000000;
    struct pd_tib *tib = open_tib(PD_TIB_WRITE, &config);
    for (unsigned i = 0; i < 20; i++) {
        append(tib, 10000, old_us);
    }
    uint64_t full = disk_bytes();
    assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
    for (size_t i = 0; i < oracle.len; i++) {
        list_add(&before, &oracle.records[i]);
    }
    list_clear(&oracle);
    for (unsigned i = 0; i < 4; i++) {
        append(tib, 100, now_us);
        maintain(tib, now_us, 8);
    }
    assert_all(snapshot, &before, NULL);
    pd_tib_release(snapshot);
    append(tib, 100, now_us);
    maintain(tib, now_us, 3);
    append(tib, 100, now_us);
    maintain(tib, now_us, 3);
    assert_disk(tib);
    print_message("%llu KB, after retention %llu KB\n", (unsigned long long)full / 1024,
                  (unsigned long long)disk_bytes() / 1024);
    assert_true(disk_bytes() < full / 4);
    for (unsigned i = 0; i < 8; i++) {
        append(tib, 10000, now_us);
        maintain(tib, now_us, 1);
    }
    assert_store(tib);
    pd_tib_close(tib);
    tib = open_tib(PD_TIB_READ, NULL);
    assert_store(tib);
    pd_tib_close(tib);
    list_clear(&before);
}

static char *token_of(struct pd_tib *tib)
{
    struct pd_tib_snapshot *snapshot;
    char *token = NULL;
    assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
    assert_int_equal(pd_tib_token(snapshot, &token), 0);
    pd_tib_release(snapshot);
    return token;
}

static void count_progress(void *context, uint64_t done, uint64_t all)
{
    assert_true(done <= all);
    ++*(unsigned *)context;
}

static void assert_since(struct pd_tib *tib, const char *token, size_t first)
{
    struct pd_tib_snapshot *snapshot;
    struct list since = {0};
    for (size_t i = first; i < oracle.len; i++) {
        list_add(&since, &oracle.records[i]);
    }
    assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
    assert_all(snapshot, &since, token);
    pd_tib_release(snapshot);
    list_clear(&since);
}

/* A store that is compacted has what it had, gives the same answers to old tokens, and goes on. At
 * commits with odd and even numbers. */
static void test_compact(void **state)
{
    (void)state;
    struct pd_tib_config config = {.cold_after_s = 3600};
    struct pd_tib_snapshot *snapshot;
    uint64_t now_us = pd_clock_wall_us();
    for (unsigned round = 0; round < 4; round++) {
        struct pd_tib *tib = open_tib(PD_TIB_WRITE, &config);
        unsigned calls = 0;
        append(tib, 40000, now_us - 2 * DAY_S * 1000000);
        append(tib, 26000, now_us - 2 * DAY_S * 1000000);
        size_t first = oracle.len;
        char *token = token_of(tib);
        for (unsigned i = 0; i <= round; i++) {
            append(tib, 100, now_us);
        }
        assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
        assert_int_equal(pd_tib_compact(tib, NULL, NULL), -PD_E_BUSY);
        pd_tib_release(snapshot);
        uint64_t before = disk_bytes();
        assert_int_equal(pd_tib_compact(tib, count_progress, &calls), 0);
        assert_true(calls > 0);
        assert_int_equal(access(store_file(place, "compact.mdb"), F_OK), -1);
        sync();
        assert_true(disk_bytes() < before);
        assert_store(tib);
        append(tib, 50, now_us);
        assert_since(tib, token, first);
        assert_store(tib);
        pd_tib_close(tib);
        free(token);
    }
}

/* A reader of another process goes on with the old file as long as it reads, and then takes the new
 * one. */
static void test_compact_reader(void **state)
{
    (void)state;
    int down[2], up[2];
    char byte = 0;
    struct pd_tib *tib = open_tib(PD_TIB_WRITE, NULL);
    append(tib, 5000, pd_clock_wall_us());
    assert_int_equal(pipe(down) | pipe(up), 0);
    /* The child compacts; the parent, which has closed its store, reads. */
    pd_tib_close(tib);
    pid_t child = fork();
    if (!child) {
        tib = open_tib(PD_TIB_WRITE, NULL);
        for (unsigned i = 0; i < 3; i++) {
            if (read(down[0], &byte, 1) != 1 || pd_tib_compact(tib, NULL, NULL)) {
                _exit(1);
            }
            struct pd_tib_record record = oracle.records[i];
            if (pd_tib_append(tib, &record, 1) || pd_tib_commit(tib) || write(up[1], "c", 1) != 1) {
                _exit(1);
            }
        }
        pd_tib_close(tib);
        _exit(0);
    }
    tib = open_tib(PD_TIB_READ, NULL);
    for (unsigned i = 0; i < 3; i++) {
        struct pd_tib_snapshot *snapshot;
        assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
        assert_int_equal(write(down[1], "d", 1), 1);
        assert_int_equal(read(up[0], &byte, 1), 1);
        assert_all(snapshot, &oracle, NULL); /* the old file */
        pd_tib_release(snapshot);
        struct pd_tib_record record = oracle.records[i];
        list_add(&oracle, &record);
        usleep(150000); /* it looks ten times a second */
        assert_store(tib);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    pd_tib_close(tib);
    close(down[0]);
    close(down[1]);
    close(up[0]);
    close(up[1]);
}

/* A meta page that cannot be written loses that commit, counted; the next one is stored, without a
 * restart. */
static void test_meta_fails(void **state)
{
    (void)state;
    struct pd_tib_stat stat;
    uint64_t now_us = pd_clock_wall_us();
    struct pd_tib *tib = open_tib(PD_TIB_WRITE, NULL);
    append(tib, 100, now_us);
    struct pd_tib_record record = pool_record(&pool, &rnd);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(pd_tib_append(tib, &record, 1), 0);
        metas_fail = true;
        assert_int_not_equal(pd_tib_commit(tib), 0);
        metas_fail = false;
        append(tib, 10, now_us);
        assert_store(tib);
    }
    assert_int_equal(pd_tib_stat(tib, &stat), 0);
    assert_int_equal(stat.lost_error, 3);
    assert_int_equal(stat.stored, 130);
    pd_tib_close(tib);
    tib = open_tib(PD_TIB_READ, NULL);
    assert_store(tib);
    pd_tib_close(tib);
}

/* Nothing is written through a link, nobody waits at a pipe. */
static void test_no_files(void **state)
{
    static const char *const names[] = {"lock.mdb", "data.mdb", "writer.lock"};
    struct pd_tib *tib = NULL;
    struct stat now;
    (void)state;
    pd_tib_close(open_tib(PD_TIB_WRITE, NULL));
    for (size_t i = 0; i < 2 * (sizeof names / sizeof *names); i++) {
        const char *name = store_file(place, names[i / 2]);
        bool link = i % 2 || i / 2 == 2; /* a lock may be a pipe */
        assert_int_equal(rename(name, store_file(place, "aside")), 0);
        assert_int_equal(link ? symlink("elsewhere", name) : mkfifo(name, 0600), 0);
        if (i / 2 != 1 || !link) {
            assert_true(pd_tib_open(place, PD_TIB_WRITE, NULL, &tib, NULL) < 0);
            assert_int_equal(stat(store_file(place, "elsewhere"), &now), -1);
        }
        assert_int_equal(rename(store_file(place, "aside"), store_file(place, names[i / 2])), 0);
    }
    pd_tib_close(open_tib(PD_TIB_WRITE, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bytes_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_compact, setup, teardown),
        cmocka_unit_test_setup_teardown(test_compact_reader, setup, teardown),
        cmocka_unit_test_setup_teardown(test_meta_fails, setup, teardown),
    };
    rnd.state = test_seed();
    pool_init(&pool, &rnd);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Stores of version 2: read as they are, converted beside the writer's work, whole whenever that is
 * interrupted; stores of a newer version are refused and left alone. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

#include "codec/tagging/mark.h"
#include "old_store.h"
#include "records.h"
#include "store_files.h"
#include "tib/lmdb/store.h"

#define RECORDS 6000u
#define PATHS   4000u
#define KILLS   20u

static struct random rnd;
static struct list oracle;
static char place[256];

/* ---- a store of version 2: each path in a block of its own ---- */

static void make_path(unsigned i, struct pd_path *path, struct pd_claim *claim)
{
    *claim = (struct pd_claim){.path = path};
    if (i % 5 == 0) {
        path->len = 0;
        claim->state = PD_CLAIM_INFEASIBLE;
        claim->mark =
            pd_tagging_mark((uint16_t[]){(uint16_t)(i % 4096), 9}, i % 3, (uint8_t)(i % 7));
        return;
    }
    path->len = 2 + i % 31;
    for (unsigned j = 0; j < path->len; j++) {
        path->switches[j] = 1 + (i + j) % (i % 2 ? 60000 : 100000);
    }
}

static void fill(void)
{
    struct pd_tib *tib;
    assert_int_equal(pd_tib_open(place, PD_TIB_WRITE, &(struct pd_tib_config){0}, &tib, NULL), 0);
    for (unsigned i = 0; i < RECORDS; i++) {
        struct pd_path path;
        struct pd_claim claim;
        struct pd_tib_record record = {.flow = {.ip_version = 4, .src_port = (uint16_t)i},
                                       .path = &path,
                                       .stime_us = 1000 + i,
                                       .etime_us = 2000 + i,
                                       .bytes = random_below(&rnd, 100000),
                                       .pkts = 1};
        make_path((unsigned)random_below(&rnd, PATHS), &path, &claim);
        record.claim = pd_tib_claim_kept(&claim);
        list_add(&oracle, &record);
        assert_int_equal(pd_tib_append(tib, &record, 1), 0);
        if (i % 1000 == 999) {
            assert_int_equal(pd_tib_commit(tib), 0);
        }
    }
    pd_tib_close(tib);
}

static void age(uint32_t version)
{
    struct pd_tib *tib;
    assert_int_equal(pd_tib_open(place, PD_TIB_WRITE, &(struct pd_tib_config){0}, &tib, NULL), 0);
    assert_int_equal(old_store_age((struct pd_store *)tib, version), 0);
    pd_tib_close(tib);
}

static unsigned old_blocks(struct pd_tib *tib)
{
    return old_store_blocks((struct pd_store *)tib);
}

static void print_finding(void *context, const char *finding)
{
    (void)context;
    print_error("%s\n", finding);
}

static void assert_whole(struct pd_tib *tib)
{
    const struct pd_tib_filter all = PD_TIB_FILTER_ALL;
    struct pd_tib_snapshot *snapshot;
    struct list found = {0};
    assert_int_equal(pd_tib_check(tib, print_finding, NULL), 0);
    assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
    assert_int_equal(list_scan(snapshot, &all, &found), 0);
    assert_int_equal(pd_tib_snapshot_damaged(snapshot), 0);
    pd_tib_release(snapshot);
    list_assert_equal(&found, &oracle);
    list_clear(&found);
}

static struct pd_tib *open_as(enum pd_tib_mode mode)
{
    struct pd_error error = {0};
    struct pd_tib *tib;
    if (pd_tib_open(place, mode, &(struct pd_tib_config){0}, &tib, &error)) {
        fail_msg("%s", error.text);
    }
    return tib;
}

static int setup(void **state)
{
    (void)state;
    store_make(place, sizeof place);
    fill();
    age(PD_STORE_VERSION_OLD);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    store_wipe(place);
    list_clear(&oracle);
    return 0;
}

/* ---- tests ---- */

static void test_read_as_it_is(void **state)
{
    (void)state;
    struct pd_tib *tib = open_as(PD_TIB_READ);
    assert_true(old_blocks(tib) > PATHS / 2);
    assert_whole(tib);
    pd_tib_close(tib);
}

static void test_converted(void **state)
{
    struct pd_tib_stat stat;
    unsigned calls = 0;
    (void)state;
    struct pd_tib *tib = open_as(PD_TIB_WRITE);
    for (unsigned left; (left = old_blocks(tib)) > 0; calls++) {
        assert_int_equal(pd_tib_maintain(tib, 1), 0);
        assert_true(old_blocks(tib) < left);
        if (calls == 3) {
            assert_whole(tib);
        }
    }
    assert_true(calls > 3);
    assert_int_equal(pd_tib_stat(tib, &stat), 0);
    assert_int_equal(stat.converted, stat.paths);
    assert_whole(tib);
    pd_tib_close(tib);
    tib = open_as(PD_TIB_READ);
    assert_whole(tib);
    pd_tib_close(tib);
}

/* A writer that converts and is killed at any moment; the next one goes on. */
static void test_killed(void **state)
{
    (void)state;
    for (unsigned kill_at = 0; kill_at < KILLS; kill_at++) {
        pid_t child = fork();
        if (!child) {
            struct pd_tib *tib = open_as(PD_TIB_WRITE);
            while (!pd_tib_maintain(tib, 1)) {
            }
            _exit(0);
        }
        nanosleep(&(struct timespec){.tv_nsec = (long)random_below(&rnd, 40000000)}, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        struct pd_tib *tib = open_as(PD_TIB_READ);
        assert_whole(tib);
        unsigned left = old_blocks(tib);
        pd_tib_close(tib);
        if (!left) {
            age(PD_STORE_VERSION_OLD);
        }
    }
}

static uint64_t hash_of_data(void)
{
    int fd = open(store_file(place, "data.mdb"), O_RDONLY);
    struct stat stat_of;
    assert_int_equal(fstat(fd, &stat_of), 0);
    void *bytes = malloc((size_t)stat_of.st_size);
    assert_int_equal(read(fd, bytes, (size_t)stat_of.st_size), stat_of.st_size);
    uint64_t hash = XXH3_64bits(bytes, (size_t)stat_of.st_size);
    free(bytes);
    close(fd);
    return hash;
}

static void test_newer_is_refused(void **state)
{
    struct pd_error error = {0};
    struct pd_tib *tib;
    (void)state;
    age(PD_STORE_VERSION + 1);
    uint64_t before = hash_of_data();
    for (unsigned mode = PD_TIB_READ; mode <= PD_TIB_WRITE; mode++) {
        assert_int_equal(
            pd_tib_open(place, (enum pd_tib_mode)mode, &(struct pd_tib_config){0}, &tib, &error),
            -PD_E_VERSION);
        assert_non_null(strstr(error.text, place));
    }
    assert_true(hash_of_data() == before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_read_as_it_is, setup, teardown),
        cmocka_unit_test_setup_teardown(test_converted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_newer_is_refused, setup, teardown),
    };
    rnd = (struct random){test_seed()};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

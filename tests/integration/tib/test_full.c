/* SPDX-License-Identifier: Apache-2.0 */
/* No room: on the disk (a small tmpfs in a mount namespace of this test's own) and in the map. What
 * is stored stays readable, what is lost is counted, and the store goes on when there is room. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "numbered.h"

#define COMMIT 5000u

/* Commits until the store says that it is full; what was lost is given again under the same
 * numbers. */
static uint64_t fill(struct pd_tib *tib, uint64_t next)
{
    for (unsigned i = 0; i < 500; i++) {
        int err = numbered_append(tib, next, next + COMMIT);
        err = err ? err : pd_tib_commit(tib);
        if (err) {
            assert_int_equal(err, -PD_E_FULL);
            return next;
        }
        next += COMMIT;
    }
    fail_msg("the store never got full");
    return 0;
}

/* Every record that came in is stored or counted as lost. */
static void assert_counted(struct pd_tib *tib, uint64_t stored, uint64_t lost)
{
    struct pd_tib_stat stat;
    uint64_t first, end;
    assert_int_equal(pd_tib_stat(tib, &stat), 0);
    assert_int_equal(stat.lost_full, lost);
    assert_int_equal(stat.lost_error, 0);
    assert_int_equal(stat.appended, stat.stored + stat.lost_full);
    assert_int_equal(stat.records, stored);
    assert_int_equal(numbered_range(tib, &first, &end), 0);
    assert_int_equal(first, 0);
    assert_int_equal(end, stored);
}

/* A disk of 5 MB; skips the test where mounting is not allowed. */
static void disk_make(char *at, size_t size_bytes)
{
    numbered_make(at, size_bytes);
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("tmpfs", at, "tmpfs", 0, "size=5m")) {
        int err = errno;
        rmdir(at);
        if (err != EPERM) {
            fail_msg("mount: %s", strerror(err));
        }
        print_message("NOT TESTED: mounting needs root\n");
        skip();
    }
}

static void test_disk(void **state)
{
    (void)state;
    char at[256], place[300];
    struct pd_tib *tib;
    disk_make(at, sizeof at);
    snprintf(place, sizeof place, "%s/tib", at);
    assert_int_equal(pd_tib_open(place, PD_TIB_WRITE, NULL, &tib, NULL), 0);
    uint64_t next = fill(tib, 0);
    assert_true(next > 50000);
    assert_counted(tib, next, COMMIT);
    assert_int_equal(fill(tib, next), next);
    assert_counted(tib, next, 2 * COMMIT);
    pd_tib_close(tib);

    assert_int_equal(pd_tib_open(place, PD_TIB_WRITE, NULL, &tib, NULL), 0); /* full as it is */
    assert_counted(tib, next, 0);
    assert_int_equal(fill(tib, next), next);
    assert_int_equal(mount("tmpfs", at, "tmpfs", MS_REMOUNT, "size=20m"), 0);
    uint64_t more = fill(tib, next);
    assert_true(more > next + 100000);
    assert_counted(tib, more, 2 * COMMIT);
    pd_tib_close(tib);
    numbered_wipe(place);
    assert_int_equal(umount(at), 0);
    rmdir(at);
}

/* Retention keeps a store on a small disk going for ever, and frees a disk that has become full. */
static void test_disk_retention(void **state)
{
    (void)state;
    char at[256], place[300];
    struct pd_tib *tib;
    struct pd_tib_stat stat;
    uint64_t first, end, now_us = pd_clock_wall_us();
    disk_make(at, sizeof at);
    snprintf(place, sizeof place, "%s/tib", at);
    assert_int_equal(pd_tib_open(place, PD_TIB_WRITE, NULL, &tib, NULL), 0);
    uint64_t next = fill(tib, 0);
    pd_tib_retain(tib, 1 << 20, 0);
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(pd_tib_maintain(tib, now_us), 0);
    }
    for (unsigned i = 0; i < 60; i++) {
        assert_int_equal(numbered_append(tib, next, next + COMMIT), 0);
        assert_int_equal(pd_tib_commit(tib), 0);
        next += COMMIT;
        assert_int_equal(pd_tib_maintain(tib, now_us), 0);
    }
    assert_int_equal(numbered_range(tib, &first, &end), 0);
    assert_int_equal(end, next);
    assert_int_equal(pd_tib_stat(tib, &stat), 0);
    assert_int_equal(stat.lost_full, COMMIT);
    assert_true(stat.expired > 0);
    pd_tib_close(tib);
    numbered_wipe(place);
    assert_int_equal(umount(at), 0);
    rmdir(at);
}

static void test_map(void **state)
{
    (void)state;
    char place[256];
    struct pd_tib *tib;
    struct pd_tib_config config = {.map_bytes = 5 << 20};
    numbered_make(place, sizeof place);
    assert_int_equal(pd_tib_open(place, PD_TIB_WRITE, &config, &tib, NULL), 0);
    uint64_t next = fill(tib, 0);
    assert_true(next > 50000);
    assert_counted(tib, next, COMMIT);
    pd_tib_close(tib);
    config.map_bytes = 20 << 20;
    assert_int_equal(pd_tib_open(place, PD_TIB_WRITE, &config, &tib, NULL), 0);
    uint64_t more = fill(tib, next);
    assert_true(more > next + 100000);
    assert_counted(tib, more, COMMIT);
    pd_tib_close(tib);
    numbered_wipe(place);
}

/* A full map with retention that is tighter than before: removal works without room, then records
 * go in again. */
static void test_full_map_shrinks(void **state)
{
    (void)state;
    char place[256];
    struct pd_tib *tib;
    struct pd_tib_stat stat;
    uint64_t first, end, now_us = pd_clock_wall_us();
    struct pd_tib_config config = {
        .map_bytes = 10 << 20}; /* five segments, between which the next one finds room */
    numbered_make(place, sizeof place);
    assert_int_equal(pd_tib_open(place, PD_TIB_WRITE, &config, &tib, NULL), 0);
    uint64_t next = fill(tib, 0);
    for (uint64_t small = 2000; small; small /= 2) { /* to the last page that the store takes */
        while (!numbered_append(tib, next, next + small) && !pd_tib_commit(tib)) {
            next += small;
        }
    }
    pd_tib_close(tib);
    config.max_bytes = 3 << 20;
    assert_int_equal(pd_tib_open(place, PD_TIB_WRITE, &config, &tib, NULL), 0);
    assert_int_equal(pd_tib_maintain(tib, now_us), 0);
    assert_int_equal(pd_tib_stat(tib, &stat), 0);
    assert_true(stat.expired > 0);
    assert_true(stat.bytes_used <= config.max_bytes + (1 << 20));
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(numbered_append(tib, next, next + COMMIT), 0);
        assert_int_equal(pd_tib_commit(tib), 0);
        assert_int_equal(pd_tib_maintain(tib, now_us), 0);
        next += COMMIT;
    }
    assert_int_equal(numbered_range(tib, &first, &end), 0);
    assert_int_equal(end, next);
    assert_true(first > 0);
    assert_int_equal(pd_tib_stat(tib, &stat), 0);
    assert_int_equal(stat.lost_full, 0);
    pd_tib_close(tib);
    numbered_wipe(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_full_map_shrinks),
        cmocka_unit_test(test_disk),
        cmocka_unit_test(test_disk_retention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

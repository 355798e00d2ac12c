/* SPDX-License-Identifier: Apache-2.0 */
/* Bits flipped and files cut off: whatever is damaged is found or left out, never returned wrong,
 * and nothing crashes.
 *
 * Usage: test_tib_damage [TRIALS]      of each kind; 150 if not told */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "records.h"
#include "store_files.h"

#define HOUR_US       UINT64_C(3600000000)
#define FAR_FUTURE_US UINT64_C(2000000000000000) /* later than any record */

static unsigned trials = 150;
static struct random rnd;
static struct pool pool;
static struct list oracle;
static uint8_t *good; /* bytes of the undamaged data.mdb */
static size_t good_bytes;

static void append(struct pd_tib *tib, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct pd_tib_record record = pool_record(&pool, &rnd);
        list_add(&oracle, &record);
        assert_int_equal(pd_tib_append(tib, &record, 1), 0);
    }
    assert_int_equal(pd_tib_commit(tib), 0);
}

/* Three segments, made by the hour, the first one packed, and a tail; small, so that pages of
 * LMDB's own are hit often. */
static void good_build(void)
{
    char place[256];
    struct pd_tib *tib;
    struct stat stat_of;
    store_make(place, sizeof place);
    struct pd_tib_config config = {.cold_after_s = 60};
    assert_int_equal(pd_tib_open(place, PD_TIB_WRITE, &config, &tib, NULL), 0);
    for (unsigned hour = 0; hour < 3; hour++) {
        for (unsigned i = 0; i < 4; i++) {
            append(tib, 1 + random_below(&rnd, 400));
        }
        assert_int_equal(pd_tib_maintain(tib, hour * 2 * HOUR_US), 0);
        assert_int_equal(pd_tib_maintain(tib, (hour * 2 + 1) * HOUR_US), 0);
        if (!hour) {
            assert_int_equal(pd_tib_maintain(tib, FAR_FUTURE_US), 0);
        }
    }
    for (unsigned i = 0; i < 6; i++) {
        append(tib, 1 + random_below(&rnd, 100));
    }
    pd_tib_close(tib);
    int fd = open(store_file(place, "data.mdb"), O_RDONLY);
    assert_int_equal(fstat(fd, &stat_of), 0);
    good_bytes = (size_t)stat_of.st_size;
    good = malloc(good_bytes);
    assert_int_equal(read(fd, good, good_bytes), good_bytes);
    close(fd);
    store_wipe(place);
}

static void copy_write(const char *place, const uint8_t *bytes, size_t size_bytes)
{
    int fd = open(store_file(place, "data.mdb"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, bytes, size_bytes), size_bytes);
    close(fd);
}

static void count_finding(void *context, const char *finding)
{
    assert_true(strlen(finding) > 0);
    ++*(unsigned *)context;
}

/* Everything that this store returns was stored; when it does not say so, nothing is missing. True
 * if it said so. */
static bool assert_no_lies(struct pd_tib *tib, struct list *stored)
{
    struct pd_tib_filter all = PD_TIB_FILTER_ALL;
    struct pd_tib_snapshot *snapshot;
    struct list found = {0};
    struct pd_path path;
    unsigned findings = 0;
    if (pd_tib_snapshot(tib, &snapshot)) {
        return true;
    }
    int err = list_scan(snapshot, &all, &found);
    bool damaged = err || pd_tib_snapshot_damaged(snapshot);
    list_assert_within(&found, stored);
    if (!damaged) {
        assert_int_equal(found.len, stored->len);
    }
    list_clear(&found);
    for (unsigned i = 0; i < 5; i++) {
        struct list wanted = {0};
        struct pd_tib_filter filter = pool_filter(&pool, &rnd, &path);
        list_select(stored, &filter, &wanted);
        damaged |= list_scan(snapshot, &filter, &found) != 0;
        list_assert_within(&found, &wanted);
        if (!damaged) {
            assert_int_equal(found.len, wanted.len);
        }
        list_clear(&found);
        list_clear(&wanted);
    }
    pd_tib_release(snapshot);
    err = pd_tib_check(tib, count_finding, &findings);
    assert_int_equal(err != 0, damaged);
    if (err == -PD_E_CORRUPT) {
        assert_true(findings > 0);
    }
    return damaged;
}

/* The error of opening says where; a store that opens does not lie. */
static bool trial_read(const char *place)
{
    struct pd_tib *tib;
    struct pd_error error = {0};
    if (pd_tib_open(place, PD_TIB_READ, NULL, &tib, &error)) {
        assert_non_null(strstr(error.text, "data.mdb"));
        return true;
    }
    bool damaged = assert_no_lies(tib, &oracle);
    pd_tib_close(tib);
    return damaged;
}

/* A writer goes on with it, or refuses; what it adds is there afterwards, what was there is not
 * made worse. */
static void trial_write(const char *place)
{
    struct pd_tib *tib;
    size_t stored = oracle.len, before = 0, after = 0;
    struct pd_tib_stat stat;
    if (pd_tib_open(place, PD_TIB_WRITE, NULL, &tib, NULL)) {
        return;
    }
    if (!pd_tib_stat(tib, &stat)) {
        before = stat.records;
    }
    struct pd_tib_record record = pool_record(&pool, &rnd);
    struct list more = {0};
    for (size_t i = 0; i < stored; i++) {
        list_add(&more, &oracle.records[i]);
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(pd_tib_append(tib, &record, 1), 0);
        assert_int_equal(pd_tib_commit(tib), 0);
        list_add(&more, &record);
    }
    assert_int_equal(pd_tib_maintain(tib, 10 * HOUR_US), 0);
    assert_int_equal(pd_tib_maintain(tib, 11 * HOUR_US), 0);
    assert_no_lies(tib, &more);
    pd_tib_close(tib);
    assert_int_equal(pd_tib_open(place, PD_TIB_READ, NULL, &tib, NULL), 0);
    assert_no_lies(tib, &more);
    if (!pd_tib_stat(tib, &stat)) {
        after = stat.records;
    }
    assert_int_equal(after, before + 3);
    pd_tib_close(tib);
    list_clear(&more);
}

static void test_flips(void **state)
{
    (void)state;
    char place[256];
    unsigned found = 0;
    uint8_t *spoiled = malloc(good_bytes);
    store_make(place, sizeof place);
    for (unsigned i = 0; i < trials; i++) {
        size_t bit = random_below(&rnd, good_bytes * 8);
        if (i % 4 == 0) { /* the meta pages, which decide on everything */
            bit = random_below(&rnd, 2) * 4096 * 8 + random_below(&rnd, 160 * 8);
        }
        memcpy(spoiled, good, good_bytes);
        spoiled[bit / 8] ^= (uint8_t)(1 << bit % 8);
        copy_write(place, spoiled, good_bytes);
        found += trial_read(place);
        copy_write(place, spoiled, good_bytes);
        trial_write(place);
    }
    print_message("%u of %u flips found, the others in unused bytes\n", found, trials);
    assert_true(found > trials / 10);
    store_wipe(place);
    free(spoiled);
}

/* The number that says which of the two meta pages counts: no flip of it goes unseen. */
static void test_commit_numbers(void **state)
{
    (void)state;
    char place[256];
    uint8_t *spoiled = malloc(good_bytes);
    store_make(place, sizeof place);
    for (size_t page = 0; page < 2; page++) {
        for (size_t bit = 144 * 8; bit < 152 * 8; bit++) {
            memcpy(spoiled, good, good_bytes);
            spoiled[page * 4096 + bit / 8] ^= (uint8_t)(1 << bit % 8);
            copy_write(place, spoiled, good_bytes);
            assert_true(trial_read(place));
        }
    }
    store_wipe(place);
    free(spoiled);
}

/* Where the trees begin, as of the meta pages. A root of some commits ago is whole, and may lead to
 * records of today. */
static void test_roots(void **state)
{
    (void)state;
    const size_t roots[] = {80, 128};
    char place[256];
    uint8_t *spoiled = malloc(good_bytes);
    store_make(place, sizeof place);
    for (unsigned i = 0; i < 2 * 2 * 12; i++) {
        size_t bit = (i % 2 * 4096 + roots[i / 2 % 2]) * 8 + i / 4;
        memcpy(spoiled, good, good_bytes);
        spoiled[bit / 8] ^= (uint8_t)(1 << bit % 8);
        copy_write(place, spoiled, good_bytes);
        trial_read(place);
    }
    store_wipe(place);
    free(spoiled);
}

static void test_truncations(void **state)
{
    (void)state;
    char place[256];
    store_make(place, sizeof place);
    for (unsigned i = 0; i < trials; i++) {
        copy_write(place, good, i ? random_below(&rnd, good_bytes) : 0);
        trial_read(place);
        trial_write(place);
    }
    store_wipe(place);
}

/* A damaged segment is left out and named; the others are read. */
static void test_damaged_segment(void **state)
{
    (void)state;
    static const uint8_t magic[4] = {'P', 'D', 'S', 'G'};
    char place[256];
    struct pd_tib *tib;
    struct pd_tib_snapshot *snapshot;
    struct pd_tib_filter all = PD_TIB_FILTER_ALL;
    struct list found = {0};
    unsigned findings = 0;
    size_t at = good_bytes - 4096;
    uint8_t *spoiled = malloc(good_bytes);
    memcpy(spoiled, good, good_bytes);
    while (memcmp(spoiled + at + 16, magic, sizeof magic) != 0) {
        at -= 4096;
    }
    spoiled[at + 16 + 600] ^= 1;
    store_make(place, sizeof place);
    copy_write(place, spoiled, good_bytes);
    assert_int_equal(pd_tib_open(place, PD_TIB_READ, NULL, &tib, NULL), 0);
    assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
    assert_int_equal(list_scan(snapshot, &all, &found), 0);
    if (pd_tib_snapshot_damaged(snapshot)) { /* the last one in the file may be free by now */
        assert_int_equal(pd_tib_snapshot_damaged(snapshot), 1);
        assert_in_range(found.len, 1, oracle.len - 1);
        assert_int_equal(pd_tib_check(tib, count_finding, &findings), -PD_E_CORRUPT);
        assert_int_equal(findings, 1);
    }
    list_assert_within(&found, &oracle);
    pd_tib_release(snapshot);
    pd_tib_close(tib);
    list_clear(&found);
    store_wipe(place);
    free(spoiled);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damaged_segment), cmocka_unit_test(test_flips),
        cmocka_unit_test(test_commit_numbers),  cmocka_unit_test(test_roots),
        cmocka_unit_test(test_truncations),
    };
    if (argc > 1) {
        trials = (unsigned)strtoul(argv[1], NULL, 10);
    }
    rnd.state = test_seed();
    pool_init(&pool, &rnd);
    good_build();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    list_clear(&oracle);
    free(good);
    return failed;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A store of version 2 as large as hosts have them: readable at once, converted beside the writer's
 * work within a minute of processor time, and whole after writers were killed at any moment.
 *
 * Usage: test_tib_convert_large [RECORDS [KILLS]]      100,000 and 5 if not told; prints one line
 * of JSON. 24,000,000 records need 1 GB under TMPDIR (or /tmp). */
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "codec/tagging/mark.h"
#include "tests/bench/tib_load/dataset.h"
#include "tests/shared/random.h"
#include "tests/unit/tib/old_store.h"
#include "tests/unit/tib/store_files.h"

#define CONVERSION_CPU_S_MAX 60.0
#define INFEASIBLE_EVERY     1000u /* records; their trajectories are what is converted */
#define COMMIT_EVERY         20000u

static uint64_t records = 100000;
static unsigned kills = 5;
static char place[256];

struct sums {
    uint64_t records, bytes, pkts;
};
static struct sums loaded;

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
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

/* ---- making it ---- */

static void append(struct pd_tib *tib, struct dataset *dataset, uint64_t i)
{
    struct pd_path path;
    struct pd_claim claim = {.path = &path, .state = PD_CLAIM_INFEASIBLE};
    struct pd_tib_record record;
    dataset_next(dataset, &path, &record);
    if (i % INFEASIBLE_EVERY == 0) {
        path.len = 0;
        claim.mark = pd_tagging_mark((uint16_t[]){(uint16_t)(1 + i / INFEASIBLE_EVERY % 4000), 9},
                                     2, (uint8_t)(i % 7));
        record.path = &path;
        record.claim = &claim;
    }
    loaded.bytes += record.bytes;
    loaded.pkts += record.pkts;
    assert_int_equal(pd_tib_append(tib, &record, 1), 0);
}

static void fill(void)
{
    struct dataset dataset;
    struct pd_tib *tib = open_as(PD_TIB_WRITE);
    assert_int_equal(dataset_init(&dataset, test_seed(), 240000 / 3600.0), 0);
    for (uint64_t i = 0; i < records; i++) {
        append(tib, &dataset, i);
        if (i % COMMIT_EVERY == COMMIT_EVERY - 1) {
            assert_int_equal(pd_tib_commit(tib), 0);
        }
    }
    loaded.records = records;
    assert_int_equal(pd_tib_commit(tib), 0);
    pd_tib_close(tib);
    dataset_done(&dataset);
}

static void age(void)
{
    struct pd_tib *tib = open_as(PD_TIB_WRITE);
    assert_int_equal(old_store_age((struct pd_store *)tib, PD_STORE_VERSION_OLD), 0);
    pd_tib_close(tib);
}

/* ---- asking it ---- */

static int add(void *context, const struct pd_tib_record *found, size_t n)
{
    struct sums *sums = context;
    sums->records += n;
    for (size_t i = 0; i < n; i++) {
        sums->bytes += found[i].bytes;
        sums->pkts += found[i].pkts;
    }
    return 0;
}

/* All of it is read, with the checksums of all chunks. Returns how long opening took. */
static double assert_whole(void)
{
    const struct pd_tib_filter all = PD_TIB_FILTER_ALL;
    struct pd_tib_snapshot *snapshot;
    struct sums sums = {0};
    double begin_s = now_s(), open_s;
    struct pd_tib *tib = open_as(PD_TIB_READ);
    assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
    open_s = now_s() - begin_s;
    assert_int_equal(pd_tib_scan(snapshot, &all, add, &sums), 0);
    assert_int_equal(pd_tib_snapshot_damaged(snapshot), 0);
    pd_tib_release(snapshot);
    pd_tib_close(tib);
    assert_memory_equal(&sums, &loaded, sizeof sums);
    return open_s;
}

static unsigned blocks_left(void)
{
    struct pd_tib *tib = open_as(PD_TIB_READ);
    unsigned left = old_store_blocks((struct pd_store *)tib);
    pd_tib_close(tib);
    return left;
}

/* ---- converting it ---- */

/* A writer that does nothing but its upkeep, until nothing is left or it is killed. */
static pid_t convert(void)
{
    pid_t child = fork();
    if (child) {
        return child;
    }
    struct pd_tib *tib = open_as(PD_TIB_WRITE);
    while (old_store_blocks((struct pd_store *)tib)) {
        if (pd_tib_maintain(tib, 1)) {
            _exit(1);
        }
    }
    pd_tib_close(tib);
    _exit(0);
}

/* *ret_wall_s: how long it took undisturbed. Returns its processor time. */
static double convert_all(double *ret_wall_s)
{
    struct rusage usage;
    double begin_s = now_s();
    pid_t child = convert();
    int status;
    assert_int_equal(wait4(child, &status, 0, &usage), child);
    assert_int_equal(status, 0);
    *ret_wall_s = now_s() - begin_s;
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void kill_within(double most_s, struct random *rnd)
{
    uint64_t ns = (uint64_t)(most_s * 1e9);
    pid_t child = convert();
    ns = random_below(rnd, ns + 1);
    nanosleep(&(struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)}, NULL);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void test_large(void **state)
{
    struct random rnd = {test_seed()};
    unsigned interrupted = 0;
    double wall_s;
    (void)state;
    fill();
    age();
    double open_s = assert_whole(), cpu_s = convert_all(&wall_s);
    assert_int_equal(blocks_left(), 0);
    assert_true(cpu_s <= CONVERSION_CPU_S_MAX);
    for (unsigned i = 0; i < kills; i++) {
        age();
        kill_within(wall_s, &rnd);
        interrupted += blocks_left() != 0;
        assert_whole();
    }
    convert_all(&wall_s);
    assert_whole();
    printf("{\"records\":%" PRIu64 ",\"open_ms\":%.1f,\"convert_cpu_s\":%.2f,\"kills\":%u,"
           "\"interrupted\":%u}\n",
           records, open_s * 1e3, cpu_s, kills, interrupted);
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
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_large, setup, teardown)};
    records = argc > 1 ? strtoull(argv[1], NULL, 10) : records;
    kills = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : kills;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

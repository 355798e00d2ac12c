/* SPDX-License-Identifier: Apache-2.0 */
/* Writers killed at any moment: what was acknowledged is there, in order and whole, and nothing
 * else than its continuation.
 *
 * Usage: test_tib_kill [--rounds N]      30 if not told */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "numbered.h"
#include "tests/shared/random.h"

#define NEW_STORE_AFTER 250000u /* records */
#define HOUR_US         UINT64_C(3600000000)

static unsigned rounds = 30;

#define PHASES(X) X(open) X(append) X(commit) X(upkeep) X(compaction)
enum phase {
#define X(name) PHASE_##name,
    PHASES(X)
#undef X
        PHASE_COUNT
};
static const char *const phase_names[] = {
#define X(name) #name,
    PHASES(X)
#undef X
};
static volatile int *phase; /* what the writer is at: shared with it */

/* The child: appends from `next` on, tells each commit that returned 0, until it is killed. Now and
 * then a clock that runs ahead by an hour makes it seal the tail and pack what has become cold;
 * retention runs where there is a limit; sometimes the whole store is compacted. */
static void write_until_killed(const char *place, uint64_t next, uint64_t seed,
                               const struct pd_tib_config *config, int acknowledge_fd)
{
    struct pd_tib *tib;
    struct pd_error error = {0};
    uint64_t clock_us = UINT64_C(1790000000000000);
    *phase = PHASE_open;
    if (pd_tib_open(place, PD_TIB_WRITE, config, &tib, &error)) {
        fprintf(stderr, "%s\n", error.text);
        _exit(1);
    }
    for (;;) {
        uint64_t kind = pd_splitmix64(&seed);
        uint64_t len = kind & 1 ? 1 + pd_splitmix64(&seed) % 20 : 1 + pd_splitmix64(&seed) % 25000;
        *phase = PHASE_append;
        if (numbered_append(tib, next, next + len)) {
            _exit(2);
        }
        *phase = PHASE_commit;
        if (pd_tib_commit(tib)) {
            _exit(2);
        }
        next += len;
        if (write(acknowledge_fd, &next, sizeof next) != sizeof next) {
            _exit(3);
        }
        if (kind >> 1 & 1) {
            clock_us += HOUR_US;
        }
        *phase = PHASE_upkeep;
        if (pd_tib_maintain(tib, clock_us)) {
            _exit(4);
        }
        *phase = PHASE_compaction;
        if ((kind >> 2 & 7) == 0 && pd_tib_compact(tib, NULL, NULL)) {
            _exit(5);
        }
    }
}

/* One life of a writer; returns the last acknowledged end. */
static uint64_t run_and_kill(const char *place, uint64_t next, uint64_t *seed,
                             const struct pd_tib_config *config)
{
    int ends[2], status;
    uint64_t acknowledged = next, told;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        write_until_killed(place, next, *seed, config, ends[1]);
    }
    close(ends[1]);
    usleep((useconds_t)(pd_splitmix64(seed) % (pd_splitmix64(seed) % 3 ? 120000 : 10000)));
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status)); /* it did not give up by itself */
    while (read(ends[0], &told, sizeof told) == sizeof told) {
        acknowledged = told;
    }
    close(ends[0]);
    return acknowledged;
}

static void fail_on_finding(void *context, const char *finding)
{
    (void)context;
    fail_msg("%s", finding);
}

/* Opens what a killed writer left. */
static void examine(const char *place, uint64_t *ret_first, uint64_t *ret_end)
{
    struct pd_tib *tib;
    struct pd_error error = {0};
    int err = pd_tib_open(place, PD_TIB_READ, NULL, &tib, &error);
    if (err == -PD_E_NOT_FOUND) { /* killed before it made the first file */
        assert_int_equal(rmdir(place), 0);
        *ret_first = *ret_end = 0;
        return;
    }
    if (err) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(numbered_range(tib, ret_first, ret_end), 0);
    assert_int_equal(pd_tib_check(tib, fail_on_finding, NULL), 0);
    pd_tib_close(tib);
}

static void test_kill(void **state)
{
    (void)state;
    char place[256];
    uint64_t seed = test_seed();
    uint64_t stored = 0, lost_most = 0, killed_at = 0;
    unsigned killed_in[PHASE_COUNT] = {0};
    struct pd_tib_config config = {.cold_after_s = 3600};
    phase = mmap(NULL, sizeof *phase, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(phase, MAP_FAILED);
    numbered_make(place, sizeof place);
    for (unsigned round = 0; round < rounds; round++) {
        uint64_t first, end;
        uint64_t acknowledged = run_and_kill(place, stored, &seed, &config);
        killed_in[*phase]++;
        examine(place, &first, &end);
        assert_true(end >= acknowledged); /* one commit may have become durable and not been told */
        assert_true(end <= acknowledged + 25000);
        assert_true(first == 0 || config.max_bytes);
        lost_most = end - acknowledged > lost_most ? end - acknowledged : lost_most;
        killed_at += end;
        stored = end;
        if (stored >
            NEW_STORE_AFTER) { /* and from then on, every other store has retention at work */
            numbered_wipe(place);
            numbered_make(place, sizeof place);
            stored = 0;
            config.max_bytes = config.max_bytes ? 0 : 3 << 20;
        }
    }
    print_message("%u writers killed; at most %llu records were durable and not yet acknowledged\n",
                  rounds, (unsigned long long)lost_most);
    for (unsigned i = 0; i < PHASE_COUNT; i++) {
        print_message("    %u in %s\n", killed_in[i], phase_names[i]);
    }
    munmap((void *)phase, sizeof *phase);
    assert_true(killed_at > 0);
    numbered_wipe(place);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kill)};
    if (argc == 3 && !strcmp(argv[1], "--rounds")) {
        rounds = (unsigned)strtoul(argv[2], NULL, 10);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

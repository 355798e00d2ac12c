/* SPDX-License-Identifier: Apache-2.0 */
/* A writer and a reader of numbered records in a shared store, for tests that cut, stall and kill
 * what lies between them and the server.
 *
 * numbered_store write LOCATION SPOOL HOST FIRST END BATCH MS
 *     commits BATCH records at a time, MS apart; "committed N" for each commit; "spooled N" at
 *     last, when the store was closed
 * numbered_store read LOCATION
 *     "FIRST END" when each record is there once and whole
 * numbered_store count LOCATION
 *     number of records, over all hosts
 * numbered_store speed LOCATION SPOOL HOST N
 *     seconds until the server has N records
 *
 * Exit 0; 1: the words on stderr say why. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/integration/tib/numbered.h"

static struct pd_tib *open_store(const char *location, enum pd_tib_mode mode, const char *spool,
                                 const char *host)
{
    struct pd_tib *tib = NULL;
    struct pd_error error = {0};
    const char *most = getenv("SPOOL_BYTES");
    struct pd_tib_config config = {.spool = spool,
                                   .host_id = host ? (uint32_t)strtoul(host, NULL, 10) : 0,
                                   .spool_bytes = most ? strtoull(most, NULL, 10) : 0};
    if (pd_tib_open(location, mode, &config, &tib, &error)) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    return tib;
}

static void say_state(struct pd_tib *tib)
{
    struct pd_tib_stat stat;
    if (pd_tib_stat(tib, &stat)) {
        return;
    }
    printf("spooled %llu lost %llu errors %llu\n", (unsigned long long)stat.spooled,
           (unsigned long long)(stat.lost_full + stat.lost_error),
           (unsigned long long)stat.server_errors);
    fflush(stdout);
}

static int run_write(char **words)
{
    uint64_t first = strtoull(words[3], NULL, 10), end = strtoull(words[4], NULL, 10);
    uint64_t batch = strtoull(words[5], NULL, 10), slowest_ms = 0;
    unsigned pause_ms = (unsigned)strtoul(words[6], NULL, 10);
    int err = 0;
    struct pd_tib *tib = open_store(words[0], PD_TIB_WRITE, words[1], words[2]);
    for (uint64_t at = first; at < end; at += batch) {
        uint64_t to = at + batch < end ? at + batch : end, start_ns = pd_clock_monotonic_ns(), ms;
        int failed = numbered_append(tib, at, to);
        failed = failed ? failed : pd_tib_commit(tib);
        ms = (pd_clock_monotonic_ns() - start_ns) / PD_NS_PER_MS;
        slowest_ms = ms > slowest_ms ? ms : slowest_ms;
        if (failed) {
            fprintf(stderr, "commit: %s\n", pd_error_text(failed));
            err = 1;
        } else {
            printf("committed %llu\n", (unsigned long long)to);
            fflush(stdout);
        }
        usleep(pause_ms * 1000);
    }
    say_state(tib);
    printf("slowest %llu\n", (unsigned long long)slowest_ms);
    pd_tib_close(tib);
    return err;
}

static int run_read(char **words)
{
    uint64_t first = 0, end = 0;
    struct pd_tib *tib = open_store(words[0], PD_TIB_READ, NULL, NULL);
    int failed = numbered_range(tib, &first, &end);
    if (!failed) {
        printf("%llu %llu\n", (unsigned long long)first, (unsigned long long)end);
    }
    pd_tib_close(tib);
    return failed ? 1 : 0;
}

static int run_count(char **words)
{
    struct pd_tib_stat stat = {0};
    struct pd_tib *tib = open_store(words[0], PD_TIB_READ, NULL, NULL);
    int failed = pd_tib_stat(tib, &stat);
    if (failed) {
        fprintf(stderr, "%s\n", pd_error_text(failed));
    } else {
        printf("%llu\n", (unsigned long long)stat.records);
    }
    pd_tib_close(tib);
    return failed ? 1 : 0;
}

static int run_speed(char **words)
{
    uint64_t records = strtoull(words[3], NULL, 10), start_ns;
    struct pd_tib_stat stat = {.spooled = 1};
    struct pd_tib *tib = open_store(words[0], PD_TIB_WRITE, words[1], words[2]);
    start_ns = pd_clock_monotonic_ns();
    int failed = numbered_append(tib, 0, records);
    failed = failed ? failed : pd_tib_commit(tib);
    double committed_s = (double)(pd_clock_monotonic_ns() - start_ns) / 1e9;
    while (!failed && !(failed = pd_tib_stat(tib, &stat)) && stat.spooled) {
        usleep(5000);
    }
    double sent_s = (double)(pd_clock_monotonic_ns() - start_ns) / 1e9;
    printf("{\"records\":%llu,\"spool_per_s\":%.0f,\"server_per_s\":%.0f}\n",
           (unsigned long long)records, (double)records / committed_s, (double)records / sent_s);
    pd_tib_close(tib);
    return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int words;
        int (*run)(char **words);
    } verbs[] = {{"write", 7, run_write},
                 {"read", 1, run_read},
                 {"count", 1, run_count},
                 {"speed", 4, run_speed}};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (argc == verbs[i].words + 2 && !strcmp(argv[1], verbs[i].name)) {
            return verbs[i].run(argv + 2);
        }
    }
    fprintf(stderr, "usage: see the head of the source\n");
    return 2;
}

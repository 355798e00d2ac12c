/* SPDX-License-Identifier: Apache-2.0 */
/* Benchmark: records per second into an empty TIB with an fsync per commit, and bytes per record on
 * disk. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "dataset.h"

#define BATCH 64u /* records of one append, as an intake's burst gives them */

struct result {
    double records_per_s;
    double bytes_per_record; /* all blocks of all files of the directory */
    struct pd_tib_stat stat;
};

static const char *const files[] = {"data.mdb", "lock.mdb", "writer.lock"};

static uint64_t disk_bytes(const char *directory)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char name[512];
        struct stat stat_of;
        snprintf(name, sizeof name, "%s/%s", directory, files[i]);
        if (!stat(name, &stat_of)) {
            bytes += (uint64_t)stat_of.st_blocks * 512;
        }
    }
    return bytes;
}

static void wipe(const char *directory)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char name[512];
        snprintf(name, sizeof name, "%s/%s", directory, files[i]);
        unlink(name);
    }
    rmdir(directory);
}

/* Appends all records; commits each second, as the daemon does, besides those of the full buffer.
 */
static int fill(struct pd_tib *tib, const struct pd_tib_record *records, size_t len)
{
    uint64_t next_ns = pd_clock_monotonic_ns() + PD_NS_PER_S;
    int err = 0;
    for (size_t i = 0; i < len && !err; i += BATCH) {
        err = pd_tib_append(tib, records + i, len - i < BATCH ? len - i : BATCH);
        if (!err && pd_clock_monotonic_ns() >= next_ns) {
            err = pd_tib_commit(tib);
            next_ns += PD_NS_PER_S;
        }
    }
    return err ? err : pd_tib_commit(tib);
}

static int load(const char *parent, const struct pd_tib_record *records, size_t len,
                struct result *ret_result)
{
    char directory[256];
    struct pd_tib *tib;
    struct pd_error error;
    snprintf(directory, sizeof directory, "%s/tib-load-XXXXXX", parent);
    if (!mkdtemp(directory) || pd_tib_open(directory, PD_TIB_WRITE, NULL, &tib, &error)) {
        fprintf(stderr, "tib_load: cannot make a TIB in %s\n", parent);
        return -1;
    }
    uint64_t from_ns = pd_clock_monotonic_ns();
    int err = fill(tib, records, len);
    double seconds = (double)(pd_clock_monotonic_ns() - from_ns) / 1e9;
    err = err ? err : pd_tib_stat(tib, &ret_result->stat);
    pd_tib_close(tib);
    ret_result->records_per_s = (double)len / seconds;
    ret_result->bytes_per_record = (double)disk_bytes(directory) / (double)len;
    if (err || ret_result->stat.records != len) {
        fprintf(stderr, "tib_load: %llu of %zu records stored: %s\n",
                (unsigned long long)ret_result->stat.records, len, pd_error_text(err));
    }
    wipe(directory);
    return err || ret_result->stat.records != len ? -1 : 0;
}

static struct pd_tib_record *make(size_t len, struct pd_path **ret_paths)
{
    struct dataset dataset;
    struct pd_tib_record *records = calloc(len, sizeof *records);
    struct pd_path *paths = calloc(len, sizeof *paths);
    /* An hour's records at 240K, as the paper has it. */
    if (!records || !paths || dataset_init(&dataset, 1, 240000 / 3600.0)) {
        return NULL;
    }
    for (size_t i = 0; i < len; i++) {
        dataset_next(&dataset, &paths[i], &records[i]);
    }
    dataset_done(&dataset);
    *ret_paths = paths;
    return records;
}

static int compare(const void *a, const void *b)
{
    const struct result *ra = a, *rb = b;
    return (ra->records_per_s > rb->records_per_s) - (ra->records_per_s < rb->records_per_s);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"records", required_argument, NULL, 'n'},
                                            {"runs", required_argument, NULL, 'r'},
                                            {"directory", required_argument, NULL, 'd'},
                                            {0}};
    size_t len = 240000, runs = 5;
    const char *parent = "/tmp";
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'n') {
            len = strtoull(optarg, NULL, 10);
        } else if (option == 'r') {
            runs = strtoull(optarg, NULL, 10);
        } else if (option == 'd') {
            parent = optarg;
        }
    }
    struct result results[32];
    struct pd_path *paths;
    struct pd_tib_record *records = len ? make(len, &paths) : NULL;
    if (!records || !runs || runs > 32 || optind != argc) {
        fprintf(stderr, "usage: tib_load [--records N] [--runs 1..32] [--directory DIR]\n");
        return 2;
    }
    for (size_t i = 0; i < runs; i++) {
        if (load(parent, records, len, &results[i])) {
            return 1;
        }
    }
    qsort(results, runs, sizeof *results, compare);
    const struct result *median = &results[runs / 2];
    printf("{\"bench\":\"tib_load\",\"records\":%zu,\"runs\":%zu,\"records_per_s\":%.0f,\"bytes_"
           "per_record\":%.2f,"
           "\"bytes_used_per_record\":%.2f,\"paths\":%llu,\"segments\":%llu,\"commits\":%llu}\n",
           len, runs, median->records_per_s, median->bytes_per_record,
           (double)median->stat.bytes_used / (double)len, (unsigned long long)median->stat.paths,
           (unsigned long long)median->stat.segments, (unsigned long long)median->stat.commits);
    free(records);
    free(paths);
    return 0;
}

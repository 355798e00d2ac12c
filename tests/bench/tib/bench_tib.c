/* SPDX-License-Identifier: Apache-2.0 */
/* Benchmark of the TIB: load, size on disk, each question warm and cold, a reader beside the
 * writer, and the same questions elsewhere. */
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "bench.h"

/* One JSON object a line. Times are of the wall clock, on a machine that should have nothing else
 * to do. A question is asked of a store that was just closed, whose pages were dropped from the
 * page cache (cold: with opening and the check of all checksums), and then again and again (warm: a
 * snapshot, the answer, its release). */

#define BATCH 20000u /* records that are made, then timed */

void die(const char *what)
{
    fprintf(stderr, "bench_tib: %s\n", what);
    exit(1);
}

double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Of this thread: what else the machine does stays out of it, except for caches and memory. */
static double cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* ---- samples ---- */

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double percentile(double *ms, size_t len, double part)
{
    qsort(ms, len, sizeof *ms, compare);
    return ms[(size_t)((double)(len - 1) * part)];
}

void sample(void (*ask_it)(void *context, unsigned round), void *context,
            struct samples *ret_samples)
{
    double end_ms = now_ms() + 1500;
    unsigned round = 0;
    ret_samples->len = 0;
    ask_it(context, round++);
    while (ret_samples->len < SAMPLES_MAX && (ret_samples->len < 7 || now_ms() < end_ms)) {
        double begin_cpu_ms = cpu_ms(), begin_ms = now_ms();
        ask_it(context, round++);
        ret_samples->ms[ret_samples->len] = now_ms() - begin_ms;
        ret_samples->cpu_ms[ret_samples->len++] = cpu_ms() - begin_cpu_ms;
    }
}

double memory_gbps(void)
{
    const size_t words = (256u << 20) / 8;
    uint64_t *memory = malloc(words * 8);
    double best_ms = 1e9;
    if (!memory) {
        die("no memory");
    }
    memset(memory, 1, words * 8);
    for (int round = 0; round < 5; round++) {
        uint64_t sum[4] = {0};
        double begin_ms = now_ms();
        for (size_t i = 0; i < words; i += 4) {
            for (size_t j = 0; j < 4; j++) {
                sum[j] += memory[i + j];
            }
        }
        double ms = now_ms() - begin_ms;
        if (sum[0] + sum[1] + sum[2] + sum[3] && ms < best_ms) {
            best_ms = ms;
        }
    }
    free(memory);
    return (double)words * 8 / best_ms / 1e6;
}

/* ---- data ---- */

void generate(uint64_t records,
              void (*each)(void *context, const struct pd_tib_record *records, size_t n),
              void *context, double *ret_each_s)
{
    struct dataset dataset;
    struct pd_tib_record *batch = malloc(BATCH * sizeof *batch);
    struct pd_path *paths = malloc(BATCH * sizeof *paths);
    double each_ms = 0;
    if (!batch || !paths || dataset_init(&dataset, 1, RECORDS_PER_S)) {
        die("no memory");
    }
    for (uint64_t made = 0; made < records;) {
        size_t n = 0;
        for (; n < BATCH && made < records; n++, made++) {
            dataset_next(&dataset, &paths[n], &batch[n]);
        }
        double begin_ms = now_ms();
        each(context, batch, n);
        each_ms += now_ms() - begin_ms;
    }
    dataset_done(&dataset);
    free(batch);
    free(paths);
    *ret_each_s = each_ms / 1e3;
}

struct loading {
    struct pd_tib *tib;
    struct data *data;
    uint64_t loaded;
    double next_commit_ms;
};

static void note(struct data *data, uint64_t i, const struct pd_tib_record *record)
{
    uint64_t every = data->records / FLOWS_ASKED + 1;
    if (i % every == 0) {
        data->flows[i / every] = record->flow;
    }
    data->span_us = record->stime_us - START_US;
}

static void load_batch(void *context, const struct pd_tib_record *records, size_t n)
{
    struct loading *loading = context;
    for (size_t i = 0; i < n; i += 64) {
        if (pd_tib_append(loading->tib, records + i, n - i < 64 ? n - i : 64)) {
            die("append");
        }
        if (now_ms() >= loading->next_commit_ms) {
            if (pd_tib_commit(loading->tib)) {
                die("commit");
            }
            loading->next_commit_ms = now_ms() + 1000;
        }
    }
    for (size_t i = 0; i < n; i++) {
        note(loading->data, loading->loaded++, &records[i]);
    }
}

static uint64_t disk_bytes(const char *directory)
{
    char name[512];
    struct stat stat_of;
    snprintf(name, sizeof name, "%s/data.mdb", directory);
    return stat(name, &stat_of) ? 0 : (uint64_t)stat_of.st_blocks * 512;
}

static struct pd_tib *open_tib(const char *directory, enum pd_tib_mode mode, uint64_t cold_after_s)
{
    struct pd_tib_config config = {.cold_after_s = cold_after_s};
    struct pd_error error;
    struct pd_tib *tib;
    if (pd_tib_open(directory, mode, &config, &tib, &error)) {
        die(error.text);
    }
    return tib;
}

static void note_batch(void *context, const struct pd_tib_record *records, size_t n)
{
    struct loading *loading = context;
    for (size_t i = 0; i < n; i++) {
        note(loading->data, loading->loaded++, &records[i]);
    }
}

/* The store of an earlier run that kept it. */
static void load_again(struct data *data)
{
    struct loading loading = {.data = data};
    double seconds;
    generate(data->records, note_batch, &loading, &seconds);
}

static void load(const char *directory, struct data *data)
{
    struct loading loading = {.data = data, .tib = open_tib(directory, PD_TIB_WRITE, 0)};
    struct pd_tib_stat stat;
    double seconds;
    generate(data->records, load_batch, &loading, &seconds);
    double begin_ms = now_ms();
    if (pd_tib_commit(loading.tib) || pd_tib_stat(loading.tib, &stat) ||
        stat.records != data->records) {
        die("load");
    }
    seconds += (now_ms() - begin_ms) / 1e3;
    pd_tib_close(loading.tib);
    printf("{\"records\":%" PRIu64 ",\"load\":\"fsync each second\",\"records_per_s\":%.0f,"
           "\"bytes_per_record\":%.2f,\"bytes_used_per_record\":%.2f,\"paths\":%" PRIu64
           ",\"segments\":%" PRIu64 "}\n",
           data->records, (double)data->records / seconds,
           (double)disk_bytes(directory) / (double)data->records,
           (double)stat.bytes_used / (double)data->records, stat.paths, stat.segments);
}

/* ---- questions ---- */

static void drop_pages(const char *directory)
{
    char name[512];
    snprintf(name, sizeof name, "%s/data.mdb", directory);
    int fd = open(name, O_RDONLY);
    if (fd < 0 || fdatasync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED)) {
        die(name);
    }
    close(fd);
}

struct asking {
    struct pd_tib *tib;
    const struct data *data;
    enum question question;
    size_t rows;
};

static void ask_once(void *context, unsigned round)
{
    struct asking *asking = context;
    asking->rows = ask(asking->tib, asking->data, asking->question, round);
}

static double ask_cold(const char *directory, const struct data *data, enum question question)
{
    drop_pages(directory);
    double begin_ms = now_ms();
    struct pd_tib *tib = open_tib(directory, PD_TIB_READ, 0);
    ask(tib, data, question, 0);
    double ms = now_ms() - begin_ms;
    pd_tib_close(tib);
    return ms;
}

static void bench_questions(const char *directory, const struct data *data, bool cold, double gbps)
{
    static struct samples samples;
    double cold_ms[QUESTIONS] = {0};
    for (enum question q = 0; cold && q < QUESTIONS; q++) {
        cold_ms[q] = ask_cold(directory, data, q);
    }
    struct pd_tib *tib = open_tib(directory, PD_TIB_READ, 0);
    for (enum question q = 0; q < QUESTIONS; q++) {
        if (data->only >= 0 && (int)q != data->only) {
            continue;
        }
        struct asking asking = {tib, data, q, 0};
        sample(ask_once, &asking, &samples);
        uint64_t bytes = bytes_touched(tib, q, asking.rows);
        double p50_ms = percentile(samples.ms, samples.len, 0.5),
               limit_ms = (double)bytes / gbps / 1e6;
        printf("{\"records\":%" PRIu64 ",\"query\":\"%s\",\"rows\":%zu,\"p50_ms\":%.4f,"
               "\"p99_ms\":%.4f,\"cpu_p50_ms\":%.4f,\"cold_ms\":%.1f,\"bytes_touched\":%" PRIu64
               ",\"memory_limit_ms\":%.4f,\"ratio_to_limit\":%.1f}\n",
               data->records, question_names[q], asking.rows, p50_ms,
               percentile(samples.ms, samples.len, 0.99),
               percentile(samples.cpu_ms, samples.len, 0.5), cold_ms[q], bytes, limit_ms,
               p50_ms / limit_ms);
        fflush(stdout);
    }
    pd_tib_close(tib);
}

/* ---- a reader beside the writer ---- */

#define WRITER_RECORDS 200000u
#define WRITER_S       5

struct writing {
    struct pd_tib *tib;
    struct pd_tib_record *records;
    struct pd_path *paths;
    atomic_bool stop;
    uint64_t written;
};

/* The records of the data set over and over, each time later, as fast as it goes. */
static void *write_on(void *context)
{
    struct writing *writing = context;
    double next_ms = now_ms() + 1000;
    for (size_t i = 0; !atomic_load_explicit(&writing->stop, memory_order_relaxed);
         i = (i + 64) % (WRITER_RECORDS / 64 * 64)) {
        if (pd_tib_append(writing->tib, writing->records + i, 64)) {
            die("append");
        }
        writing->written += 64;
        if (now_ms() >= next_ms && !pd_tib_commit(writing->tib)) {
            next_ms = now_ms() + 1000;
        }
    }
    return NULL;
}

static void writing_init(struct writing *writing, const struct data *data)
{
    struct dataset dataset;
    writing->records = calloc(WRITER_RECORDS, sizeof *writing->records);
    writing->paths = calloc(WRITER_RECORDS, sizeof *writing->paths);
    if (!writing->records || !writing->paths || dataset_init(&dataset, 2, RECORDS_PER_S)) {
        die("no memory");
    }
    for (size_t i = 0; i < WRITER_RECORDS; i++) {
        dataset_next(&dataset, &writing->paths[i], &writing->records[i]);
        writing->records[i].stime_us += data->span_us;
        writing->records[i].etime_us += data->span_us;
    }
    dataset_done(&dataset);
}

static void bench_beside_writer(const char *directory, const struct data *data)
{
    static struct samples samples;
    struct writing writing = {.tib = open_tib(directory, PD_TIB_WRITE, 0)};
    pthread_t thread;
    double begin_ms, end_ms;
    writing_init(&writing, data);
    ask(writing.tib, data, LINK_FLOWS_MINUTE, 0);
    if (pthread_create(&thread, NULL, write_on, &writing)) {
        die("no thread");
    }
    begin_ms = now_ms();
    samples.len = 0;
    for (unsigned round = 0; (end_ms = now_ms()) < begin_ms + WRITER_S * 1e3; round++) {
        double begin_cpu_ms = cpu_ms();
        ask(writing.tib, data, LINK_FLOWS_MINUTE, round);
        samples.cpu_ms[samples.len] = cpu_ms() - begin_cpu_ms;
        samples.ms[samples.len++] = now_ms() - end_ms;
        usleep(2500);
        if (samples.len == SAMPLES_MAX) {
            break;
        }
    }
    end_ms = now_ms();
    atomic_store(&writing.stop, true);
    pthread_join(thread, NULL);
    printf("{\"records\":%" PRIu64 ",\"query\":\"getFlows of a link, one minute, beside the "
           "writer\",\"p50_ms\":%.4f,\"p99_ms\":%.4f,\"cpu_p50_ms\":%.4f,\"cpu_p99_ms\":%.4f,"
           "\"writer_records_per_s\":%.0f}\n",
           data->records, percentile(samples.ms, samples.len, 0.5),
           percentile(samples.ms, samples.len, 0.99), percentile(samples.cpu_ms, samples.len, 0.5),
           percentile(samples.cpu_ms, samples.len, 0.99),
           (double)writing.written / (end_ms - begin_ms) * 1e3);
    pd_tib_close(writing.tib);
    free(writing.records);
    free(writing.paths);
}

/* ---- cold segments ---- */

static void pack_all(const char *directory, const struct data *data)
{
    struct pd_tib *tib = open_tib(directory, PD_TIB_WRITE, 1);
    struct pd_tib_stat stat;
    double begin_ms = now_ms();
    uint64_t before = 0;
    for (int still = 0; still < 3;) { /* bounded work a call: until nothing changes */
        if (pd_tib_maintain(tib, START_US + data->span_us + UINT64_C(86400000000)) ||
            pd_tib_stat(tib, &stat)) {
            die("maintain");
        }
        still = stat.bytes_used == before ? still + 1 : 0;
        before = stat.bytes_used;
    }
    double seconds = (now_ms() - begin_ms) / 1e3;
    pd_tib_close(tib);
    printf("{\"records\":%" PRIu64 ",\"cold\":true,\"seconds\":%.1f,\"bytes_per_record\":%.2f,"
           "\"bytes_used_per_record\":%.2f}\n",
           data->records, seconds, (double)disk_bytes(directory) / (double)stat.records,
           (double)stat.bytes_used / (double)stat.records);
}

static void wipe(const char *directory)
{
    static const char *const files[] = {"data.mdb", "lock.mdb", "writer.lock"};
    char name[512];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(name, sizeof name, "%s/%s", directory, files[i]);
        unlink(name);
    }
    rmdir(directory);
}

static void usage(void)
{
    fprintf(stderr, "usage: bench_tib [--records N] [--directory DIR] [--cold] [--pack] [--writer] "
                    "[--sqlite] [--export DIR] [--keep] [--reuse] [--question 0..8]\n");
    exit(2);
}

int main(int argc, char **argv)
{
    enum {
        RECORDS = 'n',
        DIRECTORY = 'd',
        COLD = 'c',
        PACK = 'p',
        WRITER = 'w',
        SQLITE = 's',
        EXPORT = 'e',
        KEEP = 'k',
        REUSE = 'r',
        ONLY = 'o'
    };
    static const struct option options[] = {{"records", required_argument, NULL, RECORDS},
                                            {"directory", required_argument, NULL, DIRECTORY},
                                            {"cold", no_argument, NULL, COLD},
                                            {"pack", no_argument, NULL, PACK},
                                            {"writer", no_argument, NULL, WRITER},
                                            {"sqlite", no_argument, NULL, SQLITE},
                                            {"export", required_argument, NULL, EXPORT},
                                            {"keep", no_argument, NULL, KEEP},
                                            {"reuse", no_argument, NULL, REUSE},
                                            {"question", required_argument, NULL, ONLY},
                                            {0}};
    bool cold = false, pack = false, writer = false, sqlite = false, keep = false, reuse = false;
    static struct data data = {.records = 240000, .only = -1};
    const char *parent = "/tmp", *export_to = NULL;
    char directory[300];
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case RECORDS: data.records = strtoull(optarg, NULL, 10); break;
        case DIRECTORY: parent = optarg; break;
        case COLD: cold = true; break;
        case PACK: pack = true; break;
        case WRITER: writer = true; break;
        case SQLITE: sqlite = true; break;
        case EXPORT: export_to = optarg; break;
        case KEEP: keep = true; break;
        case ONLY: data.only = (int)strtol(optarg, NULL, 10); break;
        case REUSE: reuse = true; break;
        default: usage();
        }
    }
    snprintf(directory, sizeof directory, "%s/tib-%" PRIu64, parent, data.records);
    if (optind != argc || data.records < FLOWS_ASKED) {
        usage();
    }
    if (!reuse) {
        wipe(directory);
    }
    double gbps = memory_gbps();
    printf("{\"records\":%" PRIu64 ",\"memory_gbps\":%.2f}\n", data.records, gbps);
    if (reuse) {
        load_again(&data);
    } else {
        load(directory, &data);
    }
    bench_questions(directory, &data, cold, gbps);
    if (sqlite) {
        sqlite_bench(&data, parent);
    }
    if (export_to) {
        export_columns(&data, export_to);
    }
    if (writer) {
        bench_beside_writer(directory, &data);
    }
    if (pack) {
        pack_all(directory, &data);
        bench_questions(directory, &data, false, gbps);
    }
    if (!keep) {
        wipe(directory);
    }
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* How long linkLoad takes: ten seconds of an hour of records, one core; that windows which adjoin
 * add up to the whole; and the same records as columns, for a peer.
 *
 * Usage: bench_link_load DIR [RECORDS]     DIR is made, and has the store and columns/ */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "../tib_load/dataset.h"
#include "query/merge.h"
#include "query/plan.h"

#define BATCH     512u
#define SPAN_US   UINT64_C(3600000000)
#define WINDOW_US UINT64_C(10000000)
#define ROUNDS    40u
#define PARTS     60u
#define LINKS_MAX 16384u

static void die(const char *what)
{
    fprintf(stderr, "bench_link_load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double cpu_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* ---- columns for a peer ---- */

struct columns {
    FILE *path, *stime, *etime, *bytes, *pkts, *links;
    const struct pd_path *seen[1u << 18]; /* interned: a path is its pointer */
    uint32_t seen_len;
};

static FILE *create(const char *folder, const char *name)
{
    char file[512];
    FILE *made;

    snprintf(file, sizeof file, "%s/columns/%s", folder, name);
    made = fopen(file, "wb");
    if (!made) {
        die(file);
    }
    return made;
}

static void columns_open(struct columns *columns, const char *folder)
{
    char name[512];

    snprintf(name, sizeof name, "%s/columns", folder);
    if (mkdir(name, 0700)) {
        die(name);
    }
    *columns = (struct columns){.path = create(folder, "path.u32"),
                                .stime = create(folder, "stime.u64"),
                                .etime = create(folder, "etime.u64"),
                                .bytes = create(folder, "bytes.u64"),
                                .pkts = create(folder, "pkts.u64"),
                                .links = create(folder, "link.u32")};
}

static void columns_close(struct columns *columns)
{
    FILE *const all[] = {columns->path,  columns->stime, columns->etime,
                         columns->bytes, columns->pkts,  columns->links};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (fclose(all[i])) {
            die("columns");
        }
    }
}

static void put(FILE *file, const void *value, size_t len)
{
    if (fwrite(value, len, 1, file) != 1) {
        die("columns");
    }
}

/* Its number; the links of one that is new go out. */
static uint32_t number_of(struct columns *columns, const struct pd_path *path)
{
    static uint32_t slots[1u << 20]; /* number + 1 */
    uint32_t at = (uint32_t)((uintptr_t)path * UINT64_C(0x9e3779b97f4a7c15) >> 44);

    while (slots[at] && columns->seen[slots[at] - 1] != path) {
        at = (at + 1) % (1u << 20);
    }
    if (slots[at]) {
        return slots[at] - 1;
    }
    if (columns->seen_len == sizeof columns->seen / sizeof *columns->seen) {
        die("too many paths");
    }
    slots[at] = ++columns->seen_len;
    columns->seen[columns->seen_len - 1] = path;
    for (unsigned i = 1; i < path->len; i++) {
        const uint32_t row[] = {path->switches[i - 1], path->switches[i], columns->seen_len - 1};

        put(columns->links, row, sizeof row);
    }
    return columns->seen_len - 1;
}

static void put_record(struct columns *columns, const struct pd_tib_record *record)
{
    uint32_t path = number_of(columns, record->path);

    put(columns->path, &path, sizeof path);
    put(columns->stime, &record->stime_us, 8);
    put(columns->etime, &record->etime_us, 8);
    put(columns->bytes, &record->bytes, 8);
    put(columns->pkts, &record->pkts, 8);
}

/* ---- the store ---- */

struct span {
    uint64_t from_us, to_us;
};

static struct span fill(struct pd_tib *tib, const char *folder, uint64_t records)
{
    static struct columns columns;
    struct span span = {UINT64_MAX, 0};
    struct pd_tib_record batch[BATCH];
    struct dataset dataset;
    struct pd_path path;

    columns_open(&columns, folder);
    if (dataset_init(&dataset, 1, (double)records / (double)(SPAN_US / 1000000))) {
        die("data set");
    }
    for (uint64_t done = 0; done < records;) {
        unsigned n = 0;

        for (; n < BATCH && done < records; n++, done++) {
            dataset_next(&dataset, &path, &batch[n]);
            if (pd_path_intern(&path, &batch[n].path, NULL)) {
                die("paths");
            }
            put_record(&columns, &batch[n]);
            span.from_us = batch[n].stime_us < span.from_us ? batch[n].stime_us : span.from_us;
            span.to_us = batch[n].etime_us > span.to_us ? batch[n].etime_us : span.to_us;
        }
        if (pd_tib_append(tib, batch, n)) {
            die("store");
        }
    }
    if (pd_tib_commit(tib)) {
        die("commit");
    }
    dataset_done(&dataset);
    columns_close(&columns);
    span.to_us++;
    return span;
}

/* ---- the question ---- */

struct sums {
    uint64_t keys[LINKS_MAX], bytes[LINKS_MAX], pkts[LINKS_MAX];
    size_t len;
};

static int no_group(void *context, const struct pd_tib_record *group)
{
    (void)context;
    (void)group;
    return 0;
}

/* Where a link stands, or would. */
static size_t place_of(const struct sums *sums, uint64_t key)
{
    size_t at = key * UINT64_C(0x9e3779b97f4a7c15) >> 50;

    while (sums->keys[at] && sums->keys[at] != key) {
        at = (at + 1) % LINKS_MAX;
    }
    return at;
}

static int add(void *context, const struct pd_query_sums *link)
{
    struct sums *sums = context;
    size_t at = place_of(sums, link->key);

    sums->len += !sums->keys[at];
    sums->keys[at] = link->key;
    sums->bytes[at] += link->bytes;
    sums->pkts[at] += link->pkts;
    return 0;
}

static void prepare(struct pd_query *query, struct span window)
{
    char text[2][32];

    pd_query_init(query, PD_QUERY_LINK_LOAD);
    for (int i = 0; i < 2; i++) {
        uint64_t us = i ? window.to_us : window.from_us;

        snprintf(text[i], sizeof text[i], "%llu.%06llu", (unsigned long long)(us / 1000000),
                 (unsigned long long)(us % 1000000));
    }
    if (pd_query_set(query, "from", text[0], NULL) || pd_query_set(query, "to", text[1], NULL) ||
        pd_query_finish(query, NULL)) {
        die("linkLoad");
    }
}

static void ask(struct pd_tib *tib, struct span window, struct sums *sums)
{
    const struct pd_items items = {sums, no_group, add};
    struct pd_tib_snapshot *snapshot = NULL;
    struct pd_query query;
    bool complete;

    prepare(&query, window);
    if (pd_tib_snapshot(tib, &snapshot) ||
        pd_query_run_items(&query, snapshot, NULL, 0, &items, &complete, NULL) || !complete) {
        die("linkLoad");
    }
    pd_tib_release(snapshot);
}

static int weigh(void *context, const char *bytes, size_t len)
{
    (void)bytes;
    *(size_t *)context += len;
    return 0;
}

/* As a host does for the map: its partial result, in no order, as that of the peer. */
static size_t ask_as_host(struct pd_tib *tib, struct span window)
{
    struct pd_tib_snapshot *snapshot = NULL;
    struct pd_query query;
    size_t bytes = 0;
    const struct pd_query_sink sink = {&bytes, weigh};
    bool complete;

    prepare(&query, window);
    if (pd_tib_snapshot(tib, &snapshot) ||
        pd_query_run_partial(&query, snapshot, NULL, 0, 0, &sink, &complete, NULL) || !complete) {
        die("linkLoad");
    }
    pd_tib_release(snapshot);
    return bytes;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Windows from all over the hour. */
static void measure(struct pd_tib *tib, struct span span, uint64_t records)
{
    static struct sums sums;
    double ms[ROUNDS];
    size_t bytes = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        struct span window = {.from_us = span.from_us + i * UINT64_C(7919) * 1000003 % SPAN_US};
        double begun;

        window.to_us = window.from_us + WINDOW_US;
        begun = cpu_ms();
        bytes = ask_as_host(tib, window);
        ms[i] = cpu_ms() - begun;
        memset(&sums, 0, sizeof sums);
        ask(tib, window, &sums);
    }
    qsort(ms, ROUNDS, sizeof *ms, by_size);
    printf("{\"bench\":\"linkLoad\",\"records\":%llu,\"window_s\":10,\"links\":%zu,"
           "\"partial_bytes\":%zu,\"cpu_p50_ms\":%.3f,\"cpu_max_ms\":%.3f}\n",
           (unsigned long long)records, sums.len, bytes, ms[ROUNDS / 2], ms[ROUNDS - 1]);
}

static void compare(struct pd_tib *tib, struct span span)
{
    static struct sums whole, parts;
    bool same;

    ask(tib, span, &whole);
    for (unsigned i = 0; i < PARTS; i++) {
        uint64_t width = span.to_us - span.from_us;

        ask(tib,
            (struct span){span.from_us + width * i / PARTS, span.from_us + width * (i + 1) / PARTS},
            &parts);
    }
    same = whole.len == parts.len;
    for (size_t i = 0; i < LINKS_MAX && same; i++) {
        size_t at = place_of(&parts, whole.keys[i]);

        same = !whole.keys[i] ||
               (whole.bytes[i] == parts.bytes[at] && whole.pkts[i] == parts.pkts[at]);
    }
    printf("{\"bench\":\"linkLoad\",\"windows\":%u,\"links\":%zu,\"equal_the_whole\":%s}\n", PARTS,
           whole.len, same ? "true" : "false");
}

int main(int argc, char **argv)
{
    const struct pd_tib_config config = {.map_bytes = UINT64_C(8) << 30};
    uint64_t records = argc > 2 ? strtoull(argv[2], NULL, 10) : 24000000;
    struct pd_tib *tib;
    struct span span;
    char name[512];

    if (argc < 2 || !records) {
        fprintf(stderr, "Usage: bench_link_load DIR [RECORDS]\n");
        return 2;
    }
    snprintf(name, sizeof name, "%s/tib", argv[1]);
    if (mkdir(argv[1], 0700) && errno != EEXIST) {
        die(argv[1]);
    }
    if (pd_tib_open(name, PD_TIB_WRITE, &config, &tib, NULL)) {
        die(name);
    }
    span = fill(tib, argv[1], records);
    measure(tib, span, records);
    compare(tib, span);
    pd_tib_close(tib);
    return 0;
}

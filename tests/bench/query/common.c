/* SPDX-License-Identifier: Apache-2.0 */
/* The store, the questions and the times of benchmarks of queries. */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tib_load/dataset.h"
#include "tests/shared/folder.h"

void bench_die(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

static void fill(struct pd_tib *tib, uint32_t host)
{
    struct dataset dataset;
    if (dataset_init(&dataset, 1 + host, 4000)) {
        bench_die("no memory");
    }
    dataset_place(&dataset, 16, host);
    for (int i = 0; i < BENCH_RECORDS; i++) {
        struct pd_path path;
        struct pd_tib_record record;
        dataset_next(&dataset, &path, &record);
        if (pd_tib_append(tib, &record, 1)) {
            bench_die("append failed");
        }
    }
    if (pd_tib_commit(tib)) {
        bench_die("commit failed");
    }
    dataset_done(&dataset);
}

struct pd_tib *bench_store(char *folder, uint32_t host)
{
    struct pd_error error = {0};
    struct pd_tib *tib;
    if (!mkdtemp(folder)) {
        bench_die("no folder");
    }
    if (pd_tib_open(folder, PD_TIB_WRITE, &(struct pd_tib_config){0}, &tib, &error)) {
        bench_die(error.text);
    }
    fill(tib, host);
    return tib;
}

void bench_store_done(const char *folder, struct pd_tib *tib)
{
    pd_tib_close(tib);
    folder_remove(folder);
}

struct pd_query bench_query(const char *name, const char *params)
{
    struct pd_query query;
    enum pd_query_name parsed = PD_QUERY_GET_FLOWS;
    char copy[100], *state = NULL;
    snprintf(copy, sizeof copy, "%s", params);
    pd_query_name_parse(name, &parsed);
    pd_query_init(&query, parsed);
    for (char *param = strtok_r(copy, " ", &state); param; param = strtok_r(NULL, " ", &state)) {
        char *equals = strchr(param, '=');
        if (!equals) {
            bench_die(params);
        }
        *equals = '\0';
        if (pd_query_set(&query, param, equals + 1, NULL)) {
            bench_die(params);
        }
    }
    return query;
}

int bench_count_bytes(void *context, const char *bytes, size_t len)
{
    (void)bytes;
    *(uint64_t *)context += len;
    return 0;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

double bench_median_us(uint64_t ns[BENCH_ROUNDS])
{
    qsort(ns, BENCH_ROUNDS, sizeof *ns, compare);
    const size_t middle = BENCH_ROUNDS / 2;
    return (double)ns[middle] / 1000;
}

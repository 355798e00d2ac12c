/* SPDX-License-Identifier: Apache-2.0 */
/* Benchmark of the TIB: what its files share. */
#ifndef PD_BENCH_TIB_BENCH_H
#define PD_BENCH_TIB_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../tib_load/dataset.h"
#include "tib/lmdb/paths.h"
#include "tib/tib.h"

#define TOP_LEN   10000u
#define BIN_BYTES 10000u
/* A core and an aggregation switch of the destination's pod: one link of 64, all flows from
 * outside. */
#define LINK_FROM     257u
#define LINK_TO       129u
#define START_US      UINT64_C(1790000000000000)
#define RECORDS_PER_S (240000 / 3600.0) /* as the paper has it: an hour of one server */
#define SAMPLES_MAX   2000u

/* The questions of the table, in its order. */
enum question {
    LINK_ROWS,
    LINK_FLOWS,
    LINK_FLOWS_MINUTE,
    FLOW_PATHS,
    FLOW_COUNT,
    TOP_RECORDS,
    TOP_FLOWS,
    FLOW_SIZES,
    TRAFFIC_MATRIX,
    QUESTIONS
};
extern const char *const question_names[QUESTIONS];

#define FLOWS_ASKED 512u

/* The data as they are loaded, and what is asked of them. */
struct data {
    uint64_t records;
    int only;                             /* ask this question only; -1: all */
    uint64_t span_us;                     /* from the first record's start to the last one's */
    struct pd_flow_id flows[FLOWS_ASKED]; /* of records from all over */
    struct pd_paths *paths;               /* numbers of paths, for the other databases */
};

void die(const char *what);

/* An IPv4 address as a number: the data set has no others. */
static inline uint32_t addr_number(const struct pd_addr *addr)
{
    const uint8_t *b = addr->bytes;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

double now_ms(void);

/* GB/s that one core reads from memory, the best of some runs. */
double memory_gbps(void);

struct samples {
    double ms[SAMPLES_MAX];     /* of the wall clock */
    double cpu_ms[SAMPLES_MAX]; /* of this thread */
    size_t len;
};
double percentile(double *ms, size_t len, double part); /* sorts */

/* Runs `ask` until enough samples are there: some rounds at least, a second or so at most. */
void sample(void (*ask)(void *context, unsigned round), void *context, struct samples *ret_samples);

/* Each calls `each` with all records of the data set, in order. */
void generate(uint64_t records,
              void (*each)(void *context, const struct pd_tib_record *records, size_t n),
              void *context, double *ret_each_s);

/* queries.c: one question; returns rows of the answer. */
size_t ask(struct pd_tib *tib, const struct data *data, enum question question, unsigned round);
/* Bytes that a question must read from columns and write as an answer, as the chunks are laid out.
 */
uint64_t bytes_touched(struct pd_tib *tib, enum question question, size_t rows);

/* sqlite.c */
void sqlite_bench(const struct data *data, const char *directory);
/* export.c: columns as raw files, for peers that read them. */
void export_columns(const struct data *data, const char *directory);

#endif

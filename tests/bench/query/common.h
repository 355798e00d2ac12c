/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmarks of queries share: a store of one server, questions, and times. */
#ifndef PD_BENCH_QUERY_COMMON_H
#define PD_BENCH_QUERY_COMMON_H

#include <stddef.h>
#include <stdint.h>

#include "query/query.h"
#include "tib/tib.h"

#define BENCH_RECORDS 240000
#define BENCH_ROUNDS  15
#define BENCH_FOLDER  "/tmp/pathdump-bench-XXXXXX"

/* Says what failed and ends the program. */
_Noreturn void bench_die(const char *what);

/* The store of a host of a 16-ary fat-tree; `folder` becomes its name. */
struct pd_tib *bench_store(char *folder, uint32_t host);
void bench_store_done(const char *folder, struct pd_tib *tib);

/* `params`: "name=value name=value". */
struct pd_query bench_query(const char *name, const char *params);

/* A sink that counts, into a uint64_t. */
int bench_count_bytes(void *context, const char *bytes, size_t len);

double bench_median_us(uint64_t ns[BENCH_ROUNDS]);

#endif

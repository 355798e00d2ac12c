/* SPDX-License-Identifier: Apache-2.0 */
/* The records that one server of a fat-tree collects: for benchmarks of the store, without any
 * packets. */
#ifndef PD_BENCH_TIB_DATASET_H
#define PD_BENCH_TIB_DATASET_H

#include "tib/tib.h"

/* A fat-tree(16): the destination is one host, the first of pod 1 unless said otherwise; sources
 * are all other hosts, by a Zipf law; nine flows in ten are new, one continues (the same flow ID
 * and path in a later time slice, as the active timeout makes them); one record in a hundred took a
 * 6-hop detour. Sizes are heavy-tailed; times advance at `records_per_s` of the traffic's own
 * clock. The same seed gives the same records. */
struct dataset {
    uint32_t half;        /* k / 2 of the fat-tree */
    uint32_t destination; /* its host, counted from 0 in the order of racks */
    uint64_t random;
    uint64_t clock_us;
    double step_us;
    double *zipf;                 /* cumulative, by source rank */
    struct pd_tib_record *recent; /* flows that may continue */
    struct pd_path *recent_paths;
    size_t recent_len;
};

int dataset_init(struct dataset *dataset, uint64_t seed, double records_per_s);
/* The same for another fat-tree (k a power of two, at most 16) and another host of it; after
 * dataset_init, before the first record. */
void dataset_place(struct dataset *dataset, uint32_t k, uint32_t destination);
void dataset_done(struct dataset *dataset);

/* The next record; its path lies in `path`. */
void dataset_next(struct dataset *dataset, struct pd_path *path, struct pd_tib_record *ret_record);

#endif

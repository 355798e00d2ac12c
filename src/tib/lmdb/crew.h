/* SPDX-License-Identifier: Apache-2.0 */
/* Crews: the threads of one query, each with a share of its chunks. */
#ifndef PD_TIB_LMDB_CREW_H
#define PD_TIB_LMDB_CREW_H

#include "tib/lmdb/select.h"

/* A selection of many rows is divided among as many threads as there are processors, PD_CREW_MAX at
 * most: neighbouring chunks, about the same number of rows for each. A smaller one is left to the
 * caller's thread alone: starting a thread costs as much as some ten thousand rows.
 *
 * Usage: pd_lmdb_crew_init; pd_lmdb_crew_run(crew, work, context), where `work` goes through the
 * chunks crew->first[member] … crew->first[member + 1] - 1. */

#define PD_CREW_MAX 4u

struct pd_crew {
    unsigned size; /* 1: nobody but the caller */
    size_t first[PD_CREW_MAX + 1];
};

/* Rows that are worth a thread; tests lower it, before the first query. */
extern uint64_t pd_lmdb_crew_rows;

void pd_lmdb_crew_init(struct pd_crew *crew, const struct pd_select *select);

/* Calls `work` once for each member, member 0 in the caller's thread, and returns when all are
 * done: 0, or what the first member with an error returned. */
int pd_lmdb_crew_run(const struct pd_crew *crew, int (*work)(void *context, unsigned member),
                     void *context);

#endif

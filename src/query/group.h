/* SPDX-License-Identifier: Apache-2.0 */
/* Grouping: the distinct paths and the distinct ⟨flow ID, path⟩ pairs of the records that a query visits. */
#ifndef PD_QUERY_GROUP_H
#define PD_QUERY_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tib/tib.h"

/* A path becomes a small number (its index in struct pd_query_paths), a group's key is ⟨flow ID, that number⟩. Both
 * tables use open addressing over an array that keeps the order of arrival, so growing moves indexes and not rows.
 * A store hands out one pointer per path, and often the same one many times in a row: a cache in front of the path
 * table looks at the pointer first and reads the path's bytes only when that fails. Live records and stores that
 * cannot promise equal pointers are right all the same, only slower.
 *
 * Paths are not copied: they must outlive the tables. All memory is charged to a budget; when that is used up,
 * -PD_E_TOO_LARGE is returned and the tables stay as they were. One thread. */

struct pd_query_budget {
    uint64_t left_bytes;
};

#define PD_QUERY_PATH_CACHE 1024 /* a power of 2 */

struct pd_query_paths {
    struct pd_query_budget *budget;
    const struct pd_path **paths; /* by index */
    uint32_t *rank;  /* by index, after pd_query_paths_sort: place in ascending order */
    uint32_t *order; /* the reverse: index of the n-th path */
    uint32_t *slots; /* index + 1, 0: free */
    uint32_t len;
    uint32_t slots_len; /* a power of 2 */
    struct {
        const struct pd_path *path;
        uint32_t index;
    } cache[PD_QUERY_PATH_CACHE];
};

void pd_query_paths_init(struct pd_query_paths *paths, struct pd_query_budget *budget);
void pd_query_paths_done(struct pd_query_paths *paths);
int pd_query_paths_add(struct pd_query_paths *paths, const struct pd_path *path,
                       uint32_t *ret_index);

/* Ascending as lists of switch IDs; infeasible trajectories first, by tags and DSCP. */
int pd_query_paths_sort(struct pd_query_paths *paths);

/* One group: what getFlows answers about a flow. */
struct pd_query_row {
    struct pd_flow_id flow;
    uint32_t path; /* index */
    uint32_t hash;
    uint64_t stime_us;
    uint64_t etime_us;
    uint64_t bytes;
    uint64_t pkts;
};
_Static_assert(sizeof(struct pd_query_row) == 80, "the memory limit counts on it");

struct pd_query_rows {
    struct pd_query_budget *budget;
    struct pd_query_row *rows; /* in order of arrival */
    uint32_t *order;           /* after pd_query_rows_sort: index of the n-th row */
    uint32_t *slots;           /* index + 1, 0: free */
    uint32_t len;
    uint32_t slots_len; /* a power of 2 */
    bool capped;        /* a sum reached PD_QUERY_NUMBER_MAX and stays there */
};

#define PD_QUERY_NUMBER_MAX ((UINT64_C(1) << 53) - 1) /* JSON numbers are exact up to here */

void pd_query_rows_init(struct pd_query_rows *rows, struct pd_query_budget *budget);
void pd_query_rows_done(struct pd_query_rows *rows);

/* Adds a record's times and counts to the group of its flow ID and `path` (an index of struct pd_query_paths). */
int pd_query_rows_add(struct pd_query_rows *rows, const struct pd_tib_record *record,
                      uint32_t path);

/* Ascending by flow ID (IPv4 first; addresses, ports, protocol), then by path; `paths` has to be sorted. */
int pd_query_rows_sort(struct pd_query_rows *rows, const struct pd_query_paths *paths);

/* *sum += value, at most PD_QUERY_NUMBER_MAX; *capped says that it did not fit. */
void pd_query_sum(uint64_t *sum, uint64_t value, bool *capped);

#endif

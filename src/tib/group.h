/* SPDX-License-Identifier: Apache-2.0 */
/* Grouping for every backend: records become groups in a table, groups are given out in order. */
#ifndef PD_TIB_GROUP_H
#define PD_TIB_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "tib/filter.h"
#include "tib/order.h"

/* pd_tib_group_scanned is what pd_tib_group does on a backend that has no grouping of its own: it
 * scans, and keeps one row per group in a hash table (open addressing over an array that keeps the
 * order of arrival, so growing moves indexes and not rows). Groups that are single records take no
 * table: they stream, or go through a heap when the first k are asked for.
 *
 * The table stands alone as well, for backends that group natively and have live records to add. A
 * store hands out one pointer per path and claim and often the same one many times in a row: a
 * cache in front of the table of paths looks at the pointer first and reads the path's bytes only
 * when that fails. Paths are not copied: they must outlive the table. One thread. */

struct pd_tib_way {
    const struct pd_path *path;
    const struct pd_claim *claim; /* NULL as in records */
};

struct pd_tib_paths {
    struct pd_tib_way *paths; /* by number */
    uint32_t *slots;          /* index + 1, 0: free */
    uint32_t len;
    uint32_t slots_len;        /* a power of 2 */
#define PD_TIB_PATH_CACHE 1024 /* a power of 2 */
    struct {
        struct pd_tib_way way;
        uint32_t number;
    } cache[PD_TIB_PATH_CACHE];
};

/* The number of the first path, with its claim, seen that equals the record's, from 0 in the order
 * of arrival: it is new when that is what `len` was. A zeroed table is an empty one.
 * -PD_E_TOO_LARGE and -ENOMEM leave it as it was. */
int pd_tib_paths_number(struct pd_tib_paths *paths, struct pd_tib_budget *budget,
                        const struct pd_tib_record *record, uint32_t *ret_number);
/* Paths seen so far may have gone or changed, but for those in `paths`: none is known by its
 * address any more. */
void pd_tib_paths_forget(struct pd_tib_paths *paths);
void pd_tib_paths_done(struct pd_tib_paths *paths);

struct pd_tib_group_slot {
    uint32_t hash;
    uint32_t index; /* + 1; 0: free */
};

struct pd_tib_groups {
    enum pd_tib_by by; /* not RECORD */
    struct pd_tib_budget *budget;
    struct pd_tib_record *rows; /* in order of arrival */
    struct pd_tib_group_slot *slots;
    uint32_t len;
    uint32_t slots_len; /* a power of 2 */
    struct pd_tib_paths paths;
};

void pd_tib_groups_init(struct pd_tib_groups *groups, enum pd_tib_by by,
                        struct pd_tib_budget *budget);
void pd_tib_groups_done(struct pd_tib_groups *groups);

/* Adds a record's times and counts to its group. -PD_E_TOO_LARGE and -ENOMEM leave the table as it
 * was. */
int pd_tib_groups_add(struct pd_tib_groups *groups, const struct pd_tib_record *record);

/* Room for so many groups, which need not come. -PD_E_TOO_LARGE, -ENOMEM. */
int pd_tib_groups_reserve(struct pd_tib_groups *groups, uint32_t len);

/* Whether the flow has a group; of tables by FLOW. */
bool pd_tib_groups_has_flow(const struct pd_tib_groups *groups, const struct pd_flow_id *flow);

/* Keeps the first `most` groups in that order (BYTES or PKTS), which stay in order of arrival;
 * there have to be more. *ret_last is the last of them. */
int pd_tib_groups_keep(struct pd_tib_groups *groups, enum pd_tib_order order, uint64_t most,
                       struct pd_tib_record *ret_last);

/* Gives out the groups as the grouping asks; once, since it sorts the rows in place. Returns what
 * `visit` returned when that was not 0. */
int pd_tib_groups_give(struct pd_tib_groups *groups, const struct pd_tib_grouping *grouping,
                       int (*visit)(void *context, const struct pd_tib_record *groups, size_t n),
                       void *context);

/* As pd_tib_group; `snapshot` may be NULL: live records alone. */
int pd_tib_group_scanned(struct pd_tib_snapshot *snapshot, const struct pd_tib_filter *filter,
                         const struct pd_tib_grouping *grouping,
                         int (*visit)(void *context, const struct pd_tib_record *groups, size_t n),
                         void *context);

/* What a record of these times has of `sum` before a moment: floor(sum * clamp(t - stime, 0, d) /
 * d), with d its length in microseconds, 1 at least. */
static inline uint64_t pd_tib_before(uint64_t sum, uint64_t stime_us, uint64_t etime_us,
                                     uint64_t at_us)
{
    const uint64_t length = etime_us - stime_us + 1;
    const uint64_t into = at_us > stime_us ? at_us - stime_us : 0;
    uint64_t product;
    if (into >= length || !into) {
        return into ? sum : 0; /* most records lie wholly on one side */
    }
    if (!__builtin_mul_overflow(sum, into, &product)) {
        return product / length; /* three times as fast */
    }
    return (uint64_t)((unsigned __int128)sum * into / length);
}

/* What it has in [from, to): windows that adjoin add up to the whole without an error. */
static inline uint64_t pd_tib_part(uint64_t sum, uint64_t stime_us, uint64_t etime_us,
                                   uint64_t from_us, uint64_t to_us)
{
    return pd_tib_before(sum, stime_us, etime_us, to_us) -
           pd_tib_before(sum, stime_us, etime_us, from_us);
}

/* *sum += value, at most PD_TIB_SUM_MAX. */
static inline void pd_tib_sum(uint64_t *sum, uint64_t value)
{
    *sum = value > PD_TIB_SUM_MAX - *sum ? PD_TIB_SUM_MAX : *sum + value;
}

#endif

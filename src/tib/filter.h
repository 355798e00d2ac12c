/* SPDX-License-Identifier: Apache-2.0 */
/* Which records are wanted, and what they are grouped by. */
#ifndef PD_TIB_FILTER_H
#define PD_TIB_FILTER_H

#include "tib/record.h"

struct pd_tib_snapshot; /* tib.h: a moment of a store */

/* Thread safety: plain data. */

/* Which records a scan visits: all conditions hold. A record belongs to a time range when it
 * overlaps it, ends included. */
struct pd_tib_filter {
    struct pd_flow_match flow;
    struct pd_link_match link;
    const struct pd_path *path; /* this very path, or NULL */
    uint64_t from_us;           /* 0: open */
    uint64_t to_us;             /* UINT64_MAX: open */
    uint32_t origins;           /* bits 1 << enum pd_origin of claims that are wanted; 0: all */
    /* only records committed after the snapshot that gave this token; NULL: all */
    const char *since;
};
#define PD_TIB_FILTER_ALL   \
    {                       \
        .to_us = UINT64_MAX \
    }

/* A claim of NULL is from tags. */
static inline bool pd_tib_wants_origin(const struct pd_tib_filter *filter,
                                       const struct pd_claim *claim)
{
    return !filter->origins || filter->origins >> (claim ? claim->origin : PD_ORIGIN_TAGS) & 1;
}

/* Leaves `since` aside: a record does not tell when it was committed. */
bool pd_tib_filter_matches(const struct pd_tib_filter *filter, const struct pd_tib_record *record);

/* What the records of one group have in common; other fields of its flow ID are 0, a path that is
 * not common is NULL. */
enum pd_tib_by {
    PD_TIB_BY_RECORD, /* each record is its own group */
    PD_TIB_BY_FLOW_PATH,
    PD_TIB_BY_FLOW,
    PD_TIB_BY_SOURCE, /* source address */
    PD_TIB_BY_PATH
};

enum pd_tib_order {
    PD_TIB_ORDER_NONE,
    /* ascending by flow ID (IPv4 first; addresses, ports, protocol), path, stime, etime, bytes,
       pkts */
    PD_TIB_ORDER_KEY,
    PD_TIB_ORDER_BYTES, /* largest first; equal ones by key */
    PD_TIB_ORDER_PKTS
};

/* A group comes as one record: least stime, greatest etime, sums of bytes and packets. */
struct pd_tib_grouping {
    enum pd_tib_by by;
    enum pd_tib_order order;
    uint64_t top_len;      /* only the first so many in that order; 0: all */
    uint64_t memory_bytes; /* most that grouping may take; beyond: -PD_E_TOO_LARGE */
    /* BY_PATH: of each record only what lies in the filter's [from, to) counts, prorated
     * (pd_tib_part); groups tell no times */
    bool prorated;
    bool without_times; /* groups of several records need not tell stime and etime: they may be 0 */
    /* records to be counted in that are not in the store (those that match), or NULL */
    const struct pd_tib_record *live;
    size_t live_len;
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Random records and filters, and the naive store that real ones are compared with. */
#ifndef PD_TESTS_TIB_RECORDS_H
#define PD_TESTS_TIB_RECORDS_H

#include "tests/shared/random.h"
#include "tib/tib.h"

#define POOL_PATHS 64u
#define POOL_FLOWS 200u
/* What random records are drawn from, so that filters hit something. */
struct pool {
    struct pd_path paths[POOL_PATHS];    /* racks, long ones, empty ones */
    struct pd_claim claims[POOL_PATHS];  /* of these: most exact and from tags */
    struct pd_flow_id flows[POOL_FLOWS]; /* IPv4 and IPv6 */
};
void pool_init(struct pool *pool, struct random *random);
struct pd_tib_record pool_record(const struct pool *pool, struct random *random);
/* A filter with any mix of conditions; `path` is where filter.path points to, if it is set. */
struct pd_tib_filter pool_filter(const struct pool *pool, struct random *random,
                                 struct pd_path *path);

/* An array of records; what a scan collects, or what the naive store holds. */
struct list {
    struct pd_tib_record *records; /* each owns its path */
    size_t len, room;
};
void list_add(struct list *list, const struct pd_tib_record *record);
void list_clear(struct list *list); /* and frees */

/* All records of a scan. Returns pd_tib_scan's value. */
int list_scan(struct pd_tib_snapshot *snapshot, const struct pd_tib_filter *filter,
              struct list *ret_list);

/* Fails the test unless both hold the same records, in whatever order; sorts both. */
void list_assert_equal(struct list *found, struct list *wanted);

/* Fails the test unless all that was found is stored, and nothing twice; sorts both. */
void list_assert_within(struct list *found, struct list *stored);

/* What `stored` says to a filter, by pd_tib_filter_matches written once more. */
void list_select(const struct list *stored, const struct pd_tib_filter *filter,
                 struct list *ret_wanted);

#endif

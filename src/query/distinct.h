/* SPDX-License-Identifier: Apache-2.0 */
/* How many different flows there are among many records, in bounded memory. */
#ifndef PD_QUERY_DISTINCT_H
#define PD_QUERY_DISTINCT_H

#include <stddef.h>
#include <stdint.h>

/* A set of hashes. When PD_DISTINCT_MAX of them are in it, only those whose lowest bit is 0 stay
 * and enter, then only those whose two lowest bits are, and so on: the number is exact up to there,
 * and beyond it an estimate with a standard error of about 0.6 %. (Wegman's adaptive sampling;
 * Flajolet, 1990.)
 *
 * One thread at a time. Zeroed memory is empty. */

#define PD_DISTINCT_MAX 65536u /* hashes kept: 1 MB */

struct pd_distinct {
    uint64_t *slots; /* 0: free */
    size_t len, slots_len;
    unsigned depth; /* so many lowest bits are 0 */
};

/* The hash has to be well mixed in all of its bits. 0 or -ENOMEM. */
int pd_query_distinct_add(struct pd_distinct *set, uint64_t hash);
uint64_t pd_query_distinct_count(const struct pd_distinct *set);
void pd_query_distinct_done(struct pd_distinct *set);

#endif

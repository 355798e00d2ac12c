/* SPDX-License-Identifier: Apache-2.0 */
/* A link's latency against its own past. */
#ifndef PD_APPS_LINK_LATENCY_PAST_H
#define PD_APPS_LINK_LATENCY_PAST_H

#include <stdbool.h>
#include <stdint.h>

/* Nothing is known of how latencies are spread, so ranks decide: as long as a link is as it was,
 * the newest k of n + k values are the greatest ones once in C(n + k, k) times. k is the least with
 * which that happens to any of all links less than once in a hundred looks. Values while it is slow
 * do not enter the past.
 *
 * The offset of two clocks is in all values alike. Belongs to one thread. */

#define PAST_MOST   60u
#define PAST_NEWEST 12u

struct past {
    float past[PAST_MOST]; /* a ring */
    uint32_t past_len, at;
    float newest[PAST_NEWEST]; /* oldest first */
    uint32_t newest_len;
    bool slow;
};

/* How many newest values decide beside so many of the past, among `links`; 0: they are too few. */
uint32_t pd_link_latency_past_needed(uint32_t past_len, uint32_t links);

/* Another value. */
void pd_link_latency_past_take(struct past *past, float value, uint32_t links);

/* The middle of the past; NAN: it has none. */
float pd_link_latency_past_middle(const struct past *past);

#endif

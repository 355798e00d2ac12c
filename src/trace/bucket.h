/* SPDX-License-Identifier: Apache-2.0 */
/* The token bucket that traces are paid from. */
#ifndef PD_TRACE_BUCKET_H
#define PD_TRACE_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

/* A bucket that fills evenly gives twice its rate in the second after a rest, and a storm begins at
 * all hosts at once: so a token comes back a second after it was taken, and no second, however it
 * lies, sees more than the bucket holds: the whole tokens of a second's rate. Below one a second
 * there is one token, which stays away for longer.
 *
 * Thread safety: none. */

#define PD_TRACE_TOKENS_MAX 4096u

struct pd_trace_bucket {
    uint64_t *taken_ns; /* monotonic, the oldest at `at`; 0: never */
    uint32_t len, at;   /* tokens; 0: nothing is given */
    uint64_t period_ns;
};

/* `rate`: tokens a second. 0 or -ENOMEM. */
int pd_trace_bucket_init(struct pd_trace_bucket *bucket, double rate);
void pd_trace_bucket_done(struct pd_trace_bucket *bucket);

bool pd_trace_bucket_take(struct pd_trace_bucket *bucket, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens and when each was taken. */
#include "trace/bucket.h"

#include <errno.h>
#include <stdlib.h>

int pd_trace_bucket_init(struct pd_trace_bucket *bucket, double rate)
{
    double tokens = rate < 1 ? 1 : rate > PD_TRACE_TOKENS_MAX ? PD_TRACE_TOKENS_MAX : rate;

    *bucket = (struct pd_trace_bucket){0};
    if (!(rate > 0)) {
        return 0;
    }
    bucket->taken_ns = calloc((size_t)tokens, sizeof *bucket->taken_ns);
    if (!bucket->taken_ns) {
        return -ENOMEM;
    }
    bucket->len = (uint32_t)tokens;
    bucket->period_ns = (uint64_t)(rate < 1 ? 1e9 / rate : 1e9);
    return 0;
}

void pd_trace_bucket_done(struct pd_trace_bucket *bucket)
{
    free(bucket->taken_ns);
    *bucket = (struct pd_trace_bucket){0};
}

bool pd_trace_bucket_take(struct pd_trace_bucket *bucket, uint64_t now_ns)
{
    uint64_t *oldest = bucket->len ? &bucket->taken_ns[bucket->at] : NULL;

    if (!oldest || (*oldest && now_ns < *oldest + bucket->period_ns)) {
        return false;
    }
    *oldest = now_ns;
    bucket->at = (bucket->at + 1) % bucket->len;
    return true;
}

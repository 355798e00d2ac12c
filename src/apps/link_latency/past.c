/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of the newest values among those of the past. */
#include "apps/link_latency/past.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHANCE 0.01 /* of any link in a look */

uint32_t pd_link_latency_past_needed(uint32_t past_len, uint32_t links)
{
    double ways = 1;

    for (uint32_t k = 1; k < PAST_NEWEST; k++) {
        ways *= (double)(past_len + k) / k;
        if (links / ways < CHANCE) {
            return k;
        }
    }
    return 0;
}

static void grow_past(struct past *past, float value)
{
    past->past[past->at++ % PAST_MOST] = value;
    past->past_len += past->past_len < PAST_MOST;
}

static float greatest(const struct past *past)
{
    float most = -INFINITY;

    for (uint32_t i = 0; i < past->past_len; i++) {
        most = fmaxf(most, past->past[i]);
    }
    return most;
}

static bool is_slow(const struct past *past, uint32_t needed)
{
    const float most = greatest(past);
    bool slow = needed && past->newest_len >= needed;

    for (uint32_t i = past->newest_len - needed; i < past->newest_len && slow; i++) {
        slow = past->newest[i] > most;
    }
    return slow;
}

void pd_link_latency_past_take(struct past *past, float value, uint32_t links)
{
    uint32_t needed = pd_link_latency_past_needed(past->past_len, links);
    const uint32_t kept = needed ? needed : PAST_NEWEST - 1;

    past->newest[past->newest_len++] = value;
    past->slow = is_slow(past, needed);
    while (past->newest_len > kept) {
        if (!past->slow) {
            grow_past(past, past->newest[0]);
        }
        memmove(past->newest, past->newest + 1, --past->newest_len * sizeof *past->newest);
    }
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

float pd_link_latency_past_middle(const struct past *past)
{
    float sorted[PAST_MOST];

    memcpy(sorted, past->past, past->past_len * sizeof *sorted);
    qsort(sorted, past->past_len, sizeof *sorted, by_value);
    return past->past_len ? sorted[past->past_len / 2] : NAN;
}

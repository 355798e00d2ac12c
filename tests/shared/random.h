/* SPDX-License-Identifier: Apache-2.0 */
/* Random operations of the tests: numbers that are the same on every machine, and the seed that
 * repeats a run. */
#ifndef PD_TESTS_SHARED_RANDOM_H
#define PD_TESTS_SHARED_RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/hash.h"

/* SplitMix64. */
struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *random)
{
    return pd_splitmix64(&random->state);
}

/* 0 … limit-1; a limit of 0 is read as 1. */
static inline uint64_t random_below(struct random *random, uint64_t limit)
{
    return random_next(random) % (limit ? limit : 1);
}

/* PD_SEED of the environment, or the clock; printed, so that a failure can be repeated. */
static inline uint64_t test_seed(void)
{
    const char *given = getenv("PD_SEED");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = given ? strtoull(given, NULL, 0)
                          : (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    printf("PD_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

#endif

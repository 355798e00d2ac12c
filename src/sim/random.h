/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator's random numbers: one seed, the same numbers on every machine. */
#ifndef PD_SIM_RANDOM_H
#define PD_SIM_RANDOM_H

#include <stdint.h>

#include "base/hash.h"

/* SplitMix64: enough for simulations. Belongs to one thread. */
struct pd_sim_random {
    uint64_t state;
};

static inline uint64_t pd_sim_random_next(struct pd_sim_random *random)
{
    return pd_splitmix64(&random->state);
}

/* 0 … limit-1; limit ≥ 1. */
static inline uint32_t pd_sim_random_below(struct pd_sim_random *random, uint32_t limit)
{
    return (uint32_t)((pd_sim_random_next(random) >> 32) * limit >> 32);
}

/* 0 ≤ x < 1 */
static inline double pd_sim_random_share(struct pd_sim_random *random)
{
    return (double)(pd_sim_random_next(random) >> 11) * 0x1p-53;
}

/* Natural logarithm of a normal number > 0, good to some units in the last place. The library's
 * differ from one machine to the next in the last bit, and one bit is another run. */
double pd_sim_random_log(double x);

/* Exponentially distributed with mean 1. */
static inline double pd_sim_random_exponential(struct pd_sim_random *random)
{
    return -pd_sim_random_log(1 - pd_sim_random_share(random));
}

/* How many of n events with probability p each happen: binomial, by the normal approximation where
 * that is good. */
uint64_t pd_sim_random_binomial(struct pd_sim_random *random, uint64_t n, double p);

#endif

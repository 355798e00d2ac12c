/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers that need more than a line. */
#include "sim/random.h"

#define PI            3.14159265358979323846
#define NORMAL_WITHIN 400.0 /* variance from which the normal approximation is used */

static double normal(struct pd_random *random)
{
    double radius = sqrt(2 * pd_random_exponential(random));
    return radius * cos(2 * PI * pd_random_share(random));
}

/* Jumps from one event to the next: the gaps are geometric. */
static uint64_t count_gaps(struct pd_random *random, uint64_t n, double p)
{
    double scale = 1 / -log1p(-p), at = 0;
    uint64_t events = 0;
    while ((at += floor(pd_random_exponential(random) * scale) + 1) <= (double)n)
        events++;
    return events;
}

uint64_t pd_random_binomial(struct pd_random *random, uint64_t n, double p)
{
    if (!n || p <= 0)
        return 0;
    if (p >= 1)
        return n;
    double mean = (double)n * p, variance = mean * (1 - p);
    if (variance < NORMAL_WITHIN)
        return p > 0.5 ? n - count_gaps(random, n, 1 - p) : count_gaps(random, n, p);
    double events = floor(mean + sqrt(variance) * normal(random) + 0.5);
    return events < 0 ? 0 : events > (double)n ? n : (uint64_t)events;
}

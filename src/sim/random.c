/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers that need more than a line. */
#include "sim/random.h"

#include <math.h>

#define LN_2          0.69314718055994530942
#define SQRT_HALF     0.70710678118654752440
#define P_LEAST       1e-15 /* less never happens here */
#define NORMAL_WITHIN 400.0 /* variance from which the normal approximation is used */

/* x = m 2^e with m around 1, and ln m = 2 artanh((m - 1) / (m + 1)) as a series, whose argument is
 * at most 0.172. */
double pd_sim_random_log(double x)
{
    enum { TERMS = 11 };
    int exponent;
    double m = frexp(x, &exponent), sum = 0;
    if (m < SQRT_HALF) {
        m *= 2;
        exponent--;
    }
    double t = (m - 1) / (m + 1), square = t * t;
    for (int n = TERMS; n >= 0; n--) {
        sum = sum * square + 1.0 / (2 * n + 1);
    }
    return exponent * LN_2 + 2 * t * sum;
}

/* Marsaglia's polar method. */
static double normal(struct pd_sim_random *random)
{
    for (;;) {
        double x = 2 * pd_sim_random_share(random) - 1, y = 2 * pd_sim_random_share(random) - 1;
        double square = x * x + y * y;
        if (square > 1e-9 && square < 1) {
            return x * sqrt(-2 * pd_sim_random_log(square) / square);
        }
    }
}

/* Jumps from one event to the next: the gaps are geometric. */
static uint64_t count_gaps(struct pd_sim_random *random, uint64_t n, double p)
{
    double scale = 1 / -pd_sim_random_log(1 - p), at = 0;
    uint64_t events = 0;
    while ((at += floor(pd_sim_random_exponential(random) * scale) + 1) <= (double)n) {
        events++;
    }
    return events;
}

uint64_t pd_sim_random_binomial(struct pd_sim_random *random, uint64_t n, double p)
{
    if (!n || p <= P_LEAST) {
        return 0;
    }
    if (p >= 1) {
        return n;
    }
    double mean = (double)n * p, variance = mean * (1 - p);
    if (variance < NORMAL_WITHIN) {
        return p > 0.5 ? n - count_gaps(random, n, 1 - p) : count_gaps(random, n, p);
    }
    double events = floor(mean + sqrt(variance) * normal(random) + 0.5);
    return events < 0 ? 0 : events > (double)n ? n : (uint64_t)events;
}

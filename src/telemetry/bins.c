/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of bins: merged, and asked for ranks. */
#include "telemetry/bins.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define Z_95 1.959964 /* of the normal distribution, both sides: 95 % */

static void sum(uint64_t *to, uint64_t more)
{
    *to = more < PD_TELEMETRY_VALUE_MAX - *to ? *to + more : PD_TELEMETRY_VALUE_MAX;
}

/* Pairs of neighbours become one. */
static void halve(struct pd_telemetry_bins *bins)
{
    uint32_t len = 0;

    for (uint32_t i = 0; i < bins->len; i += 2) {
        struct pd_telemetry_bin one = bins->bins[i];
        if (i + 1 < bins->len) {
            const struct pd_telemetry_bin *next = &bins->bins[i + 1];
            one.value = next->count > one.count ? next->value : one.value;
            sum(&one.count, next->count);
        }
        bins->bins[len++] = one;
    }
    bins->len = len;
}

int pd_telemetry_bins_add(struct pd_telemetry_bins *bins, const struct pd_telemetry_bin *more,
                          size_t len)
{
    struct pd_telemetry_bin *all = len ? reallocarray(NULL, bins->len + len, sizeof *all) : NULL;
    size_t a = 0, b = 0;
    uint32_t n = 0;

    if (!all) {
        return len ? -ENOMEM : 0;
    }
    while (a < bins->len || b < len) {
        if (b == len || (a < bins->len && bins->bins[a].value < more[b].value)) {
            all[n++] = bins->bins[a++];
            continue;
        }
        all[n] = more[b++];
        sum(&bins->samples, all[n].count);
        if (a < bins->len && bins->bins[a].value == all[n].value) {
            sum(&all[n].count, bins->bins[a++].count);
        }
        n++;
    }
    free(bins->bins);
    bins->bins = all;
    bins->len = n;
    while (bins->len > PD_TELEMETRY_BINS_MOST) {
        halve(bins);
    }
    return 0;
}

void pd_telemetry_bins_done(struct pd_telemetry_bins *bins)
{
    free(bins->bins);
    *bins = (struct pd_telemetry_bins){0};
}

/* The value of the sample with this rank, from 1; ranks beyond both ends are the ends. */
static uint64_t at_rank(const struct pd_telemetry_bins *bins, double rank)
{
    double passed = 0;
    uint32_t i = 0;

    for (; i + 1 < bins->len; i++) {
        passed += (double)bins->bins[i].count;
        if (passed >= rank) {
            break;
        }
    }
    return bins->len ? bins->bins[i].value : 0;
}

uint64_t pd_telemetry_bins_quantile(const struct pd_telemetry_bins *bins, double share)
{
    return at_rank(bins, ceil(share * (double)bins->samples - 1e-9));
}

void pd_telemetry_bins_interval(const struct pd_telemetry_bins *bins, double share,
                                uint64_t *ret_low, uint64_t *ret_high)
{
    const double n = (double)bins->samples;
    const double reach = Z_95 * sqrt(n * share * (1 - share));

    *ret_low = at_rank(bins, floor(n * share - reach));
    *ret_high = at_rank(bins, ceil(n * share + reach) + 1);
}

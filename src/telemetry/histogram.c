/* SPDX-License-Identifier: Apache-2.0 */
/* Counting codes, and what the counts say. */
#include "telemetry/histogram.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define Z_95 1.959964 /* of the normal distribution, both sides: 95 % */

/* How many counts there are. */
static unsigned counts_len(const struct pd_telemetry_histogram *histogram)
{
    const unsigned width = 1u << histogram->halved;
    return (histogram->codes + width - 1) / width;
}

int pd_telemetry_histogram_init(struct pd_telemetry_histogram *histogram, unsigned codes)
{
    codes = codes < PD_TELEMETRY_CODES_MAX ? codes : PD_TELEMETRY_CODES_MAX;
    *histogram = (struct pd_telemetry_histogram){.codes = (uint16_t)codes};
    histogram->counts = calloc(codes + 1, sizeof *histogram->counts);
    return histogram->counts ? 0 : -ENOMEM;
}

void pd_telemetry_histogram_done(struct pd_telemetry_histogram *histogram)
{
    free(histogram->counts);
    *histogram = (struct pd_telemetry_histogram){0};
}

static void count(struct pd_telemetry_histogram *histogram, unsigned at, uint32_t more)
{
    uint32_t *counted = &histogram->counts[at];
    const uint32_t room = UINT32_MAX - *counted, taken = more < room ? more : room;

    *counted += taken;
    histogram->samples += taken;
}

bool pd_telemetry_histogram_add(struct pd_telemetry_histogram *histogram, unsigned code,
                                uint32_t more)
{
    if (code >= histogram->codes) {
        return false;
    }
    count(histogram, code >> histogram->halved, more);
    return true;
}

static void halve(struct pd_telemetry_histogram *histogram)
{
    const unsigned len = counts_len(histogram);

    histogram->samples = 0;
    for (unsigned i = 0; i < len; i += 2) {
        const uint32_t low = histogram->counts[i];
        const uint32_t high = i + 1 < len ? histogram->counts[i + 1] : 0;
        histogram->counts[i / 2] = 0;
        count(histogram, i / 2, low);
        count(histogram, i / 2, high);
    }
    histogram->halved++;
}

bool pd_telemetry_histogram_merge(struct pd_telemetry_histogram *histogram,
                                  const struct pd_telemetry_histogram *other)
{
    if (other->codes != histogram->codes) {
        return false;
    }
    while (histogram->halved < other->halved) {
        halve(histogram);
    }
    for (unsigned i = 0; i < counts_len(other); i++) {
        count(histogram, i >> (histogram->halved - other->halved), other->counts[i]);
    }
    return true;
}

size_t pd_telemetry_histogram_bytes(const struct pd_telemetry_histogram *histogram)
{
    return counts_len(histogram) * sizeof *histogram->counts;
}

void pd_telemetry_histogram_fit(struct pd_telemetry_histogram *histogram, size_t bytes)
{
    while (counts_len(histogram) > 1 && pd_telemetry_histogram_bytes(histogram) > bytes) {
        halve(histogram);
    }
}

/* ---- questions */

static struct pd_telemetry_codes codes_at(const struct pd_telemetry_histogram *histogram,
                                          unsigned at)
{
    const unsigned end = (at + 1) << histogram->halved;

    return (struct pd_telemetry_codes){
        .first = at << histogram->halved,
        .last = (end < histogram->codes ? end : histogram->codes) - 1u,
    };
}

/* The codes of the sample with this rank, from 1. */
static struct pd_telemetry_codes at_rank(const struct pd_telemetry_histogram *histogram,
                                         uint64_t rank)
{
    const unsigned len = counts_len(histogram);
    uint64_t sum = 0;
    unsigned i = 0;

    for (; i + 1 < len; i++) {
        sum += histogram->counts[i];
        if (sum >= rank) {
            break;
        }
    }
    return codes_at(histogram, i);
}

static uint64_t clamp_rank(const struct pd_telemetry_histogram *histogram, double rank)
{
    if (!(rank >= 1)) {
        return 1;
    }
    return rank > (double)histogram->samples ? histogram->samples : (uint64_t)rank;
}

bool pd_telemetry_histogram_quantile(const struct pd_telemetry_histogram *histogram, double share,
                                     struct pd_telemetry_codes *ret_codes)
{
    const double n = (double)histogram->samples;

    if (histogram->samples == 0) {
        return false;
    }
    *ret_codes = at_rank(histogram, clamp_rank(histogram, ceil(share * n - 1e-9)));
    return true;
}

bool pd_telemetry_histogram_interval(const struct pd_telemetry_histogram *histogram, double share,
                                     struct pd_telemetry_codes *ret_low,
                                     struct pd_telemetry_codes *ret_high)
{
    const double n = (double)histogram->samples;
    const double reach = Z_95 * sqrt(n * share * (1 - share));

    if (histogram->samples == 0) {
        return false;
    }
    *ret_low = at_rank(histogram, clamp_rank(histogram, floor(n * share - reach)));
    *ret_high = at_rank(histogram, clamp_rank(histogram, ceil(n * share + reach) + 1));
    return true;
}

size_t pd_telemetry_histogram_frequent(const struct pd_telemetry_histogram *histogram, double share,
                                       struct pd_telemetry_codes *codes, size_t most)
{
    const double least = share * (double)histogram->samples;
    size_t len = 0;

    for (unsigned i = 0; i < counts_len(histogram); i++) {
        if (histogram->counts[i] > 0 && histogram->counts[i] >= least) {
            if (len < most) {
                codes[len] = codes_at(histogram, i);
            }
            len++;
        }
    }
    return len;
}

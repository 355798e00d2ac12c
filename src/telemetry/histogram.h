/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of codes: what a hop's samples of one value are kept in. */
#ifndef PD_TELEMETRY_HISTOGRAM_H
#define PD_TELEMETRY_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A switch's measured value arrives as a code of at most 8 bits (paper 002, section 4.3), so that
 * counting codes keeps everything: quantiles are exact but for the code's own width, and
 * histograms merge by addition. This takes the place of the paper's sketch, which is smaller only
 * while it forgets. Over a budget of bytes two neighbouring codes become one, again and again.
 *
 * Quantiles come with an interval by order statistics: the true quantile of what was sampled lies
 * between two ranks with the asked confidence, whatever the distribution.
 *
 * A histogram belongs to one thread. */

#define PD_TELEMETRY_CODES_MAX 256

struct pd_telemetry_histogram {
    uint64_t samples;
    uint16_t codes; /* of the plan's query */
    uint8_t halved; /* so many times: a count is of 2^halved neighbouring codes */
    uint32_t *counts;
};

/* 0 or -ENOMEM. */
int pd_telemetry_histogram_init(struct pd_telemetry_histogram *histogram, unsigned codes);
void pd_telemetry_histogram_done(struct pd_telemetry_histogram *histogram); /* zeroed is fine */

/* A code beyond the query's is not counted: false. Counts stop at their greatest number. */
bool pd_telemetry_histogram_add(struct pd_telemetry_histogram *histogram, unsigned code,
                                uint32_t count);

/* Adds the counts of another one with as many codes, halved as often as the coarser one. False:
 * the numbers of codes differ. */
bool pd_telemetry_histogram_merge(struct pd_telemetry_histogram *histogram,
                                  const struct pd_telemetry_histogram *other);

/* Makes two neighbouring codes one until the counts take at most so many bytes, or one code is
 * left. */
void pd_telemetry_histogram_fit(struct pd_telemetry_histogram *histogram, size_t bytes);
size_t pd_telemetry_histogram_bytes(const struct pd_telemetry_histogram *histogram);

/* Codes that count as one, from `first` to `last`. */
struct pd_telemetry_codes {
    unsigned first, last;
};

/* The codes of the sample of rank ceil(share * samples), share from 0 to 1. False without samples.
 */
bool pd_telemetry_histogram_quantile(const struct pd_telemetry_histogram *histogram, double share,
                                     struct pd_telemetry_codes *ret_codes);

/* Between which codes the quantile lies with a confidence of 95 %. */
bool pd_telemetry_histogram_interval(const struct pd_telemetry_histogram *histogram, double share,
                                     struct pd_telemetry_codes *ret_low,
                                     struct pd_telemetry_codes *ret_high);

/* The codes of at least this share of the samples (theorem 2), in ascending order. Returns how many
 * of them there are; writes at most `most`. */
size_t pd_telemetry_histogram_frequent(const struct pd_telemetry_histogram *histogram, double share,
                                       struct pd_telemetry_codes *codes, size_t most);

#endif

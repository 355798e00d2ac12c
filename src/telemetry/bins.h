/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms by value: what is left of codes once several records, plans and hosts meet. */
#ifndef PD_TELEMETRY_BINS_H
#define PD_TELEMETRY_BINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bins stand by value, no value twice; adding is merging two such lists, in any order. Where there
 * are more than PD_TELEMETRY_BINS_MOST, neighbours become one, with the value of the fuller one.
 *
 * Thread safety: plain data of one thread. */

#define PD_TELEMETRY_BINS_MOST 512u
#define PD_TELEMETRY_VALUE_MAX ((UINT64_C(1) << 53) - 1) /* of a value, and of a sum of counts */

struct pd_telemetry_bin {
    uint64_t value, count; /* count: not 0 */
};

struct pd_telemetry_bins { /* zeroed: empty */
    struct pd_telemetry_bin *bins;
    uint32_t len;
    uint64_t samples; /* stops at PD_TELEMETRY_VALUE_MAX */
};

/* 0 or -ENOMEM: all is as it was. `more`: by value, none twice. */
int pd_telemetry_bins_add(struct pd_telemetry_bins *bins, const struct pd_telemetry_bin *more,
                          size_t len);
void pd_telemetry_bins_done(struct pd_telemetry_bins *bins); /* zeroed is fine */

/* The value of the sample of rank ceil(share * samples), share from 0 to 1; 0 without samples. */
uint64_t pd_telemetry_bins_quantile(const struct pd_telemetry_bins *bins, double share);

/* Between which values the quantile lies with a confidence of 95 %, whatever the distribution:
 * order statistics, as in telemetry/histogram.h. */
void pd_telemetry_bins_interval(const struct pd_telemetry_bins *bins, double share,
                                uint64_t *ret_low, uint64_t *ret_high);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The minus meter: what upstream meters counted less what downstream meters did. */
#ifndef PD_METER_COMPARE_H
#define PD_METER_COMPARE_H

#include <stddef.h>

#include "meter/meter.h"

/* Paper 004, Algorithm 3, with what the README says is different. Whoever reads meters, from files
 * or from monitors, gives their buckets as entries; order does not matter.
 *
 * Thread safety: works on the caller's memory. */

struct pd_meter_entry {
    uint64_t epoch;
    uint32_t reading; /* index of the reading that it is of */
    uint32_t bucket;
    /* ID of the monitor at which its stretch begins: upstream the monitor's own, downstream what
     * the filter tells; 0 in all where a flow has one stretch, from end to end. */
    uint32_t from;
    uint8_t row;
    bool dirty; /* then flow, filter and packets are nobody's */
    struct pd_flow_id flow;
    uint64_t filter, pkts;
};

struct pd_meter_stray { /* came marked to a monitor without a rule for it */
    uint64_t epoch;
    struct pd_flow_id flow;
};

/* One monitor's meter of one role. */
struct pd_meter_reading {
    uint32_t monitor; /* ID of the switch */
    bool downstream;
    uint8_t rows;
    uint32_t width;
    /* It is of this epoch alone, also where nothing was counted; else of those of its entries. */
    bool one_epoch;
    uint64_t epoch;
};

struct pd_meter_readings {
    struct pd_meter_reading *readings;
    size_t len;
    struct pd_meter_entry *entries; /* sorted in place */
    size_t entries_len;
    struct pd_meter_stray *strays; /* sorted in place */
    size_t strays_len;
};

enum pd_meter_why {
    PD_METER_MEASURED,
    PD_METER_STRAY,    /* it came to a monitor without a rule */
    PD_METER_COLLIDED, /* no clean bucket downstream */
    PD_METER_DISAGREE, /* clean buckets that differ */
    PD_METER_UNREAD,   /* the far end has no meter of this epoch */
    PD_METER_PATHLESS, /* nothing arrived, and its path was not seen before */
};
const char *pd_meter_why_text(enum pd_meter_why why);

struct pd_meter_result {
    struct pd_flow_id flow;
    uint64_t epoch, filter;
    uint32_t from; /* as in entries */
    uint64_t sent, lost;
    bool more_received; /* than sent: duplicates; lost is 0 then */
    enum pd_meter_why why;
};

struct pd_meter_compare {
    /* Whether a monitor stands at the end of the flow's stretch that begins at `from`. */
    bool (*ends_at)(void *context, const struct pd_flow_id *flow, uint32_t from, uint32_t monitor);
    /* The filter of a flow that was seen on its stretch before these readings; false: it was not.
     * NULL: nothing was. */
    bool (*seen_before)(void *context, const struct pd_flow_id *flow, uint32_t from,
                        uint64_t *ret_filter);
    /* One call for each flow, stretch and epoch that an upstream meter knows, in this order. 0, or
     * a negative error that ends it. */
    int (*result)(void *context, const struct pd_meter_result *result);
    void *context;
};

int pd_meter_compare(struct pd_meter_readings *readings, const struct pd_meter_compare *compare);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A meter: counts packets of chosen flows in few buckets, and knows which of them two flows met. */
#ifndef PD_METER_METER_H
#define PD_METER_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/flow_id.h"

/* Paper 004, section III-C, Algorithms 1 (upstream) and 2 (downstream). Each row hashes a flow with
 * a CRC-32 of its own polynomial to one bucket. The first packet takes the bucket; another flow, or
 * another filter, makes it dirty: it says nothing then. Upstream the filter is always 0.
 *
 * Two instances, for odd and even epochs: one is read while the other counts.
 *
 * Thread safety: a meter belongs to one thread. */

#define PD_METER_ROWS_MAX  3
#define PD_METER_WIDTH_MAX (1u << 20)
#define PD_METER_INSTANCES 2

struct pd_meter_bucket {
    struct pd_flow_id flow;
    uint64_t filter; /* of its packets, as the codec's mark */
    uint64_t pkts;
    bool used, dirty;
};

struct pd_meter;

/* `width` is a power of two. 0, -EINVAL or -ENOMEM. */
int pd_meter_new(unsigned rows, uint32_t width, struct pd_meter **ret_meter);
void pd_meter_free(struct pd_meter *meter); /* NULL is fine */

void pd_meter_add(struct pd_meter *meter, unsigned instance, const struct pd_flow_id *flow,
                  uint64_t filter, uint64_t pkts);
const struct pd_meter_bucket *pd_meter_bucket(const struct pd_meter *meter, unsigned instance,
                                              unsigned row, uint32_t bucket);
void pd_meter_clear(struct pd_meter *meter, unsigned instance);

/* The bucket of a flow: CRC-32 of source, destination, ports and protocol in network order (13 or
 * 37 bytes), with polynomial 0x04C11DB7, 0x1EDC6F41 or 0x741B8CD7 (reflected; initial value and
 * final XOR all ones), modulo `width`. */
uint32_t pd_meter_place(const struct pd_flow_id *flow, unsigned row, uint32_t width);

#endif

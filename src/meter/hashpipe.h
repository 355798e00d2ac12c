/* SPDX-License-Identifier: Apache-2.0 */
/* HashPipe: the largest flows of an epoch, in a few counters. */
#ifndef PD_METER_HASHPIPE_H
#define PD_METER_HASHPIPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/flow_id.h"

/* Sivaraman et al., "Heavy-Hitter Detection Entirely in the Data Plane" (SOSR 2017); paper 004,
 * section III-D. Stages of few slots. In the first one a newcomer always takes the slot; what it
 * displaces goes on, and takes a slot of a later stage where that is free or holds less. What the
 * last stage displaces is forgotten. So counts are never too high, and a flow may stand in several
 * stages: its counts add up.
 *
 * Keys are a flow and its filter, hashed as the meter's rows hash flows.
 *
 * Thread safety: belongs to one thread. */

#define PD_HASHPIPE_STAGES    3u
#define PD_HASHPIPE_SLOTS     32u /* of a stage; a power of two */
#define PD_HASHPIPE_INSTANCES 2u  /* odd and even epochs */

struct pd_hashpipe_slot {
    struct pd_flow_id flow;
    uint64_t filter;
    uint64_t pkts; /* 0: free */
};

struct pd_hashpipe {
    struct pd_hashpipe_slot slots[PD_HASHPIPE_INSTANCES][PD_HASHPIPE_STAGES][PD_HASHPIPE_SLOTS];
};

void pd_hashpipe_add(struct pd_hashpipe *pipe, unsigned instance, const struct pd_flow_id *flow,
                     uint64_t filter, uint64_t pkts);

/* Flows with their filters, each once, in no order; *ret_slots has room for all of an instance.
 * Returns how many. */
unsigned pd_hashpipe_read(
    const struct pd_hashpipe *pipe, unsigned instance,
    struct pd_hashpipe_slot ret_slots[PD_HASHPIPE_STAGES * PD_HASHPIPE_SLOTS]);
void pd_hashpipe_clear(struct pd_hashpipe *pipe, unsigned instance);

#endif

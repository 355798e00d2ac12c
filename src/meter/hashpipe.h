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

#define PD_METER_PIPE_STAGES    3u
#define PD_METER_PIPE_SLOTS     32u /* of a stage; a power of two */
#define PD_METER_PIPE_INSTANCES 2u  /* odd and even epochs */

struct pd_meter_pipe_slot {
    struct pd_flow_id flow;
    uint64_t filter;
    uint64_t pkts; /* 0: free */
};

struct pd_meter_pipe {
    struct pd_meter_pipe_slot slots[PD_METER_PIPE_INSTANCES][PD_METER_PIPE_STAGES]
                                   [PD_METER_PIPE_SLOTS];
};

void pd_meter_pipe_add(struct pd_meter_pipe *pipe, unsigned instance, const struct pd_flow_id *flow,
                       uint64_t filter, uint64_t pkts);

/* Flows with their filters, each once, in no order; *ret_slots has room for all of an instance.
 * Returns how many. */
unsigned pd_meter_pipe_read(
    const struct pd_meter_pipe *pipe, unsigned instance,
    struct pd_meter_pipe_slot ret_slots[PD_METER_PIPE_STAGES * PD_METER_PIPE_SLOTS]);
void pd_meter_pipe_clear(struct pd_meter_pipe *pipe, unsigned instance);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* HashPipe's stages. */
#include "meter/hashpipe.h"

#include <string.h>

#include "meter/meter.h"

_Static_assert(PD_METER_PIPE_STAGES <= PD_METER_ROWS_MAX, "each stage has a polynomial of its own");

static bool is_same(const struct pd_meter_pipe_slot *slot, const struct pd_flow_id *flow,
                    uint64_t filter)
{
    return slot->pkts && slot->filter == filter && pd_flow_id_equal(&slot->flow, flow);
}

void pd_meter_pipe_add(struct pd_meter_pipe *pipe, unsigned instance, const struct pd_flow_id *flow,
                       uint64_t filter, uint64_t pkts)
{
    struct pd_meter_pipe_slot carried = {.flow = *flow, .filter = filter, .pkts = pkts};

    for (unsigned stage = 0; stage < PD_METER_PIPE_STAGES && carried.pkts; stage++) {
        const uint32_t place = pd_meter_place(&carried.flow, stage, PD_METER_PIPE_SLOTS);
        struct pd_meter_pipe_slot *slot = &pipe->slots[instance][stage][place];

        if (is_same(slot, &carried.flow, carried.filter)) {
            slot->pkts += carried.pkts;
            return;
        }
        if (!stage || slot->pkts < carried.pkts) {
            const struct pd_meter_pipe_slot displaced = *slot;
            *slot = carried;
            carried = displaced;
        }
    }
}

unsigned pd_meter_pipe_read(
    const struct pd_meter_pipe *pipe, unsigned instance,
    struct pd_meter_pipe_slot ret_slots[PD_METER_PIPE_STAGES * PD_METER_PIPE_SLOTS])
{
    const struct pd_meter_pipe_slot *slots = &pipe->slots[instance][0][0];
    unsigned len = 0;

    for (unsigned i = 0; i < PD_METER_PIPE_STAGES * PD_METER_PIPE_SLOTS; i++) {
        unsigned at = 0;

        while (at < len && !is_same(&ret_slots[at], &slots[i].flow, slots[i].filter)) {
            at++;
        }
        if (at < len) {
            ret_slots[at].pkts += slots[i].pkts;
        } else if (slots[i].pkts) {
            ret_slots[len++] = slots[i];
        }
    }
    return len;
}

void pd_meter_pipe_clear(struct pd_meter_pipe *pipe, unsigned instance)
{
    memset(pipe->slots[instance], 0, sizeof pipe->slots[instance]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The trajectory record: what the datapath counted for one flow ID and one mark. */
#ifndef PD_TRAJECTORY_RECORD_H
#define PD_TRAJECTORY_RECORD_H

#include <stdint.h>

#include "base/flow_id.h"
#include "packet/packet.h"

#define PD_EVICTIONS(X)                                  \
    X(NONE, "none", "still in the trajectory memory")    \
    X(FIN, "fin", "FIN or RST was seen")                 \
    X(IDLE, "idle", "no packet for the idle timeout")    \
    X(ACTIVE, "active", "older than the active timeout") \
    X(FLUSH, "flush", "the trajectory memory was emptied")

enum pd_eviction {
#define X(name, id, text) PD_EVICTION_##name,
    PD_EVICTIONS(X)
#undef X
        PD_EVICTION_COUNT
};

struct pd_trajectory_record {
    struct pd_flow_id flow;
    uint64_t mark;     /* what the packets carried, as one number; only its scheme reads it */
    uint8_t tcp_flags; /* of all packets, or-ed */
    uint8_t eviction;  /* enum pd_eviction */
    uint8_t zero[6];
    uint64_t pkts;
    uint64_t bytes;    /* of IP packets */
    uint64_t first_ns; /* on the clock of whoever called update, earliest packet */
    uint64_t last_ns;  /* latest packet */
};
_Static_assert(sizeof(struct pd_trajectory_record) == 88, "records cross process boundaries");

const char *pd_trajectory_eviction_id(enum pd_eviction eviction);

#endif

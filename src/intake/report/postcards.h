/* SPDX-License-Identifier: Apache-2.0 */
/* Postcards of switches, joined per flow: one list of hops from several reports. */
#ifndef PD_INTAKE_REPORT_POSTCARDS_H
#define PD_INTAKE_REPORT_POSTCARDS_H

#include "telemetry/telemetry.h"

/* Each switch sends a postcard of the packets that it watches, and no number says which are of the
 * same packet. Those of a flow that come within PD_POSTCARDS_NS belong together; they are one list,
 * in the order of the switches' times, or in which they came, and whoever has the topology puts it
 * right (codec `telemetry`). The packets are as many as the switch that sent most says.
 *
 * Bounded: PD_POSTCARDS_FLOWS at a time; a flow that has no room pushes out another, whose list
 * ends early. One thread. */

#define PD_POSTCARDS_NS    UINT64_C(100000000)
#define PD_POSTCARDS_FLOWS 4096u
#define PD_POSTCARDS_HOPS  16u
#define PD_POSTCARDS_BYTES 128u

struct pd_postcards;

/* A list that is whole, or as whole as it gets. */
struct pd_postcards_list {
    struct pd_telemetry telemetry;
    uint32_t pkts;
    uint64_t time_ns; /* of the first one */
    size_t captured, wire;
    uint8_t frame[PD_POSTCARDS_BYTES]; /* the first bytes of a packet of it */
};
typedef void pd_postcards_out(void *context, const struct pd_postcards_list *list);

struct pd_postcards *pd_intake_postcards_new(pd_postcards_out *out,
                                             void *context); /* NULL: no memory */
void pd_intake_postcards_free(
    struct pd_postcards *postcards); /* NULL is fine; what waits is lost */

/* One of a packet of this flow. The frame's first bytes are kept. */
void pd_intake_postcards_add(struct pd_postcards *postcards, const struct pd_flow_id *flow,
                             const struct pd_telemetry_hop *hop, const uint8_t *frame,
                             size_t captured, size_t wire, uint64_t time_ns);
/* Lets lists out that began PD_POSTCARDS_NS before now; all of them with UINT64_MAX. */
void pd_intake_postcards_sweep(struct pd_postcards *postcards, uint64_t now_ns);

#endif

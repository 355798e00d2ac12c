/* SPDX-License-Identifier: Apache-2.0 */
/* Which segment the filter of a flow tells at the monitor that it comes to. */
#ifndef PD_CONTROLLER_METERS_STRETCHES_H
#define PD_CONTROLLER_METERS_STRETCHES_H

#include "codec/codec.h"
#include "meter/loop.h"

/* A segment is a stretch of a shortest path, from one monitor to the next. The codec's rules are
 * executed along each shortest path of the flow; the one stretch that leaves exactly this mark at
 * the monitor is it. None or several: it is not told.
 *
 * Thread safety: one thread. */

struct pd_meters_stretches {
    const struct pd_topology *topology;
    const struct pd_codec *codec;
    const uint32_t *numbers;      /* by switch: of its monitor, PD_NONE: none; the owner's */
    struct pd_meter_loop *loop;   /* segments are added here; the owner's */
    const struct pd_path **paths; /* by segment; of the table of paths */
    uint32_t *by_path;            /* by number in the table of paths: a segment + 1 */
    uint8_t **hops;               /* by switch: to it from each; NULL: not yet */
    size_t paths_room, by_path_room;
};

/* 0 or -ENOMEM. */
int pd_meters_stretches_init(struct pd_meters_stretches *ret_stretches,
                             const struct pd_topology *topology, const struct pd_codec *codec,
                             const uint32_t *numbers, struct pd_meter_loop *loop);
void pd_meters_stretches_done(struct pd_meters_stretches *stretches);

/* 0; -PD_E_INFEASIBLE, -PD_E_AMBIGUOUS; -PD_E_FULL or -ENOMEM. `at`: the switch. */
int pd_meters_stretches_find(struct pd_meters_stretches *stretches, const struct pd_flow_id *flow,
                             uint32_t at, uint64_t mark, uint32_t *ret_segment);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A switch: a pipeline, its ports, its counters and its slow path. */
#ifndef PD_SWX_SWITCH_H
#define PD_SWX_SWITCH_H

#include <jansson.h>
#include <stdio.h>

#include "base/error.h"
#include "slow_path/slow_path.h"
#include "swx/entries.h"
#include "swx/pipeline.h"
#include "swx/ports/port.h"

/* Every frame that is received is forwarded, dropped under a reason, or punted, and counted as that
 * once. What a switch makes itself (answers, mirrors) is counted beside.
 *
 * One thread. */

struct pd_swx_switch {
    uint32_t id;
    const char *program, *punts; /* as the configuration has them; punts may be NULL */
    struct pd_swx_pipeline *pipeline;
    struct pd_swx_entries entries;
    struct pd_slow_path *slow_path;
    struct pd_swx_port *ports[PD_SWX_PORT_MAX + 1];
    struct pd_swx_ring rings[PD_SWX_PORT_MAX + 1]; /* of frames that come in from other switches */
    uint32_t ports_max;
    struct pd_swx_told {
        char name[PD_SWX_NAME_MAX];
        uint32_t len; /* 0: the program has no such array */
    } clock, queue, queue_frames;
    uint64_t now_ns;
    uint64_t received, forwarded, punted, mirrored, answered;
    uint64_t dropped[PD_SWX_REASON_COUNT];
    uint64_t made_lost; /* frames of its own that did not leave */
};

/* What the configuration says of one. */
struct pd_swx_switch_config {
    uint32_t id;
    const char *program, *spec, *tables, *punts; /* punts may be NULL */
    uint32_t icmp_per_s, ports_max;
    bool captures; /* times are those of frames: punts are not limited */
};

/* Without its ports, which whoever opens them puts into `ports`. 0 or a negative error in words. */
int pd_swx_switch_open(const struct pd_swx_switch_config *config, struct pd_swx_switch *sw,
                       struct pd_error *error);
void pd_swx_switch_close(struct pd_swx_switch *sw);

/* A frame comes in by a port, filled: it goes through at the next run. */
void pd_swx_switch_arrives(struct pd_swx_switch *sw, struct pd_swx_frame *frame, uint16_t in_port);
/* One came that could not be taken. */
void pd_swx_switch_lost(struct pd_swx_switch *sw, enum pd_swx_reason reason);

/* Time and queues are told to the program, then all that has come in goes out. */
void pd_swx_switch_run(struct pd_swx_switch *sw, uint64_t now_ns);

/* The counters as the contract has them; NULL: no memory. */
json_t *pd_swx_switch_summary(const struct pd_swx_switch *sw);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated meters inside: monitors, and stretches of path between them. Internal to meters*.c. */
#ifndef PD_SIM_METERS_PRIVATE_H
#define PD_SIM_METERS_PRIVATE_H

#include "meter/compare.h"
#include "meter/hashpipe.h"
#include "meter/loop.h"
#include "meter/meter.h"
#include "sim/meters.h"

enum { PD_SIM_STRAYS_MAX = 4096 };

struct pd_sim_meters_stray {
    struct pd_flow_id flow;
    uint64_t epoch;
};

struct pd_sim_meters_monitor {
    uint32_t id;
    struct pd_meter *up, *down;
    struct pd_meter_pipe pipe;
    struct pd_sim_meters_stray strays[PD_SIM_STRAYS_MAX]; /* of the epochs not read yet */
    uint32_t strays_len;
    bool strays_full;
    bool counted[PD_METER_INSTANCES]; /* something */
};

/* A stretch of path between two monitors. */
struct pd_sim_meters_stretch {
    uint32_t *nodes; /* IDs */
    uint32_t len;
    uint64_t sent, lost; /* given by the loop since rows were made */
};

struct pd_sim_meters {
    const struct pd_sim_scenario *scenario;
    uint64_t epoch_ns;
    uint64_t epoch; /* the next to be read */
    struct pd_sim_meters_monitor **monitors;
    uint32_t *numbers; /* by switch: of its monitor; PD_NONE: none */
    uint32_t monitors_len;
    struct pd_meter_loop *loop;
    struct pd_sim_meters_stretch *stretches; /* by segment of the loop */
    size_t stretches_room;
    uint32_t *index; /* by hash of the nodes: a segment + 1; open addressing */
    uint32_t index_len;
    bool full; /* memory ran out */
    struct pd_sim_net_losses losses;
    struct pd_meter_reading *readings; /* two of each monitor: up, down */
    struct pd_meter_entry *entries;
    size_t entries_len, entries_room;
    struct pd_meter_stray *strays;
    size_t strays_len, strays_room;
    struct pd_evidence_row *rows;
    struct pd_evidence_way *ways;
    size_t rows_room, ways_room;
    struct pd_sim_meters_counters counters;
};

/* The monitor of a switch, by its ID; PD_NONE: it has none. */
uint32_t pd_sim_meters_monitor_of(const struct pd_sim_meters *meters, uint32_t id);

#endif

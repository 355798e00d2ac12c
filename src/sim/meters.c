/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated meters: monitors that count packets, and the rows that are told. */
#include "sim/meters_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "meter/epoch.h"

/* ---- life ---- */

void pd_sim_meters_free(struct pd_sim_meters *meters)
{
    if (!meters) {
        return;
    }
    for (uint32_t i = 0; i < meters->monitors_len; i++) {
        pd_meter_free(meters->monitors[i]->up);
        pd_meter_free(meters->monitors[i]->down);
        free(meters->monitors[i]);
    }
    for (uint32_t s = 0; meters->loop && s < pd_meter_loop_len(meters->loop); s++) {
        free(meters->stretches[s].nodes);
    }
    pd_meter_loop_free(meters->loop);
    free(meters->monitors);
    free(meters->numbers);
    free(meters->stretches);
    free(meters->index);
    free(meters->readings);
    free(meters->entries);
    free(meters->strays);
    free(meters->rows);
    free(meters->ways);
    free(meters);
}

static int add_monitor(struct pd_sim_meters *meters, uint32_t sw)
{
    const struct pd_sim_meters_settings *settings = &meters->scenario->meters;
    struct pd_sim_meters_monitor *monitor = calloc(1, sizeof *monitor);

    if (!monitor) {
        return -ENOMEM;
    }
    monitor->id = meters->scenario->topology->switches[sw].id;
    int err = pd_meter_new(settings->rows, settings->width, &monitor->up);
    err = err ? err : pd_meter_new(settings->rows, settings->width, &monitor->down);
    meters->numbers[sw] = meters->monitors_len;
    meters->monitors[meters->monitors_len++] = monitor;
    return err;
}

static int add_monitors(struct pd_sim_meters *meters)
{
    const struct pd_topology *topology = meters->scenario->topology;
    int err = 0;

    for (uint32_t s = 0; s < topology->switches_len && !err; s++) {
        const struct pd_switch *sw = &topology->switches[s];
        const bool rack = sw->neighbours_len > sw->switch_neighbours;

        meters->numbers[s] = PD_NONE;
        if (rack || (meters->scenario->meters.top && pd_role_is_top(sw->role))) {
            err = add_monitor(meters, s);
        }
    }
    for (uint32_t m = 0; m < meters->monitors_len; m++) {
        for (uint32_t role = 0; role < 2; role++) {
            meters->readings[2 * m + role] =
                (struct pd_meter_reading){.monitor = meters->monitors[m]->id,
                                          .downstream = role,
                                          .one_epoch = true,
                                          .rows = (uint8_t)meters->scenario->meters.rows,
                                          .width = meters->scenario->meters.width};
        }
    }
    return err ? err
               : pd_meter_loop_new(&meters->scenario->meters.loop, meters->monitors_len,
                                   &meters->loop);
}

int pd_sim_meters_new(const struct pd_sim_scenario *scenario, uint64_t seed,
                      struct pd_sim_meters **ret_meters)
{
    const size_t switches = (size_t)scenario->topology->switches_len + 1;

    *ret_meters = NULL;
    if (!scenario->meters.epoch_ms) {
        return 0;
    }
    struct pd_sim_meters *meters = calloc(1, sizeof *meters);
    if (!meters) {
        return -ENOMEM;
    }
    meters->scenario = scenario;
    meters->epoch_ns = scenario->meters.epoch_ms * UINT64_C(1000000);
    meters->losses.random.state = ~seed;
    meters->monitors = calloc(switches, sizeof(void *));
    meters->numbers = calloc(switches, sizeof *meters->numbers);
    meters->readings = calloc(2 * switches, sizeof *meters->readings);
    const int err =
        meters->monitors && meters->numbers && meters->readings ? add_monitors(meters) : -ENOMEM;
    if (err) {
        pd_sim_meters_free(meters);
    } else {
        *ret_meters = meters;
    }
    return err;
}

/* ---- segments ---- */

static uint64_t hash_nodes(const uint32_t *nodes, uint32_t len)
{
    return pd_hash(nodes, len * sizeof *nodes);
}

static uint32_t place_of(const struct pd_sim_meters *meters, const uint32_t *nodes, uint32_t len)
{
    uint32_t at = (uint32_t)hash_nodes(nodes, len) & (meters->index_len - 1);

    for (; meters->index[at]; at = (at + 1) & (meters->index_len - 1)) {
        const struct pd_sim_meters_stretch *stretch = &meters->stretches[meters->index[at] - 1];

        if (stretch->len == len && !memcmp(stretch->nodes, nodes, len * sizeof *nodes)) {
            break;
        }
    }
    return at;
}

static int grow_index(struct pd_sim_meters *meters)
{
    const uint32_t segments = pd_meter_loop_len(meters->loop);
    const uint32_t len = meters->index_len ? 2 * meters->index_len : 1024;
    uint32_t *index = calloc(len, sizeof *index);

    if (!index) {
        return -ENOMEM;
    }
    free(meters->index);
    meters->index = index;
    meters->index_len = len;
    for (uint32_t s = 0; s < segments; s++) {
        index[place_of(meters, meters->stretches[s].nodes, meters->stretches[s].len)] = s + 1;
    }
    return 0;
}

static int add_stretch(struct pd_sim_meters *meters, const uint32_t *nodes, uint32_t len,
                       uint32_t up, uint32_t down)
{
    const uint32_t segments = pd_meter_loop_len(meters->loop);
    uint32_t number;
    int err = PD_GROW(meters->stretches, meters->stretches_room, (size_t)segments + 1);

    err = err || 2 * (segments + 1) < meters->index_len ? err : grow_index(meters);
    uint32_t *copy = err ? NULL : calloc(len, sizeof *copy);
    if (!copy) {
        return -ENOMEM;
    }
    memcpy(copy, nodes, len * sizeof *copy);
    err = pd_meter_loop_add(meters->loop, up, down, &number);
    if (err) {
        free(copy);
        return err;
    }
    meters->stretches[number] = (struct pd_sim_meters_stretch){.nodes = copy, .len = len};
    meters->index[place_of(meters, nodes, len)] = number + 1;
    return 0;
}

uint32_t pd_sim_meters_monitor_of(const struct pd_sim_meters *meters, uint32_t id)
{
    const uint32_t sw = pd_topology_switch(meters->scenario->topology, id);

    return sw == PD_NONE ? PD_NONE : meters->numbers[sw];
}

/* The segment that ends at a place of a path which has a monitor; PD_NONE: it is the first. */
static uint32_t segment_to(struct pd_sim_meters *meters, const struct pd_path *path, uint32_t place)
{
    for (uint32_t first = place; first-- > 0;) {
        const uint32_t up = pd_sim_meters_monitor_of(meters, path->switches[first]);
        const uint32_t *nodes = &path->switches[first], len = place - first + 1;

        if (up == PD_NONE) {
            continue;
        }
        const uint32_t at = meters->index_len ? place_of(meters, nodes, len) : 0;
        if (meters->index_len && meters->index[at]) {
            return meters->index[at] - 1;
        }
        if (add_stretch(meters, nodes, len, up,
                        pd_sim_meters_monitor_of(meters, path->switches[place]))) {
            meters->full = true;
            return PD_NONE;
        }
        return pd_meter_loop_len(meters->loop) - 1;
    }
    return PD_NONE;
}

/* ---- counting ---- */

static void note_stray(struct pd_sim_meters *meters, struct pd_sim_meters_monitor *monitor,
                       const struct pd_flow_id *flow, uint64_t epoch, uint64_t pkts)
{
    meters->counters.stray += pkts;
    for (uint32_t i = 0; i < monitor->strays_len; i++) {
        const struct pd_sim_meters_stray *stray = &monitor->strays[i];

        if (stray->epoch == epoch && pd_flow_id_equal(&stray->flow, flow)) {
            return;
        }
    }
    if (monitor->strays_len == PD_SIM_STRAYS_MAX) {
        monitor->strays_full = true;
        return;
    }
    monitor->strays[monitor->strays_len++] = (struct pd_sim_meters_stray){*flow, epoch};
}

/* At the end of a segment. */
static void count_down(struct pd_sim_meters *meters, struct pd_sim_meters_monitor *monitor,
                       uint32_t segment, const struct pd_flow_id *flow, uint64_t pkts,
                       uint64_t time_ns, uint8_t mark)
{
    const uint64_t now = time_ns / meters->epoch_ns;
    const uint32_t up = pd_meter_loop_segment(meters->loop, segment)->up;
    const struct pd_meter_rule *rule = pd_meter_loop_rule(meters->loop, flow, up);
    uint64_t epoch;

    pd_meter_pipe_add(&monitor->pipe, now & 1, flow, segment, pkts);
    monitor->counted[now & 1] = true;
    if (mark == PD_METER_UNMARKED) {
        return;
    }
    if (!pd_meter_epoch(mark, time_ns, meters->epoch_ns, &epoch) || epoch < meters->epoch) {
        meters->counters.late += pkts;
    } else if (!rule || pd_meter_loop_segment(meters->loop, rule->segment)->down !=
                            pd_meter_loop_segment(meters->loop, segment)->down) {
        note_stray(meters, monitor, flow, epoch, pkts);
    } else {
        pd_meter_add(monitor->down, epoch & 1, flow, segment, pkts);
        monitor->counted[epoch & 1] = true;
        meters->counters.received += pkts;
    }
}

/* Where one begins. Returns the mark with which packets go on. */
static uint8_t count_up(struct pd_sim_meters *meters, uint32_t number,
                        const struct pd_flow_id *flow, uint64_t pkts, uint64_t time_ns)
{
    struct pd_sim_meters_monitor *monitor = meters->monitors[number];
    const uint64_t now = time_ns / meters->epoch_ns;

    if (!pd_meter_loop_rule(meters->loop, flow, number)) {
        return PD_METER_UNMARKED;
    }
    pd_meter_add(monitor->up, now & 1, flow, 0, pkts);
    monitor->counted[now & 1] = true;
    meters->counters.sent += pkts;
    return pd_meter_mark(now);
}

void pd_sim_meters_pass(struct pd_sim_meters *meters, const struct pd_flow_id *flow,
                        const struct pd_sim_net_route *route, uint32_t place, uint64_t pkts,
                        uint64_t time_ns, uint8_t *mark)
{
    const uint32_t number =
        meters ? pd_sim_meters_monitor_of(meters, route->path.switches[place]) : PD_NONE;

    if (number == PD_NONE) {
        return;
    }
    const uint32_t segment = segment_to(meters, &route->path, place);
    if (segment != PD_NONE) {
        count_down(meters, meters->monitors[number], segment, flow, pkts, time_ns, *mark);
    }
    *mark = place + 1 < route->path.len ? count_up(meters, number, flow, pkts, time_ns)
                                        : PD_METER_UNMARKED;
}

struct pd_sim_net_losses *pd_sim_meters_losses(struct pd_sim_meters *meters)
{
    if (!meters) {
        return NULL;
    }
    memset(meters->losses.at, 0, sizeof meters->losses.at);
    return &meters->losses;
}

void pd_sim_meters_carry(struct pd_sim_meters *meters, const struct pd_flow_id *flow,
                         const struct pd_sim_net_route *route, uint64_t pkts, uint64_t time_ns)
{
    uint8_t mark = PD_METER_UNMARKED;

    for (uint32_t i = 0; i + 1 < route->links_len; i++) {
        const uint64_t lost = meters->losses.at[i];

        pkts -= lost < pkts ? lost : pkts;
        if (!pkts) {
            return;
        }
        pd_sim_meters_pass(meters, flow, route, i, pkts, time_ns, &mark);
    }
}

/* ---- rows ---- */

int pd_sim_meters_rows(struct pd_sim_meters *meters, const struct pd_evidence_row **ret_rows,
                       size_t *ret_len)
{
    const uint32_t segments = meters ? pd_meter_loop_len(meters->loop) : 0;
    size_t len = 0;

    if (!meters) {
        return 0;
    }
    if (PD_GROW(meters->rows, meters->rows_room, (size_t)segments + 1) ||
        PD_GROW(meters->ways, meters->ways_room, (size_t)segments + 1)) {
        return -ENOMEM;
    }
    for (uint32_t s = 0; s < segments; s++) {
        struct pd_sim_meters_stretch *stretch = &meters->stretches[s];

        if (!stretch->sent) {
            continue;
        }
        meters->ways[len] = (struct pd_evidence_way){.nodes = stretch->nodes,
                                                     .nodes_len = stretch->len,
                                                     .reached = true,
                                                     .origin = PD_EVIDENCE_FROM_METER,
                                                     .pkts = stretch->sent};
        meters->rows[len] = (struct pd_evidence_row){.kind = PD_EVIDENCE_PATH,
                                                     .pkts = stretch->sent,
                                                     .lost = stretch->lost,
                                                     .ways = &meters->ways[len],
                                                     .ways_len = 1};
        stretch->sent = stretch->lost = 0;
        len++;
    }
    *ret_rows = meters->rows;
    *ret_len = len;
    return 0;
}

struct pd_sim_meters_counters pd_sim_meters_counters(const struct pd_sim_meters *meters)
{
    return meters ? meters->counters : (struct pd_sim_meters_counters){0};
}

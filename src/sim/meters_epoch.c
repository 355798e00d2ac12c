/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated meters: epochs that are read, and what they say of segments. */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "sim/meters_private.h"

/* ---- reading ---- */

static int take_buckets(struct pd_sim_meters *meters, uint32_t number, bool down)
{
    const struct pd_sim_meters_monitor *monitor = meters->monitors[number];
    const struct pd_meter *meter = down ? monitor->down : monitor->up;
    const struct pd_sim_meters_settings *settings = &meters->scenario->meters;
    int err = 0;

    for (uint32_t i = 0; i < settings->rows * settings->width && !err; i++) {
        const uint32_t row = i / settings->width, place = i % settings->width;
        const struct pd_meter_bucket *bucket =
            pd_meter_bucket(meter, meters->epoch & 1, row, place);

        if (!bucket->used) {
            continue;
        }
        err = PD_GROW(meters->entries, meters->entries_room, meters->entries_len + 1);
        if (err) {
            break;
        }
        const uint32_t up =
            down ? pd_meter_loop_segment(meters->loop, (uint32_t)bucket->filter)->up : number;
        meters->entries[meters->entries_len++] =
            (struct pd_meter_entry){.epoch = meters->epoch,
                                    .reading = 2 * number + down,
                                    .bucket = place,
                                    .from = meters->monitors[up]->id,
                                    .row = (uint8_t)row,
                                    .dirty = bucket->dirty,
                                    .flow = bucket->flow,
                                    .filter = bucket->filter,
                                    .pkts = bucket->pkts};
    }
    return err;
}

/* Those of this epoch; later ones stay. */
static int take_strays(struct pd_sim_meters *meters, struct pd_sim_meters_monitor *monitor)
{
    uint32_t kept = 0;

    if (PD_GROW(meters->strays, meters->strays_room, meters->strays_len + monitor->strays_len)) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < monitor->strays_len; i++) {
        const struct pd_sim_meters_stray *stray = &monitor->strays[i];

        if (stray->epoch == meters->epoch) {
            meters->strays[meters->strays_len++] =
                (struct pd_meter_stray){.epoch = stray->epoch, .flow = stray->flow};
        } else {
            monitor->strays[kept++] = *stray;
        }
    }
    monitor->strays_len = kept;
    return 0;
}

static int take_largest(struct pd_sim_meters *meters, const struct pd_sim_meters_monitor *monitor)
{
    struct pd_meter_pipe_slot slots[PD_METER_PIPE_STAGES * PD_METER_PIPE_SLOTS];
    const unsigned len = pd_meter_pipe_read(&monitor->pipe, meters->epoch & 1, slots);
    int err = 0;

    for (unsigned i = 0; i < len && !err; i++) {
        err = pd_meter_loop_seen(meters->loop, (uint32_t)slots[i].filter, &slots[i].flow,
                                 slots[i].pkts);
    }
    return err;
}

static int take_monitor(struct pd_sim_meters *meters, uint32_t number)
{
    struct pd_sim_meters_monitor *monitor = meters->monitors[number];
    const unsigned instance = meters->epoch & 1;
    int err = take_strays(meters, monitor);

    if (err || !monitor->counted[instance]) {
        return err;
    }
    err = take_buckets(meters, number, false);
    err = err ? err : take_buckets(meters, number, true);
    err = err ? err : take_largest(meters, monitor);
    pd_meter_clear(monitor->up, instance);
    pd_meter_clear(monitor->down, instance);
    pd_meter_pipe_clear(&monitor->pipe, instance);
    monitor->counted[instance] = false;
    return err;
}

/* ---- what an epoch says ---- */

static uint32_t number_of(void *context, uint32_t id)
{
    return pd_sim_meters_monitor_of(context, id);
}

/* A monitor that had no room for its strays does not know whom they were of. */
static void leave_out(struct pd_sim_meters *meters, uint32_t number)
{
    if (!meters->monitors[number]->strays_full) {
        return;
    }
    meters->counters.unread++;
    meters->monitors[number]->strays_full = false;
    for (uint32_t s = 0; s < pd_meter_loop_len(meters->loop); s++) {
        if (pd_meter_loop_segment(meters->loop, s)->down == number) {
            pd_meter_loop_unread(meters->loop, s);
        }
    }
}

/* Rules are there as soon as they are chosen. */
static int change(void *context, const struct pd_meter_rule *rule, bool added)
{
    (void)context;
    (void)rule;
    (void)added;
    return 0;
}

static int read_epoch(struct pd_sim_meters *meters)
{
    struct pd_meter_readings all = {.readings = meters->readings,
                                    .len = 2 * (size_t)meters->monitors_len};
    const struct pd_meter_loop_monitors monitors = {number_of, meters};
    struct pd_meter_loop_sums sums = {0};
    int err = 0;

    meters->entries_len = meters->strays_len = 0;
    for (uint32_t r = 0; r < 2 * meters->monitors_len; r++) {
        meters->readings[r].epoch = meters->epoch;
    }
    for (uint32_t m = 0; m < meters->monitors_len && !err; m++) {
        err = take_monitor(meters, m);
        leave_out(meters, m);
    }
    all.entries = meters->entries;
    all.entries_len = meters->entries_len;
    all.strays = meters->strays;
    all.strays_len = meters->strays_len;
    err = err ? err : pd_meter_loop_compare(meters->loop, &all, &monitors, &sums);
    meters->counters.measured += sums.measured;
    meters->counters.measured_lost += sums.lost;
    meters->counters.undetermined += sums.undetermined;
    meters->counters.more_received += sums.more_received;
    err = err ? err : pd_meter_loop_end(meters->loop, change, NULL);
    for (uint32_t s = 0; s < pd_meter_loop_len(meters->loop) && !err; s++) {
        const struct pd_meter_segment *segment = pd_meter_loop_segment(meters->loop, s);

        meters->stretches[s].sent += segment->given_sent;
        meters->stretches[s].lost += segment->given_lost;
    }
    meters->epoch++;
    meters->counters.epochs++;
    return err;
}

int pd_sim_meters_until(struct pd_sim_meters *meters, uint64_t time_ns)
{
    int err = meters && meters->full ? -ENOMEM : 0;

    while (meters && !err &&
           time_ns >= (meters->epoch + 1) * meters->epoch_ns + meters->epoch_ns / 4) {
        err = read_epoch(meters);
    }
    return err;
}

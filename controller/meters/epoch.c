/* SPDX-License-Identifier: Apache-2.0 */
/* One epoch: readings of all monitors, what flows lost on segments, and the rules that follow. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "controller/meters/private.h"
#include "query/members.h"

#define ADD(name, n) atomic_fetch_add_explicit(&pd_meters_counters.name, n, memory_order_relaxed)

/* ---- readings ---- */

static bool is_bad(int err)
{
    return err == -PD_E_INFEASIBLE || err == -PD_E_AMBIGUOUS;
}

/* Where the stretch begins that an entry is of; what tells no segment counts for nothing. */
static int place_entry(struct pd_meters *meters, const struct pd_evidence_meters *read,
                       struct pd_meter_entry *entry)
{
    const struct pd_meter_reading *reading = &read->all.readings[entry->reading];
    const uint32_t sw = pd_topology_switch(meters->topology, reading->monitor);
    uint32_t segment;

    if (entry->dirty || !reading->downstream) {
        entry->from = reading->monitor;
        return 0;
    }
    const int err =
        pd_meters_stretches_find(&meters->stretches, &entry->flow, sw, entry->filter, &segment);
    if (err) {
        entry->dirty = true;
        ADD(untold, is_bad(err));
        return is_bad(err) ? 0 : err;
    }
    entry->filter = segment;
    entry->from = meters->monitors[pd_meter_loop_segment(meters->loop, segment)->up].id;
    return 0;
}

/* HashPipe's list: {"flow_id","filter","count"}. What is wrong in it is passed over. */
static int take_largest(struct pd_meters *meters, const struct pd_meters_monitor *monitor)
{
    const json_t *item, *list = json_object_get(monitor->document, "largest");
    size_t i;
    int err = 0;

    json_array_foreach(list, i, item)
    {
        const json_int_t filter = json_integer_value(json_object_get(item, "filter"));
        const json_int_t count = json_integer_value(json_object_get(item, "count"));
        struct pd_flow_id flow;
        uint32_t segment;

        if (err || count <= 0 || filter < 0 ||
            pd_query_flow_id_read(json_object_get(item, "flow_id"), &flow, NULL)) {
            continue;
        }
        err = pd_meters_stretches_find(&meters->stretches, &flow, monitor->sw,
                                       pd_evidence_meters_mark(meters->codec, (uint64_t)filter),
                                       &segment);
        ADD(untold, is_bad(err));
        err = is_bad(err) ? 0
              : err       ? err
                          : pd_meter_loop_seen(meters->loop, segment, &flow, (uint64_t)count);
    }
    return err;
}

/* Its meters have to be its own. */
static int take_monitor(struct pd_meters *meters, struct pd_evidence_meters *read,
                        struct pd_meters_monitor *monitor, uint64_t epoch)
{
    const json_t *item, *list = json_object_get(monitor->document, "meters");
    const size_t first = read->all.len, entries = read->all.entries_len;
    const size_t strays = read->all.strays_len;
    const char *where = "monitor";
    size_t i;
    int err = 0;

    json_array_foreach(list, i, item)
    {
        err = err ? err : pd_evidence_meters_take(read, item, &where);
    }
    for (size_t r = first; r < read->all.len && !err; r++) {
        read->all.readings[r].one_epoch = true;
        read->all.readings[r].epoch = epoch;
        err = read->all.readings[r].monitor == monitor->id ? 0 : -PD_E_SYNTAX;
    }
    for (size_t e = entries; e < read->all.entries_len && !err; e++) {
        err = read->all.entries[e].epoch == epoch ? 0 : -PD_E_SYNTAX;
    }
    if (err && err != -ENOMEM) { /* nothing of it counts */
        read->all.entries_len = entries;
        read->all.strays_len = strays;
        read->all.len = first;
        json_decref(monitor->document);
        monitor->document = NULL;
        pthread_mutex_lock(&meters->lock);
        snprintf(monitor->reason, sizeof monitor->reason, "its answer: %s", where);
        pthread_mutex_unlock(&meters->lock);
        return 0;
    }
    return err ? err : take_largest(meters, monitor);
}

/* ---- rules ---- */

static void mark_changed(struct pd_meters *meters, uint32_t segment)
{
    const struct pd_meter_segment *of = pd_meter_loop_segment(meters->loop, segment);

    meters->monitors[of->down].dsm_changed = true;
    meters->monitors[of->up].usm_changed = true;
}

/* Downstream a rule goes last: an epoch after it went upstream. */
static int change(void *context, const struct pd_meter_rule *rule, bool added)
{
    struct pd_meters *meters = context;

    mark_changed(meters, rule->segment);
    if (added) {
        return 0;
    }
    if (PD_GROW(meters->leaving, meters->leaving_room, meters->leaving_len + 1)) {
        return -ENOMEM;
    }
    meters->leaving[meters->leaving_len++] = *rule;
    return 0;
}

/* A monitor that was restarted has other rules than we know of. */
static void look_at_versions(struct pd_meters *meters)
{
    for (uint32_t m = 0; m < meters->monitors_len; m++) {
        struct pd_meters_monitor *monitor = &meters->monitors[m];
        const json_t *version = json_object_get(monitor->document, "version");

        if (monitor->document && (uint64_t)json_integer_value(version) != monitor->version) {
            monitor->dsm_changed = monitor->usm_changed = true;
        }
    }
}

static void give_versions(struct pd_meters *meters)
{
    for (uint32_t m = 0; m < meters->monitors_len; m++) {
        struct pd_meters_monitor *monitor = &meters->monitors[m];

        if (monitor->dsm_changed || monitor->usm_changed) {
            monitor->version = ++meters->versions;
            monitor->dsm_changed = monitor->usm_changed = true;
        }
    }
}

/* ---- alarms ---- */

static void raise_alarm(struct pd_meters *meters, const struct pd_meter_segment *segment,
                        const struct pd_path *path)
{
    struct pd_alarm_message *message = calloc(1, sizeof *message);

    if (!message) {
        return;
    }
    message->time_us = pd_clock_wall_us();
    message->origin = PD_ALARM_ORIGIN_APP;
    snprintf(message->reason, sizeof message->reason, "SEGMENT_LOSS");
    snprintf(message->by, sizeof message->by, "meters");
    snprintf(message->detail, sizeof message->detail,
             "%llu of %llu packets lost, in %u of %u epochs", (unsigned long long)segment->lost,
             (unsigned long long)segment->sent, segment->lossy, segment->epochs);
    pd_path_copy(&message->paths[message->paths_len++], path);
    pd_alarm_store_raise(meters->controller->alarms, message);
    free(message);
    ADD(alarms, 1);
}

/* Once for each time that a segment begins to lose. */
static void raise_alarms(struct pd_meters *meters)
{
    const uint32_t len = pd_meter_loop_len(meters->loop);
    const size_t had = meters->alarmed_room;

    if (PD_GROW(meters->alarmed, meters->alarmed_room, (size_t)len + 1)) {
        return;
    }
    memset(meters->alarmed + had, 0, meters->alarmed_room - had);
    for (uint32_t s = 0; s < len; s++) {
        const struct pd_meter_segment *segment = pd_meter_loop_segment(meters->loop, s);

        if (segment->loses && !meters->alarmed[s]) {
            raise_alarm(meters, segment, meters->stretches.paths[s]);
        }
        meters->alarmed[s] = segment->loses;
    }
}

/* ---- all of it ---- */

static void leave_out_unread(struct pd_meters *meters)
{
    for (uint32_t m = 0; m < meters->monitors_len; m++) {
        ADD(unread, !meters->monitors[m].document);
    }
    for (uint32_t s = 0; s < pd_meter_loop_len(meters->loop); s++) {
        const struct pd_meter_segment *segment = pd_meter_loop_segment(meters->loop, s);

        if (!meters->monitors[segment->up].document || !meters->monitors[segment->down].document) {
            pd_meter_loop_unread(meters->loop, s);
        }
    }
}

static uint32_t number_of(void *context, uint32_t id)
{
    const struct pd_meters *meters = context;
    const uint32_t sw = pd_topology_switch(meters->topology, id);

    return sw == PD_NONE ? PD_NONE : meters->numbers[sw];
}

static int compare(struct pd_meters *meters, uint64_t epoch)
{
    struct pd_evidence_meters read = {.topology = meters->topology, .codec = meters->codec};
    const struct pd_meter_loop_monitors monitors = {number_of, meters};
    struct pd_meter_loop_sums sums = {0};
    int err = 0;

    for (uint32_t m = 0; m < meters->monitors_len && !err; m++) {
        if (meters->monitors[m].document) {
            err = take_monitor(meters, &read, &meters->monitors[m], epoch);
        }
    }
    for (size_t e = 0; e < read.all.entries_len && !err; e++) {
        err = place_entry(meters, &read, &read.all.entries[e]);
    }
    err = err ? err : pd_meter_loop_compare(meters->loop, &read.all, &monitors, &sums);
    ADD(measured, sums.measured);
    ADD(lost, sums.lost);
    ADD(undetermined, sums.undetermined);
    ADD(more_received, sums.more_received);
    pd_evidence_meters_done(&read);
    return err;
}

int pd_meters_epoch(struct pd_meters *meters, uint64_t epoch)
{
    int err = compare(meters, epoch);

    leave_out_unread(meters);
    for (size_t i = 0; i < meters->leaving_len; i++) { /* now downstream, too */
        mark_changed(meters, meters->leaving[i].segment);
    }
    meters->leaving_len = 0;
    err = err ? err : pd_meter_loop_end(meters->loop, change, meters);
    look_at_versions(meters);
    give_versions(meters);
    raise_alarms(meters);
    ADD(epochs, 1);
    return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A switch: where frames go that come out of its pipeline. */
#include "swx/switch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESSES "interfaces.swx" /* the slow path's table, in the folder of the others */
#define NS_PER_MS UINT64_C(1000000)

/* Places in the array `clock`. */
enum { CLOCK_NOW, CLOCK_BURST, CLOCK_EPOCH, CLOCK_QUARTER, CLOCK_EPOCH_MS, CLOCK_LEN };

/* ---- fates */

static void count_drop(struct pd_swx_switch *sw, const struct pd_swx_frame *frame, unsigned reason)
{
    if (frame->made) {
        sw->made_lost++;
    } else {
        sw->dropped[reason - PD_SWX_FATES]++;
    }
}

static void leave(struct pd_swx_switch *sw, struct pd_swx_frame *frame, struct pd_swx_port *port)
{
    const bool made = frame->made;
    unsigned reason = frame->bytes < PD_SWX_FRAME_LEAST ? PD_SWX_TOO_SHORT
                      : frame->bytes > PD_SWX_FRAME_MAX ? PD_SWX_TOO_LONG
                      : port->gone                      ? PD_SWX_PORT_GONE
                                                        : 0;
    struct pd_swx_frame *left = frame;
    reason = reason ? reason : (unsigned)port->ops->send(port, &left);
    if (reason) {
        count_drop(sw, frame, reason);
    } else {
        port->sent++;
        sw->forwarded += !made;
    }
    pd_swx_frame_free(left);
}

/* An answer goes through the program as from port 0. */
static void answer(struct pd_swx_switch *sw, const uint8_t *bytes, size_t len, uint64_t time_ns)
{
    struct pd_swx_frame *frame = pd_swx_frame_new();
    if (!frame) {
        sw->made_lost++;
        return;
    }
    frame->made = true;
    frame->bytes = (uint32_t)len;
    memcpy(pd_swx_frame_data(frame), bytes, len);
    pd_swx_frame_arrives(frame, 0, time_ns);
    pd_swx_pipeline_put(sw->pipeline, frame);
    sw->answered++;
}

static void punt(struct pd_swx_switch *sw, struct pd_swx_frame *frame, unsigned reason)
{
    static uint8_t reply[PD_SLOW_PATH_ANSWER_BYTES];
    char room[16];
    struct pd_slow_path_punt punted = {.in_port = frame->in_port,
                                       .time_ns = frame->time_ns,
                                       .reason = pd_swx_reason_id(reason, room),
                                       .frame = frame->came,
                                       .bytes = frame->came_bytes};
    if (frame->made) { /* what we sent ourselves is never punted: it would go round for ever */
        sw->made_lost++;
        return;
    }
    sw->punted++;
    size_t bytes = pd_slow_path_take(sw->slow_path, &punted, reply);
    if (bytes) {
        answer(sw, reply, bytes, frame->time_ns);
    }
}

static void take(void *context, struct pd_swx_frame *frame, uint32_t number, bool clone)
{
    struct pd_swx_switch *sw = context;
    if (number <= PD_SWX_PORT_MAX && sw->ports[number]) {
        sw->mirrored += clone;
        leave(sw, frame, sw->ports[number]);
        return;
    }
    if (clone || number >= PD_SWX_MIRRORS) {
        sw->mirrored++;
    } else if (pd_swx_is_punt(number)) {
        punt(sw, frame, number);
    } else {
        count_drop(sw, frame, number < PD_SWX_DROPS ? PD_SWX_NO_PORT : number);
    }
    pd_swx_frame_free(frame);
}

/* ---- life */

static void look_up(const struct pd_swx_pipeline *pipeline, const char *name,
                    struct pd_swx_told *ret_told)
{
    ret_told->len = pd_swx_pipeline_array(pipeline, name, ret_told->name);
}

static int fill(const struct pd_swx_switch_config *config, struct pd_swx_switch *sw,
                struct pd_error *error)
{
    static const char *const skip[] = {ADDRESSES, NULL};
    char file[4096];
    snprintf(file, sizeof file, "%s/%s", config->tables, ADDRESSES);
    int err = pd_swx_entries_open(sw->pipeline, &sw->entries);
    err = err ? pd_fail(error, err, "no memory")
              : pd_swx_entries_read(&sw->entries, config->tables, skip, error);
    return err ? err : pd_slow_path_read_addresses(sw->slow_path, file, error);
}

int pd_swx_switch_open(const struct pd_swx_switch_config *config, struct pd_swx_switch *sw,
                       struct pd_error *error)
{
    const struct pd_slow_path_config slow = {.switch_id = config->id,
                                             .punts = config->punts,
                                             .icmp_per_s = config->icmp_per_s,
                                             .lines_per_s =
                                                 config->captures ? 0 : PD_SLOW_PATH_LINES_PER_S};
    char name[24];
    *sw = (struct pd_swx_switch){.id = config->id,
                                 .program = config->program,
                                 .punts = config->punts,
                                 .ports_max = config->ports_max};
    snprintf(name, sizeof name, "s%" PRIu32, config->id);
    int err = pd_slow_path_open(&slow, &sw->slow_path, error);
    err = err ? err
              : pd_swx_pipeline_open(name, config->spec, config->ports_max, take, sw, &sw->pipeline,
                                     error);
    err = err ? err : fill(config, sw, error);
    if (err) {
        pd_swx_switch_close(sw);
        return err;
    }
    look_up(sw->pipeline, "clock", &sw->clock);
    look_up(sw->pipeline, "queue", &sw->queue);
    look_up(sw->pipeline, "queue_pkts", &sw->queue_frames);
    return 0;
}

void pd_swx_switch_close(struct pd_swx_switch *sw)
{
    for (uint32_t i = 0; i <= PD_SWX_PORT_MAX; i++) {
        struct pd_swx_frame *frame;
        pd_swx_port_close(sw->ports[i]);
        sw->ports[i] = NULL;
        while ((frame = pd_swx_ring_take(&sw->rings[i]))) {
            pd_swx_frame_free(frame);
        }
    }
    pd_swx_entries_close(&sw->entries);
    pd_swx_pipeline_close(sw->pipeline);
    pd_slow_path_close(sw->slow_path);
    sw->pipeline = NULL;
    sw->slow_path = NULL;
}

/* ---- work */

void pd_swx_switch_arrives(struct pd_swx_switch *sw, struct pd_swx_frame *frame, uint16_t in_port)
{
    sw->received++;
    pd_swx_frame_arrives(frame, in_port, frame->time_ns);
    pd_swx_pipeline_put(sw->pipeline, frame);
}

void pd_swx_switch_lost(struct pd_swx_switch *sw, enum pd_swx_reason reason)
{
    sw->received++;
    sw->dropped[reason - PD_SWX_FATES]++;
}

static void tell(struct pd_swx_switch *sw, const struct pd_swx_told *told, uint32_t at,
                 uint64_t value)
{
    if (at < told->len) {
        pd_swx_pipeline_write(sw->pipeline, told->name, at, value);
    }
}

/* SWX cannot divide: the epoch of meters is worked out here. */
static void tell_time(struct pd_swx_switch *sw, uint64_t now_ns)
{
    tell(sw, &sw->clock, CLOCK_NOW, now_ns);
    tell(sw, &sw->clock, CLOCK_BURST, now_ns);
    if (sw->clock.len < CLOCK_LEN) {
        return;
    }
    uint64_t epoch_ns =
        pd_swx_pipeline_read(sw->pipeline, sw->clock.name, CLOCK_EPOCH_MS) * NS_PER_MS;
    if (epoch_ns) {
        tell(sw, &sw->clock, CLOCK_EPOCH, now_ns / epoch_ns);
        tell(sw, &sw->clock, CLOCK_QUARTER, now_ns % epoch_ns * 4 / epoch_ns);
    }
}

static void tell_queues(struct pd_swx_switch *sw)
{
    for (uint32_t i = 0; i <= sw->ports_max && sw->queue.len; i++) {
        const struct pd_swx_port *port = sw->ports[i];
        uint32_t frames = 0;
        if (port && port->ops->queue) {
            uint64_t bytes = port->ops->queue(port, &frames);
            tell(sw, &sw->queue, i, bytes);
            tell(sw, &sw->queue_frames, i, frames);
        }
    }
}

/* What answers make of themselves goes through, too, since they are put in while it runs. */
void pd_swx_switch_run(struct pd_swx_switch *sw, uint64_t now_ns)
{
    uint32_t stuck;
    if (sw->clock.len && now_ns != sw->now_ns) {
        tell_time(sw, now_ns);
        sw->now_ns = now_ns;
    }
    tell_queues(sw);
    sw->dropped[PD_SWX_PROGRAM - PD_SWX_FATES] += pd_swx_pipeline_run(sw->pipeline, &stuck);
    sw->dropped[PD_SWX_STUCK - PD_SWX_FATES] += stuck;
}

/* ---- summary */

static json_t *tables_of(const struct pd_swx_switch *sw)
{
    json_t *tables = json_object();
    for (uint32_t i = 0; tables && i < pd_swx_pipeline_tables_len(sw->pipeline); i++) {
        struct pd_swx_table_info info;
        pd_swx_pipeline_table(sw->pipeline, i, &info);
        json_object_set_new(tables, info.name,
                            json_pack("{s:I,s:I}", "entries",
                                      (json_int_t)pd_swx_entries_len(&sw->entries, i), "hits",
                                      (json_int_t)info.hits));
    }
    return tables;
}

static json_t *drops_of(const struct pd_swx_switch *sw)
{
    json_t *drops = json_object();
    for (unsigned i = 0; drops && i < PD_SWX_REASON_COUNT; i++) {
        char room[16];
        if (sw->dropped[i]) {
            json_object_set_new(drops, pd_swx_reason_id(PD_SWX_FATES + i, room),
                                json_integer((json_int_t)sw->dropped[i]));
        }
    }
    return drops;
}

json_t *pd_swx_switch_summary(const struct pd_swx_switch *sw)
{
    return json_pack("{s:I,s:I,s:I,s:o,s:I,s:I,s:I,s:o}", "switch", (json_int_t)sw->id, "received",
                     (json_int_t)sw->received, "forwarded", (json_int_t)sw->forwarded, "dropped",
                     drops_of(sw), "punted", (json_int_t)sw->punted, "mirrored",
                     (json_int_t)sw->mirrored, "answered", (json_int_t)sw->answered, "tables",
                     tables_of(sw));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Frame -> packet -> trajectory memory, in batches; times of records put on the wall clock on their
 * way out. */
#include "intake/frames.h"

#include <errno.h>
#include <string.h>

#include <netinet/in.h>

#include "base/clock.h"

#define SWEEP_EVERY_NS (50 * PD_NS_PER_MS)
#define MAC_BYTES      12u /* of a frame, before its first tag */
#define TAG_BYTES      4u

/* ---- the sink between the trajectory memory and the owner's --------------------------------- */

static struct pd_trajectory_record on_wall_clock(const struct pd_frames *frames,
                                                 const struct pd_trajectory_record *record)
{
    struct pd_trajectory_record moved = *record;

    moved.first_ns += (uint64_t)frames->wall_ahead_ns;
    moved.last_ns += (uint64_t)frames->wall_ahead_ns;
    return moved;
}

static bool pass_evicted(void *context, const struct pd_trajectory_record *record)
{
    const struct pd_frames *frames = context;
    const struct pd_trajectory_record moved = on_wall_clock(frames, record);

    return frames->sink.evicted(frames->sink.context, &moved);
}

static void pass_new_flow(void *context, const struct pd_trajectory_record *record)
{
    const struct pd_frames *frames = context;
    const struct pd_trajectory_record moved = on_wall_clock(frames, record);

    frames->sink.new_flow(frames->sink.context, &moved);
}

/* ---- life ----------------------------------------------------------------------------------- */

int pd_intake_frames_init(struct pd_frames *frames, const struct pd_intake_config *config,
                          const struct pd_trajectory_sink *sink)
{
    const struct pd_trajectory_sink own = {
        .context = frames,
        .evicted = pass_evicted,
        .new_flow = sink->new_flow ? pass_new_flow : NULL,
    };

    memset(frames, 0, sizeof(*frames));
    frames->sink = *sink;
    frames->mark_bits = config->read_mark  ? UINT64_MAX
                        : config->no_marks ? 0
                                           : pd_tags_bits(config->use_dscp);
    frames->read_mark = config->read_mark;
    frames->tpid = config->tpid;
    frames->aside_tpid = config->aside_tpid;
    frames->tap = config->tap;
    frames->taker = config->taker;
    return pd_trajectory_new(&config->trajectory, &own, &frames->trajectory);
}

void pd_intake_frames_done(struct pd_frames *frames)
{
    pd_trajectory_free(frames->trajectory);
    frames->trajectory = NULL;
}

/* ---- counting ------------------------------------------------------------------------------- */

static void update(struct pd_frames *frames)
{
    pd_trajectory_update(frames->trajectory, frames->packets,
                         frames->weighted ? frames->weights : NULL, frames->times_ns, frames->len,
                         frames->mark_bits);
    frames->len = 0;
    frames->weighted = false;
}

/* Tags of this TPID, wherever they stand, are not in the mark. */
static void leave_out(const uint8_t *frame, uint16_t tpid, struct pd_packet *packet)
{
    uint64_t mark = packet->mark & PD_TAGS_DSCP_MASK;

    for (size_t at = packet->ip_offset - 2u; at > MAC_BYTES;) {
        at -= TAG_BYTES;
        if ((frame[at] << 8 | frame[at + 1]) != tpid) {
            mark = pd_tags_push(mark, (uint16_t)((frame[at + 2] << 8 | frame[at + 3]) & 0x0fff));
        }
    }
    packet->mark = mark;
}

static bool is_taken(const struct pd_frames *frames, const struct pd_packet *packet,
                     const uint8_t *frame, size_t captured)
{
    const struct pd_intake_taker *taker = frames->taker;

    return taker && packet->flow.dst_port == taker->udp_port &&
           packet->flow.protocol == IPPROTO_UDP &&
           atomic_load_explicit(taker->wanted, memory_order_relaxed) &&
           taker->take(taker->context, packet, frame, captured);
}

const struct pd_packet *pd_intake_frames_add(struct pd_frames *frames, const uint8_t *frame,
                                             size_t captured, size_t wire, uint64_t time_ns)
{
    if (frames->len == PD_FRAMES_BATCH) {
        update(frames);
    }

    struct pd_packet *packet = &frames->packets[frames->len];
    const enum pd_packet_verdict verdict = pd_packet_parse(frame, captured, wire, packet);

    frames->frames++;
    frames->frame_bytes += wire;
    frames->verdicts[verdict]++;
    if (time_ns > frames->newest_ns) {
        frames->newest_ns = time_ns;
    }
    if (verdict != PD_PACKET_OK) {
        return NULL;
    }
    if (is_taken(frames, packet, frame, captured)) {
        frames->taken++;
        return NULL;
    }
    if (frames->aside_tpid) {
        leave_out(frame, frames->aside_tpid, packet);
    } else if (frames->tpid) {
        pd_packet_select(frame, frames->tpid, packet);
    }
    if (frames->read_mark) {
        packet->mark = frames->read_mark(frame, captured, packet);
    }
    if (frames->tap && atomic_load_explicit(frames->tap->wanted, memory_order_relaxed)) {
        frames->tap->frame(frames->tap->context, packet, frame, captured, wire,
                           time_ns + (uint64_t)frames->wall_ahead_ns);
    }
    frames->times_ns[frames->len] = time_ns;
    frames->weights[frames->len] = (struct pd_packet_weight){1, packet->ip_bytes};
    frames->len++;
    return packet;
}

void pd_intake_frames_weigh(struct pd_frames *frames, struct pd_packet_weight weight)
{
    frames->weights[frames->len - 1] = weight;
    frames->weighted = true;
}

void pd_intake_frames_commit(struct pd_frames *frames, uint64_t now_ns)
{
    update(frames);
    if (now_ns - frames->swept_ns >= SWEEP_EVERY_NS && now_ns > frames->swept_ns) {
        pd_trajectory_sweep(frames->trajectory, now_ns);
        frames->swept_ns = now_ns;
    }
}

/* ---- out ------------------------------------------------------------------------------------ */

size_t pd_intake_frames_flush(struct pd_frames *frames)
{
    update(frames);
    return pd_trajectory_flush(frames->trajectory);
}

struct visit_wall {
    const struct pd_frames *frames;
    void (*visit)(void *context, const struct pd_trajectory_record *record);
    void *context;
};

static void visit_on_wall_clock(void *context, const struct pd_trajectory_record *record)
{
    const struct visit_wall *outer = context;
    const struct pd_trajectory_record moved = on_wall_clock(outer->frames, record);

    outer->visit(outer->context, &moved);
}

void pd_intake_frames_walk(const struct pd_frames *frames,
                           void (*visit)(void *context, const struct pd_trajectory_record *record),
                           void *context)
{
    struct visit_wall outer = {frames, visit, context};

    pd_trajectory_walk(frames->trajectory, visit_on_wall_clock, &outer);
}

uint64_t pd_intake_frames_refused(const struct pd_frames *frames)
{
    return pd_trajectory_counters(frames->trajectory)->refused;
}

void pd_intake_frames_status(const struct pd_frames *frames, struct pd_intake_status *status)
{
    status->frames = frames->frames;
    status->frame_bytes = frames->frame_bytes;
    status->probes = frames->taken;
    memcpy(status->verdicts, frames->verdicts, sizeof(status->verdicts));
    status->trajectory = *pd_trajectory_counters(frames->trajectory);
    status->live_records = pd_trajectory_len(frames->trajectory);
}

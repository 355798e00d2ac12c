/* SPDX-License-Identifier: Apache-2.0 */
/* Frame -> packet -> trajectory memory: the part that every intake which reads frames shares. */
#ifndef PD_INTAKE_FRAMES_H
#define PD_INTAKE_FRAMES_H

#include "intake/intake.h"

/* Frames are parsed as they come and counted in batches, so that the trajectory memory can fetch
 * its cache lines ahead.
 *
 * Two clocks. The trajectory memory runs on whatever clock the intake gives its frames: packet
 * times of a file, or the monotonic clock of a live interface, on which no administrator and no NTP
 * can end a flow. Records leave with times since the epoch: `wall_ahead_ns` is added here, and
 * nowhere else.
 *
 * Thread safety: the intake's owner only. The struct must not move after pd_intake_frames_init (the
 * sink points to it). */

#define PD_FRAMES_BATCH 32

struct pd_frames {
    struct pd_trajectory *trajectory;
    struct pd_trajectory_sink sink; /* the owner's: gets times since the epoch */
    int64_t wall_ahead_ns;          /* time since the epoch minus the frames' clock */
    uint64_t newest_ns;             /* latest time of a frame, on the frames' clock */
    uint64_t swept_ns;              /* when the last sweep was */
    uint64_t frames, frame_bytes;   /* as in PD_INTAKE_COUNTERS */
    uint64_t verdicts[PD_PACKET_VERDICT_COUNT];
    const struct pd_intake_tap *tap;     /* NULL: nobody */
    const struct pd_intake_taker *taker; /* likewise */
    uint64_t taken;
    pd_packet_mark_reader *read_mark; /* NULL: marks are link tags */
    uint16_t tpid;                    /* of link tags; 0: all tags are link tags */
    uint16_t aside_tpid;              /* of tags that are none; 0: none */
    uint64_t mark_bits;               /* of a packet's mark that are part of the key */
    bool weighted;                    /* some packet of the batch stands for more than itself */
    uint32_t len;                     /* packets in the batch */
    struct pd_packet packets[PD_FRAMES_BATCH];
    struct pd_packet_weight weights[PD_FRAMES_BATCH];
    uint64_t times_ns[PD_FRAMES_BATCH];
};

/* Returns 0, -EINVAL or -ENOMEM; then there is nothing to free. */
int pd_intake_frames_init(struct pd_frames *frames, const struct pd_intake_config *config,
                          const struct pd_trajectory_sink *sink);
void pd_intake_frames_done(struct pd_frames *frames); /* does not flush; zeroed memory is fine */

/* Counts one frame. Returns its packet, valid until the next call, or NULL when no flow can be
 * counted for it. */
const struct pd_packet *pd_intake_frames_add(struct pd_frames *frames, const uint8_t *frame,
                                             size_t captured, size_t wire, uint64_t time_ns);

/* The packet just added stands for so many on the wire. */
void pd_intake_frames_weigh(struct pd_frames *frames, struct pd_packet_weight weight);

/* Counts what is left in the batch and sweeps if that is due at `now_ns` (on the frames' clock). */
void pd_intake_frames_commit(struct pd_frames *frames, uint64_t now_ns);

size_t pd_intake_frames_flush(struct pd_frames *frames); /* as pd_trajectory_flush */
void pd_intake_frames_walk(const struct pd_frames *frames,
                           void (*visit)(void *context, const struct pd_trajectory_record *record),
                           void *context);
uint64_t pd_intake_frames_refused(
    const struct pd_frames *frames); /* evictions that the sink refused */

/* Fills all that frames know about: verdicts, counters, live records. */
void pd_intake_frames_status(const struct pd_frames *frames, struct pd_intake_status *status);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A frame on its way through the switches of this process. */
#ifndef PD_SWX_FRAME_H
#define PD_SWX_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A frame lies in a packet buffer of DPDK, since a pipeline frees what it drops by itself. What
 * comes in is kept beside it, so that the slow path gets the frame as it came in.
 *
 * A pipeline never looks at a frame's length: behind each stand zeros, which are added to what it
 * is told, and taken off again.
 *
 * One thread. */

#define PD_SWX_HEADROOM    2048u
#define PD_SWX_FRAME_MAX   9216u /* longer frames are dropped */
#define PD_SWX_PAD         6144u /* that a program may take for headers behind a frame */
#define PD_SWX_ZEROS       256u  /* of these, those that are 0 */
#define PD_SWX_FRAME_LEAST 14u

struct pd_swx_frame {
    struct pd_swx_frame *next;
    uint64_t time_ns;
    uint32_t offset; /* of its first byte in the buffer */
    uint32_t bytes;
    uint32_t came_bytes;
    uint16_t in_port;
    bool made; /* by the slow path: no frame that was received */
    uint8_t came[PD_SWX_FRAME_MAX];
};

/* Starts DPDK's part of the process, once. 0 or a negative error in words. */
int pd_swx_frames_open(unsigned switches, struct pd_error *error);

/* NULL: none is left. Its bytes are empty and it begins behind the headroom. */
struct pd_swx_frame *pd_swx_frame_new(void);
void pd_swx_frame_free(struct pd_swx_frame *frame); /* NULL is fine */

/* Its buffer, whole: PD_SWX_HEADROOM, PD_SWX_FRAME_MAX and PD_SWX_PAD bytes. */
uint8_t *pd_swx_frame_buffer(struct pd_swx_frame *frame);
static inline uint8_t *pd_swx_frame_data(struct pd_swx_frame *frame)
{
    return pd_swx_frame_buffer(frame) + frame->offset;
}

/* It has been filled and comes in: what it is now is kept, zeros stand behind it. */
void pd_swx_frame_arrives(struct pd_swx_frame *frame, uint16_t in_port, uint64_t time_ns);

#endif

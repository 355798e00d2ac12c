/* SPDX-License-Identifier: Apache-2.0 */
/* A port that leads to another switch of this process. */
#include <errno.h>
#include <stdlib.h>

#include "swx/ports/port.h"

#define FRAMES_MAX 512u

struct ring_port {
    struct pd_swx_port port;
    struct pd_swx_ring *other;
};

static int send_frame(struct pd_swx_port *port, struct pd_swx_frame **frame)
{
    struct pd_swx_ring *ring = ((struct ring_port *)port)->other;
    if (ring->frames == FRAMES_MAX) {
        return PD_SWX_PORT_BUSY;
    }
    if (ring->first) {
        ring->last->next = *frame;
    } else {
        ring->first = *frame;
    }
    ring->last = *frame;
    ring->frames++;
    ring->bytes += (*frame)->bytes;
    *frame = NULL;
    return 0;
}

struct pd_swx_frame *pd_swx_ring_take(struct pd_swx_ring *ring)
{
    struct pd_swx_frame *frame = ring->first;
    if (frame) {
        ring->first = frame->next;
        ring->frames--;
        ring->bytes -= frame->bytes;
        frame->next = NULL;
    }
    return frame;
}

static uint64_t queue(const struct pd_swx_port *port, uint32_t *ret_frames)
{
    const struct pd_swx_ring *ring = ((const struct ring_port *)port)->other;
    *ret_frames = ring->frames;
    return ring->bytes;
}

static void close_port(struct pd_swx_port *port)
{
    free(port);
}

static const struct pd_swx_port_ops ring_ops = {
    .send = send_frame, .queue = queue, .close = close_port};

int pd_swx_ring_open(struct pd_swx_ring *other, struct pd_swx_port **ret_port)
{
    struct ring_port *ring = calloc(1, sizeof *ring);
    if (!ring) {
        return -ENOMEM;
    }
    ring->port = (struct pd_swx_port){.ops = &ring_ops, .fd = -1};
    ring->other = other;
    *ret_port = &ring->port;
    return 0;
}

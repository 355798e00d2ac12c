/* SPDX-License-Identifier: Apache-2.0 */
/* A port of a switch: what frames come from and go to. */
#ifndef PD_SWX_PORTS_PORT_H
#define PD_SWX_PORTS_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "swx/frame.h"
#include "swx/reasons.h"

/* Each kind is one file with one struct pd_swx_port_ops.
 *
 * One thread. */

struct pd_swx_port;

enum pd_swx_received { PD_SWX_NOTHING, PD_SWX_FRAME, PD_SWX_DISCARDED, PD_SWX_ENDED };

struct pd_swx_port_ops {
    /* Sends the frame and forgets it: 0, or the reason why not (enum pd_swx_reason). The frame is
     * freed either way; ports that hand it on set *frame to NULL. */
    int (*send)(struct pd_swx_port *port, struct pd_swx_frame **frame);
    /* Fills a fresh frame: its bytes and, of a capture, its time. DISCARDED: one came that is too
     * long. ENDED: none will come any more. NULL: frames come otherwise. */
    enum pd_swx_received (*receive)(struct pd_swx_port *port, struct pd_swx_frame *frame);
    /* Of a capture: the time of its next frame, UINT64_MAX when there is none. NULL: frames come
     * when they come. */
    uint64_t (*next_ns)(const struct pd_swx_port *port);
    /* Bytes and frames that wait to leave. NULL: none do. */
    uint64_t (*queue)(const struct pd_swx_port *port, uint32_t *ret_frames);
    void (*close)(struct pd_swx_port *port);
};

struct pd_swx_port {
    const struct pd_swx_port_ops *ops;
    uint16_t number;
    int fd; /* to wait for; -1: none */
    bool gone;
    uint64_t sent, received;
};

static inline void pd_swx_port_close(struct pd_swx_port *port)
{
    if (port) {
        port->ops->close(port);
    }
}

/* Capture files, either may be NULL. 0 or a negative error in words. */
int pd_swx_capture_open(const char *in, const char *out, struct pd_swx_port **ret_port,
                        struct pd_error *error);

/* An interface of this network namespace, by a packet socket. */
int pd_swx_interface_open(const char *name, struct pd_swx_port **ret_port, struct pd_error *error);

/* A tap, which is made, and is up. */
int pd_swx_tap_open(const char *name, struct pd_swx_port **ret_port, struct pd_error *error);

/* A port of another switch in this process: a frame that is sent comes in there. */
struct pd_swx_ring {
    struct pd_swx_frame *first, *last;
    uint32_t frames, bytes;
};
int pd_swx_ring_open(struct pd_swx_ring *other, struct pd_swx_port **ret_port);
struct pd_swx_frame *pd_swx_ring_take(struct pd_swx_ring *ring);

#endif

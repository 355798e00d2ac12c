/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's ring of received frames: a packet socket on one interface, with TPACKET_V3 blocks
 * mapped here. */
#ifndef PD_INTAKE_LIVE_RING_H
#define PD_INTAKE_LIVE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "intake/live/live.h"

/* The kernel fills a block of frames and hands it over when it is full or PD_RING_RETIRE_MS old; it
 * is handed back as a whole. Only received frames are in it, and of long ones only the first bytes
 * (the headers, see filter in ring.c).
 *
 * Thread safety: one owner; the kernel's side is met in pd_live_ring_read, by acquire and release.
 */

/* An alarm about a first packet waits for this, so it is short; and blocks are small, so that a
 * reader that is kept waiting still has some hundred milliseconds of blocks that are hardly filled.
 */
#define PD_RING_RETIRE_MS 4
/* Longest that a block is held back, with a kernel whose clock ticks a hundred times a second. */
#define PD_RING_HELD_MS 20

struct pd_ring {
    int fd; /* -1: not open */
    int ifindex;
    uint8_t *blocks;
    uint32_t blocks_len;
    uint32_t next; /* block to be read next */
    bool segments; /* each frame is preceded by a struct virtio_net_hdr */
};

/* One frame, until its block is released. */
struct pd_ring_frame {
    uint8_t *data; /* with the outer tag where it was on the wire */
    size_t captured, wire;
    uint64_t wall_ns;
    bool outgoing;
    bool merged;            /* stands for several frames of the wire */
    uint16_t segment_bytes; /* payload of each, merged only */
    size_t l4_offset;       /* of the transport header if the kernel told it, else 0; merged only */
};

/* Receives from `name` from now on; an interface that is down is fine. On failure `error` says why
 * in one line: -ENODEV, -EPERM, -PD_E_UNSUPPORTED (frames there are not Ethernet) or what the
 * kernel said. */
int pd_live_ring_open(struct pd_ring *ring, const char *name,
                      const struct pd_intake_live_options *options, struct pd_error *error);
void pd_live_ring_close(struct pd_ring *ring); /* one that is not open is fine */

/* Visits the frames of the next block that the kernel has handed over and gives it back; false:
 * there is none. */
bool pd_live_ring_read(struct pd_ring *ring,
                       void (*visit)(void *context, const struct pd_ring_frame *frame),
                       void *context);

/* Frames that the kernel dropped since the last call because the ring was full. */
uint64_t pd_live_ring_take_drops(struct pd_ring *ring);

enum pd_ring_link { PD_RING_LINK_UP, PD_RING_LINK_DOWN, PD_RING_LINK_GONE };
enum pd_ring_link pd_live_ring_link(const struct pd_ring *ring);

/* Takes the error that the kernel left on the socket, so that poll(2) sleeps again. */
int pd_live_ring_take_error(struct pd_ring *ring);

#endif

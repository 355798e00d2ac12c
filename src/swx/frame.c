/* SPDX-License-Identifier: Apache-2.0 */
/* Frames in packet buffers of DPDK, and the start of DPDK itself. */
#include "swx/frame.h"

#include "swx/dpdk.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>

#define FRAMES    8191u
#define CACHE     256u
#define ROOM      (PD_SWX_HEADROOM + PD_SWX_FRAME_MAX + PD_SWX_PAD)
#define MB        1024u /* of memory, beside what switches need: touched when it is used */
#define SWITCH_MB 96u

static struct rte_mempool *pool;

/* DPDK binds the thread to the first processor that it is given: it gets all back. */
static int start(unsigned switches)
{
    static char words[][20] = {"pathdump-switch",
                               "--no-huge",
                               "--no-shconf",
                               "--no-pci",
                               "--no-telemetry",
                               "--log-level=*:3",
                               "-m",
                               "",
                               "-l",
                               "0"};
    enum { WORDS = sizeof words / sizeof *words, WORD_MB = 7, WORD_CPU = 9 };
    char *arguments[WORDS + 1] = {NULL};
    cpu_set_t all;
    bool known = sched_getaffinity(0, sizeof all, &all) == 0;

    for (int i = CPU_SETSIZE - 1; known && i >= 0; i--) {
        if (CPU_ISSET(i, &all)) {
            snprintf(words[WORD_CPU], sizeof *words, "%d", i);
        }
    }
    snprintf(words[WORD_MB], sizeof *words, "%u", MB + SWITCH_MB * switches);
    for (int i = 0; i < WORDS; i++) {
        arguments[i] = words[i];
    }
    int got = rte_eal_init(WORDS, arguments);
    if (known) {
        sched_setaffinity(0, sizeof all, &all);
    }
    return got < 0 ? -rte_errno : 0;
}

/* As rte_pktmbuf_init, but for the private area: clearing what each frame came as would touch four
 * times the memory before a first frame is there. */
static void init_buffer(struct rte_mempool *of, void *context, void *object, unsigned number)
{
    struct rte_mbuf *buffer = object;
    const size_t head = sizeof *buffer + sizeof(struct pd_swx_frame);

    (void)context;
    (void)number;
    memset(buffer, 0, sizeof *buffer);
    buffer->priv_size = sizeof(struct pd_swx_frame);
    buffer->buf_addr = (char *)object + head;
    rte_mbuf_iova_set(buffer, rte_mempool_virt2iova(object) + head);
    buffer->buf_len = ROOM;
    buffer->data_off = RTE_PKTMBUF_HEADROOM;
    buffer->pool = of;
    buffer->nb_segs = 1;
    buffer->port = RTE_MBUF_PORT_INVALID;
    rte_mbuf_refcnt_set(buffer, 1);
}

static struct rte_mempool *new_pool(void)
{
    struct rte_pktmbuf_pool_private kind = {.mbuf_data_room_size = ROOM,
                                            .mbuf_priv_size = sizeof(struct pd_swx_frame)};
    struct rte_mempool *made = rte_mempool_create_empty(
        "frames", FRAMES, sizeof(struct rte_mbuf) + sizeof(struct pd_swx_frame) + ROOM, CACHE,
        sizeof kind, SOCKET_ID_ANY, 0);

    if (!made) {
        return NULL;
    }
    rte_pktmbuf_pool_init(made, &kind);
    if (rte_mempool_set_ops_byname(made, rte_mbuf_best_mempool_ops(), NULL) ||
        rte_mempool_populate_default(made) < 0) {
        rte_mempool_free(made);
        return NULL;
    }
    rte_mempool_obj_iter(made, init_buffer, NULL);
    return made;
}

int pd_swx_frames_open(unsigned switches, struct pd_error *error)
{
    int err = pool ? 0 : start(switches);
    if (err) {
        return pd_fail(error, err, "DPDK does not start: %s", pd_error_text(err));
    }
    if (!pool) {
        pool = new_pool();
    }
    return pool ? 0 : pd_fail(error, -ENOMEM, "no memory for %u frames", FRAMES);
}

static struct rte_mbuf *buffer_of(struct pd_swx_frame *frame)
{
    return (struct rte_mbuf *)((char *)frame - sizeof(struct rte_mbuf));
}

struct pd_swx_frame *pd_swx_frame_new(void)
{
    struct rte_mbuf *buffer = rte_pktmbuf_alloc(pool);
    struct pd_swx_frame *frame = buffer ? rte_mbuf_to_priv(buffer) : NULL;
    if (frame) {
        frame->next = NULL;
        frame->offset = PD_SWX_HEADROOM;
        frame->bytes = 0;
        frame->made = false;
    }
    return frame;
}

void pd_swx_frame_free(struct pd_swx_frame *frame)
{
    if (frame) {
        rte_pktmbuf_free(buffer_of(frame));
    }
}

uint8_t *pd_swx_frame_buffer(struct pd_swx_frame *frame)
{
    return buffer_of(frame)->buf_addr;
}

void *pd_swx_frame_handle(struct pd_swx_frame *frame)
{
    return buffer_of(frame);
}

struct pd_swx_frame *pd_swx_frame_of(void *handle)
{
    return rte_mbuf_to_priv(handle);
}

void pd_swx_frame_arrives(struct pd_swx_frame *frame, uint16_t in_port, uint64_t time_ns)
{
    if (frame->offset < PD_SWX_HEADROOM / 2) { /* after many switches that made it longer */
        memmove(pd_swx_frame_buffer(frame) + PD_SWX_HEADROOM, pd_swx_frame_data(frame),
                frame->bytes);
        frame->offset = PD_SWX_HEADROOM;
    }
    uint8_t *data = pd_swx_frame_data(frame);
    frame->in_port = in_port;
    frame->time_ns = time_ns;
    frame->came_bytes = frame->bytes;
    memcpy(frame->came, data, frame->bytes);
    memset(data + frame->bytes, 0, PD_SWX_ZEROS);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline with ports of our own: building it and running it. */
#include "swx/pipeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>
#include <rte_swx_port.h>

#include "swx/dpdk.h"
#include "swx/pipeline_private.h"
#include "swx/reasons.h"
#include "swx/spec.h"

#define PORT_TYPE  "frames"
#define CHUNK      64u /* instructions between two looks at what has come out */
#define LOOKS      8u  /* chunks between two looks at what SWX itself has dropped */
#define CHUNKS_MAX (1u << 16)
#define SESSIONS   8u

/* ---- ports, as SWX asks them */

static void *create_port(void *arguments)
{
    return arguments;
}

static void free_port(void *port)
{
    (void)port;
}

static int receive(void *object, struct rte_swx_pkt *packet)
{
    struct in_port *port = object;
    struct pd_swx_frame *frame = port->first;
    if (!frame) {
        return 0;
    }
    port->first = frame->next;
    *packet = (struct rte_swx_pkt){.handle = pd_swx_frame_handle(frame),
                                   .pkt = pd_swx_frame_buffer(frame),
                                   .offset = frame->offset,
                                   .length = frame->bytes + PD_SWX_PAD};
    return 1;
}

/* A length below zero is that of a frame from which the program took more than there was. */
static void take_over(const struct rte_swx_pkt *packet, struct pd_swx_frame *frame)
{
    frame->offset = packet->offset;
    frame->bytes = packet->length >= PD_SWX_PAD && packet->length < INT32_MAX
                       ? packet->length - PD_SWX_PAD
                       : 0;
    frame->next = NULL;
}

static void send_out(void *object, struct rte_swx_pkt *packet)
{
    struct out_port *port = object;
    struct pd_swx_frame *frame = pd_swx_frame_of(packet->handle);
    take_over(packet, frame);
    port->pipeline->inside--;
    port->pipeline->sink(port->pipeline->context, frame, port->number, false);
}

/* The original goes on: what is mirrored is a copy, as long as there are buffers. */
static void send_clone(void *object, struct rte_swx_pkt *packet, uint32_t bytes_max)
{
    struct out_port *port = object;
    const struct pd_swx_frame *from = pd_swx_frame_of(packet->handle);
    struct pd_swx_frame *frame = pd_swx_frame_new();
    struct pd_swx_frame now = {.next = NULL};
    take_over(packet, &now);
    if (!frame || now.bytes > PD_SWX_FRAME_MAX) {
        pd_swx_frame_free(frame);
        port->pipeline->clones_lost++;
        return;
    }
    frame->in_port = from->in_port;
    frame->time_ns = from->time_ns;
    frame->made = true;
    frame->bytes = now.bytes < bytes_max ? now.bytes : bytes_max;
    frame->came_bytes = frame->bytes;
    memcpy(pd_swx_frame_data(frame), packet->pkt + packet->offset, frame->bytes);
    port->pipeline->sink(port->pipeline->context, frame, port->number, true);
}

static void send_fast_clone(void *object, struct rte_swx_pkt *packet)
{
    send_clone(object, packet, PD_SWX_FRAME_MAX);
}

static void in_stats(void *port, struct rte_swx_port_in_stats *stats)
{
    (void)port;
    *stats = (struct rte_swx_port_in_stats){.n_pkts = 0};
}

static void out_stats(void *port, struct rte_swx_port_out_stats *stats)
{
    (void)port;
    *stats = (struct rte_swx_port_out_stats){.n_pkts = 0};
}

/* ---- building */

static uint32_t power_of_two(uint32_t least)
{
    uint32_t value = 1;
    while (value < least) {
        value *= 2;
    }
    return value;
}

/* SWX wants a power of two of in ports: surplus ones stay empty. */
static int add_ports(struct pd_swx_pipeline *p)
{
    static struct rte_swx_port_in_ops in = {create_port, free_port, receive, in_stats};
    static struct rte_swx_port_out_ops out = {create_port, free_port, send_out, send_fast_clone,
                                              send_clone,  NULL,      out_stats};
    int err = rte_swx_pipeline_port_in_type_register(p->swx, PORT_TYPE, &in);
    err = err ? err : rte_swx_pipeline_port_out_type_register(p->swx, PORT_TYPE, &out);
    for (uint32_t i = 0; i < p->in_len && !err; i++) {
        err = rte_swx_pipeline_port_in_config(p->swx, i, PORT_TYPE, &p->in[i]);
    }
    for (uint32_t i = 0; i < PD_SWX_PORTS_LEN && !err; i++) {
        p->out[i] = (struct out_port){.pipeline = p, .number = i};
        err = rte_swx_pipeline_port_out_config(p->swx, i, PORT_TYPE, &p->out[i]);
    }
    return err;
}

static int build(struct pd_swx_pipeline *p)
{
    static const uint32_t targets[] = {PD_SWX_DIGEST, PD_SWX_COLLECTOR, PD_SWX_DIGEST};
    int err = rte_swx_pipeline_build(p->swx);
    p->ctl = err ? NULL : rte_swx_ctl_pipeline_create(p->swx);
    err = err || p->ctl ? err : -ENOMEM;
    for (uint32_t i = 0; i < SESSIONS && !err; i++) {
        struct rte_swx_pipeline_mirroring_session_params session = {
            .port_id = i < 3 ? targets[i] : PD_SWX_DIGEST, .truncation_length = PD_SWX_FRAME_MAX};
        err = rte_swx_ctl_pipeline_mirroring_session_set(p->swx, i, &session);
    }
    return err;
}

static int configure(struct pd_swx_pipeline *p, const char *name, const char *spec_file,
                     struct pd_error *error)
{
    struct rte_swx_pipeline_mirroring_params mirrors = {.n_slots = 4, .n_sessions = SESSIONS};
    int err = rte_swx_pipeline_config(&p->swx, name, 0);
    err = err ? err : rte_swx_pipeline_mirroring_config(p->swx, &mirrors);
    err = err ? err : add_ports(p);
    if (err) {
        return pd_fail(error, err, "pipeline %s: %s", name, strerror(-err));
    }
    err = pd_swx_spec_load(p->swx, spec_file, error);
    if (err) {
        return err;
    }
    err = build(p);
    return err ? pd_fail(error, -PD_E_VERSION, "%s: this DPDK cannot build it: %s", spec_file,
                         strerror(-err))
               : 0;
}

int pd_swx_pipeline_open(const char *name, const char *spec_file, uint32_t ports_max,
                         pd_swx_sink *sink, void *context, struct pd_swx_pipeline **ret_pipeline,
                         struct pd_error *error)
{
    struct pd_swx_pipeline *p = calloc(1, sizeof *p);
    if (!p || ports_max > PD_SWX_PORT_MAX) {
        free(p);
        return pd_fail(error, p ? -PD_E_VALUE : -ENOMEM, "pipeline %s: no room", name);
    }
    p->in_len = power_of_two(ports_max + 1);
    p->sink = sink;
    p->context = context;
    int err = configure(p, name, spec_file, error);
    err = err ? err : pd_swx_pipeline_look(p);
    if (err) {
        pd_swx_pipeline_close(p);
        return error && !error->text[0] ? pd_fail(error, err, "pipeline %s: no memory", name) : err;
    }
    *ret_pipeline = p;
    return 0;
}

void pd_swx_pipeline_close(struct pd_swx_pipeline *p)
{
    if (!p) {
        return;
    }
    for (uint32_t i = 0; i < p->in_len; i++) {
        struct pd_swx_frame *frame;
        while ((frame = p->in[i].first)) {
            p->in[i].first = frame->next;
            pd_swx_frame_free(frame);
        }
    }
    if (p->ctl) {
        rte_swx_ctl_pipeline_free(p->ctl);
    }
    if (p->swx) {
        rte_swx_pipeline_free(p->swx);
    }
    free(p->tables);
    free(p->actions);
    free(p);
}

/* ---- running */

void pd_swx_pipeline_put(struct pd_swx_pipeline *p, struct pd_swx_frame *frame)
{
    struct in_port *port = &p->in[frame->in_port & (p->in_len - 1)];
    frame->next = NULL;
    if (port->first) {
        port->last->next = frame;
    } else {
        port->first = frame;
    }
    port->last = frame;
    p->inside++;
}

/* Those that the instruction `drop` took, since the last time. */
static uint32_t dropped(struct pd_swx_pipeline *p)
{
    struct rte_swx_port_out_stats stats = {.n_pkts = 0};
    rte_swx_ctl_pipeline_port_out_stats_read(p->swx, PD_SWX_PORTS_LEN, &stats);
    uint32_t now = (uint32_t)(stats.n_pkts_drop - p->dropped);
    p->dropped = stats.n_pkts_drop;
    return now;
}

/* Programs have no loops; one that keeps a frame for ever loses it from the count. */
uint32_t pd_swx_pipeline_run(struct pd_swx_pipeline *p, uint32_t *ret_stuck)
{
    uint32_t lost = 0;
    *ret_stuck = 0;
    for (unsigned chunk = 0; p->inside && chunk < CHUNKS_MAX; chunk++) {
        rte_swx_pipeline_run(p->swx, CHUNK);
        if (p->inside && chunk % LOOKS == LOOKS - 1) {
            uint32_t now = dropped(p);
            lost += now;
            p->inside -= now;
        }
    }
    if (p->inside) {
        *ret_stuck = p->inside;
        p->inside = 0;
    }
    return lost;
}

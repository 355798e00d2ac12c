/* SPDX-License-Identifier: Apache-2.0 */
/* From ports through switches to ports. */
#include "swx/process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "p4/programs.h"

#define BURST      32u /* frames of a port before others have their turn */
#define TURNS      100 /* of the control socket, before frames go on */
#define TURN_US    20
#define EVENTS     64
#define ROUNDS_MAX 1024u /* of frames that go round between switches, for each that comes in */

/* ---- opening */

static int open_port(struct pd_swx_process *process, const struct pd_swx_port_config *config,
                     struct pd_swx_port **ret_port, struct pd_error *error)
{
    struct pd_swx_switch *other;
    switch (config->kind) {
    case PD_SWX_CAPTURE: return pd_swx_capture_open(config->in, config->out, ret_port, error);
    case PD_SWX_INTERFACE: return pd_swx_interface_open(config->in, ret_port, error);
    case PD_SWX_TAP: return pd_swx_tap_open(config->in, ret_port, error);
    default: break;
    }
    other = &process->switches[config->to_switch];
    int err = pd_swx_ring_open(&other->rings[config->to_port], ret_port);
    return err ? pd_fail(error, err, "no memory") : 0;
}

static int watch(struct pd_swx_process *process, uint32_t nth, const struct pd_swx_port *port)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)nth << 16 | port->number};
    return port->fd < 0 || !epoll_ctl(process->epoll_fd, EPOLL_CTL_ADD, port->fd, &event) ? 0
                                                                                          : -errno;
}

static int open_ports(struct pd_swx_process *process, uint32_t nth,
                      const struct pd_swx_config_switch *config, struct pd_error *error)
{
    struct pd_swx_switch *sw = &process->switches[nth];
    int err = 0;
    for (uint32_t i = 1; i <= config->ports_max && !err; i++) {
        if (!config->ports[i].kind) {
            continue;
        }
        err = open_port(process, &config->ports[i], &sw->ports[i], error);
        if (!err) {
            sw->ports[i]->number = (uint16_t)i;
            err = watch(process, nth, sw->ports[i]);
            err = err ? pd_fail(error, err, "switch %" PRIu32 ", port %" PRIu32 ": %s", sw->id, i,
                                pd_error_text(err))
                      : 0;
        }
    }
    return err;
}

static int open_switch(struct pd_swx_process *process, uint32_t nth,
                       const struct pd_swx_config_switch *config, struct pd_error *error)
{
    char spec[4096];
    struct pd_swx_switch_config wanted = {.id = config->id,
                                          .program = config->program,
                                          .spec = config->spec ? config->spec : spec,
                                          .tables = config->tables,
                                          .punts = config->punts,
                                          .icmp_per_s = config->icmp_per_s,
                                          .ports_max = config->ports_max,
                                          .captures = process->captures};
    int err =
        config->spec ? 0 : pd_p4_program_file(config->program, "pna", spec, sizeof spec, error);
    err = err ? err : pd_swx_switch_open(&wanted, &process->switches[nth], error);
    return err ? err : open_ports(process, nth, config, error);
}

/* Two files for each port of many switches are more than the usual limit. */
static void raise_limit(void)
{
    struct rlimit limit;
    if (!getrlimit(RLIMIT_NOFILE, &limit)) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int pd_swx_process_open(const struct pd_swx_config *config, struct pd_swx_process *ret_process,
                        struct pd_error *error)
{
    struct pd_swx_process process = {.switches =
                                         calloc(config->switches_len, sizeof *process.switches),
                                     .captures = config->captures,
                                     .epoll_fd = epoll_create1(EPOLL_CLOEXEC),
                                     .lock = PTHREAD_MUTEX_INITIALIZER,
                                     .stop_fd = -1};
    int err = process.switches && process.epoll_fd >= 0
                  ? 0
                  : pd_fail(error, -ENOMEM, "no memory for the switches");
    raise_limit();
    err = err ? err : pd_swx_frames_open(config->switches_len, error);
    for (uint32_t i = 0; i < config->switches_len && !err; i++) {
        err = open_switch(&process, i, &config->switches[i], error);
        process.len += !err || process.switches[i].pipeline;
    }
    if (err) {
        pd_swx_process_close(&process);
        return err;
    }
    *ret_process = process;
    return 0;
}

void pd_swx_process_close(struct pd_swx_process *process)
{
    for (uint32_t i = 0; i < process->len; i++) {
        pd_swx_switch_close(&process->switches[i]);
    }
    free(process->switches);
    if (process->epoll_fd >= 0) {
        close(process->epoll_fd);
    }
    process->switches = NULL;
    process->len = 0;
}

/* ---- the lock */

void pd_swx_process_lock(struct pd_swx_process *process)
{
    atomic_fetch_add_explicit(&process->waiting, 1, memory_order_relaxed);
    pthread_mutex_lock(&process->lock);
    atomic_fetch_sub_explicit(&process->waiting, 1, memory_order_relaxed);
}

void pd_swx_process_unlock(struct pd_swx_process *process)
{
    pthread_mutex_unlock(&process->lock);
}

/* A lock that is taken again at once would keep all others out: who waits has its turn. */
static void let_others(struct pd_swx_process *process)
{
    pthread_mutex_unlock(&process->lock);
    for (int n = 0; n < TURNS && atomic_load_explicit(&process->waiting, memory_order_relaxed);
         n++) {
        usleep(TURN_US);
    }
    pthread_mutex_lock(&process->lock);
}

/* ---- frames between switches */

static bool pass_on(struct pd_swx_switch *sw)
{
    struct pd_swx_frame *frame;
    bool any = false;
    for (uint32_t i = 1; i <= sw->ports_max; i++) {
        for (unsigned n = 0; n < BURST && (frame = pd_swx_ring_take(&sw->rings[i])); n++) {
            pd_swx_switch_arrives(sw, frame, (uint16_t)i);
            any = true;
        }
    }
    return any;
}

/* A frame that loops ends by its TTL; what does not goes on in the next turn. */
static bool run_rings(struct pd_swx_process *process, uint64_t now_ns)
{
    bool any = true;
    for (unsigned round = 0; any && round < ROUNDS_MAX; round++) {
        any = false;
        for (uint32_t i = 0; i < process->len; i++) {
            if (pass_on(&process->switches[i])) {
                pd_swx_switch_run(&process->switches[i], now_ns);
                any = true;
            }
        }
    }
    return any;
}

/* ---- captures */

static struct pd_swx_port *earliest(const struct pd_swx_process *process, uint32_t *ret_switch)
{
    struct pd_swx_port *first = NULL;
    uint64_t first_ns = UINT64_MAX;
    for (uint32_t i = 0; i < process->len; i++) {
        for (uint32_t p = 1; p <= process->switches[i].ports_max; p++) {
            struct pd_swx_port *port = process->switches[i].ports[p];
            uint64_t next_ns = port && port->ops->next_ns ? port->ops->next_ns(port) : UINT64_MAX;
            if (next_ns < first_ns) {
                first_ns = next_ns;
                first = port;
                *ret_switch = i;
            }
        }
    }
    return first;
}

static void take_capture(struct pd_swx_process *process, struct pd_swx_switch *sw,
                         struct pd_swx_port *port)
{
    struct pd_swx_frame *frame = pd_swx_frame_new();
    if (!frame) {
        pd_swx_switch_lost(sw, PD_SWX_NO_BUFFER);
        return;
    }
    uint64_t now_ns = port->ops->next_ns(port);
    if (port->ops->receive(port, frame) == PD_SWX_FRAME) {
        pd_swx_switch_arrives(sw, frame, port->number);
        pd_swx_switch_run(sw, now_ns);
        while (run_rings(process, now_ns)) {
        }
    } else {
        pd_swx_switch_lost(sw, PD_SWX_TOO_LONG);
        pd_swx_frame_free(frame);
    }
}

static void run_captures(struct pd_swx_process *process)
{
    struct pd_swx_port *port;
    uint32_t nth = 0;
    pthread_mutex_lock(&process->lock);
    while ((port = earliest(process, &nth))) {
        take_capture(process, &process->switches[nth], port);
        if (atomic_load_explicit(&process->waiting, memory_order_relaxed)) {
            let_others(process);
        }
    }
    pthread_mutex_unlock(&process->lock);
}

/* ---- live */

static void forget(struct pd_swx_process *process, struct pd_swx_port *port)
{
    port->gone = true;
    epoll_ctl(process->epoll_fd, EPOLL_CTL_DEL, port->fd, NULL);
}

static void take_burst(struct pd_swx_process *process, struct pd_swx_switch *sw,
                       struct pd_swx_port *port)
{
    enum pd_swx_received got = PD_SWX_FRAME;
    for (unsigned n = 0; n < BURST && (got == PD_SWX_FRAME || got == PD_SWX_DISCARDED); n++) {
        struct pd_swx_frame *frame = pd_swx_frame_new();
        if (!frame) {
            return; /* it waits in its socket */
        }
        got = port->ops->receive(port, frame);
        if (got == PD_SWX_FRAME) {
            pd_swx_switch_arrives(sw, frame, port->number);
        } else {
            pd_swx_frame_free(frame);
        }
        if (got == PD_SWX_DISCARDED) {
            pd_swx_switch_lost(sw, PD_SWX_TOO_LONG);
        } else if (got == PD_SWX_ENDED) {
            forget(process, port);
        }
    }
}

/* False: it is to end. */
static bool serve(struct pd_swx_process *process, const struct epoll_event *events, int len)
{
    for (int i = 0; i < len; i++) {
        if (events[i].data.u64 == UINT64_MAX) {
            return false;
        }
        struct pd_swx_switch *sw = &process->switches[events[i].data.u64 >> 16];
        take_burst(process, sw, sw->ports[events[i].data.u64 & 0xffff]);
        pd_swx_switch_run(sw, pd_clock_wall_ns());
    }
    return true;
}

static int run_live(struct pd_swx_process *process)
{
    struct epoll_event events[EVENTS], stop = {.events = EPOLLIN, .data.u64 = UINT64_MAX};
    bool busy = false, goes_on = true;
    if (process->stop_fd >= 0 &&
        epoll_ctl(process->epoll_fd, EPOLL_CTL_ADD, process->stop_fd, &stop)) {
        return -errno;
    }
    while (goes_on) {
        int got = epoll_wait(process->epoll_fd, events, EVENTS, busy ? 0 : -1);
        if (got < 0 && errno != EINTR) {
            return -errno;
        }
        pthread_mutex_lock(&process->lock);
        goes_on = serve(process, events, got);
        busy = run_rings(process, pd_clock_wall_ns());
        if (atomic_load_explicit(&process->waiting, memory_order_relaxed)) {
            let_others(process);
        }
        pthread_mutex_unlock(&process->lock);
    }
    return 0;
}

int pd_swx_process_run(struct pd_swx_process *process)
{
    run_captures(process);
    return process->captures ? 0 : run_live(process);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Attaching to a switch, emptying its rings, and outliving it. */
#include "intake/ovs/ovs.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "intake/live/stamp.h"
#include "intake/ovs/socket.h"
#include "intake/ovs/source.h"

#define SOURCES_MAX   256
#define DRAIN_EVENTS  8192 /* of one source in one poll */
#define SLEEP_MAX_MS  10   /* nobody rings when a ring fills */
#define RETRY_NS      (200 * PD_NS_PER_MS)
#define RETRY_BUSY_NS PD_NS_PER_S
#define DYING_NS      (2 * PD_NS_PER_S) /* from the end of the socket to that of the process */
#define FLUSH_NS      (3 * PD_NS_PER_S)

struct ovs_intake {
    struct pd_intake head;
    struct pd_intake_config config;
    struct pd_trajectory_sink sink;
    char *path;
    int fd;               /* the socket, -1: not attached */
    int pid_fd;           /* of the switch's process */
    uint64_t instance_id; /* 0: not said yet */
    uint64_t now_ns;
    uint64_t retry_ns; /* when to connect again */
    uint64_t dying_ns; /* socket closed: up to then the process may end; 0: it is not so */
    uint64_t flushing; /* number of the flush that the switch is at */
    int64_t wall_ahead_ns;
    pthread_mutex_t lock; /* of the list of sources against committed() */
    struct pd_source sources[SOURCES_MAX];
    size_t sources_len;
    struct pd_intake_status before; /* counters of regions that are gone */
    enum pd_intake_state state;
    char detail[sizeof(((struct pd_intake_status *)NULL)->detail)];
};

static struct ovs_intake *own(struct pd_intake *intake)
{
    return (struct ovs_intake *)intake;
}

static void enter(struct ovs_intake *ovs, enum pd_intake_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void enter(struct ovs_intake *ovs, enum pd_intake_state state, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    /* clang-tidy 14 loses the list here. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    vsnprintf(ovs->detail, sizeof(ovs->detail), format, values);
    va_end(values);
    ovs->state = state;
}

static void read_clocks(struct ovs_intake *ovs)
{
    const uint64_t before_ns = pd_clock_monotonic_ns();
    const uint64_t wall_ns = pd_clock_wall_ns();

    ovs->now_ns = pd_clock_monotonic_ns();
    ovs->wall_ahead_ns =
        pd_live_stamp_wall_ahead(ovs->wall_ahead_ns, before_ns, wall_ns, ovs->now_ns);
}

static struct pd_source_sink sink_of(const struct ovs_intake *ovs)
{
    return (struct pd_source_sink){&ovs->sink, ovs->wall_ahead_ns};
}

/* ---- sources --------------------------------------------------------------------------------- */

static void add_counters(struct pd_intake_status *status, const struct pd_region *region)
{
#define ADD(to, from) to += __atomic_load_n(&(from), __ATOMIC_RELAXED)
#define X(name, text) ADD(status->trajectory.name, region->counters.name);
    PD_TRAJECTORY_COUNTERS(X)
#undef X
    for (unsigned i = 0; i < PD_PACKET_VERDICT_COUNT; i++) {
        ADD(status->verdicts[i], region->verdicts[i]);
    }
    ADD(status->frames, region->frames);
    ADD(status->frame_bytes, region->frame_bytes);
    ADD(status->ring_full, region->ring_refused);
    ADD(status->ring_unheard, region->ring_unheard);
#undef ADD
}

/* Unmaps; the source stays listed until the owner knows its last position. `gone`: it is not going
 * to be attached again. */
static void end_source(struct ovs_intake *ovs, struct pd_source *source, bool gone)
{
    if (source->ended) {
        return;
    }
    if (gone) {
        add_counters(&ovs->before, source->view.region);
    }
    pthread_mutex_lock(&ovs->lock);
    pd_ovs_source_close(source);
    pthread_mutex_unlock(&ovs->lock);
    source->ended = true;
}

static void forget_source(struct ovs_intake *ovs, size_t i)
{
    pthread_mutex_lock(&ovs->lock);
    ovs->sources[i] = ovs->sources[--ovs->sources_len];
    pthread_mutex_unlock(&ovs->lock);
}

static int add_source(struct ovs_intake *ovs, const int fds[2], struct pd_error *error)
{
    struct pd_source source;
    int r;

    if (ovs->sources_len == SOURCES_MAX) {
        return pd_fail(error, -PD_E_FULL, "the switch has more than %d threads", SOURCES_MAX);
    }
    r = pd_ovs_source_open(&source, fds[0], fds[1], ovs->instance_id, ovs->config.stored,
                           ovs->config.stored_context, error);
    if (r < 0) {
        return r;
    }
    pthread_mutex_lock(&ovs->lock);
    ovs->sources[ovs->sources_len++] = source;
    pthread_mutex_unlock(&ovs->lock);
    return 0;
}

/* ---- attach and detach ----------------------------------------------------------------------- */

static void close_socket(struct ovs_intake *ovs)
{
    if (ovs->fd >= 0) {
        close(ovs->fd);
    }
    ovs->fd = -1;
}

/* The switch lives on: what was not given comes again. */
static void detach(struct ovs_intake *ovs, uint64_t retry_ns)
{
    close_socket(ovs);
    if (ovs->pid_fd >= 0) {
        close(ovs->pid_fd);
    }
    ovs->pid_fd = -1;
    ovs->dying_ns = 0;
    ovs->instance_id = 0;
    ovs->retry_ns = ovs->now_ns + retry_ns;
    for (size_t i = 0; i < ovs->sources_len; i++) {
        end_source(ovs, &ovs->sources[i], false);
    }
}

static void bury(struct ovs_intake *ovs)
{
    const struct pd_source_sink sink = sink_of(ovs);

    for (size_t i = 0; i < ovs->sources_len; i++) {
        struct pd_source *source = &ovs->sources[i];
        uint64_t torn;

        if (!source->ended && pd_ovs_source_bury(source, &sink, &torn) == 0) {
            ovs->before.torn_records += torn;
        }
        end_source(ovs, source, true);
    }
    detach(ovs, 0);
    enter(ovs, PD_INTAKE_WAITING, "%.120s: the switch ended; waiting for it", ovs->path);
}

static bool process_gone(const struct ovs_intake *ovs)
{
    struct pollfd process = {ovs->pid_fd, POLLIN, 0};

    return ovs->pid_fd >= 0 && poll(&process, 1, 0) > 0;
}

static void attach(struct ovs_intake *ovs)
{
    struct pd_error error = {0};
    const int fd = pd_ovs_socket_connect(ovs->path, &ovs->pid_fd, &error);

    if (fd < 0) {
        ovs->retry_ns = ovs->now_ns + RETRY_NS;
        enter(ovs, PD_INTAKE_WAITING, "%.190s", error.text);
        return;
    }
    ovs->fd = fd;
}

static void refuse(struct ovs_intake *ovs, const char *why)
{
    detach(ovs, RETRY_BUSY_NS);
    enter(ovs, PD_INTAKE_WAITING, "%.190s", why);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void on_hello(struct ovs_intake *ovs, const struct pd_message *message)
{
    char why[120];

    if (message->version != PD_REGION_VERSION) {
        snprintf(why, sizeof(why), "the switch speaks version %u, this agent version %u",
                 message->version, PD_REGION_VERSION);
        refuse(ovs, why);
        return;
    }
    ovs->instance_id = message->instance_id;
    enter(ovs, PD_INTAKE_RUNNING, "%s", "");
}

static void on_gone(struct ovs_intake *ovs, uint64_t region_id)
{
    const struct pd_source_sink sink = sink_of(ovs);

    for (size_t i = 0; i < ovs->sources_len; i++) {
        struct pd_source *source = &ovs->sources[i];

        if (!source->ended && source->region_id == region_id) {
            pd_ovs_source_drain(source, &sink, SIZE_MAX, NULL);
            end_source(ovs, source, true);
        }
    }
}

static void on_message(struct ovs_intake *ovs, const struct pd_message *message, const int fds[2])
{
    struct pd_error error = {0};

    switch (message->type) {
    case PD_MESSAGE_HELLO: on_hello(ovs, message); break;
    case PD_MESSAGE_REGION:
        if (ovs->instance_id && add_source(ovs, fds, &error) < 0) {
            refuse(ovs, error.text);
        }
        break;
    case PD_MESSAGE_GONE: on_gone(ovs, message->region_id); break;
    case PD_MESSAGE_BUSY: refuse(ovs, "another agent is attached to the switch"); break;
    case PD_MESSAGE_FLUSHING: ovs->flushing = message->value; break;
    default: break;
    }
}

static void receive(struct ovs_intake *ovs)
{
    while (ovs->fd >= 0) {
        struct pd_message message = {0};
        int fds[2];
        const int r = pd_ovs_socket_receive(ovs->fd, &message, fds);

        if (r > 0) {
            on_message(ovs, &message, fds);
        }
        for (unsigned i = 0; i < 2; i++) {
            if (fds[i] >= 0) {
                close(fds[i]);
            }
        }
        if (r == 0) {
            return;
        }
        if (r == -PD_E_EOF) {
            close_socket(ovs);
            ovs->dying_ns = ovs->now_ns + DYING_NS;
        } else if (r < 0) {
            refuse(ovs, "what came from the switch is not a message");
        }
    }
}

/* ---- poll ------------------------------------------------------------------------------------ */

static size_t drain(struct ovs_intake *ovs, size_t max)
{
    const struct pd_source_sink sink = sink_of(ovs);
    size_t n = 0;

    for (size_t i = 0; i < ovs->sources_len; i++) {
        if (!ovs->sources[i].ended) {
            n += pd_ovs_source_drain(&ovs->sources[i], &sink, max, NULL);
        }
    }
    return n;
}

static void mind_the_switch(struct ovs_intake *ovs)
{
    if (ovs->fd < 0 && !ovs->dying_ns && ovs->now_ns >= ovs->retry_ns) {
        attach(ovs);
    }
    receive(ovs);
    if (ovs->dying_ns && process_gone(ovs)) {
        bury(ovs);
    } else if (ovs->dying_ns && ovs->now_ns >= ovs->dying_ns) {
        refuse(ovs, "the switch closed its socket; waiting for it");
    }
}

static void sleep_a_little(const struct ovs_intake *ovs, int timeout_ms)
{
    const int most_ms = timeout_ms < 0 || timeout_ms > SLEEP_MAX_MS ? SLEEP_MAX_MS : timeout_ms;
    struct pollfd fds[] = {{ovs->fd, POLLIN, 0}, {ovs->config.wake_fd, POLLIN, 0}};

    poll(fds, 2, most_ms);
}

static int ovs_poll(struct pd_intake *intake, int timeout_ms)
{
    struct ovs_intake *ovs = own(intake);

    read_clocks(ovs);
    mind_the_switch(ovs);
    if (drain(ovs, DRAIN_EVENTS) == 0 && timeout_ms != 0) {
        sleep_a_little(ovs, timeout_ms);
    }
    return 0;
}

/* ---- flush and walk -------------------------------------------------------------------------- */

static bool flushed(const struct ovs_intake *ovs)
{
    for (size_t i = 0; i < ovs->sources_len; i++) {
        const struct pd_source *source = &ovs->sources[i];

        if (!source->ended &&
            (__atomic_load_n(&source->view.region->flushed, __ATOMIC_ACQUIRE) < ovs->flushing ||
             source->read != pd_trajectory_view_written(&source->view))) {
            return false;
        }
    }
    return ovs->flushing > 0;
}

/* The switch is asked to evict all, and goes on: what it does not manage in time stays there for
 * the next agent. */
static size_t ovs_flush(struct pd_intake *intake)
{
    struct ovs_intake *ovs = own(intake);
    uint64_t until_ns;

    read_clocks(ovs);
    until_ns = ovs->now_ns + FLUSH_NS;
    ovs->flushing = 0;
    if (ovs->fd >= 0 && pd_ovs_socket_send(ovs->fd, PD_MESSAGE_FLUSH) < 0) {
        until_ns = 0;
    }
    while (ovs->fd >= 0 && !flushed(ovs) && ovs->now_ns < until_ns) {
        receive(ovs);
        if (drain(ovs, DRAIN_EVENTS) == 0) {
            poll(&(struct pollfd){ovs->fd, POLLIN, 0}, 1, 1);
        }
        read_clocks(ovs);
    }
    drain(ovs, SIZE_MAX);
    return 0;
}

static void ovs_walk(struct pd_intake *intake,
                     void (*visit)(void *context, const struct pd_trajectory_record *record),
                     void *context)
{
    struct ovs_intake *ovs = own(intake);
    const struct pd_source_sink sink = sink_of(ovs);

    for (size_t i = 0; i < ovs->sources_len; i++) {
        if (!ovs->sources[i].ended &&
            pd_ovs_source_walk(&ovs->sources[i], &sink, visit, context) < 0) {
            enter(ovs, ovs->state, "no memory to look at all live records");
        }
    }
}

/* ---- positions ------------------------------------------------------------------------------- */

static void ovs_positions(struct pd_intake *intake,
                          void (*visit)(void *context, uint64_t key, uint64_t position),
                          void *context)
{
    struct ovs_intake *ovs = own(intake);

    for (size_t i = ovs->sources_len; i-- > 0;) {
        struct pd_source *source = &ovs->sources[i];

        if (source->read != source->told || source->untold) {
            source->told = source->read;
            source->untold = false;
            visit(context, source->key, source->read);
        }
        if (source->ended) {
            forget_source(ovs, i);
        }
    }
}

static void ovs_committed(struct pd_intake *intake, uint64_t key, uint64_t position)
{
    struct ovs_intake *ovs = own(intake);

    pthread_mutex_lock(&ovs->lock);
    for (size_t i = 0; i < ovs->sources_len; i++) {
        if (ovs->sources[i].key == key) {
            pd_ovs_source_committed(&ovs->sources[i], position);
        }
    }
    pthread_mutex_unlock(&ovs->lock);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void ovs_close(struct pd_intake *intake)
{
    struct ovs_intake *ovs = own(intake);

    detach(ovs, 0);
    pthread_mutex_destroy(&ovs->lock);
    free(ovs->path);
    free(ovs);
}

static int ovs_open(const char *argument, const struct pd_intake_config *config,
                    const struct pd_trajectory_sink *sink, struct pd_intake **ret_intake,
                    struct pd_error *error)
{
    struct ovs_intake *ovs = calloc(1, sizeof(*ovs));

    if (!ovs || !(ovs->path = strdup(argument))) {
        free(ovs);
        return pd_fail(error, -ENOMEM, "%s: no memory", argument);
    }
    ovs->head.ops = &pd_intake_ovs;
    ovs->config = *config;
    ovs->sink = *sink;
    ovs->fd = ovs->pid_fd = -1;
    pthread_mutex_init(&ovs->lock, NULL);
    enter(ovs, PD_INTAKE_WAITING, "%.120s: waiting for the switch", argument);
    read_clocks(ovs);
    *ret_intake = &ovs->head;
    return 0;
}

static void ovs_status(const struct pd_intake *intake, struct pd_intake_status *ret_status)
{
    const struct ovs_intake *ovs = (const struct ovs_intake *)intake;
    struct pd_intake_status status = ovs->before;

    status.kind = pd_intake_ovs.kind;
    status.state = ovs->state;
    memcpy(status.detail, ovs->detail, sizeof(status.detail));
    for (size_t i = 0; i < ovs->sources_len; i++) {
        const struct pd_region *region = ovs->sources[i].view.region;

        if (region) {
            add_counters(&status, region);
            status.live_records += __atomic_load_n(&region->live_records, __ATOMIC_RELAXED);
            status.ring_events += pd_ovs_source_unstored(&ovs->sources[i]);
        }
    }
    *ret_status = status;
}

const struct pd_intake_ops pd_intake_ovs = {
    .kind = "ovs",
    .argument = "SOCKET",
    .source = "switch",
    .open = ovs_open,
    .close = ovs_close,
    .poll = ovs_poll,
    .flush = ovs_flush,
    .walk = ovs_walk,
    .status = ovs_status,
    .positions = ovs_positions,
    .committed = ovs_committed,
};

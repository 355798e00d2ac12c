/* SPDX-License-Identifier: Apache-2.0 */
/* The intake that listens on a Linux interface: frames out of the kernel's ring, link tags off for
 * the host if asked. */
#include "intake/live/live.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <net/if.h>
#include <netinet/in.h>

#include "base/clock.h"
#include "intake/frames.h"
#include "intake/live/ring.h"
#include "intake/live/stamp.h"
#include "intake/live/strip.h"

#define WORK_NS       (10 * PD_NS_PER_MS)  /* of one poll */
#define SLEEP_MAX_MS  50                   /* the sweep must go on when no frame comes */
#define LOOK_EVERY_NS (200 * PD_NS_PER_MS) /* at the interface, while it is away */
#define LAST_MAX_NS   (200 * PD_NS_PER_MS) /* a flush reads on for so long, while frames come */

struct live_intake {
    struct pd_intake head;
    struct pd_frames frames; /* on the monotonic clock */
    struct pd_ring ring;     /* closed while the interface is away */
    struct pd_strip *strip;
    struct pd_intake_config config;
    struct pd_intake_live_options options;
    char name[IFNAMSIZ];
    uint64_t now_ns;  /* monotonic, as of this poll */
    uint64_t look_ns; /* when to look at the interface again, while waiting */
    uint64_t other_direction;
    uint64_t kernel_drops;
    enum pd_intake_state state;
    char detail[sizeof(((struct pd_intake_status *)NULL)->detail)];
};

static struct live_intake *own(struct pd_intake *intake)
{
    return (struct live_intake *)intake;
}

/* ---- the interface comes and goes ----------------------------------------------------------- */

static void enter(struct live_intake *live, enum pd_intake_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void enter(struct live_intake *live, enum pd_intake_state state, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    vsnprintf(live->detail, sizeof(live->detail), format, values);
    va_end(values);
    live->state = state;
}

static void enter_link(struct live_intake *live)
{
    if (pd_live_ring_link(&live->ring) == PD_RING_LINK_UP) {
        enter(live, PD_INTAKE_RUNNING, "%s", "");
    } else {
        enter(live, PD_INTAKE_WAITING, "%s is down; waiting for it to come up", live->name);
    }
}

static int start(struct live_intake *live, struct pd_error *error)
{
    live->options.payload = live->config.read_mark != NULL;
    int r = pd_live_ring_open(&live->ring, live->name, &live->options, error);

    if (r == 0 && live->options.strip) {
        const struct pd_strip_what what = {.clear_dscp = live->config.use_dscp,
                                           .tpid = live->config.tpid};

        r = pd_live_strip_open(live->ring.ifindex, PD_STRIP_ANY, &what, &live->strip, error);
        if (r < 0) {
            pd_fail_within(error, live->name);
            pd_live_ring_close(&live->ring);
        }
    }
    if (r == 0) {
        enter_link(live);
    }
    return r;
}

static void stop(struct live_intake *live)
{
    pd_live_strip_close(live->strip);
    live->strip = NULL;
    pd_live_ring_close(&live->ring);
}

/* An interface that is removed may come back under its name: the daemon of a host outlives its
 * network's set-up. */
static void look_at_link(struct live_intake *live)
{
    struct pd_error error = {0};

    live->look_ns = live->now_ns + LOOK_EVERY_NS;
    if (live->ring.fd < 0) {
        const int r = start(live, &error);

        if (r < 0 && r != -ENODEV) {
            enter(live, PD_INTAKE_WAITING, "%s is back but cannot be used: %.150s", live->name,
                  error.text);
        }
    } else if (pd_live_ring_link(&live->ring) == PD_RING_LINK_GONE) {
        stop(live);
        enter(live, PD_INTAKE_WAITING, "%s was removed; waiting for an interface of that name",
              live->name);
    } else {
        enter_link(live);
    }
}

/* ---- open and close ------------------------------------------------------------------------- */

static void live_close(struct pd_intake *intake)
{
    struct live_intake *live = own(intake);

    stop(live);
    pd_intake_frames_done(&live->frames);
    free(live);
}

/* Frames run on the monotonic clock; how far wall time is ahead of it is watched. */
static void read_clocks(struct live_intake *live)
{
    const uint64_t before_ns = pd_clock_monotonic_ns();
    const uint64_t wall_ns = pd_clock_wall_ns();

    live->now_ns = pd_clock_monotonic_ns();
    live->frames.wall_ahead_ns =
        pd_live_stamp_wall_ahead(live->frames.wall_ahead_ns, before_ns, wall_ns, live->now_ns);
}

static int live_open(const char *argument, const struct pd_intake_config *config,
                     const struct pd_trajectory_sink *sink, struct pd_intake **ret_intake,
                     struct pd_error *error)
{
    struct live_intake *live;
    int r;

    if (strlen(argument) >= IFNAMSIZ) {
        return pd_fail(error, -ENODEV, "%.100s: no such interface", argument);
    }
    live = calloc(1, sizeof(*live));
    if (!live) {
        return pd_fail(error, -ENOMEM, "%s: no memory", argument);
    }
    live->head.ops = &pd_intake_live;
    live->config = *config;
    if (config->options) {
        live->options = *(const struct pd_intake_live_options *)config->options;
    }
    live->ring.fd = -1;
    memcpy(live->name, argument, strlen(argument));
    r = pd_intake_frames_init(&live->frames, config, sink);
    if (r < 0) {
        pd_fail(error, r, "%s: trajectory memory: %s", argument, pd_error_text(r));
        goto out;
    }
    r = start(live, error);
out:
    if (r < 0) {
        live_close(&live->head);
        return r;
    }
    read_clocks(live);
    *ret_intake = &live->head;
    return 0;
}

/* ---- frames --------------------------------------------------------------------------------- */

/* Where the transport header begins: the kernel says so for what it merged, and IPv4 says so
 * itself. */
static size_t transport_offset(const struct pd_ring_frame *frame, const struct pd_packet *packet)
{
    if (frame->l4_offset > packet->ip_offset) {
        return frame->l4_offset;
    }
    if (packet->flow.ip_version == 6) {
        return packet->ip_offset + 40U;
    }
    return packet->ip_offset + (frame->data[packet->ip_offset] & 0x0fU) * 4U;
}

/* The kernel merges segments of a TCP or UDP flow (GRO) before packet sockets see them. On the wire
 * each had headers of its own, so that merged packet of n segments stands for n packets, and n - 1
 * more times the headers. */
static void weigh_merged(struct pd_frames *frames, const struct pd_ring_frame *frame,
                         const struct pd_packet *packet)
{
    const size_t l4_offset = transport_offset(frame, packet);
    size_t header_bytes = l4_offset - packet->ip_offset + 8;

    if (packet->flow.protocol == IPPROTO_TCP) {
        if (l4_offset + 13 > frame->captured) {
            return;
        }
        header_bytes += (frame->data[l4_offset + 12] >> 4) * 4U - 8U;
    }
    if (header_bytes >= packet->ip_bytes) {
        return;
    }

    const size_t payload_bytes = packet->ip_bytes - header_bytes;
    const size_t pkts = (payload_bytes + frame->segment_bytes - 1) / frame->segment_bytes;

    pd_intake_frames_weigh(frames, (struct pd_packet_weight){
                                       .pkts = (uint32_t)pkts,
                                       .bytes = (uint32_t)(payload_bytes + pkts * header_bytes),
                                   });
}

static void on_frame(void *context, const struct pd_ring_frame *frame)
{
    struct live_intake *live = context;

    if (frame->outgoing) {
        live->other_direction++;
        return;
    }

    const uint64_t time_ns = pd_live_stamp_monotonic(frame->wall_ns, live->frames.wall_ahead_ns,
                                                     live->frames.newest_ns, live->now_ns);
    const struct pd_packet *packet =
        pd_intake_frames_add(&live->frames, frame->data, frame->captured, frame->wire, time_ns);

    if (packet && frame->merged) {
        weigh_merged(&live->frames, frame, packet);
    }
}

/* ---- poll ----------------------------------------------------------------------------------- */

/* Reads what is there, for a bounded time. True: nothing is left. */
static bool drain(struct live_intake *live)
{
    while (live->ring.fd >= 0 && pd_live_ring_read(&live->ring, on_frame, live)) {
        if (pd_clock_monotonic_ns() - live->now_ns > WORK_NS) {
            return false;
        }
    }
    return true;
}

static void sleep_for_frames(struct live_intake *live, int timeout_ms)
{
    const int most_ms = timeout_ms < 0 || timeout_ms > SLEEP_MAX_MS ? SLEEP_MAX_MS : timeout_ms;
    struct pollfd fds[] = {{live->ring.fd, POLLIN, 0}, {live->config.wake_fd, POLLIN, 0}};

    if (poll(fds, 2, most_ms) > 0 && fds[0].revents & (POLLERR | POLLHUP | POLLNVAL)) {
        pd_live_ring_take_error(&live->ring);
        live->look_ns = 0;
        live->state = PD_INTAKE_WAITING;
    }
}

static int live_poll(struct pd_intake *intake, int timeout_ms)
{
    struct live_intake *live = own(intake);
    const uint64_t frames = live->frames.frames;
    bool empty;

    read_clocks(live);
    empty = drain(live);
    if (live->frames.frames == frames && timeout_ms != 0) {
        sleep_for_frames(live, timeout_ms);
        read_clocks(live);
        empty = drain(live);
    }
    /* Frames that wait in the ring are older than now: time goes on only as far as they do. */
    pd_intake_frames_commit(&live->frames, empty ? live->now_ns : live->frames.newest_ns);
    if (live->ring.fd >= 0) {
        live->kernel_drops += pd_live_ring_take_drops(&live->ring);
    }
    if (live->state == PD_INTAKE_WAITING && live->now_ns >= live->look_ns) {
        look_at_link(live);
    }
    return 0;
}

/* ---- the rest ------------------------------------------------------------------------------- */

/* To the end, whatever signals come meanwhile. */
static void sleep_ms(unsigned ms)
{
    struct timespec left = {0, (long)(ms * PD_NS_PER_MS)};

    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
    }
}

/* The kernel holds a block back until it is full or PD_RING_HELD_MS old: frames that came before
 * the flush are read once that time has passed. */
static void read_last(struct live_intake *live)
{
    const uint64_t until_ns = pd_clock_monotonic_ns() + LAST_MAX_NS;
    uint64_t frames;

    do {
        frames = live->frames.frames;
        sleep_ms(PD_RING_HELD_MS);
        do {
            read_clocks(live);
        } while (!drain(live) && live->now_ns < until_ns);
    } while (live->frames.frames != frames && live->now_ns < until_ns);
    live->kernel_drops += pd_live_ring_take_drops(&live->ring);
}

static size_t live_flush(struct pd_intake *intake)
{
    struct live_intake *live = own(intake);

    if (live->ring.fd >= 0) {
        read_last(live);
    }
    return pd_intake_frames_flush(&live->frames);
}

static void live_walk(struct pd_intake *intake,
                      void (*visit)(void *context, const struct pd_trajectory_record *record),
                      void *context)
{
    pd_intake_frames_walk(&own(intake)->frames, visit, context);
}

static void live_status(const struct pd_intake *intake, struct pd_intake_status *ret_status)
{
    const struct live_intake *live = (const struct live_intake *)intake;
    struct pd_intake_status status = {
        .kind = pd_intake_live.kind,
        .state = live->state,
        .other_direction = live->other_direction,
        .kernel_drops = live->kernel_drops,
    };

    memcpy(status.detail, live->detail, sizeof(status.detail));
    pd_intake_frames_status(&live->frames, &status);
    *ret_status = status;
}

#define AT(member) offsetof(struct pd_intake_live_options, member)

static const struct pd_option rows[] = {
    {.section = "intake",
     .name = "strip",
     .type = PD_OPTION_FLAG,
     .offset = AT(strip),
     .help = "live: take the tags off for the host's own stack"},
    {.section = "intake",
     .name = "promiscuous",
     .type = PD_OPTION_FLAG,
     .offset = AT(promiscuous),
     .help = "live: receive frames for other hosts, too"},
    {.section = "intake",
     .name = "ring-bytes",
     .type = PD_OPTION_BYTES,
     .offset = AT(ring_bytes),
     .max = UINT32_MAX,
     .value = "BYTES",
     .fallback = "0",
     .help = "live: size of the ring that is shared with the kernel; 0: as the intake likes it"},
    {0},
};

/* Interfaces have several names. */
static bool live_same(const char *a, const char *b)
{
    unsigned index = if_nametoindex(a);

    return !strcmp(a, b) || (index && index == if_nametoindex(b));
}

const struct pd_intake_ops pd_intake_live = {
    .kind = "live",
    .argument = "IFACE",
    .source = "interface",
    .can = PD_INTAKE_FRAMES,
    .options = rows,
    .options_bytes = sizeof(struct pd_intake_live_options),
    .same = live_same,
    .open = live_open,
    .close = live_close,
    .poll = live_poll,
    .flush = live_flush,
    .walk = live_walk,
    .status = live_status,
};

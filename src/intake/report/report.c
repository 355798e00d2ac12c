/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams of switches become packets with a path, and complaints. */
#include "intake/report/report.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/endpoint.h"
#include "intake/frames.h"
#include "intake/report/postcards.h"
#include "telemetry/hop_lists.h"
#include "telemetry/int_report/int_report.h"

#define WORK_NS        (10 * PD_NS_PER_MS) /* of one poll */
#define SWEEP_NS       (20 * PD_NS_PER_MS)
#define SLEEP_MAX_MS   20
#define DATAGRAM_BYTES 65536
#define FRAME_BYTES    2048 /* of a reported packet that are read */
#define ETHERNET_BYTES 14
#define BUFFER_BYTES   (4 << 20)

struct report_intake {
    struct pd_intake head;
    struct pd_frames frames; /* on the monotonic clock */
    struct pd_postcards *postcards;
    struct pd_intake_config config;
    int fd;
    uint64_t now_ns, swept_ns;
    uint64_t malformed; /* datagrams that are no reports, or whose lengths lie */
    uint64_t dropped;   /* by the kernel, for its buffer was full */
    uint32_t told;      /* of these, when it last said so: it counts in 32 bits */
    uint8_t datagram[DATAGRAM_BYTES];
};

static struct report_intake *own(struct pd_intake *intake)
{
    return (struct report_intake *)intake;
}

/* ---- the socket ---- */

static int open_socket(struct report_intake *own, const char *argument, struct pd_error *error)
{
    const int bytes = BUFFER_BYTES, on = 1;
    union pd_endpoint address;

    if (pd_endpoint_parse(argument, &address) || !pd_endpoint_port(&address)) {
        return pd_fail(
            error, -PD_E_VALUE,
            "report: expects an address as 127.0.0.1:32766 or [::1]:32766, not \"%.60s\"",
            argument);
    }
    own->fd = socket(address.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (own->fd < 0 || bind(own->fd, &address.any, pd_endpoint_bytes(&address))) {
        return pd_fail(error, -errno, "report: %.60s: %s", argument, strerror(errno));
    }
    setsockopt(own->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    setsockopt(own->fd, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on);
    return 0;
}

/* ---- packets ---- */

/* Ethernet in front of an IP packet that came without. Returns the bytes that there are now. */
static size_t make_frame(const struct pd_int_report *report, uint8_t frame[FRAME_BYTES])
{
    const size_t front = report->inner == PD_INT_REPORT_ETHERNET ? 0 : ETHERNET_BYTES;
    const size_t most = FRAME_BYTES - front;
    const size_t bytes = report->packet.left < most ? report->packet.left : most;

    if (front) {
        memset(frame, 0, front);
        pd_bytes_put(frame + 12, 2, report->inner == PD_INT_REPORT_IPV4 ? 0x0800 : 0x86dd);
    }
    memcpy(frame + front, report->packet.at, bytes);
    return front + bytes;
}

/* What was on the wire is what the IP header says: reports cut packets off. */
static size_t wire_bytes(const uint8_t *frame, size_t captured)
{
    size_t ip = ETHERNET_BYTES, bytes = captured;

    while (captured >= ip + 4 && (frame[ip - 2] << 8 | frame[ip - 1]) == 0x8100) {
        ip += 4;
    }
    if (captured >= ip + 6 && frame[ip] >> 4 == 4) {
        bytes = ip + (size_t)(frame[ip + 2] << 8 | frame[ip + 3]);
    } else if (captured >= ip + 6 && frame[ip] >> 4 == 6) {
        bytes = ip + 40 + (size_t)(frame[ip + 4] << 8 | frame[ip + 5]);
    }
    return bytes > captured ? bytes : captured;
}

static void count_list(void *context, const struct pd_postcards_list *list)
{
    struct report_intake *intake = context;
    struct pd_packet *packet = (struct pd_packet *)(uintptr_t)pd_intake_frames_add(
        &intake->frames, list->frame, list->captured, list->wire, list->time_ns);

    if (packet) {
        const uint32_t pkts = list->pkts ? list->pkts : 1;

        packet->mark = pd_telemetry_hop_lists_mark(&list->telemetry);
        pd_intake_frames_weigh(&intake->frames,
                               (struct pd_packet_weight){pkts, pkts * packet->ip_bytes});
    }
}

/* The sink's own entry stands behind the stack, unless it wrote itself into it. */
static void add_own(const struct pd_int_report *report, struct pd_telemetry *telemetry)
{
    const uint32_t len = telemetry->hops_len;

    if (report->measured && len < PD_TELEMETRY_HOPS_MAX &&
        telemetry->hops[len - 1].node != report->hop.node) {
        telemetry->hops[telemetry->hops_len++] = report->hop;
    }
}

static void count_stack(struct report_intake *intake, const struct pd_int_report *report,
                        struct pd_telemetry *telemetry, const uint8_t *frame, size_t captured,
                        size_t wire)
{
    struct pd_packet *packet = (struct pd_packet *)(uintptr_t)pd_intake_frames_add(
        &intake->frames, frame, captured, wire, intake->now_ns);

    add_own(report, telemetry);
    if (packet) {
        packet->mark = pd_telemetry_hop_lists_mark(telemetry);
    }
}

static void complain(const struct report_intake *intake, const struct pd_int_report *report,
                     const struct pd_flow_id *flow)
{
    const struct pd_intake_complaints *to = intake->config.complaints;
    char detail[128];

    if (to && report->dropped) {
        snprintf(detail, sizeof detail, "switch %u dropped a packet%s", report->hop.node,
                 report->has_reason ? "" : ", and does not say why");
        if (report->has_reason) {
            snprintf(detail, sizeof detail, "switch %u dropped a packet: its reason %u",
                     report->hop.node, report->reason);
        }
        to->tell(to->context, PD_INTAKE_DROPPED, flow, report->hop.node, detail);
    }
    if (to && report->congested) {
        snprintf(detail, sizeof detail, "switch %u, port %u: a packet met a queue of %u bytes",
                 report->hop.node, report->hop.out_port, report->hop.queue_bytes);
        to->tell(to->context, PD_INTAKE_QUEUED, flow, report->hop.node, detail);
    }
}

/* A packet that was dropped went no further: what is known of its way is no path. */
static void take_report(struct report_intake *intake, const struct pd_int_report *report)
{
    uint8_t frame[FRAME_BYTES];
    struct pd_telemetry telemetry = {.kind = PD_TELEMETRY_NONE};
    struct pd_packet packet;
    const size_t captured = report->inner ? make_frame(report, frame) : 0;
    const size_t wire = captured ? wire_bytes(frame, captured) : 0;

    if (!captured || pd_packet_parse(frame, captured, wire, &packet) != PD_PACKET_OK) {
        complain(intake, report, NULL);
        return;
    }
    complain(intake, report, &packet.flow);
    if (report->dropped) {
        return;
    }
    if (!pd_telemetry_read(frame, captured, &packet, PD_TELEMETRY_DSCP, &telemetry) &&
        telemetry.hops_len && !telemetry.probe) {
        count_stack(intake, report, &telemetry, frame, captured, wire);
    } else {
        pd_intake_postcards_add(intake->postcards, &packet.flow, &report->hop, frame, captured,
                                wire, intake->now_ns);
    }
}

static void take_datagram(struct report_intake *intake, size_t bytes)
{
    struct pd_bytes datagram = {intake->datagram, bytes};
    struct pd_int_report_head head;
    struct pd_int_report report;
    int err = pd_int_report_begin(&datagram, &head);

    while (!err) {
        err = pd_int_report_next(&datagram, &head, &report);
        if (!err) {
            take_report(intake, &report);
        }
    }
    intake->malformed += err != -PD_E_NOT_FOUND;
}

/* ---- the intake ---- */

static void read_clocks(struct report_intake *intake)
{
    intake->now_ns = pd_clock_monotonic_ns();
    intake->frames.wall_ahead_ns = (int64_t)(pd_clock_wall_ns() - intake->now_ns);
}

static void report_close(struct pd_intake *intake)
{
    struct report_intake *report = own(intake);

    if (report->fd >= 0) {
        close(report->fd);
    }
    pd_intake_postcards_free(report->postcards);
    pd_intake_frames_done(&report->frames);
    free(report);
}

/* Marks are lists of hops: the codec `telemetry` reads them from frames, and no other does. */
static int check_codec(const struct pd_intake_config *config, struct pd_error *error)
{
    return config->read_mark == pd_telemetry_hop_lists_read
               ? 0
               : pd_fail(error, -PD_E_VALUE,
                         "report: reports tell paths by switches' IDs: the topology's codec has to "
                         "be telemetry");
}

static int report_open(const char *argument, const struct pd_intake_config *config,
                       const struct pd_trajectory_sink *sink, struct pd_intake **ret_intake,
                       struct pd_error *error)
{
    struct report_intake *report = calloc(1, sizeof *report);

    if (!report) {
        return pd_fail(error, -ENOMEM, "report: no memory");
    }
    report->head.ops = &pd_intake_report;
    report->config = *config;
    report->fd = -1;
    int err = check_codec(config, error);
    if (!err && (pd_intake_frames_init(&report->frames, config, sink) ||
                 !(report->postcards = pd_intake_postcards_new(count_list, report)))) {
        err = pd_fail(error, -ENOMEM, "report: no memory");
    }
    err = err ? err : open_socket(report, argument, error);
    if (err) {
        report_close(&report->head);
        return err;
    }
    read_clocks(report);
    *ret_intake = &report->head;
    return 0;
}

/* The kernel says with a datagram how many it had dropped when that one came. */
static void count_drops(struct report_intake *report, struct msghdr *message)
{
    uint32_t dropped;

    for (struct cmsghdr *said = CMSG_FIRSTHDR(message); said; said = CMSG_NXTHDR(message, said)) {
        if (said->cmsg_level == SOL_SOCKET && said->cmsg_type == SO_RXQ_OVFL) {
            memcpy(&dropped, CMSG_DATA(said), sizeof dropped);
            report->dropped += dropped - report->told;
            report->told = dropped;
        }
    }
}

static ssize_t receive(struct report_intake *report)
{
    union {
        struct cmsghdr aligned;
        uint8_t bytes[CMSG_SPACE(sizeof(uint32_t))];
    } said;
    struct iovec to = {report->datagram, DATAGRAM_BYTES};
    struct msghdr message = {
        .msg_iov = &to, .msg_iovlen = 1, .msg_control = &said, .msg_controllen = sizeof said};
    const ssize_t bytes = recvmsg(report->fd, &message, 0);

    if (bytes >= 0) {
        count_drops(report, &message);
    }
    return bytes;
}

static void drain(struct report_intake *report)
{
    const uint64_t until_ns = pd_clock_monotonic_ns() + WORK_NS;
    ssize_t bytes;

    while (pd_clock_monotonic_ns() < until_ns && (bytes = receive(report)) >= 0) {
        read_clocks(report);
        take_datagram(report, (size_t)bytes);
    }
}

static int report_poll(struct pd_intake *intake, int timeout_ms)
{
    struct report_intake *report = own(intake);
    struct pollfd fds[] = {{report->fd, POLLIN, 0}, {report->config.wake_fd, POLLIN, 0}};
    const int most_ms = timeout_ms < 0 || timeout_ms > SLEEP_MAX_MS ? SLEEP_MAX_MS : timeout_ms;

    if (poll(fds, 2, most_ms) > 0 && fds[0].revents) {
        drain(report);
    }
    read_clocks(report);
    if (report->now_ns - report->swept_ns >= SWEEP_NS) {
        pd_intake_postcards_sweep(report->postcards, report->now_ns);
        report->swept_ns = report->now_ns;
    }
    pd_intake_frames_commit(&report->frames, report->now_ns);
    return 0;
}

static size_t report_flush(struct pd_intake *intake)
{
    struct report_intake *report = own(intake);

    drain(report);
    pd_intake_postcards_sweep(report->postcards, UINT64_MAX);
    return pd_intake_frames_flush(&report->frames);
}

static void report_walk(struct pd_intake *intake,
                        void (*visit)(void *context, const struct pd_trajectory_record *record),
                        void *context)
{
    pd_intake_frames_walk(&own(intake)->frames, visit, context);
}

static void report_status(const struct pd_intake *intake, struct pd_intake_status *ret_status)
{
    const struct report_intake *report = (const struct report_intake *)intake;
    struct pd_intake_status status = {.kind = pd_intake_report.kind, .state = PD_INTAKE_RUNNING};

    pd_intake_frames_status(&report->frames, &status);
    status.malformed_reports = report->malformed;
    status.kernel_drops = report->dropped;
    *ret_status = status;
}

const struct pd_intake_ops pd_intake_report = {
    .kind = "report",
    .argument = "ADDRESS:PORT",
    .source = "address",
    .can = PD_INTAKE_FRAMES,
    .open = report_open,
    .close = report_close,
    .poll = report_poll,
    .flush = report_flush,
    .walk = report_walk,
    .status = report_status,
};

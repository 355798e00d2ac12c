/* SPDX-License-Identifier: Apache-2.0 */
/* Raw sockets: opened, filtered, written and read. */
#include "trace/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <netinet/icmp6.h>
#include <netinet/in.h>

#include "base/clock.h"

#define BURST         32u
#define ANSWER_BYTES  2048
#define UNREACHABLE   3
#define EXCEEDED      11
#define ICMP4_FILTER  1 /* option of level SOL_RAW, linux/icmp.h */
#define RECEIVE_BYTES (256 << 10)

static int open_socket(int family, int protocol)
{
    int fd = socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);

    return fd < 0 ? -errno : fd;
}

/* Errors alone: echo replies and the like never wake anybody. */
static void filter(int fd, unsigned family)
{
    const int on = 1, room = RECEIVE_BYTES;

    if (family) {
        struct icmp6_filter six;
        ICMP6_FILTER_SETBLOCKALL(&six);
        ICMP6_FILTER_SETPASS(ICMP6_DST_UNREACH, &six);
        ICMP6_FILTER_SETPASS(ICMP6_TIME_EXCEEDED, &six);
        (void)setsockopt(fd, IPPROTO_ICMPV6, ICMP6_FILTER, &six, sizeof six);
    } else {
        const uint32_t four = ~(1u << UNREACHABLE | 1u << EXCEEDED);
        (void)setsockopt(fd, SOL_RAW, ICMP4_FILTER, &four, sizeof four);
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
}

static int open_family(struct pd_trace_wire *wire, unsigned family)
{
    wire->send_fds[family] = open_socket(family ? AF_INET6 : AF_INET, IPPROTO_RAW);
    wire->icmp_fds[family] =
        open_socket(family ? AF_INET6 : AF_INET, family ? (int)IPPROTO_ICMPV6 : (int)IPPROTO_ICMP);
    if (wire->send_fds[family] < 0) {
        return wire->send_fds[family];
    }
    if (wire->icmp_fds[family] < 0) {
        return wire->icmp_fds[family];
    }
    filter(wire->icmp_fds[family], family);
    return 0;
}

int pd_trace_wire_open(struct pd_trace_wire *ret_wire, struct pd_error *error)
{
    struct pd_trace_wire wire = {{-1, -1}, {-1, -1}};
    int four = open_family(&wire, 0), six = open_family(&wire, 1);

    if (four && six) {
        pd_trace_wire_close(&wire);
        return pd_fail(error, four, "%s",
                       four == -EPERM || four == -EACCES ? "no permission (needs CAP_NET_RAW)"
                                                         : strerror(-four));
    }
    *ret_wire = wire;
    return 0;
}

void pd_trace_wire_close(struct pd_trace_wire *wire)
{
    for (unsigned i = 0; i < 2; i++) {
        if (wire->send_fds[i] >= 0) {
            close(wire->send_fds[i]);
        }
        if (wire->icmp_fds[i] >= 0) {
            close(wire->icmp_fds[i]);
        }
        wire->send_fds[i] = wire->icmp_fds[i] = -1;
    }
}

/* ---- out ---- */

/* Where to, and from which address: hosts with several interfaces choose by both. */
struct route {
    struct sockaddr_storage to;
    _Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(struct in6_pktinfo))];
    struct msghdr head;
};

static void *put_control(struct route *route, int level, int type, size_t len)
{
    struct cmsghdr *control = (struct cmsghdr *)route->control;

    control->cmsg_level = level;
    control->cmsg_type = type;
    control->cmsg_len = CMSG_LEN(len);
    route->head.msg_control = route->control;
    route->head.msg_controllen = CMSG_SPACE(len);
    return CMSG_DATA(control);
}

static void make_route(const struct pd_flow_id *flow, struct route *route)
{
    *route = (struct route){.head.msg_name = &route->to};
    if (flow->ip_version == 4) {
        struct sockaddr_in *to = (struct sockaddr_in *)&route->to;
        struct in_pktinfo from = {0};

        to->sin_family = AF_INET;
        memcpy(&to->sin_addr, &flow->dst, sizeof to->sin_addr);
        memcpy(&from.ipi_spec_dst, &flow->src, sizeof from.ipi_spec_dst);
        route->head.msg_namelen = sizeof *to;
        memcpy(put_control(route, IPPROTO_IP, IP_PKTINFO, sizeof from), &from, sizeof from);
    } else {
        struct sockaddr_in6 *to = (struct sockaddr_in6 *)&route->to;
        struct in6_pktinfo from = {0};

        to->sin6_family = AF_INET6;
        memcpy(&to->sin6_addr, &flow->dst, sizeof to->sin6_addr);
        memcpy(&from.ipi6_addr, &flow->src, sizeof from.ipi6_addr);
        route->head.msg_namelen = sizeof *to;
        memcpy(put_control(route, IPPROTO_IPV6, IPV6_PKTINFO, sizeof from), &from, sizeof from);
    }
}

static unsigned send_burst(int fd, const struct pd_trace_header *header, const struct route *route,
                           const uint8_t *ttls, const uint32_t *cookies, unsigned len)
{
    uint8_t bytes[BURST][PD_TRACE_PROBE_BYTES_MAX];
    struct mmsghdr messages[BURST];
    struct iovec pieces[BURST];
    int sent;

    for (unsigned i = 0; i < len; i++) {
        pieces[i].iov_base = bytes[i];
        pieces[i].iov_len = pd_trace_probe_write(header, ttls[i], cookies[i], bytes[i]);
        messages[i] = (struct mmsghdr){.msg_hdr = route->head};
        messages[i].msg_hdr.msg_iov = &pieces[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    sent = sendmmsg(fd, messages, len, 0);
    return sent < 0 ? 0 : (unsigned)sent;
}

unsigned pd_trace_wire_send(struct pd_trace_wire *wire, const struct pd_trace_header *header,
                            const uint8_t *ttls, const uint32_t *cookies, unsigned len)
{
    int fd = wire->send_fds[header->flow.ip_version == 6];
    unsigned sent = 0;
    struct route route;

    make_route(&header->flow, &route);
    for (unsigned at = 0; fd >= 0 && at < len; at += BURST) {
        unsigned n = len - at < BURST ? len - at : BURST;
        sent += send_burst(fd, header, &route, ttls + at, cookies + at, n);
    }
    return sent;
}

/* ---- in ---- */

/* The kernel's moment of arrival is wall time; how long ago that was is all that is needed. */
static uint64_t arrived_ns(struct msghdr *head)
{
    uint64_t now_ns = pd_clock_monotonic_ns(), wall_ns = pd_clock_wall_ns(), then_ns = wall_ns;

    for (struct cmsghdr *at = CMSG_FIRSTHDR(head); at; at = CMSG_NXTHDR(head, at)) {
        struct timespec stamp;
        if (at->cmsg_level == SOL_SOCKET && at->cmsg_type == SO_TIMESTAMPNS) {
            memcpy(&stamp, CMSG_DATA(at), sizeof stamp);
            then_ns = (uint64_t)stamp.tv_sec * PD_NS_PER_S + (uint64_t)stamp.tv_nsec;
        }
    }
    return then_ns < wall_ns && wall_ns - then_ns < now_ns ? now_ns - (wall_ns - then_ns) : now_ns;
}

int pd_trace_wire_next(struct pd_trace_wire *wire, unsigned family,
                       struct pd_trace_quote *ret_quote, uint64_t *ret_time_ns)
{
    uint8_t bytes[ANSWER_BYTES];
    _Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(struct timespec))];
    struct sockaddr_in6 from = {0};
    struct iovec piece = {bytes, sizeof bytes};
    struct msghdr head = {&from, sizeof from, &piece, 1, control, sizeof control, 0};
    struct pd_trace_quote quote;
    ssize_t len = wire->icmp_fds[family] < 0 ? -1 : recvmsg(wire->icmp_fds[family], &head, 0);

    if (len < 0) {
        return -EAGAIN;
    }
    if (pd_trace_icmp_read(family ? 6 : 4, bytes, (size_t)len, &quote)) {
        return 0;
    }
    if (family) {
        memcpy(&quote.from, &from.sin6_addr, sizeof quote.from);
    }
    *ret_quote = quote;
    *ret_time_ns = arrived_ns(&head);
    return 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Raw and packet sockets: opened, filtered, written and read. */
#include "trace/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>

#include "base/clock.h"

#define BURST         32u
#define ANSWER_BYTES  2048
#define UNREACHABLE   3
#define EXCEEDED      11
#define ICMP4_FILTER  1 /* option of level SOL_RAW, linux/icmp.h */
#define RECEIVE_BYTES (256 << 10)
#define IP6_BYTES     40
#define IP6_SOURCE    8 /* offset */

static int open_socket(int family, int protocol)
{
    int fd = socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);

    return fd < 0 ? -errno : fd;
}

/* Errors alone: echo replies and the like never wake anybody. */
static void filter(int fd, unsigned family)
{
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
}

static int open_raw(unsigned family)
{
    int fd =
        open_socket(family ? AF_INET6 : AF_INET, family ? (int)IPPROTO_ICMPV6 : (int)IPPROTO_ICMP);

    if (fd >= 0) {
        filter(fd, family);
    }
    return fd;
}

// clang-format off
/* Of packets from their IP header on: errors of ICMP. Later fragments hold no header of ICMP. */
static struct sock_filter errors4[] = {
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 9), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMP, 0, 7),
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 6), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x1fff, 5, 0),
    BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0), BPF_STMT(BPF_LD | BPF_B | BPF_IND, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UNREACHABLE, 1, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, EXCEEDED, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, ANSWER_BYTES), BPF_STMT(BPF_RET | BPF_K, 0)};
static struct sock_filter errors6[] = {
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 6), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMPV6, 0, 4),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, IP6_BYTES),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ICMP6_DST_UNREACH, 1, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ICMP6_TIME_EXCEEDED, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, ANSWER_BYTES), BPF_STMT(BPF_RET | BPF_K, 0)};
// clang-format on

/* It hears nothing before its filter is in place. */
static int open_packets(unsigned family)
{
    const struct sock_fprog program = {family ? sizeof errors6 / sizeof *errors6
                                              : sizeof errors4 / sizeof *errors4,
                                       family ? errors6 : errors4};
    const struct sockaddr_ll all = {.sll_family = AF_PACKET,
                                    .sll_protocol = htons(family ? ETH_P_IPV6 : ETH_P_IP)};
    int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) ||
                    bind(fd, (const struct sockaddr *)&all, sizeof all))) {
        int err = -errno;
        close(fd);
        return err;
    }
    return fd < 0 ? -errno : fd;
}

static int open_family(struct pd_trace_wire *wire, unsigned family)
{
    const int on = 1, room = RECEIVE_BYTES;
    int fd = wire->unchanged ? open_packets(family) : open_raw(family);

    wire->send_fds[family] = open_socket(family ? AF_INET6 : AF_INET, IPPROTO_RAW);
    wire->icmp_fds[family] = fd;
    if (wire->send_fds[family] < 0 || fd < 0) {
        return fd < 0 ? fd : wire->send_fds[family];
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    return 0;
}

int pd_trace_wire_open(bool unchanged, struct pd_trace_wire *ret_wire, struct pd_error *error)
{
    struct pd_trace_wire wire = {{-1, -1}, {-1, -1}, unchanged};
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

/* IPv6: what a packet socket gives has its header before it, what a raw socket gives has not. */
static int read_answer(const struct pd_trace_wire *wire, unsigned family, const uint8_t *bytes,
                       size_t len, const struct sockaddr_storage *from,
                       struct pd_trace_quote *quote)
{
    const bool headed = family && wire->unchanged;
    const size_t skip = headed ? IP6_BYTES : 0;
    int err = len < skip ? -PD_E_SYNTAX
                         : pd_trace_icmp_read(family ? 6 : 4, bytes + skip, len - skip, quote);

    if (!err && headed) {
        memcpy(&quote->from, bytes + IP6_SOURCE, sizeof quote->from);
    } else if (!err && family) {
        memcpy(&quote->from, &((const struct sockaddr_in6 *)from)->sin6_addr, sizeof quote->from);
    }
    return err;
}

int pd_trace_wire_next(struct pd_trace_wire *wire, unsigned family,
                       struct pd_trace_quote *ret_quote, uint64_t *ret_time_ns)
{
    uint8_t bytes[ANSWER_BYTES];
    _Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(struct timespec))];
    struct sockaddr_storage from = {0};
    struct iovec piece = {bytes, sizeof bytes};
    struct msghdr head = {&from, sizeof from, &piece, 1, control, sizeof control, 0};
    struct pd_trace_quote quote;
    ssize_t len = wire->icmp_fds[family] < 0 ? -1 : recvmsg(wire->icmp_fds[family], &head, 0);

    if (len < 0) {
        return -EAGAIN;
    }
    if (read_answer(wire, family, bytes, (size_t)len, &from, &quote)) {
        return 0;
    }
    *ret_quote = quote;
    *ret_time_ns = arrived_ns(&head);
    return 1;
}

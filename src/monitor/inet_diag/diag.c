/* SPDX-License-Identifier: Apache-2.0 */
/* sock_diag requests and the parser of what comes back, on libmnl. */
#include "monitor/inet_diag/diag.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>

#include "base/clock.h"

#define BUFFER_BYTES ((size_t)32768) /* a dump comes in pieces of up to this */
#define WAIT_S       5               /* for an answer that never comes */

/* The kernel's number of half-open connections of a listening socket; what they are called in
 * answers is SYN_RECV. */
#define NEW_SYN_RECV 12

#define BIT(state)   (UINT32_C(1) << (state))
#define STATES                                                                            \
    (BIT(PD_MONITOR_ESTABLISHED) | BIT(PD_MONITOR_SYN_SENT) | BIT(PD_MONITOR_SYN_RECV) |  \
     BIT(PD_MONITOR_FIN_WAIT1) | BIT(PD_MONITOR_FIN_WAIT2) | BIT(PD_MONITOR_CLOSE_WAIT) | \
     BIT(PD_MONITOR_LAST_ACK) | BIT(PD_MONITOR_CLOSING) | BIT(NEW_SYN_RECV))

/* Newer members of struct tcp_info than the headers have that this may be built with (Linux 6.7).
 */
#define TOTAL_RTO_OFFSET 240

struct pd_diag {
    struct mnl_socket *socket; /* NULL: offline */
    uint32_t seq;
    struct pd_diag_counters counters;
    uint8_t buffer[BUFFER_BYTES] __attribute__((aligned(16)));
};

/* What the parser hands on. */
struct reader {
    struct pd_diag *diag;
    pd_diag_take *take;
    void *context;
    uint64_t time_ns;
};

/* ---- parser ---- */

static void read_addr(const __be32 words[4], uint8_t family, struct pd_addr *ret_addr,
                      uint8_t *ret_version)
{
    const struct in6_addr *in6 = (const struct in6_addr *)words;

    memset(ret_addr, 0, sizeof *ret_addr);
    *ret_version = 6;
    if (family == AF_INET) {
        memcpy(ret_addr->bytes, words, 4);
    } else if (IN6_IS_ADDR_V4MAPPED(in6)) {
        memcpy(ret_addr->bytes, in6->s6_addr + 12, 4);
    } else {
        memcpy(ret_addr->bytes, words, 16);
    }
    if (family == AF_INET || IN6_IS_ADDR_V4MAPPED(in6)) {
        *ret_version = 4;
    }
}

static bool read_flow(const struct inet_diag_msg *message, struct pd_flow_id *ret_flow)
{
    uint8_t version;

    if (message->idiag_family != AF_INET && message->idiag_family != AF_INET6) {
        return false;
    }
    memset(ret_flow, 0, sizeof *ret_flow);
    read_addr(message->id.idiag_src, message->idiag_family, &ret_flow->src, &ret_flow->ip_version);
    read_addr(message->id.idiag_dst, message->idiag_family, &ret_flow->dst, &version);
    ret_flow->src_port = ntohs(message->id.idiag_sport);
    ret_flow->dst_port = ntohs(message->id.idiag_dport);
    ret_flow->protocol = IPPROTO_TCP;
    return version == ret_flow->ip_version;
}

/* Kernels differ in how much of struct tcp_info they give: what is missing is 0. */
static void read_info(const struct nlattr *attribute, struct pd_monitor_reading *reading)
{
    uint8_t bytes[TOTAL_RTO_OFFSET + 2] = {0};
    size_t len = mnl_attr_get_payload_len(attribute);
    struct tcp_info info;
    uint16_t total_rto;

    memcpy(bytes, mnl_attr_get_payload(attribute), len < sizeof bytes ? len : sizeof bytes);
    memcpy(&info, bytes, sizeof info < sizeof bytes ? sizeof info : sizeof bytes);
    memcpy(&total_rto, bytes + TOTAL_RTO_OFFSET, sizeof total_rto);
    reading->has_info = true;
    reading->retransmissions = info.tcpi_total_retrans;
    reading->outstanding = info.tcpi_retrans;
    reading->timeouts = len < sizeof bytes ? UINT32_MAX : total_rto;
    reading->unanswered = info.tcpi_retransmits;
    reading->backoff = info.tcpi_backoff;
    reading->srtt_us = info.tcpi_rtt;
    reading->rto_us = info.tcpi_rto;
    reading->cwnd_pkts = info.tcpi_snd_cwnd;
    reading->mss_bytes = info.tcpi_snd_mss;
    reading->pkts_out = info.tcpi_unacked;
    reading->duplicates = info.tcpi_dsack_dups;
    reading->bytes_acked = info.tcpi_bytes_acked;
    reading->throughput_bps =
        info.tcpi_delivery_rate > UINT64_MAX / 8 ? 0 : info.tcpi_delivery_rate * 8;
}

static bool read_message(const struct nlmsghdr *header, uint64_t time_ns,
                         struct pd_monitor_reading *ret_reading)
{
    const struct inet_diag_msg *message = mnl_nlmsg_get_payload(header);
    struct pd_monitor_reading reading = {.kind = PD_MONITOR_SAMPLE, .time_ns = time_ns};
    const struct nlattr *attribute;

    if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        mnl_nlmsg_get_payload_len(header) < sizeof *message || !read_flow(message, &reading.flow)) {
        return false;
    }
    reading.state = message->idiag_state == NEW_SYN_RECV
                        ? PD_MONITOR_SYN_RECV
                        : (enum pd_monitor_state)message->idiag_state;
    if (!pd_monitor_state_id(reading.state)) {
        return false;
    }
    reading.closed = reading.state == PD_MONITOR_CLOSED;
    reading.cookie = (uint64_t)message->id.idiag_cookie[1] << 32 | message->id.idiag_cookie[0];
    reading.retransmissions = message->idiag_retrans;
    reading.outstanding = reading.timeouts = UINT32_MAX;
    mnl_attr_for_each(attribute, header, sizeof *message)
    {
        if (mnl_attr_get_type(attribute) == INET_DIAG_INFO) {
            read_info(attribute, &reading);
        }
    }
    /* Only a half-open connection has no figures of its own. */
    if (!reading.has_info && reading.state != PD_MONITOR_SYN_RECV) {
        return false;
    }
    *ret_reading = reading;
    return true;
}

static int take_message(const struct nlmsghdr *header, void *context)
{
    struct reader *reader = context;
    struct pd_monitor_reading reading;

    if (!read_message(header, reader->time_ns, &reading)) {
        reader->diag->counters.refused++;
        return MNL_CB_OK;
    }
    reader->diag->counters.read++;
    reader->take(reader->context, &reading);
    return MNL_CB_OK;
}

/* libmnl takes lengths for signed: those from 2 GiB on would pass its checks. */
static bool is_sound(const uint8_t *bytes, size_t len)
{
    struct nlmsghdr header;
    size_t step;

    for (; len >= sizeof header; bytes += step, len -= step) {
        memcpy(&header, bytes, sizeof header);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > len) {
            return false;
        }
        step = MNL_ALIGN(header.nlmsg_len);
        if (step > len) {
            step = len;
        }
    }
    return len == 0;
}

int pd_inet_diag_read(struct pd_diag *diag, const void *bytes, size_t len, uint64_t time_ns,
                      pd_diag_take *take, void *context)
{
    struct reader reader = {diag, take, context, time_ns};

    if (!is_sound(bytes, len)) {
        diag->counters.refused++;
        errno = EBADMSG;
        return MNL_CB_ERROR;
    }
    return mnl_cb_run(bytes, len, diag->socket ? diag->seq : 0,
                      diag->socket ? mnl_socket_get_portid(diag->socket) : 0, take_message,
                      &reader);
}

/* ---- requests ---- */

static int ask(struct pd_diag *diag, uint16_t flags, const struct inet_diag_req_v2 *request)
{
    struct nlmsghdr *header = mnl_nlmsg_put_header(diag->buffer);

    header->nlmsg_type = SOCK_DIAG_BY_FAMILY;
    header->nlmsg_flags = NLM_F_REQUEST | flags;
    header->nlmsg_seq = ++diag->seq;
    memcpy(mnl_nlmsg_put_extra_header(header, sizeof *request), request, sizeof *request);
    return mnl_socket_sendto(diag->socket, header, header->nlmsg_len) < 0 ? -errno : 0;
}

/* Answers to a request that was given up are still in the socket: their number is not ours. */
static bool is_ours(const struct pd_diag *diag, ssize_t len)
{
    const struct nlmsghdr *header = (const struct nlmsghdr *)diag->buffer;

    return !mnl_nlmsg_ok(header, (int)len) || header->nlmsg_seq == diag->seq;
}

static ssize_t hear(struct pd_diag *diag)
{
    ssize_t len;

    do {
        len = mnl_socket_recvfrom(diag->socket, diag->buffer, sizeof diag->buffer);
    } while ((len < 0 && errno == EINTR) || (len >= 0 && !is_ours(diag, len)));
    return len < 0 ? -errno : len;
}

static int dump_family(struct pd_diag *diag, uint8_t family, pd_diag_take *take, void *context)
{
    const struct inet_diag_req_v2 request = {.sdiag_family = family,
                                             .sdiag_protocol = IPPROTO_TCP,
                                             .idiag_ext = 1 << (INET_DIAG_INFO - 1),
                                             .idiag_states = STATES};
    uint64_t time_ns = pd_clock_monotonic_ns();
    int r = ask(diag, NLM_F_DUMP, &request);

    if (r < 0) {
        return r;
    }
    do {
        ssize_t len = hear(diag);
        if (len < 0) {
            return (int)len;
        }
        r = pd_inet_diag_read(diag, diag->buffer, (size_t)len, time_ns, take, context);
        if (r < 0) {
            return errno == ENOENT && family == AF_INET6 ? 0 : -errno;
        }
    } while (r > 0);
    return 0;
}

int pd_inet_diag_dump(struct pd_diag *diag, pd_diag_take *take, void *context)
{
    int err = dump_family(diag, AF_INET, take, context);

    return err ? err : dump_family(diag, AF_INET6, take, context);
}

static void keep_one(void *context, const struct pd_monitor_reading *reading)
{
    *(struct pd_monitor_reading *)context = *reading;
}

int pd_inet_diag_get(struct pd_diag *diag, const struct pd_flow_id *flow, uint64_t cookie,
                     struct pd_monitor_reading *ret_reading)
{
    struct inet_diag_req_v2 request = {.sdiag_family = flow->ip_version == 4 ? AF_INET : AF_INET6,
                                       .sdiag_protocol = IPPROTO_TCP,
                                       .idiag_ext = 1 << (INET_DIAG_INFO - 1),
                                       .idiag_states = STATES};
    struct pd_monitor_reading reading = {.time_ns = 0};
    ssize_t len;
    int err;

    memcpy(request.id.idiag_src, flow->src.bytes, 16);
    memcpy(request.id.idiag_dst, flow->dst.bytes, 16);
    request.id.idiag_sport = htons(flow->src_port);
    request.id.idiag_dport = htons(flow->dst_port);
    request.id.idiag_cookie[0] = cookie ? (uint32_t)cookie : INET_DIAG_NOCOOKIE;
    request.id.idiag_cookie[1] = cookie ? (uint32_t)(cookie >> 32) : INET_DIAG_NOCOOKIE;
    err = ask(diag, 0, &request);
    len = err ? err : hear(diag);
    if (len < 0) {
        return (int)len;
    }
    if (pd_inet_diag_read(diag, diag->buffer, (size_t)len, pd_clock_monotonic_ns(), keep_one,
                          &reading) < 0) {
        return errno == ESTALE ? -ENOENT : -errno;
    }
    /* TIME_WAIT, or another connection on a listening socket's ports. */
    if (!reading.time_ns || reading.closed || !pd_flow_id_equal(&reading.flow, flow)) {
        return -ENOENT;
    }
    *ret_reading = reading;
    return 0;
}

/* ---- life ---- */

struct pd_diag *pd_inet_diag_offline(void)
{
    return calloc(1, sizeof(struct pd_diag));
}

int pd_inet_diag_open(struct pd_diag **ret_diag, struct pd_error *error)
{
    const struct timeval wait = {.tv_sec = WAIT_S};
    struct pd_diag *diag = pd_inet_diag_offline();
    int r;

    if (!diag) {
        return pd_fail(error, -ENOMEM, "sock_diag: no memory");
    }
    diag->socket = mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC);
    if (!diag->socket || mnl_socket_bind(diag->socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
        setsockopt(mnl_socket_get_fd(diag->socket), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) <
            0) {
        r = -errno;
        pd_inet_diag_close(diag);
        return pd_fail(error, r, "sock_diag: cannot open a netlink socket: %s", strerror(-r));
    }
    *ret_diag = diag;
    return 0;
}

void pd_inet_diag_close(struct pd_diag *diag)
{
    if (diag && diag->socket) {
        mnl_socket_close(diag->socket);
    }
    free(diag);
}

struct pd_diag_counters pd_inet_diag_counters(const struct pd_diag *diag)
{
    return diag->counters;
}
